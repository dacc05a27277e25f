//! Reading and writing records that are kept as JSON beside the columns queries need.

use hookproof_core::{Reason, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

/// The JSON text of a record.
pub(crate) fn to_json<T: Serialize>(record: &T) -> Result<String, Refusal> {
    serde_json::to_string(record)
        .map_err(|_| Refusal::new(Reason::InternalCorrupt, "a record does not serialise"))
}

/// Reads a record written by [`to_json`].
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Refusal> {
    serde_json::from_str(text).map_err(|fault| {
        Refusal::new(Reason::InternalCorrupt, format!("a stored record does not parse: {fault}"))
    })
}

/// A view as the JSON it will be shown as.
pub(crate) fn raw<T: Serialize>(view: &T) -> Result<Box<RawValue>, Refusal> {
    to_raw_value(view).map_err(|_| Refusal::new(Reason::InternalCorrupt, "a view does not serialise"))
}
