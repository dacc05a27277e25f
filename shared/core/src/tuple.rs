//! Length-prefixed tuples: the only way bytes are joined before they are hashed, signed or MACed.
//!
//! `LP(x)` is a 32-bit big-endian length and the bytes, so no two different tuples share an encoding
//! and no field can slide into its neighbour.

/// Builds a tuple field by field.
#[derive(Clone, Debug, Default)]
pub struct Tuple(Vec<u8>);

impl Tuple {
    /// A tuple that opens with its domain-separation label.
    pub fn new(label: &str) -> Self {
        Self::default().field(label)
    }

    /// Appends `LP(bytes)`.
    #[must_use]
    pub fn field(mut self, bytes: impl AsRef<[u8]>) -> Self {
        let bytes = bytes.as_ref();
        // A field of 4 GiB cannot reach this code: every body is capped at 4 MiB long before.
        let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
        self.0.extend_from_slice(&length.to_be_bytes());
        self.0.extend_from_slice(bytes);
        self
    }

    /// Appends `U32(value)`.
    #[must_use]
    pub fn u32(mut self, value: u32) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Appends `U64(value)`.
    #[must_use]
    pub fn u64(mut self, value: u64) -> Self {
        self.0.extend_from_slice(&value.to_be_bytes());
        self
    }

    /// Appends bytes that are themselves already length-prefixed (a scope).
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// The encoding.
    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// SHA-256 of the encoding.
    pub fn sha256(&self) -> [u8; 32] {
        crate::digest::sha256(&self.0)
    }
}

impl AsRef<[u8]> for Tuple {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_cannot_slide_into_each_other() {
        let one = Tuple::new("t").field("ab").field("c");
        let other = Tuple::new("t").field("a").field("bc");
        assert_ne!(one.into_bytes(), other.into_bytes());
    }

    #[test]
    fn the_encoding_is_fixed() {
        let bytes = Tuple::new("t").u32(1).u64(2).into_bytes();
        assert_eq!(bytes, [0, 0, 0, 1, b't', 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2]);
    }
}
