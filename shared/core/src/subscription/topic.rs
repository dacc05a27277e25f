//! Topic patterns: an exact type, `resource.*`, or `*`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use crate::envelope::EventType;

/// Which event types a subscription wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TopicPattern {
    /// Every type.
    All,
    /// Every type under a resource, at any depth: `invoice.*`.
    Under(String),
    /// One type.
    Exactly(EventType),
}

/// Text that is no pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedTopic;

impl TopicPattern {
    /// Whether events of this type are wanted.
    pub fn matches(&self, kind: &str) -> bool {
        match self {
            Self::All => true,
            Self::Under(resource) => {
                kind.strip_prefix(resource.as_str()).is_some_and(|rest| rest.starts_with('.'))
            }
            Self::Exactly(exact) => exact.as_str() == kind,
        }
    }
}

impl FromStr for TopicPattern {
    type Err = MalformedTopic;
    fn from_str(text: &str) -> Result<Self, MalformedTopic> {
        if text == "*" {
            return Ok(Self::All);
        }
        if let Some(resource) = text.strip_suffix(".*") {
            // The resource alone is one word or more; a dummy action makes it a type to check it by.
            let shaped = format!("{resource}.x").parse::<EventType>().is_ok();
            return if shaped { Ok(Self::Under(resource.to_owned())) } else { Err(MalformedTopic) };
        }
        text.parse().map(Self::Exactly).map_err(|_| MalformedTopic)
    }
}

impl fmt::Display for TopicPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Under(resource) => write!(f, "{resource}.*"),
            Self::Exactly(kind) => kind.fmt(f),
        }
    }
}

impl fmt::Display for MalformedTopic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a topic is an event type such as invoice.paid, a resource such as invoice.*, or *")
    }
}

impl Serialize for TopicPattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for TopicPattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_what_they_say() {
        let matches = |pattern: &str, kind| pattern.parse::<TopicPattern>().unwrap().matches(kind);
        assert!(matches("*", "invoice.paid"));
        assert!(matches("invoice.*", "invoice.paid") && matches("invoice.*", "invoice.line.added"));
        assert!(!matches("invoice.*", "invoices.paid") && !matches("invoice.*", "invoice"));
        assert!(matches("invoice.paid", "invoice.paid") && !matches("invoice.paid", "invoice.paid_late"));
        for bad in ["", "invoice", "*.paid", "Invoice.*", ".*", "a.**"] {
            assert!(bad.parse::<TopicPattern>().is_err(), "{bad}");
        }
    }
}
