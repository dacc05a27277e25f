//! The host's wall clock.

use hookproof_core::time::Timestamp;

/// Tells the time. The core never asks; flows pass it on.
pub trait Clock {
    /// Now.
    fn now(&self) -> Timestamp;
}
