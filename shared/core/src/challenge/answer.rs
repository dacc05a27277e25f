//! The subscriber's half: answers only a challenge that verified, for its own URL and its own scope.

use super::issue::{ChallengeBody, thumbprint_commitment};
use super::judge::Answer;
use super::{ANSWER_TYPE, Challenge, TYPE, probes};
use crate::base64;
use crate::digest::Digest;
use crate::id::Scope;
use crate::keys::key_check;
use crate::reason::Reason;
use crate::secret::Secret;
use crate::signature::{Authentic, SigningKey, VerifyKey};
use crate::time::{Span, Timestamp};

/// The key the subscriber proves with.
pub enum ProofKey {
    /// `K(challenge)` and the key id it was derived with.
    Hmac {
        /// The derived challenge key.
        key: Secret,
        /// The id of the credential whose secret it was derived from.
        key_id: String,
    },
    /// The subscriber's registered Ed25519 key and its thumbprint.
    Ed25519 {
        /// The private key.
        key: SigningKey,
        /// Its thumbprint.
        key_id: String,
    },
}

/// The sender's key as the subscriber knows it.
pub enum SenderKey<'a> {
    /// Public: probes are read with it.
    Ed25519(&'a VerifyKey),
    /// Shared: the proof commits to it.
    Hmac(&'a Secret),
}

/// What a subscriber needs to answer, all of it from its own configuration and never from the message.
pub struct Answerer<'a> {
    /// Issuer, tenant, environment, subscription, generation.
    pub scope: &'a Scope,
    /// Digest of its own public URL.
    pub endpoint_digest: Digest,
    /// The generation's signing profile.
    pub profile: &'a str,
    /// The sender's key the challenge was verified under.
    pub key_id: &'a str,
    /// That key.
    pub key: SenderKey<'a>,
    /// What it proves with.
    pub proof_key: &'a ProofKey,
}

impl Answerer<'_> {
    /// Answers a challenge whose signature verified (`_authentic` is the witness) under `proved`.
    pub fn answer(&self, body: &[u8], _authentic: &Authentic, now: Timestamp) -> Result<Vec<u8>, Reason> {
        let asked: ChallengeBody = crate::json::read(body).ok_or(Reason::BodyMalformed)?;
        let ours = asked.r#type == TYPE
            && asked.subscription_id == self.scope.subscription
            && asked.generation == self.scope.generation.0
            && asked.endpoint_digest == self.endpoint_digest
            && asked.key_id == self.key_id;
        if !ours {
            return Err(Reason::KeyUnknown);
        }
        let lifetime = asked.expires_at - asked.issued_at;
        if now >= asked.expires_at || lifetime > super::LIFETIME || asked.issued_at > now + Span::seconds(60)
        {
            return Err(Reason::TimestampOutsideWindow);
        }
        let (key_commitment, probe_map) = self.prove(&asked)?;
        let challenge = Challenge {
            id: asked.challenge_id,
            purpose: asked.purpose,
            scope: self.scope.clone(),
            endpoint_digest: self.endpoint_digest,
            nonce: asked.nonce,
            issued_at: asked.issued_at,
            expires_at: asked.expires_at,
            profile: self.profile.to_owned(),
            key_id: asked.key_id,
            key_commitment,
            proof_alg: asked.proof_alg,
            proof_key_id: self.proof_key.id().to_owned(),
            body_digest: Digest::of(body),
            probe_map,
        };
        let proof = base64::url(&self.proof_key.sign(&challenge.proof_input()));
        let probes = (probe_map != 0).then_some(probe_map);
        let proof_key_id = challenge.proof_key_id;
        let answer = Answer {
            r#type: ANSWER_TYPE.to_owned(),
            challenge_id: challenge.id,
            proof_key_id,
            probes,
            proof,
        };
        serde_json::to_vec(&answer).map_err(|_| Reason::InternalHost)
    }

    /// The commitment to the key being proved, and which probes verify under it.
    fn prove(&self, asked: &ChallengeBody) -> Result<(Digest, u32), Reason> {
        match self.key {
            SenderKey::Ed25519(key) => {
                let nonce = base64::from_url(&asked.nonce).ok_or(Reason::BodyMalformed)?;
                let map = probes::read(&asked.probes, asked.challenge_id.as_str(), &nonce, key);
                Ok((thumbprint_commitment(self.key_id), map.ok_or(Reason::BodyMalformed)?.0))
            }
            SenderKey::Hmac(deliver) if asked.probes.is_empty() => Ok((Digest(key_check(deliver)), 0)),
            SenderKey::Hmac(_) => Err(Reason::BodyMalformed),
        }
    }
}

impl ProofKey {
    fn id(&self) -> &str {
        match self {
            Self::Hmac { key_id, .. } | Self::Ed25519 { key_id, .. } => key_id,
        }
    }

    fn sign(&self, input: &[u8]) -> Vec<u8> {
        match self {
            Self::Hmac { key, .. } => SigningKey::hmac(key.clone()).sign(input),
            Self::Ed25519 { key, .. } => key.sign(input),
        }
    }
}
