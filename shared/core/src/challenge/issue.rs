//! The sender's half: what is asked, and the record the answer is judged by.

use serde::{Deserialize, Serialize};

use super::{ProbeMap, Purpose, TYPE, probes};
use crate::base64;
use crate::digest::Digest;
use crate::id::{ChallengeId, Scope, SubscriptionId};
use crate::keys::key_check;
use crate::secret::Secret;
use crate::signature::{Alg, SigningKey};
use crate::time::Timestamp;
use crate::tuple::Tuple;

/// A challenge as the authority keeps it: everything the answer is judged by comes from here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Challenge {
    /// Its id; each try has a new one.
    pub id: ChallengeId,
    /// What the proof will be good for.
    pub purpose: Purpose,
    /// Whom it is for.
    pub scope: Scope,
    /// Digest of the endpoint it is sent to.
    pub endpoint_digest: Digest,
    /// Thirty-two random octets, base64url.
    pub nonce: String,
    /// Start of its life.
    pub issued_at: Timestamp,
    /// End of its life.
    pub expires_at: Timestamp,
    /// The signing profile of the generation.
    pub profile: String,
    /// The key being proved.
    pub key_id: String,
    /// Its commitment, never sent.
    pub key_commitment: Digest,
    /// How the proof is made.
    pub proof_alg: Alg,
    /// The key the proof is made with.
    pub proof_key_id: String,
    /// SHA-256 of the challenge body.
    pub body_digest: Digest,
    /// Which probes are right; 0 for HMAC.
    pub probe_map: u32,
}

/// The key a challenge proves.
pub enum ProvedKey<'a> {
    /// An Ed25519 key: commitment is its thumbprint, and probes are added.
    Ed25519(&'a SigningKey),
    /// An HMAC delivery key: commitment is [`key_check`].
    Hmac(&'a Secret),
}

/// The commitment to an Ed25519 key: its thumbprint's octets (RFC 7638), which its id spells.
pub(crate) fn thumbprint_commitment(key_id: &str) -> Digest {
    Digest(base64::array_from_url(key_id).unwrap_or_default())
}

/// Fresh randomness of one challenge.
pub struct Nonces {
    /// The challenge's own nonce.
    pub nonce: [u8; 32],
    /// The probe map, already known not to be all-equal.
    pub probe_map: ProbeMap,
}

/// The body as sent. Field order is the order of this struct.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChallengeBody {
    /// Always `subscription.challenge.v1`.
    pub r#type: String,
    /// This challenge.
    pub challenge_id: ChallengeId,
    /// What the proof will be good for.
    pub purpose: Purpose,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// Its generation.
    pub generation: u64,
    /// Digest of the endpoint the sender means; the subscriber takes its own instead.
    pub endpoint_digest: Digest,
    /// Thirty-two octets, base64url.
    pub nonce: String,
    /// Start of its life.
    pub issued_at: Timestamp,
    /// End of its life.
    pub expires_at: Timestamp,
    /// The key being proved.
    pub key_id: String,
    /// How the proof is to be made.
    pub proof_alg: Alg,
    /// Thirty-two signatures, some wrong; empty for HMAC.
    pub probes: Vec<String>,
}

/// An issued challenge: the record to keep and the bytes to send.
pub struct Issued {
    /// The record.
    pub challenge: Challenge,
    /// The body.
    pub body: Vec<u8>,
}

impl Challenge {
    /// Issues a challenge. `draft` is the record with `body_digest`, `nonce`, `probe_map` and
    /// `key_commitment` still to be filled; they are set here.
    pub fn issue(draft: Self, key: &ProvedKey<'_>, nonces: &Nonces) -> Issued {
        let mut it = draft;
        it.nonce = base64::url(&nonces.nonce);
        let signatures = match key {
            ProvedKey::Ed25519(signing) => {
                it.probe_map = nonces.probe_map.0;
                it.key_commitment = thumbprint_commitment(&it.key_id);
                probes::sign(nonces.probe_map, it.id.as_str(), &nonces.nonce, signing)
            }
            ProvedKey::Hmac(deliver) => {
                it.probe_map = 0;
                it.key_commitment = Digest(key_check(deliver));
                Vec::new()
            }
        };
        let body = it.body(signatures);
        it.body_digest = Digest::of(&body);
        Issued { challenge: it, body }
    }

    fn body(&self, probes: Vec<String>) -> Vec<u8> {
        let body = ChallengeBody {
            r#type: TYPE.to_owned(),
            challenge_id: self.id.clone(),
            purpose: self.purpose,
            subscription_id: self.scope.subscription.clone(),
            generation: self.scope.generation.0,
            endpoint_digest: self.endpoint_digest,
            nonce: self.nonce.clone(),
            issued_at: self.issued_at,
            expires_at: self.expires_at,
            key_id: self.key_id.clone(),
            proof_alg: self.proof_alg,
            probes,
        };
        // Serialising a struct of strings and numbers cannot fail; an empty body would simply prove nothing.
        serde_json::to_vec(&body).unwrap_or_default()
    }

    /// The bytes a proof is made over (docs/wire/challenge.v1.md), rebuilt from this record alone.
    pub fn proof_input(&self) -> Vec<u8> {
        let nonce = base64::from_url(&self.nonce).unwrap_or_default();
        Tuple::new("hookproof-challenge-proof-v1")
            .field(self.purpose.as_str())
            .raw(&self.scope.encode())
            .field(self.endpoint_digest.0)
            .field(self.id.as_str())
            .field(nonce)
            .u64(self.issued_at.unix().unsigned_abs())
            .u64(self.expires_at.unix().unsigned_abs())
            .field(&self.profile)
            .field(&self.key_id)
            .field(self.key_commitment.0)
            .field(&self.proof_key_id)
            .field(self.body_digest.0)
            .u32(self.probe_map)
            .into_bytes()
    }

    /// The body with one bit of the nonce changed after signing: what a decoy sends. A reader that
    /// checks the signature and the digest refuses it; one that does not gives itself away.
    pub fn bend(body: &[u8], nonce: &str) -> Vec<u8> {
        let mut bent = body.to_vec();
        let at = body.windows(nonce.len().max(1)).position(|window| window == nonce.as_bytes());
        if let Some(first) = at.and_then(|start| bent.get_mut(start)) {
            // Still base64url, and still a well-formed nonce: only the digest betrays it.
            *first = if *first == b'A' { b'B' } else { b'A' };
        }
        bent
    }
}
