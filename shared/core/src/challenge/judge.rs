//! Judging an answer: against the record, never against what the answer claims.

use serde::{Deserialize, Serialize};

use super::{ANSWER_TYPE, Challenge};
use crate::base64;
use crate::id::ChallengeId;
use crate::reason::Reason;
use crate::signature::VerifyKey;
use crate::time::Timestamp;

/// Exactly the fields an answer has; anything more or less, or one twice, is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// Always `subscription.challenge.answer.v1`.
    pub r#type: String,
    /// The challenge answered.
    pub challenge_id: ChallengeId,
    /// The key the proof was made with.
    pub proof_key_id: String,
    /// Which probes verified, bit by bit; absent for HMAC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<u32>,
    /// The proof, base64url.
    pub proof: String,
}

impl Answer {
    /// Reads an answer in its exact shape.
    pub fn parse(body: &[u8]) -> Result<Self, Reason> {
        let answer: Self = crate::json::read(body).ok_or(Reason::ChallengeAnswerMalformed)?;
        if answer.r#type == ANSWER_TYPE { Ok(answer) } else { Err(Reason::ChallengeAnswerMalformed) }
    }
}

/// The key proofs are checked with, and its id.
pub struct Verifier<'a> {
    /// `K(challenge)` or the subscriber's registered public key.
    pub key: &'a VerifyKey,
    /// Its id.
    pub key_id: &'a str,
}

/// A proof that held. One constructor: [`judge`].
#[derive(Debug)]
pub struct Proved(());

#[cfg(test)]
impl Proved {
    /// For tests of what a proof leads to.
    pub(crate) fn for_tests() -> Self {
        Self(())
    }
}

/// Whether `body` answers `challenge` with a valid proof at `now`.
///
/// An answer that gives the nonce back is an echo: it proves nothing and is named so.
pub fn judge(
    challenge: &Challenge,
    body: &[u8],
    verifier: &Verifier<'_>,
    now: Timestamp,
) -> Result<Proved, Reason> {
    if contains(body, challenge.nonce.as_bytes()) {
        return Err(Reason::ChallengeEchoed);
    }
    let answer = Answer::parse(body)?;
    if answer.challenge_id != challenge.id {
        return Err(Reason::ChallengeUnknown);
    }
    if now >= challenge.expires_at {
        return Err(Reason::ChallengeExpired);
    }
    if answer.proof_key_id != challenge.proof_key_id || verifier.key_id != challenge.proof_key_id {
        return Err(Reason::ChallengeProofWrong);
    }
    if answer.probes.unwrap_or(0) != challenge.probe_map {
        return Err(Reason::ChallengeVerifierAbsent);
    }
    let proof = base64::from_url(&answer.proof).ok_or(Reason::ChallengeAnswerMalformed)?;
    if verifier.key.verify(&challenge.proof_input(), &proof) {
        return Ok(Proved(()));
    }
    Err(Reason::ChallengeProofWrong)
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    !needle.is_empty() && haystack.windows(needle.len()).any(|window| window == needle)
}
