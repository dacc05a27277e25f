//! One secret shown once, one key per purpose: a MAC made for one purpose is worthless
//! for another, for another generation, and in another deployment.

use hkdf::Hkdf;
use sha2::Sha256;

use crate::digest::sha256;
use crate::id::Scope;
use crate::secret::Secret;
use crate::tuple::Tuple;

/// What a derived key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signing deliveries under an HMAC profile.
    Deliver,
    /// Proving a challenge.
    Challenge,
    /// Proving a status answer.
    Status,
    /// Signing receipts under the HMAC receipt contract.
    Receipt,
}

impl Purpose {
    /// The label inside the derivation.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deliver => "deliver",
            Self::Challenge => "challenge",
            Self::Status => "status",
            Self::Receipt => "receipt",
        }
    }
}

/// `K(purpose)` of the subscriber secret. HKDF-SHA256 (RFC 5869), salt `SHA-256("hookproof/hkdf/v1")`.
pub fn derive(secret: &Secret, purpose: Purpose, scope: &Scope, key_id: &str, profile: &str) -> Secret {
    let info = Tuple::new("hookproof/key/v1")
        .field(purpose.as_str())
        .raw(&scope.encode())
        .field(key_id)
        .field(profile)
        .into_bytes();
    let mut okm = [0u8; 32];
    let expanded =
        Hkdf::<Sha256>::new(Some(&sha256(b"hookproof/hkdf/v1")), secret.expose()).expand(&info, &mut okm);
    // 32 octets is one block of SHA-256; the expansion only fails beyond 255 blocks.
    debug_assert!(expanded.is_ok());
    Secret::new(okm)
}

/// The commitment to an HMAC delivery key that a challenge proof binds and never sends.
pub fn key_check(deliver: &Secret) -> [u8; 32] {
    Tuple::new("hookproof-key-check-v1").field(deliver.expose()).sha256()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Environment, Generation, IdKey, SubscriptionId, TenantId};
    use crate::time::Timestamp;

    fn scope(generation: u64) -> Scope {
        let (key, now) = (IdKey::new(b"k"), Timestamp::from_unix(1_700_000_000));
        Scope {
            issuer: "https://hooks.example".into(),
            tenant: TenantId::mint(&key, now, [1; 10]),
            environment: Environment::Test,
            subscription: SubscriptionId::mint(&key, now, [2; 10]),
            generation: Generation(generation),
        }
    }

    #[test]
    fn every_part_of_the_binding_changes_the_key() {
        let secret = Secret::new([3; 32]);
        let key =
            |purpose, generation, id, profile| derive(&secret, purpose, &scope(generation), id, profile);
        let one = key(Purpose::Deliver, 1, "k1", "p");
        assert_eq!(one, key(Purpose::Deliver, 1, "k1", "p"));
        for other in [
            key(Purpose::Challenge, 1, "k1", "p"),
            key(Purpose::Status, 1, "k1", "p"),
            key(Purpose::Receipt, 1, "k1", "p"),
            key(Purpose::Deliver, 2, "k1", "p"),
            key(Purpose::Deliver, 1, "k2", "p"),
            key(Purpose::Deliver, 1, "k1", "q"),
        ] {
            assert_ne!(one, other);
        }
    }
}
