//! Another subscriber key takes the place of the one that serves only with the old key's consent: a stolen
//! token cannot put its own key there.

use serde::{Deserialize, Serialize};

use crate::base64;
use crate::id::{ChallengeId, Scope};
use crate::signature::{VerifyKey, thumbprint};
use crate::tuple::Tuple;

/// A change of the subscriber's key, and whether the holder of the old one agreed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyChange {
    /// The challenge that the consent names; the first one sent has this id.
    pub challenge_id: ChallengeId,
    /// The key that agrees, base64url.
    pub old_public_key: String,
    /// The key that takes its place, base64url.
    pub new_public_key: String,
    /// Whether it has agreed.
    pub approved: bool,
}

impl KeyChange {
    /// What the holder of the old key signs: `LP("hookproof-key-change-v1") scope(new) LP(old thumbprint)
    /// LP(new thumbprint) LP(challenge_id)`, where `scope` is the staged generation's.
    pub fn input(&self, scope: &Scope) -> Option<Vec<u8>> {
        let of = |key: &str| Some(thumbprint(&base64::array_from_url(key)?));
        let tuple = Tuple::new("hookproof-key-change-v1")
            .raw(&scope.encode())
            .field(of(&self.old_public_key)?)
            .field(of(&self.new_public_key)?)
            .field(self.challenge_id.as_str());
        Some(tuple.into_bytes())
    }

    /// Whether `signature`, base64url, is the old key's consent to this change of this generation.
    pub fn is_consent(&self, scope: &Scope, signature: &str) -> bool {
        let checked = || {
            let old: [u8; 32] = base64::array_from_url(&self.old_public_key)?;
            let key = VerifyKey::ed25519(&old).ok()?;
            Some(key.verify(&self.input(scope)?, &base64::from_url(signature)?))
        };
        checked().unwrap_or(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Environment, Generation, IdKey, SubscriptionId, TenantId};
    use crate::secret::Secret;
    use crate::signature::SigningKey;
    use crate::time::Timestamp;

    #[test]
    fn only_the_old_key_consents_and_to_this_change_of_this_generation_only() {
        let (ids, at) = (IdKey::new(b"ids"), Timestamp::from_unix(1_800_000_000));
        let scope = |generation| Scope {
            issuer: "https://sender.example.com".to_owned(),
            tenant: TenantId::mint(&ids, at, [1; 10]),
            environment: Environment::Live,
            subscription: SubscriptionId::mint(&ids, at, [2; 10]),
            generation: Generation(generation),
        };
        let key = |seed| SigningKey::ed25519(&Secret::new([seed; 32]));
        let public = |seed| base64::url(&key(seed).public().unwrap());
        let change = KeyChange {
            challenge_id: ChallengeId::mint(&ids, at, [3; 10]),
            old_public_key: public(1),
            new_public_key: public(2),
            approved: false,
        };
        let consent = |by, what: &KeyChange| base64::url(&key(by).sign(&what.input(&scope(2)).unwrap()));
        assert!(change.is_consent(&scope(2), &consent(1, &change)));
        assert!(
            !change.is_consent(&scope(2), &consent(2, &change)),
            "the new key cannot consent for the old"
        );
        assert!(!change.is_consent(&scope(3), &consent(1, &change)), "another generation");
        let other = KeyChange { new_public_key: public(3), ..change.clone() };
        assert!(!other.is_consent(&scope(2), &consent(1, &change)), "another key");
        let later = KeyChange { challenge_id: ChallengeId::mint(&ids, at, [4; 10]), ..change.clone() };
        assert!(!later.is_consent(&scope(2), &consent(1, &change)), "another challenge");
        for nonsense in ["", "AA", "not base64"] {
            assert!(!change.is_consent(&scope(2), nonsense));
        }
    }
}
