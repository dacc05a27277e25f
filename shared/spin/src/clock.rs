//! The host's clock, shifted in development where the deployment says so loudly.

use std::time::{SystemTime, UNIX_EPOCH};

use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::Clock;

/// The wall clock plus the development offset.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinClock {
    offset: Span,
}

impl SpinClock {
    /// A clock that runs `offset` ahead of the host's. Anything but zero is for development only.
    pub fn shifted(offset: Span) -> Self {
        Self { offset }
    }
}

impl Clock for SpinClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the Clock port gets its time")]
    fn now(&self) -> Timestamp {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_millis(i64::try_from(since_epoch.as_millis()).unwrap_or(i64::MAX)) + self.offset
    }
}
