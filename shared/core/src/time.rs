//! Instants and spans in whole milliseconds; RFC 3339 outside, Unix seconds inside signatures.

use std::fmt;
use std::ops::{Add, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Milliseconds since the Unix epoch, UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A length of time in milliseconds; negative spans occur only as differences.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Span(i64);

/// Latest instant RFC 3339 can spell (9999-12-31T23:59:59.999Z); later ones are cut to it.
const LATEST: i64 = 253_402_300_799_999;

impl Timestamp {
    /// From milliseconds since the epoch; instants before it or past the year 9999 are cut to the ends.
    pub fn from_millis(millis: i64) -> Self {
        Self(millis.clamp(0, LATEST))
    }

    /// From Unix seconds, as signatures carry them.
    pub fn from_unix(seconds: i64) -> Self {
        Self::from_millis(seconds.saturating_mul(1000))
    }

    /// Milliseconds since the epoch.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Whole Unix seconds, rounded down.
    pub fn unix(self) -> i64 {
        self.0 / 1000
    }

    /// Reads `YYYY-MM-DDTHH:MM:SS[.fff]Z`: UTC only, at most milliseconds.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
        let (clock, fraction) = clock.split_once('.').map_or((clock, None), |(c, f)| (c, Some(f)));
        let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
        let [hour, minute, second] = numbers(clock, ':', [2, 2, 2])?;
        let millis = match fraction {
            None => 0,
            Some(f) if (1..=3).contains(&f.len()) => number(f, f.len())? * [100, 10, 1][f.len() - 1],
            Some(_) => return None,
        };
        let day_fits = (1..=12).contains(&month) && (1..=days_in_month(year, month)).contains(&day);
        if !day_fits || hour > 23 || minute > 59 || second > 59 || year < 1970 {
            return None;
        }
        let days = days_from_civil(year, month, day);
        Some(Self((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + millis))
    }
}

impl Span {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// Whole milliseconds.
    pub const fn millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Whole seconds.
    pub const fn seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// Whole minutes.
    pub const fn minutes(minutes: i64) -> Self {
        Self::seconds(minutes.saturating_mul(60))
    }

    /// Whole hours.
    pub const fn hours(hours: i64) -> Self {
        Self::minutes(hours.saturating_mul(60))
    }

    /// Whole days.
    pub const fn days(days: i64) -> Self {
        Self::hours(days.saturating_mul(24))
    }

    /// The length in milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }
}

impl Add<Span> for Timestamp {
    type Output = Self;
    fn add(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_add(span.0))
    }
}

impl Sub<Span> for Timestamp {
    type Output = Self;
    fn sub(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_sub(span.0))
    }
}

impl Sub for Timestamp {
    type Output = Span;
    fn sub(self, other: Self) -> Span {
        Span(self.0.saturating_sub(other.0))
    }
}

impl Add for Span {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, millis) = (self.0.div_euclid(86_400_000), self.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        let (seconds, fraction) = (millis / 1000, millis % 1000);
        let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:03}Z")
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text)
            .ok_or_else(|| D::Error::custom("a time is RFC 3339 in UTC, e.g. 2026-01-31T12:00:00.000Z"))
    }
}

fn number(text: &str, width: usize) -> Option<i64> {
    (text.len() == width && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

fn numbers(text: &str, separator: char, widths: [usize; 3]) -> Option<[i64; 3]> {
    let mut parts = text.split(separator);
    let mut out = [0; 3];
    for (slot, width) in out.iter_mut().zip(widths) {
        *slot = number(parts.next()?, width)?;
    }
    parts.next().is_none().then_some(out)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from the epoch to a civil date, counting years from March so that a leap day comes last.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leaps = year / 4 - year / 100 + year / 400;
    year * 365 + leaps + (153 * month + 2) / 5 + day - 1 - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rfc_3339_both_ways() {
        for text in [
            "1970-01-01T00:00:00.000Z",
            "2024-02-29T23:59:59.999Z",
            "2026-11-30T17:40:38.120Z",
            "9999-12-31T23:59:59.999Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Timestamp::parse("2001-09-09T01:46:40Z"), Some(Timestamp::from_unix(1_000_000_000)));
        assert_eq!(
            Timestamp::parse("2001-09-09T01:46:40.5Z"),
            Some(Timestamp::from_millis(1_000_000_000_500))
        );
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        for text in [
            "",
            "2023-02-29T00:00:00Z",
            "2026-11-30",
            "2026-11-30T17:40:38+01:00",
            "2026-13-01T00:00:00Z",
            "2026-1-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00.1234Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    #[test]
    fn arithmetic_never_wraps() {
        assert_eq!(
            Timestamp::from_millis(i64::MAX) + Span::millis(i64::MAX),
            Timestamp::from_millis(i64::MAX)
        );
        assert_eq!(Timestamp::from_millis(5) - Span::seconds(1), Timestamp::from_millis(0));
    }
}
