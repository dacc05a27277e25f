//! JSON octets from outside, read in one way.

use serde::de::DeserializeOwned;

/// Reads one JSON object (UTF-8) of exactly the shape of `T`; `None` for anything else, a key twice
/// included.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    // By way of text, so that a module carries one JSON reader and not two.
    let text = std::str::from_utf8(body).ok()?;
    // The reader also takes an array of a struct's fields in order, which nobody agreed on.
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Shape {
        a: u8,
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
