//! Retry policies as data: when the next attempt is, or that there is none.
//!
//! Waits, jitter, per-request time-out and deadline are published; the deadline counts request time;
//! jitter only shortens; the last wait is cut so that its attempt still fits before the deadline.

mod retry_after;

pub use retry_after::RetryAfter;

use serde::{Deserialize, Serialize};

use crate::time::{Span, Timestamp};

/// A retry policy. Waits stand before each attempt, the first included.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Its name: a preset's, or `custom`.
    pub name: String,
    /// Wait before each attempt, in milliseconds; their number is the number of attempts.
    pub waits: Vec<Span>,
    /// Longest time one request may take, in milliseconds.
    pub timeout: Span,
    /// Longest time from a round's first claim to its last answer, in milliseconds.
    pub deadline: Span,
}

/// Longest wait after an unknown outcome, so that it is settled within minutes.
const UNKNOWN_WAIT: Span = Span::seconds(300);

/// A round: one series of attempts under the policy. A replay opens the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Round {
    /// 1 for the first.
    pub number: u32,
    /// Attempts made in it.
    pub attempts: u32,
    /// When its first attempt was claimed; held and waiting time before it does not count.
    pub started_at: Option<Timestamp>,
}

impl Round {
    /// The first round of a delivery.
    pub const FIRST: Self = Self { number: 1, attempts: 0, started_at: None };

    /// The round a replay opens.
    #[must_use]
    pub fn next(self) -> Self {
        Self { number: self.number + 1, attempts: 0, started_at: None }
    }
}

/// What the last attempt left to wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// A definite answer that may be tried again, with the endpoint's own wish where it gave one.
    Definite(Option<RetryAfter>),
    /// No answer: waiting longer than five minutes would leave the outcome unknown.
    Unknown,
}

impl Policy {
    /// A preset by name.
    pub fn preset(name: &str) -> Option<Self> {
        let (waits, deadline): (&[i64], _) = match name {
            "standard" => (&[1, 5, 30, 120, 600, 3600], Span::minutes(75)),
            "immediate" => (&[0, 5, 30, 120, 600, 3600], Span::minutes(75)),
            "internal-bus" => (&[0, 30, 120, 600, 3600, 21_600, 86_400], Span::hours(32)),
            _ => return None,
        };
        let waits = waits.iter().map(|&s| Span::seconds(s)).collect();
        Some(Self { name: name.to_owned(), waits, timeout: Span::seconds(10), deadline })
    }

    /// The names [`Policy::preset`] knows.
    pub const PRESETS: [&'static str; 3] = ["standard", "immediate", "internal-bus"];

    /// The limits a custom policy must keep.
    pub fn is_usable(&self) -> bool {
        let hours = Span::hours(72);
        let waits_fit =
            (1..=32).contains(&self.waits.len()) && self.waits.iter().all(|&w| w >= Span::ZERO && w <= hours);
        waits_fit
            && (Span::seconds(1)..=Span::seconds(30)).contains(&self.timeout)
            && self.deadline >= self.timeout
            && self.deadline <= hours
    }

    /// When the first attempt of a round may start.
    pub fn first(&self, from: Timestamp) -> Timestamp {
        from + self.waits.first().copied().unwrap_or_default()
    }

    /// When the next attempt is, or `None` when attempts or the deadline are exhausted.
    ///
    /// `jitter` is one random octet: it maps to a factor between 0.9 and 1.0.
    pub fn next(&self, round: &Round, after: After, now: Timestamp, jitter: u8) -> Option<Timestamp> {
        let wait = *self.waits.get(round.attempts as usize)?;
        let shortened = Span::millis(wait.as_millis() - wait.as_millis() * i64::from(jitter) / 2550);
        let latest =
            round.started_at.map_or(now + self.deadline, |start| start + self.deadline) - self.timeout;
        let due = match after {
            After::Definite(None) => now + shortened,
            After::Definite(Some(wish)) => (now + shortened).max(wish.at(now)),
            After::Unknown => now + shortened.min(UNKNOWN_WAIT),
        };
        (latest >= now).then(|| due.min(latest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_unix(1_000_000 + seconds)
    }

    fn round(attempts: u32) -> Round {
        Round { number: 1, attempts, started_at: Some(at(0)) }
    }

    #[test]
    fn the_presets_are_the_published_contract() {
        let standard = Policy::preset("standard").unwrap();
        assert_eq!(standard.waits.iter().map(|w| w.as_millis()).sum::<i64>(), 4_356_000);
        for name in Policy::PRESETS {
            assert!(Policy::preset(name).unwrap().is_usable(), "{name}");
        }
        assert_eq!(Policy::preset("x"), None);
    }

    #[test]
    fn jitter_only_shortens_and_by_a_tenth_at_most() {
        let policy = Policy::preset("standard").unwrap();
        let next = |jitter| policy.next(&round(1), After::Definite(None), at(10), jitter).unwrap();
        assert_eq!(next(0), at(15));
        assert_eq!(next(255) - at(10), Span::millis(4500));
    }

    #[test]
    fn attempts_and_deadline_end_a_round() {
        let policy = Policy::preset("standard").unwrap();
        assert_eq!(policy.next(&round(6), After::Definite(None), at(10), 0), None);
        let late = at(75 * 60 - 9);
        assert_eq!(policy.next(&round(2), After::Definite(None), late, 0), None);
        let last = policy.next(&round(5), After::Definite(None), at(1000), 0).unwrap();
        assert_eq!(last, at(75 * 60 - 10), "cut so that the attempt fits");
    }

    #[test]
    fn an_unknown_outcome_waits_five_minutes_at_most() {
        let policy = Policy::preset("standard").unwrap();
        assert_eq!(policy.next(&round(5), After::Unknown, at(10), 0), Some(at(310)));
    }

    #[test]
    fn the_endpoints_wish_is_obeyed_and_clamped() {
        let policy = Policy::preset("standard").unwrap();
        let wish = |seconds| After::Definite(Some(RetryAfter::Seconds(seconds)));
        assert_eq!(policy.next(&round(1), wish(60), at(0), 0), Some(at(60)));
        assert_eq!(policy.next(&round(1), wish(1), at(0), 0), Some(at(5)), "never sooner than the policy");
        assert_eq!(policy.next(&round(1), wish(u64::MAX), at(0), 0), Some(at(75 * 60 - 10)));
    }
}
