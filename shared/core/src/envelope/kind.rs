//! Event types: `resource.action` in the past tense, from the tenant's own vocabulary.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// A type a tenant may publish: two or more dot-separated words of `[a-z0-9_]`, at most 128 octets,
/// outside the system's own `hookproof.*` and message types.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventType(String);

/// Text that is not a publishable type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MalformedType {
    /// Not `resource.action`.
    Shape,
    /// One of the system's own.
    Reserved,
}

const RESERVED: [&str; 4] = [
    "subscription.challenge.v1",
    "delivery.status.v1",
    "applicationReceipt.v1",
    "subscription.challenge.answer.v1",
];

impl EventType {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EventType {
    type Err = MalformedType;
    fn from_str(text: &str) -> Result<Self, MalformedType> {
        if text.starts_with("hookproof.") || RESERVED.contains(&text) {
            return Err(MalformedType::Reserved);
        }
        let word = |w: &str| {
            !w.is_empty() && w.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        };
        if text.len() <= 128 && text.contains('.') && text.split('.').all(word) {
            return Ok(Self(text.to_owned()));
        }
        Err(MalformedType::Shape)
    }
}

impl fmt::Display for MalformedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shape => "an event type is resource.action in lower case, e.g. invoice.paid",
            Self::Reserved => "this type belongs to the system and cannot be published",
        })
    }
}

impl fmt::Display for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for EventType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EventType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EventType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resource_and_action() {
        for good in ["invoice.paid", "invoice.payment_failed", "a.b.c2"] {
            assert!(good.parse::<EventType>().is_ok(), "{good}");
        }
        for bad in ["invoice", "Invoice.paid", "invoice.", ".paid", "a b.c", "a..b"] {
            assert_eq!(bad.parse::<EventType>(), Err(MalformedType::Shape), "{bad}");
        }
        for taken in ["hookproof.delivery.dead_lettered", "delivery.status.v1"] {
            assert_eq!(taken.parse::<EventType>(), Err(MalformedType::Reserved), "{taken}");
        }
    }
}
