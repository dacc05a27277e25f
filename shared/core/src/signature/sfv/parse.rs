//! The reader: RFC 8941 §4.2 step for step, failing where the RFC fails and never guessing.

use super::{Bare, Dictionary, Entry, InnerList, Item, Malformed, Member, Params};
use crate::base64;

/// Longest text read, in octets.
pub const MAX_LENGTH: usize = 16 * 1024;
/// Most members of a list or dictionary, and most items of an inner list.
pub const MAX_MEMBERS: usize = 128;
/// Most parameters of one item or inner list.
pub const MAX_PARAMS: usize = 64;

/// Reads a whole field value as an item.
pub fn parse_item(text: &str) -> Result<Item, Malformed> {
    whole(text, Cursor::item)
}

/// Reads a whole text as an inner list.
pub fn parse_inner_list(text: &str) -> Result<InnerList, Malformed> {
    whole(text, Cursor::inner_list)
}

/// Reads a whole field value as a list; an empty value is an empty list.
pub fn parse_list(text: &str) -> Result<Vec<Member>, Malformed> {
    whole(text, |cursor| cursor.members(Cursor::member))
}

/// Reads a whole field value as a dictionary; an empty value is an empty dictionary.
pub fn parse_dictionary(text: &str) -> Result<Dictionary<'_>, Malformed> {
    whole(text, |cursor| cursor.members(Cursor::entry).map(Dictionary))
}

