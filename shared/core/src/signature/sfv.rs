//! Structured fields (RFC 8941): what parses has one canonical spelling, and nothing is dropped on the way.
//!
//! The standard lets the last of two equal dictionary or parameter keys win. That rule is kept in
//! [`Dictionary::get`] and [`Params::get`], but every occurrence stays visible, because a signature
//! profile has to refuse a repeat rather than pick one. Sizes are bounded (the limits are constants
//! of `parse`) and base64 is read in its canonical spelling only.

mod parse;

use crate::base64;
use crate::reason::Reason;

pub use parse::{
    MAX_LENGTH, MAX_MEMBERS, MAX_PARAMS, parse_dictionary, parse_inner_list, parse_item, parse_list,
};

/// A text is not the structured field it should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Offset in octets at which reading stopped.
    pub at: usize,
}

impl From<Malformed> for Reason {
    fn from(_: Malformed) -> Self {
        Self::SignatureMalformed
    }
}

/// A bare item (RFC 8941 §3.3).
///
/// The serialiser writes strings and tokens as they are, so a value built by hand must already keep
/// to the grammar; what the parser returns always does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bare {
    /// An integer of at most fifteen digits.
    Integer(i64),
    /// A decimal, in thousandths.
    Decimal(i64),
    /// A string of printable ASCII, without its quotes and escapes.
    String(String),
    /// A token.
    Token(String),
    /// A byte sequence.
    Bytes(Vec<u8>),
    /// A boolean.
    Boolean(bool),
}

/// Parameters in the order received, repeats included (RFC 8941 §3.1.2).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(Vec<(String, Bare)>);

/// A bare item with its parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The value.
    pub bare: Bare,
    /// Its parameters.
    pub params: Params,
}

/// A parenthesised list of items with parameters of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerList {
    /// The items in order.
    pub items: Vec<Item>,
    /// The parameters of the list as a whole.
    pub params: Params,
}

/// A member of a list or dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// A single item.
    Item(Item),
    /// An inner list.
    InnerList(InnerList),
}

/// One occurrence of a key in a dictionary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The key.
    pub key: &'a str,
    /// The value; a key alone means boolean true.
    pub value: Member,
    /// The value's text as received: after the `=`, or the parameters alone for a bare key.
    pub raw: &'a str,
}

/// A dictionary with every occurrence of every key, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dictionary<'a>(Vec<Entry<'a>>);

impl Params {
    /// The value that counts for `key`: the last one.
    pub fn get(&self, key: &str) -> Option<&Bare> {
        self.0.iter().rev().find(|(k, _)| k == key).map(|(_, value)| value)
    }

    /// All occurrences in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Bare)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value))
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some key occurs twice.
    pub fn has_repeats(&self) -> bool {
        self.0.iter().enumerate().any(|(i, (key, _))| self.0.iter().skip(i + 1).any(|(k, _)| k == key))
    }

    /// Appends an occurrence.
    pub fn push(&mut self, key: &str, value: Bare) {
        self.0.push((key.to_owned(), value));
    }

    fn write(&self, out: &mut String) {
        for (i, (key, _)) in self.0.iter().enumerate() {
            // A repeated key keeps the place of its first occurrence and the value of its last.
            let repeated = self.0.iter().take(i).any(|(k, _)| k == key);
            let Some(value) = self.get(key).filter(|_| !repeated) else { continue };
            out.push(';');
            out.push_str(key);
            if *value != Bare::Boolean(true) {
                out.push('=');
                value.write(out);
            }
        }
    }
}

impl Bare {
    fn write(&self, out: &mut String) {
        match self {
            Self::Integer(value) => out.push_str(&value.to_string()),
            Self::Decimal(thousandths) => write_decimal(*thousandths, out),
            Self::String(text) => write_string(text, out),
            Self::Token(text) => out.push_str(text),
            Self::Bytes(bytes) => {
                out.push(':');
                out.push_str(&base64::standard(bytes));
                out.push(':');
            }
            Self::Boolean(value) => out.push_str(if *value { "?1" } else { "?0" }),
        }
    }
}

/// At least one and at most three fraction digits, trailing zeros dropped (RFC 8941 §4.1.5).
fn write_decimal(thousandths: i64, out: &mut String) {
    let size = thousandths.unsigned_abs();
    if thousandths < 0 {
        out.push('-');
    }
    out.push_str(&(size / 1000).to_string());
    out.push('.');
    let fraction = (1000 + size % 1000).to_string();
    let digits = fraction.get(1..).unwrap_or("0").trim_end_matches('0');
    out.push_str(if digits.is_empty() { "0" } else { digits });
}

/// A quoted string with its two escapes (RFC 8941 §4.1.6).
fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        if matches!(c, '"' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out.push('"');
}

impl Item {
    /// An item without parameters.
    pub fn plain(bare: Bare) -> Self {
        Self { bare, params: Params::default() }
    }

    /// The canonical spelling.
    pub fn serialise(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        self.bare.write(out);
        self.params.write(out);
    }
}

impl InnerList {
    /// The canonical spelling.
    pub fn serialise(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        out.push('(');
        for (i, item) in self.items.iter().enumerate() {
            if i > 0 {
                out.push(' ');
            }
            item.write(out);
        }
        out.push(')');
        self.params.write(out);
    }
}

impl Member {
    /// The canonical spelling.
    pub fn serialise(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Item(item) => item.write(out),
            Self::InnerList(list) => list.write(out),
        }
    }
}

impl<'a> Dictionary<'a> {
    /// The value that counts for `key`: the last one.
    pub fn get(&self, key: &str) -> Option<&Member> {
        self.0.iter().rev().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// All occurrences in order.
    pub fn entries(&self) -> &[Entry<'a>] {
        &self.0
    }

    /// The first key that occurs twice, if any does.
    pub fn repeated(&self) -> Option<&'a str> {
        let later = |i: usize, key| self.0.iter().skip(i + 1).any(|entry| entry.key == key);
        self.0.iter().enumerate().find(|(i, entry)| later(*i, entry.key)).map(|(_, entry)| entry.key)
    }

    /// The canonical spelling, by the rule that the last of equal keys wins.
    pub fn serialise(&self) -> String {
        let mut out = String::new();
        for (i, entry) in self.0.iter().enumerate() {
            let repeated = self.0.iter().take(i).any(|earlier| earlier.key == entry.key);
            let Some(value) = self.get(entry.key).filter(|_| !repeated) else { continue };
            if i > 0 {
                out.push_str(", ");
            }
            out.push_str(entry.key);
            match value {
                Member::Item(Item { bare: Bare::Boolean(true), params }) => params.write(&mut out),
                Member::Item(_) | Member::InnerList(_) => {
                    out.push('=');
                    value.write(&mut out);
                }
            }
        }
        out
    }
}

/// The canonical spelling of a list.
pub fn serialise_list(members: &[Member]) -> String {
    let mut out = String::new();
    for (i, member) in members.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        member.write(&mut out);
    }
    out
}
