//! The ledger: how far each delivery got, and nothing it did not.
//!
//! An attempt and everything it sends are recorded before its first byte leaves; a 2xx proves
//! acceptance by the endpoint and no more; what may have been sent and was not answered is its own
//! state; only a valid receipt proves an effect.

mod delivery;
mod outcome;
mod receipt;
mod state;

pub use delivery::{Attempt, Claim, Delivery, Payload, Settled};
pub use outcome::{Outcome, Verdict};
pub use receipt::{Application, ApplicationTier, Recorded};
pub use state::{Basis, Lease, State};

use crate::time::Span;

/// How long a planned delivery may be held while its generation is suspended.
pub const HOLD_LIMIT: Span = Span::days(7);

#[cfg(test)]
mod tests;
