//! `Retry-After` in both forms (RFC 9110 §10.2.3); whatever does not parse is no wish at all.

use crate::time::{Span, Timestamp};

/// When an endpoint wishes to be asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryAfter {
    /// In so many seconds.
    Seconds(u64),
    /// Not before this instant.
    At(Timestamp),
}

impl RetryAfter {
    /// Reads a field value: digits, or an IMF-fixdate.
    pub fn parse(value: &str) -> Option<Self> {
        let value = value.trim();
        if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
            // More digits than u64 holds is "very long", which the policy clamps.
            return Some(Self::Seconds(value.parse().unwrap_or(u64::MAX)));
        }
        imf_fixdate(value).map(Self::At)
    }

    /// The instant meant, seen from `now`.
    pub fn at(self, now: Timestamp) -> Timestamp {
        match self {
            Self::Seconds(seconds) => now + Span::seconds(i64::try_from(seconds).unwrap_or(i64::MAX)),
            Self::At(instant) => instant,
        }
    }
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`; the day name is not checked, it decides nothing.
fn imf_fixdate(value: &str) -> Option<Timestamp> {
    let (_, rest) = value.split_once(", ")?;
    let mut parts = rest.strip_suffix(" GMT")?.split(' ');
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|&m| m == month)? + 1;
    if parts.next().is_some() {
        return None;
    }
    Timestamp::parse(&format!("{year}-{month:02}-{day}T{clock}Z"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_and_hostile_ones() {
        assert_eq!(RetryAfter::parse("120"), Some(RetryAfter::Seconds(120)));
        assert_eq!(RetryAfter::parse("1000000000000000000000"), Some(RetryAfter::Seconds(u64::MAX)));
        let date = RetryAfter::parse("Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date, Timestamp::parse("1994-11-06T08:49:37Z").map(RetryAfter::At));
        for none in ["", "-1", "1.5", "soon", "Sun, 06 Nov 1994", "Sun, 32 Nov 1994 08:49:37 GMT"] {
            assert_eq!(RetryAfter::parse(none), None, "{none}");
        }
        assert!(RetryAfter::Seconds(u64::MAX).at(Timestamp::from_unix(5)) > Timestamp::from_unix(5));
    }
}
