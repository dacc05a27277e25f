//! Platform errors as refusals: what the host could not do, without what it was doing it with.

use hookproof_core::{Reason, Refusal};
use spin_sdk::sqlite::Error;

/// A host fault, named by what was attempted.
pub(crate) fn host(attempted: &str, error: &impl std::fmt::Display) -> Refusal {
    Refusal::new(Reason::InternalHost, format!("{attempted}: {error}"))
}

/// A store fault in SQLite's own words, which name tables and columns. The host appends the statement to
/// some of them: that is cut off.
pub(crate) fn store(error: &Error) -> Refusal {
    let words = match error {
        Error::NoSuchDatabase => "there is no such database",
        Error::AccessDenied => "spin.toml does not grant this component the database",
        Error::InvalidConnection => "the connection is not valid",
        Error::DatabaseFull => "the database is full",
        Error::Io(words) => words.split(" in ").next().unwrap_or_default(),
    };
    Refusal::new(Reason::InternalStore, words)
}

/// Whether another connection held the lock for longer than the host waits.
pub(crate) fn is_busy(error: &Error) -> bool {
    matches!(error, Error::Io(words) if words.contains("is locked"))
}

/// Whether the statement alone failed, so that the transaction around it goes on. After any other failure
/// SQLite may have rolled everything back by itself.
pub(crate) fn is_of_the_statement(error: &Error) -> bool {
    const OF_THE_STATEMENT: [&str; 5] =
        ["constraint failed", "no such ", "syntax error", "Wrong number of parameters", "has no column"];
    matches!(error, Error::Io(words) if OF_THE_STATEMENT.iter().any(|part| words.contains(part)))
}
