//! Base64 as the wire uses it: one spelling for each value, every other spelling refused.
//!
//! Standard alphabet with padding inside structured fields (RFC 8941 §3.3.5, RFC 9421), URL-safe
//! without padding in JSON bodies. Non-zero trailing bits, white space and the other alphabet fail.

use base64ct::{Base64, Base64UrlUnpadded, Encoding};

/// Standard alphabet, padded: the inside of a structured field's byte sequence.
pub fn standard(bytes: &[u8]) -> String {
    Base64::encode_string(bytes)
}

/// Reads [`standard`]; `None` for anything but its one spelling.
pub fn from_standard(text: &str) -> Option<Vec<u8>> {
    Base64::decode_vec(text).ok().filter(|bytes| standard(bytes) == text)
}

/// URL-safe alphabet, no padding: digests, nonces and proofs in JSON.
pub fn url(bytes: &[u8]) -> String {
    Base64UrlUnpadded::encode_string(bytes)
}

/// Reads [`url()`]; `None` for anything but its one spelling.
pub fn from_url(text: &str) -> Option<Vec<u8>> {
    Base64UrlUnpadded::decode_vec(text).ok().filter(|bytes| url(bytes) == text)
}

/// Reads exactly `N` octets in the spelling of [`url()`].
pub fn array_from_url<const N: usize>(text: &str) -> Option<[u8; N]> {
    from_url(text)?.try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_spelling_is_read() {
        assert_eq!(from_standard("aGVsbG8="), Some(b"hello".to_vec()));
        assert_eq!(from_standard("aGVsbG8"), None);
        assert_eq!(from_standard("iZ=="), None, "trailing bits");
        assert_eq!(from_standard("aGVs bG8="), None);
        assert_eq!(from_url("_-Ah"), Some(vec![0xff, 0xe0, 0x21]));
        assert_eq!(from_url("/+Ah"), None);
        assert_eq!(array_from_url::<4>("_-Ah"), None);
    }
}
