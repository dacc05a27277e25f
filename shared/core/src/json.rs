//! JSON octets from outside, read in one way.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, Visitor};

/// Reads one JSON object (UTF-8) of exactly the shape of `T`; `None` for anything else, a key twice
/// included.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    // By way of text, so that a module carries one JSON reader and not two.
    let text = std::str::from_utf8(body).ok()?;
    // The reader also takes an array of a struct's fields in order, which nobody agreed on.
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// A `T` that is written as an object: its derived reader also takes an array of its values in order.
struct Named<T>(T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByName(PhantomData))
    }
}

struct ByName<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ByName<T> {
    type Value = Named<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Named<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(members)).map(Named)
    }
}

/// For `deserialize_with`, on a member that holds an object.
pub fn object<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Named::deserialize(deserializer).map(|Named(it)| it)
}

/// As [`object`], where it may be absent or null.
pub fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer).map(|read| read.map(|Named(it)| it))
}

/// As [`object`], for a list of them.
pub fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let read: Vec<Named<T>> = Vec::deserialize(deserializer)?;
    Ok(read.into_iter().map(|Named(it)| it).collect())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        a: u8,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        #[serde(deserialize_with = "super::object")]
        one: Shape,
        #[serde(default, deserialize_with = "super::optional")]
        perhaps: Option<Shape>,
        #[serde(deserialize_with = "super::list")]
        all: Vec<Shape>,
    }

    #[test]
    fn what_is_inside_is_an_object_too() {
        let read = |text: &str| super::read::<Outer>(text.as_bytes());
        let good = r#"{"one":{"a":1},"perhaps":{"a":2},"all":[{"a":3}]}"#;
        let (one, perhaps, all) = (Shape { a: 1 }, Some(Shape { a: 2 }), vec![Shape { a: 3 }]);
        assert_eq!(read(good), Some(Outer { one, perhaps, all }));
        assert!(read(r#"{"one":{"a":1},"perhaps":null,"all":[]}"#).is_some());
        assert!(read(r#"{"one":{"a":1},"all":[]}"#).is_some());
        for object in [r#"{"a":1}"#, r#"{"a":2}"#, r#"{"a":3}"#] {
            for other in ["[1]", "1", "\"x\"", r#"{"a":1,"a":1}"#, r#"{"a":1,"b":1}"#, "{}"] {
                assert_eq!(read(&good.replace(object, other)), None, "{other} for {object}");
            }
        }
    }

    #[test]
    fn only_an_object_of_the_exact_shape_is_read() {
        let read = |text: &str| super::read::<Shape>(text.as_bytes());
        assert_eq!(read(" {\"a\":1} "), Some(Shape { a: 1 }));
        for other in ["[1]", "{\"a\":1,\"a\":1}", "{\"a\":1,\"b\":2}", "{\"a\":1}x", "{}", ""] {
            assert_eq!(read(other), None, "{other}");
        }
        assert_eq!(super::read::<Shape>(b"{\"a\":1,\"\xff\":1}"), None);
    }
}
