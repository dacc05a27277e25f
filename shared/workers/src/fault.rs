//! Platform errors as refusals: what the host could not do, without what it was doing it with.

use hookproof_core::{Reason, Refusal};

/// A host fault, named by what was attempted.
pub(crate) fn host(attempted: &str, error: &impl std::fmt::Display) -> Refusal {
    Refusal::new(Reason::InternalHost, format!("{attempted}: {error}"))
}

/// A store fault.
pub(crate) fn store(error: &impl std::fmt::Display) -> Refusal {
    Refusal::new(Reason::InternalStore, format!("the object's store refused a statement: {error}"))
}
