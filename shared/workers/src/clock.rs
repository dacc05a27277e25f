//! The host's clock, shifted in development where the deployment says so loudly.

use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::Clock;

/// `Date.now()` plus the development offset.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkersClock {
    offset: Span,
}

impl WorkersClock {
    /// A clock that runs `offset` ahead of the host's. Anything but zero is for development only.
    pub fn shifted(offset: Span) -> Self {
        Self { offset }
    }

    /// The host's own time for an instant of this clock: what the platform's timers are set to.
    pub fn to_host(self, at: Timestamp) -> Timestamp {
        at - self.offset
    }
}

impl Clock for WorkersClock {
    fn now(&self) -> Timestamp {
        let millis = worker::Date::now().as_millis();
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX)) + self.offset
    }
}
