//! HMAC-SHA256 keys: wiped on drop, never printed, compared whole and in constant time.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::Zeroizing;

use crate::base64;
use crate::digest::sha256;
use crate::reason::Reason;
use crate::secret::{Secret, constant_time_eq};

/// A MAC key. Ours have 32 octets; an imported one may have any length but zero.
#[derive(Clone)]
pub struct MacKey(Zeroizing<Vec<u8>>);

/// SHA-256 of `test-shared-secret` (RFC 9421 B.1.5).
const PUBLISHED_SECRET: &str = "V8oU1SD4ib5bxtkxO0QvYqSnHWP86sUHyRRoOolEtKA";

impl MacKey {
    /// A key made elsewhere; an empty one is [`Reason::KeyWeak`].
    ///
    /// As with public keys, asking [`MacKey::is_published_test_key`] is the registration's affair.
    pub fn imported(octets: &[u8]) -> Result<Self, Reason> {
        if octets.is_empty() { Err(Reason::KeyWeak) } else { Ok(Self(Zeroizing::new(octets.to_vec()))) }
    }

    /// Whether this is the secret printed in RFC 9421 B.1.5: nobody may use it.
    pub fn is_published_test_key(&self) -> bool {
        base64::url(&sha256(&self.0)) == PUBLISHED_SECRET
    }

    /// The 32-octet tag of `bytes`.
    pub fn tag(&self, bytes: &[u8]) -> [u8; 32] {
        self.tag_parts(&[bytes])
    }

    /// The tag of several pieces, as of their concatenation.
    pub fn tag_parts(&self, parts: &[&[u8]]) -> [u8; 32] {
        // HMAC takes a key of any length (RFC 2104 §2): the error arm is never reached.
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return [0; 32] };
        for part in parts {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// Whether `tag` is the whole tag of `bytes`.
    pub fn verify(&self, bytes: &[u8], tag: &[u8]) -> bool {
        constant_time_eq(&self.tag(bytes), tag)
    }
}

impl From<Secret> for MacKey {
    fn from(secret: Secret) -> Self {
        Self(Zeroizing::new(secret.expose().to_vec()))
    }
}

impl fmt::Debug for MacKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MacKey(redacted)")
    }
}
