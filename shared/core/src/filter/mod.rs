//! Content filters: which events a subscription wants, by what stands in them. A filter that was taken is
//! within its limits, and two that differ in order or spelling only are one.
//!
//! The language is that of EventBridge event patterns, over the event's `type`, `api_version`, `object` and
//! `data`. Fields beside each other must all fit; of the conditions of a leaf one must; of an array in the
//! event one element must, and a nested pattern must fit one element as a whole. Unlike there, numbers are
//! equal by value ([`crate::decimal`]), and `anything-but` also takes booleans and null.

mod condition;
mod parse;
mod subject;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::{Map, Value};

use crate::digest::Digest;
use crate::reason::Refusal;
use crate::tuple::Tuple;
use condition::Condition;

pub use subject::{ROOTS, Subject};

/// Longest filter in octets of JSON without white space.
pub const MAX_BYTES: usize = 4 * 1024;

/// Deepest nesting of patterns, the outermost included; a branch of `$or` is a level.
pub const MAX_DEPTH: usize = 8;

/// Most conditions in all; each value of an `anything-but` counts.
pub const MAX_CONDITIONS: usize = 100;

/// A filter, parsed and within its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter(Pattern);

/// Fields that must all fit, and alternatives of which one must.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Pattern {
    fields: BTreeMap<String, Rule>,
    /// `$or`; empty where there is none.
    either: Vec<Self>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Leaf(Vec<Condition>),
    Nested(Pattern),
}

impl Filter {
    /// Reads a filter. A refusal names the place below `/filter` as a JSON Pointer, and what it takes.
    pub fn parse(value: &Value) -> Result<Self, Refusal> {
        parse::filter(value).map(Self)
    }

    /// Whether it lets an event through.
    pub fn matches(&self, event: &Subject) -> bool {
        self.0.fits(event.parts())
    }

    /// The canonical form: fields by name, conditions and alternatives by their text, each once.
    pub fn canonical(&self) -> Value {
        self.0.value()
    }

    /// SHA-256 of the canonical form.
    pub fn digest(&self) -> Digest {
        Digest(Tuple::new("hookproof-filter-v1").field(self.canonical().to_string()).sha256())
    }
}

impl Pattern {
    fn fits(&self, object: &Map<String, Value>) -> bool {
        self.fields.iter().all(|(name, rule)| rule.fits(object.get(name)))
            && (self.either.is_empty() || self.either.iter().any(|pattern| pattern.fits(object)))
    }

    /// Whether any object in `value` fits as a whole.
    fn fits_in(&self, value: &Value) -> bool {
        match value {
            Value::Object(object) => self.fits(object),
            Value::Array(items) if !items.is_empty() => items.iter().any(|item| self.fits_in(item)),
            Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.fits(&Map::new())
            }
        }
    }

    fn value(&self) -> Value {
        let mut object = Map::new();
        for (name, rule) in &self.fields {
            object.insert(name.clone(), rule.value());
        }
        if !self.either.is_empty() {
            object.insert("$or".to_owned(), self.either.iter().map(Self::value).collect());
        }
        object.into()
    }
}

impl Rule {
    fn fits(&self, field: Option<&Value>) -> bool {
        match self {
            Self::Leaf(conditions) => conditions.iter().any(|condition| condition.fits(field)),
            // Nothing below a field that is not there, which is what `exists: false` asks for.
            Self::Nested(pattern) => pattern.fits_in(field.unwrap_or(&Value::Null)),
        }
    }

    fn value(&self) -> Value {
        match self {
            Self::Leaf(conditions) => conditions.iter().map(Condition::value).collect(),
            Self::Nested(pattern) => pattern.value(),
        }
    }
}

impl Serialize for Filter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.canonical().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Filter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&Value::deserialize(deserializer)?).map_err(|refusal| D::Error::custom(refusal.detail))
    }
}

#[cfg(test)]
mod tests;
