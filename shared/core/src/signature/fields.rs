//! Header fields as received: nothing reordered, nothing merged, repeats kept.
//!
//! A host fills this from whatever its platform gives (joined values or one entry per line) and all
//! further code reads the same combined value (RFC 9421 §2.1).

use crate::base64;

/// Ordered field lines with lower-case names and uninterpreted values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, Vec<u8>)>);

/// Why a field has no usable value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldFault {
    /// There is no line with this name.
    Absent,
    /// There are several lines where one is allowed.
    Repeated,
    /// An octet is not visible ASCII, space or tab.
    Forbidden,
}

impl Fields {
    /// No fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends one line.
    pub fn push(&mut self, name: impl AsRef<str>, value: impl AsRef<[u8]>) {
        self.0.push((name.as_ref().to_ascii_lowercase(), value.as_ref().to_vec()));
    }

    /// All lines in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_slice()))
    }

    /// The values of one name (lower case), each without folding and outer white space.
    pub fn lines(&self, name: &str) -> impl Iterator<Item = Vec<u8>> {
        self.0.iter().filter(move |(n, _)| n == name).map(|(_, value)| tidy(value))
    }

    /// Whether a line with this name (lower case) exists.
    pub fn contains(&self, name: &str) -> bool {
        self.0.iter().any(|(n, _)| n == name)
    }

    /// The combined value (RFC 9421 §2.1): lines trimmed, unfolded and joined with `", "`.
    ///
    /// An empty value is not an absent one.
    pub fn combined(&self, name: &str) -> Result<String, FieldFault> {
        let mut out: Option<String> = None;
        for line in self.lines(name) {
            let line = text(line)?;
            out = Some(match out {
                None => line,
                Some(earlier) => earlier + ", " + &line,
            });
        }
        out.ok_or(FieldFault::Absent)
    }

    /// The value of a field that may occur once only.
    ///
    /// Where a platform joins repeats itself the repeat shows as a comma, so callers check the
    /// grammar of the value as well.
    pub fn single(&self, name: &str) -> Result<String, FieldFault> {
        if self.0.iter().filter(|(n, _)| n == name).count() > 1 {
            return Err(FieldFault::Repeated);
        }
        self.combined(name)
    }

    /// Every line as a byte sequence (RFC 9421 §2.1.3), so that joining cannot hide a boundary.
    pub fn wrapped(&self, name: &str) -> Result<String, FieldFault> {
        let mut out = String::new();
        for line in self.lines(name) {
            if line.iter().any(|c| matches!(c, 0 | b'\r' | b'\n')) {
                return Err(FieldFault::Forbidden);
            }
            out.push_str(if out.is_empty() { ":" } else { ", :" });
            out.push_str(&base64::standard(&line));
            out.push(':');
        }
        if out.is_empty() { Err(FieldFault::Absent) } else { Ok(out) }
    }
}

impl<N: AsRef<str>, V: AsRef<[u8]>> FromIterator<(N, V)> for Fields {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(lines: I) -> Self {
        let mut fields = Self::new();
        for (name, value) in lines {
            fields.push(name, value);
        }
        fields
    }
}

/// Octets of a method or field name (RFC 9110 §5.6.2).
pub(super) fn is_tchar(c: u8) -> bool {
    c.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&c)
}

fn is_blank(c: u8) -> bool {
    matches!(c, b' ' | b'\t')
}

/// Folding (CRLF and white space, RFC 9112 §5.2) becomes one space; outer white space goes. A line
/// end that is not followed by white space stays and is refused later: it would start a line of its
/// own in the signature base.
fn tidy(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&c, tail)) = rest.split_first() {
        if let [b'\r', b'\n', b' ' | b'\t', ..] = rest {
            let start = rest.iter().skip(2).position(|&c| !is_blank(c)).map_or(rest.len(), |n| n + 2);
            out.truncate(out.iter().rposition(|&c| !is_blank(c)).map_or(0, |n| n + 1));
            out.push(b' ');
            rest = rest.get(start..).unwrap_or_default();
        } else {
            out.push(c);
            rest = tail;
        }
    }
    let end = out.iter().rposition(|&c| !is_blank(c)).map_or(0, |n| n + 1);
    out.truncate(end);
    let start = out.iter().position(|&c| !is_blank(c)).unwrap_or(0);
    out.split_off(start)
}

fn text(line: Vec<u8>) -> Result<String, FieldFault> {
    if line.iter().all(|&c| matches!(c, b' '..=b'~' | b'\t')) {
        String::from_utf8(line).map_err(|_| FieldFault::Forbidden)
    } else {
        Err(FieldFault::Forbidden)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fold_is_one_space_and_a_bare_line_end_is_refused() {
        let fields: Fields =
            [("A", "x \r\n\t y"), ("B", "x\ny"), ("C", "x\r\ny"), ("D", "\r\n z")].into_iter().collect();
        assert_eq!(fields.combined("a").unwrap(), "x y");
        assert_eq!(fields.combined("b"), Err(FieldFault::Forbidden));
        assert_eq!(fields.combined("c"), Err(FieldFault::Forbidden));
        assert_eq!(fields.combined("d").unwrap(), "z");
    }

    #[test]
    fn absent_empty_and_repeated_differ() {
        let fields: Fields = [("E", ""), ("R", "1"), ("r", "2")].into_iter().collect();
        assert_eq!(fields.single("e").unwrap(), "");
        assert_eq!(fields.single("x"), Err(FieldFault::Absent));
        assert_eq!(fields.single("r"), Err(FieldFault::Repeated));
        assert_eq!(fields.combined("r").unwrap(), "1, 2");
    }
}
