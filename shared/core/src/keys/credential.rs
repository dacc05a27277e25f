//! A credential's life: NOT_BEFORE, ACTIVE, VERIFY_ONLY, REVOKED.

use serde::{Deserialize, Serialize};

use crate::signature::Alg;
use crate::time::Timestamp;

/// Counts the keys of a subscription; only rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyGeneration(pub u64);

/// Where a credential is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum CredentialState {
    /// Published, signs only challenges.
    NotBefore,
    /// Signs deliveries.
    Active,
    /// Signs nothing new; what it signed still verifies, until its overlap ends.
    VerifyOnly,
    /// Signs nothing, verifies nothing.
    Revoked,
}

/// A credential as the authority keeps it, without its sealed part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credential {
    /// RFC 7638 thumbprint for Ed25519, random for HMAC.
    pub key_id: String,
    /// Which key of the subscription this is.
    pub key_generation: KeyGeneration,
    /// What it signs with.
    pub alg: Alg,
    /// Where it is in its life.
    pub state: CredentialState,
    /// Ed25519 public key, base64url; none for HMAC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When VERIFY_ONLY ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify_until: Option<Timestamp>,
}

impl Credential {
    /// Whether a delivery may be signed with it.
    pub fn signs_deliveries(&self) -> bool {
        matches!(self.state, CredentialState::Active)
    }

    /// Whether a challenge that proves it may be signed with it.
    pub fn signs_challenges(&self) -> bool {
        matches!(self.state, CredentialState::NotBefore | CredentialState::Active)
    }

    /// Whether a receipt made under it (or under the subscriber key registered with it) still counts.
    pub fn verifies(&self, now: Timestamp) -> bool {
        match self.state {
            CredentialState::Active => true,
            CredentialState::VerifyOnly => self.verify_until.is_none_or(|until| now < until),
            CredentialState::NotBefore | CredentialState::Revoked => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_allows_what_it_should() {
        let now = Timestamp::from_unix(100);
        let make = |state| Credential {
            key_id: "k".into(),
            key_generation: KeyGeneration(1),
            alg: Alg::Ed25519,
            state,
            public_key: None,
            created_at: now,
            verify_until: Some(Timestamp::from_unix(200)),
        };
        let allows = |state| {
            let it = make(state);
            (it.signs_challenges(), it.signs_deliveries(), it.verifies(now))
        };
        assert_eq!(allows(CredentialState::NotBefore), (true, false, false));
        assert_eq!(allows(CredentialState::Active), (true, true, true));
        assert_eq!(allows(CredentialState::VerifyOnly), (false, false, true));
        assert_eq!(allows(CredentialState::Revoked), (false, false, false));
        assert!(!make(CredentialState::VerifyOnly).verifies(Timestamp::from_unix(200)));
    }
}
