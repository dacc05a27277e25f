//! JSON octets from outside, read in one way.

use serde::de::DeserializeOwned;

/// Reads UTF-8 JSON of exactly the shape of `T`; `None` for anything else, a key twice included.
pub fn read<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    // By way of text, so that a module carries one JSON reader and not two.
    serde_json::from_str(std::str::from_utf8(body).ok()?).ok()
}
