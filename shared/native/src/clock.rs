//! The system's time, or a test's: a [`TestClock`] moves only when told to, and only forward.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::Clock;

/// The wall clock of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the Clock port gets its time")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX))
    }
}

/// A clock that stands still until it is moved; clones show the same time.
#[derive(Clone, Debug)]
pub struct TestClock(Arc<AtomicI64>);

impl TestClock {
    /// A clock that shows `start`.
    pub fn at(start: Timestamp) -> Self {
        Self(Arc::new(AtomicI64::new(start.millis())))
    }

    /// Moves on by `span`; a negative span moves nothing. Returns the new time.
    pub fn advance(&self, span: Span) -> Timestamp {
        self.advance_to(self.now() + span)
    }

    /// Moves on to `then`, unless it is later already. Returns the new time.
    pub fn advance_to(&self, then: Timestamp) -> Timestamp {
        self.0.fetch_max(then.millis(), Ordering::SeqCst);
        self.now()
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_clock_is_past_this_code() {
        assert!(SystemClock.now() > Timestamp::parse("2025-01-01T00:00:00Z").unwrap());
    }

    #[test]
    fn a_test_clock_moves_only_forward_and_its_clones_with_it() {
        let clock = TestClock::at(Timestamp::from_unix(100));
        let clone = clock.clone();
        assert_eq!(clock.advance(Span::seconds(5)), Timestamp::from_unix(105));
        assert_eq!(clock.advance(Span::seconds(-5)), Timestamp::from_unix(105));
        assert_eq!(clock.advance_to(Timestamp::from_unix(1)), Timestamp::from_unix(105));
        assert_eq!(clone.now(), Timestamp::from_unix(105));
    }
}
