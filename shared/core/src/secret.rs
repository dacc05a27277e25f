//! Secrets that never print and compare in constant time.

use std::fmt;

use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

use crate::base64;

/// Thirty-two secret octets. Wiped on drop; `Debug` shows nothing of them.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes the octets.
    pub fn new(octets: [u8; 32]) -> Self {
        Self(octets)
    }

    /// Reads base64url without padding.
    pub fn from_base64url(text: &str) -> Option<Self> {
        base64::array_from_url(text).map(Self)
    }

    /// The octets, for the primitive that needs them. Never to be formatted.
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    /// Base64url for the one answer that shows it.
    pub fn show_once(&self) -> String {
        base64::url(&self.0)
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.ct_eq(&other.0).into()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}

/// Constant-time equality of two octet strings of any length.
pub fn constant_time_eq(left: &[u8], right: &[u8]) -> bool {
    left.ct_eq(right).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_never_prints() {
        let secret = Secret::new([7; 32]);
        assert_eq!(format!("{secret:?}"), "Secret(redacted)");
        assert_eq!(secret, Secret::from_base64url(&secret.show_once()).unwrap());
        assert_ne!(secret, Secret::new([8; 32]));
    }
}
