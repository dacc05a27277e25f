//! Strict JSON: at most 32 levels deep, no key twice, nothing after the value (RFC 8259, I-JSON).
//!
//! A second spelling of a key is where two readers of the same bytes disagree, so it is refused where
//! it enters.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::reason::{Reason, Refusal};

/// Deepest nesting accepted.
pub(super) const MAX_DEPTH: usize = 32;

/// What is wrong with a text, in words for its own author.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(String);

impl Fault {
    /// The refusal for the field that holds the text.
    pub fn refusal(self, field: &str) -> Refusal {
        let accepted = "strict JSON: at most 32 levels deep, no key twice";
        Refusal::new(Reason::BodyMalformed, self.0).at(field, accepted)
    }
}

/// Accepts a strict JSON text.
pub fn check(text: &str) -> Result<(), Fault> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let walked = Walk { depth: 0 }.deserialize(&mut reader).and_then(|()| reader.end());
    walked.map_err(|error| Fault(error.to_string()))
}

#[derive(Clone, Copy)]
struct Walk {
    depth: usize,
}

impl Walk {
    fn deeper<E: Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            return Err(E::custom("nested more than 32 levels deep"));
        }
        Ok(Self { depth: self.depth + 1 })
    }
}

impl<'de> DeserializeSeed<'de> for Walk {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let deeper = self.deeper()?;
        while items.next_element_seed(deeper)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let deeper = self.deeper()?;
        let mut seen = BTreeSet::new();
        while let Some(key) = members.next_key::<String>()? {
            if seen.contains(&key) {
                return Err(A::Error::custom(format!("the key {key:?} stands twice in one object")));
            }
            seen.insert(key);
            members.next_value_seed(deeper)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depth_at_the_limit_and_past_it() {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(check(&nested(MAX_DEPTH - 1)).is_ok());
        assert!(check(&nested(MAX_DEPTH)).is_ok());
        assert!(check(&nested(MAX_DEPTH + 1)).is_err());
    }

    #[test]
    fn only_one_strict_value() {
        for good in ["null", "1", "-1.5e3", "\"x\"", "[]", "{\"a\":{\"a\":1},\"b\":[{\"a\":1}]}"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["", "{", "1 2", "{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "{'a':1}", "NaN", "[1,]"]
        {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
