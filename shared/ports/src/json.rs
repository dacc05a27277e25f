//! The passage through JSON that commands, replies and messages make on Workers.

use hookproof_core::{Reason, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Writes `value`, a `kind` of thing.
pub fn write(kind: &str, value: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|fault| refusal(kind, &fault))
}

/// Reads `text`, a `kind` of thing.
pub fn read<T: DeserializeOwned>(kind: &str, text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|fault| refusal(kind, &fault))
}

/// Says where, not what: serde's own words quote the value.
fn refusal(kind: &str, fault: &serde_json::Error) -> Refusal {
    let (class, line, column) = (fault.classify(), fault.line(), fault.column());
    let detail = format!("a {kind} does not survive JSON: {class:?} at line {line}, column {column}");
    Refusal::new(Reason::InternalHost, detail)
}
