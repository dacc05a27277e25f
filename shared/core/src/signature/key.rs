//! Typed keys: a public key cannot serve as a MAC key, and no key outlives the check made when it was read.

use std::fmt;

use ed25519_dalek::{Signature, Signer as _, VerifyingKey};
use serde::{Deserialize, Serialize};

use super::mac::MacKey;
use super::thumbprint::thumbprint;
use crate::reason::Reason;
use crate::secret::Secret;

/// The algorithms of our profiles (names of RFC 9421 §6.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Alg {
    /// Ed25519 (RFC 8032).
    #[serde(rename = "ed25519")]
    Ed25519,
    /// HMAC with SHA-256.
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
}

impl Alg {
    /// The name in the `alg` parameter.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ed25519 => "ed25519",
            Self::HmacSha256 => "hmac-sha256",
        }
    }

    /// Reads [`Alg::name`]; case matters.
    pub fn parse(name: &str) -> Option<Self> {
        [Self::Ed25519, Self::HmacSha256].into_iter().find(|alg| alg.name() == name)
    }

    /// Octets of every signature of this algorithm.
    pub fn signature_length(self) -> usize {
        match self {
            Self::Ed25519 => 64,
            Self::HmacSha256 => 32,
        }
    }
}

/// A key that signs.
#[derive(Clone)]
pub enum SigningKey {
    /// An Ed25519 key pair.
    Ed25519(Box<ed25519_dalek::SigningKey>),
    /// A MAC key.
    Hmac(MacKey),
}

/// A key that verifies.
#[derive(Clone)]
pub enum VerifyKey {
    /// A checked Ed25519 public key.
    Ed25519(Ed25519Public),
    /// A MAC key.
    Hmac(MacKey),
}

/// An Ed25519 public key: canonical, on the curve and not of small order.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ed25519Public(VerifyingKey);

impl SigningKey {
    /// The key pair of a 32-octet seed (RFC 8032 §5.1.5).
    pub fn ed25519(seed: &Secret) -> Self {
        Self::Ed25519(Box::new(ed25519_dalek::SigningKey::from_bytes(seed.expose())))
    }

    /// A MAC key of ours.
    pub fn hmac(secret: Secret) -> Self {
        Self::Hmac(secret.into())
    }

    /// Its algorithm.
    pub fn alg(&self) -> Alg {
        match self {
            Self::Ed25519(_) => Alg::Ed25519,
            Self::Hmac(_) => Alg::HmacSha256,
        }
    }

    /// Signs `bytes`: 64 octets for Ed25519, 32 for HMAC.
    pub fn sign(&self, bytes: &[u8]) -> Vec<u8> {
        match self {
            Self::Ed25519(key) => key.sign(bytes).to_bytes().to_vec(),
            Self::Hmac(key) => key.tag(bytes).to_vec(),
        }
    }

    /// The key that verifies what this one signs.
    pub fn verify_key(&self) -> VerifyKey {
        match self {
            Self::Ed25519(key) => VerifyKey::Ed25519(Ed25519Public(key.verifying_key())),
            Self::Hmac(key) => VerifyKey::Hmac(key.clone()),
        }
    }

    /// The public octets of an Ed25519 pair.
    pub fn public(&self) -> Option<[u8; 32]> {
        match self {
            Self::Ed25519(key) => Some(key.verifying_key().to_bytes()),
            Self::Hmac(_) => None,
        }
    }
}

impl VerifyKey {
    /// Checks a public key: canonical, on the curve, not of small order; otherwise [`Reason::KeyWeak`].
    pub fn ed25519(octets: &[u8]) -> Result<Self, Reason> {
        Ed25519Public::new(octets).map(Self::Ed25519)
    }

    /// A MAC key of ours.
    pub fn hmac(secret: Secret) -> Self {
        Self::Hmac(secret.into())
    }

    /// Its algorithm.
    pub fn alg(&self) -> Alg {
        match self {
            Self::Ed25519(_) => Alg::Ed25519,
            Self::Hmac(_) => Alg::HmacSha256,
        }
    }

    /// Whether `signature` is right for `bytes`. The length must be exact.
    pub fn verify(&self, bytes: &[u8], signature: &[u8]) -> bool {
        match self {
            Self::Ed25519(key) => key.verify(bytes, signature),
            Self::Hmac(key) => key.verify(bytes, signature),
        }
    }
}

impl Ed25519Public {
    /// Checks the octets.
    pub fn new(octets: &[u8]) -> Result<Self, Reason> {
        let octets = <&[u8; 32]>::try_from(octets).map_err(|_| Reason::KeyWeak)?;
        let key = VerifyingKey::from_bytes(octets).map_err(|_| Reason::KeyWeak)?;
        if is_canonical(octets) && !key.is_weak() { Ok(Self(key)) } else { Err(Reason::KeyWeak) }
    }

    /// The octets.
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The RFC 7638 thumbprint.
    pub fn thumbprint(&self) -> String {
        thumbprint(self.as_bytes())
    }

    /// `verify_strict`: besides the equation it refuses a small-order commitment, so that no
    /// signature is good for two messages.
    pub(super) fn verify(&self, bytes: &[u8], signature: &[u8]) -> bool {
        Signature::from_slice(signature)
            .is_ok_and(|signature| self.0.verify_strict(bytes, &signature).is_ok())
    }
}

/// The y coordinate is below p = 2^255 − 19 (RFC 8032 §5.1.3). The other non-canonical spelling, a
/// sign bit on x = 0, exists for two points of small order only.
fn is_canonical(octets: &[u8; 32]) -> bool {
    let [first, middle @ .., last] = octets;
    last & 0x7f != 0x7f || middle.iter().any(|&octet| octet != 0xff) || *first < 0xed
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({}, redacted)", self.alg().name())
    }
}

impl fmt::Debug for VerifyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ed25519(key) => write!(f, "VerifyKey(ed25519, {})", key.thumbprint()),
            Self::Hmac(_) => f.write_str("VerifyKey(hmac-sha256, redacted)"),
        }
    }
}

impl fmt::Debug for Ed25519Public {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ed25519Public({})", self.thumbprint())
    }
}