/// Outer spaces are skipped (RFC 8941 §4.2), and nothing may follow.
fn whole<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Cursor<'a>) -> Result<T, Malformed>,
) -> Result<T, Malformed> {
    let mut cursor = Cursor { text, at: 0 };
    if text.len() > MAX_LENGTH {
        return cursor.fail();
    }
    cursor.skip(|c| c == b' ');
    let value = read(&mut cursor)?;
    cursor.skip(|c| c == b' ');
    if cursor.peek().is_some() { cursor.fail() } else { Ok(value) }
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn fail<T>(&self) -> Result<T, Malformed> {
        Err(Malformed { at: self.at })
    }

    /// Takes the next octet if it is `wanted`.
    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: u8) -> Result<(), Malformed> {
        if self.eat(wanted) { Ok(()) } else { self.fail() }
    }

    /// Takes octets while `allowed`, and gives them. Every `allowed` is a set of ASCII octets, so the
    /// ends of the span are character boundaries.
    fn skip(&mut self, allowed: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        while self.peek().is_some_and(&allowed) {
            self.at += 1;
        }
        self.since(start)
    }

    fn since(&self, start: usize) -> &'a str {
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Members between commas; white space around a comma may be tabs, a trailing comma fails.
    fn members<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, Malformed>,
    ) -> Result<Vec<T>, Malformed> {
        let mut out = Vec::new();
        if self.peek().is_none() {
            return Ok(out);
        }
        loop {
            if out.len() == MAX_MEMBERS {
                return self.fail();
            }
            out.push(read(self)?);
            self.skip(is_ows);
            if self.peek().is_none() {
                return Ok(out);
            }
            self.expect(b',')?;
            self.skip(is_ows);
        }
    }

    fn entry(&mut self) -> Result<Entry<'a>, Malformed> {
        let key = self.key()?;
        if self.eat(b'=') {
            let start = self.at;
            let value = self.member()?;
            return Ok(Entry { key, value, raw: self.since(start) });
        }
        let start = self.at;
        let value = Member::Item(Item { bare: Bare::Boolean(true), params: self.params()? });
        Ok(Entry { key, value, raw: self.since(start) })
    }

    fn member(&mut self) -> Result<Member, Malformed> {
        if self.peek() == Some(b'(') {
            self.inner_list().map(Member::InnerList)
        } else {
            self.item().map(Member::Item)
        }
    }

    fn inner_list(&mut self) -> Result<InnerList, Malformed> {
        self.expect(b'(')?;
        let mut items = Vec::new();
        loop {
            self.skip(|c| c == b' ');
            if self.eat(b')') {
                return Ok(InnerList { items, params: self.params()? });
            }
            if items.len() == MAX_MEMBERS {
                return self.fail();
            }
            items.push(self.item()?);
            if !matches!(self.peek(), Some(b' ' | b')')) {
                return self.fail();
            }
        }
    }

    fn item(&mut self) -> Result<Item, Malformed> {
        Ok(Item { bare: self.bare()?, params: self.params()? })
    }

    fn params(&mut self) -> Result<Params, Malformed> {
        let mut out = Vec::new();
        while self.eat(b';') {
            self.skip(|c| c == b' ');
            let key = self.key()?.to_owned();
            let value = if self.eat(b'=') { self.bare()? } else { Bare::Boolean(true) };
            if out.len() == MAX_PARAMS {
                return self.fail();
            }
            out.push((key, value));
        }
        Ok(Params(out))
    }

    fn key(&mut self) -> Result<&'a str, Malformed> {
        if !self.peek().is_some_and(|c| c.is_ascii_lowercase() || c == b'*') {
            return self.fail();
        }
        Ok(self
            .skip(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'_' | b'-' | b'.' | b'*')))
    }

    fn bare(&mut self) -> Result<Bare, Malformed> {
        match self.peek() {
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'"') => self.string(),
            Some(b':') => self.bytes(),
            Some(b'?') => self.boolean(),
            Some(c) if c.is_ascii_alphabetic() || c == b'*' => {
                Ok(Bare::Token(self.skip(is_token).to_owned()))
            }
            Some(_) | None => self.fail(),
        }
    }

    /// Fifteen digits, or twelve before and three after the point (RFC 8941 §4.2.4).
    fn number(&mut self) -> Result<Bare, Malformed> {
        let sign = if self.eat(b'-') { -1 } else { 1 };
        let whole = self.skip(|c| c.is_ascii_digit());
        let Some(size) = decimal_digits(whole, 15) else { return self.fail() };
        if !self.eat(b'.') {
            return Ok(Bare::Integer(sign * size));
        }
        let fraction = self.skip(|c| c.is_ascii_digit());
        let Some(digits) = decimal_digits(fraction, 3).filter(|_| whole.len() <= 12) else {
            return self.fail();
        };
        let scale = match fraction.len() {
            1 => 100,
            2 => 10,
            _ => 1,
        };
        Ok(Bare::Decimal(sign * (size * 1000 + digits * scale)))
    }

    fn string(&mut self) -> Result<Bare, Malformed> {
        self.expect(b'"')?;
        let mut out = String::new();
        loop {
            out.push_str(self.skip(|c| matches!(c, b' '..=b'~') && c != b'"' && c != b'\\'));
            if self.eat(b'"') {
                return Ok(Bare::String(out));
            }
            self.expect(b'\\')?;
            if self.eat(b'"') {
                out.push('"');
            } else {
                self.expect(b'\\')?;
                out.push('\\');
            }
        }
    }

    fn bytes(&mut self) -> Result<Bare, Malformed> {
        self.expect(b':')?;
        let start = self.at;
        let text = self.skip(|c| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'='));
        self.expect(b':')?;
        base64::from_standard(text).map(Bare::Bytes).ok_or(Malformed { at: start })
    }

    fn boolean(&mut self) -> Result<Bare, Malformed> {
        self.expect(b'?')?;
        if self.eat(b'1') {
            return Ok(Bare::Boolean(true));
        }
        self.expect(b'0')?;
        Ok(Bare::Boolean(false))
    }
}

/// Between one and `most` digits as a number. Fifteen digits always fit.
fn decimal_digits(text: &str, most: usize) -> Option<i64> {
    (1..=most).contains(&text.len()).then(|| text.parse().ok())?
}

fn is_ows(c: u8) -> bool {
    matches!(c, b' ' | b'\t')
}

/// The octets that may continue a token (RFC 8941 §3.3.4): tchar of RFC 9110 and `:` `/`.
fn is_token(c: u8) -> bool {
    super::super::fields::is_tchar(c) || matches!(c, b':' | b'/')
}
