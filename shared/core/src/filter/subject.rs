//! An event as a filter sees it: `type`, `api_version`, `object` and `data`, and nothing else of it.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::envelope::{Object, check_json};
use crate::reason::{Reason, Refusal};

/// The parts of an event that a filter may name.
pub const ROOTS: [&str; 4] = ["type", "api_version", "object", "data"];

/// An event as a filter sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct Subject(Map<String, Value>);

/// The same parts of a frozen envelope.
#[derive(Deserialize)]
struct Envelope {
    r#type: String,
    api_version: String,
    #[serde(default)]
    object: Option<Object>,
    data: Value,
}

impl Subject {
    /// From what a publisher hands in; `data` is read strictly.
    pub fn new(kind: &str, api_version: &str, object: Option<&Object>, data: &str) -> Result<Self, Refusal> {
        check_json(data).map_err(|fault| fault.refusal("data"))?;
        let data = serde_json::from_str(data)
            .map_err(|fault| Refusal::new(Reason::BodyMalformed, fault.to_string()).at("data", "JSON"))?;
        Ok(Self::of(kind.to_owned(), api_version.to_owned(), object, data))
    }

    /// From the frozen octets.
    pub fn of_envelope(text: &str) -> Result<Self, Refusal> {
        let it: Envelope = serde_json::from_str(text)
            .map_err(|_| Refusal::new(Reason::InternalCorrupt, "a frozen envelope does not parse"))?;
        Ok(Self::of(it.r#type, it.api_version, it.object.as_ref(), it.data))
    }

    fn of(kind: String, api_version: String, object: Option<&Object>, data: Value) -> Self {
        let mut parts = Map::new();
        parts.insert("type".to_owned(), kind.into());
        parts.insert("api_version".to_owned(), api_version.into());
        if let Some(object) = object {
            let mut members = Map::new();
            members.insert("id".to_owned(), object.id.clone().into());
            if let Some(version) = object.version {
                members.insert("version".to_owned(), version.into());
            }
            parts.insert("object".to_owned(), members.into());
        }
        parts.insert("data".to_owned(), data);
        Self(parts)
    }

    /// The event's type.
    pub fn kind(&self) -> &str {
        self.text("type")
    }

    /// Its contract's version.
    pub fn api_version(&self) -> &str {
        self.text("api_version")
    }

    /// What it says.
    pub fn data(&self) -> &Value {
        self.0.get("data").unwrap_or(&Value::Null)
    }

    pub(super) fn parts(&self) -> &Map<String, Value> {
        &self.0
    }

    fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or("")
    }
}
