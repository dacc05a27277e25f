//! The authority's evidence: what each entry says, and the bundle that is exported.

use std::collections::BTreeMap;

use hookproof_core::Reason;
use hookproof_core::challenge::Purpose;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::{EgressAssurance, Lookup};
use hookproof_core::evidence::{ChainScope, Head};
use hookproof_core::id::{ChallengeId, DeliveryId, EventId, Generation};
use hookproof_core::keys::KeyGeneration;
use hookproof_core::ledger::Outcome;
use hookproof_core::receipt::{Assurance, ReceiptResult};
use hookproof_core::subscription::SuspendReason;
use hookproof_core::{Refusal, base64};
use hookproof_ports::Sql;
use serde::{Deserialize, Serialize};

use super::session::Session;
use crate::rows::from_json;

/// A change worth proving.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum What {
    /// The subscription and its first generation were made.
    Registered {
        /// The generation.
        generation: Generation,
        /// Digest of its endpoint.
        endpoint_digest: Digest,
        /// Its first key.
        key_id: String,
    },
    /// A challenge was signed and is about to be sent.
    ChallengeIssued {
        /// Which.
        challenge_id: ChallengeId,
        /// Of which generation.
        generation: Generation,
        /// What for.
        purpose: Purpose,
        /// The key being proved.
        key_id: String,
        /// Digest of the body sent.
        body_digest: Digest,
    },
    /// A challenge came to its end.
    ChallengeJudged {
        /// Which.
        challenge_id: ChallengeId,
        /// Of which generation.
        generation: Generation,
        /// Why it failed; none when it proved.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// A generation changed its state.
    GenerationState {
        /// Which.
        generation: Generation,
        /// To what.
        state: String,
        /// Why it is suspended, or was.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<SuspendReason>,
    },
    /// The next generation was staged beside the one that serves.
    Staged {
        /// Which.
        generation: Generation,
        /// Digest of its endpoint.
        endpoint_digest: Digest,
        /// Its first key.
        key_id: String,
    },
    /// The recovery credential was used; the generation has a new key.
    Recovered {
        /// Which.
        generation: Generation,
        /// Its key from now on.
        key_id: String,
    },
    /// Something changed that makes no new generation.
    Revised {
        /// The revision afterwards.
        revision: u64,
    },
    /// An attempt was made durable and signed.
    Claimed {
        /// The delivery.
        delivery_id: DeliveryId,
        /// The event.
        event_id: EventId,
        /// The attempt.
        attempt: u32,
        /// The generation it is sent under.
        generation: Generation,
        /// Digest of the endpoint it is sent to.
        endpoint_digest: Digest,
        /// The key that signed.
        key_id: String,
        /// That key's generation.
        key_generation: KeyGeneration,
        /// Salted digest of the payload.
        payload_commitment: Digest,
        /// What was signed.
        signature_input: String,
        /// SHA-256 of the signature octets.
        signature_digest: Digest,
    },
    /// An attempt came to its end.
    Settled {
        /// The delivery.
        delivery_id: DeliveryId,
        /// The attempt.
        attempt: u32,
        /// What the transport saw.
        outcome: Outcome,
        /// How sure the address was.
        #[serde(skip_serializing_if = "Option::is_none")]
        assurance: Option<EgressAssurance>,
        /// What the lookup for it gave.
        #[serde(skip_serializing_if = "Lookup::is_empty")]
        lookup: Lookup,
        /// The delivery's state afterwards.
        state: String,
        /// Why, where it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// A delivery went to the dead letters without an attempt.
    DeadLettered {
        /// The delivery.
        delivery_id: DeliveryId,
        /// Why.
        reason: Reason,
    },
    /// A receipt was recorded.
    Receipt {
        /// The delivery.
        delivery_id: DeliveryId,
        /// The attempt it answers.
        attempt: u32,
        /// The subscriber's name for the effect.
        operation_id: String,
        /// What it did.
        result: ReceiptResult,
        /// The key that signed it.
        key_id: String,
        /// Who can check it.
        assurance: Assurance,
        /// SHA-256 of its body.
        receipt_digest: Digest,
        /// The delivery's state afterwards.
        state: String,
    },
    /// A receipt contradicted what is recorded and was quarantined.
    ReceiptConflict {
        /// The delivery.
        delivery_id: DeliveryId,
        /// How.
        reason: Reason,
        /// SHA-256 of its body.
        receipt_digest: Digest,
    },
}

/// The chain, as exported: everything needed to recompute it.
#[derive(Clone, Debug, Serialize)]
pub struct Bundle {
    /// Whose chain.
    pub scope: ChainScope,
    /// Where it stands.
    pub head: Head,
    /// The stored entries, octet for octet, in order.
    pub entries: Vec<String>,
}

/// `SHA-256(LP(salt) LP(payload_digest))`: what the chain holds instead of the digest, so that an
/// erased payload leaves nothing that could be guessed against.
pub(super) fn payload_commitment(salt: &str, digest: &Digest) -> Digest {
    let salt = base64::from_url(salt).unwrap_or_default();
    Digest(hookproof_core::tuple::Tuple::default().field(salt).field(digest.0).sha256())
}

impl<S: Sql> Session<'_, S> {
    /// The evidence bundle.
    pub(super) async fn evidence(&self) -> Result<Bundle, Refusal> {
        let mut entries = BTreeMap::new();
        for entry in self.tables.evidence().await? {
            let numbered: Numbered = from_json(&entry)?;
            entries.insert(numbered.seq, entry);
        }
        let entries = entries.into_values().collect();
        Ok(Bundle { scope: self.chain_scope(), head: self.head.chain, entries })
    }
}

#[derive(Deserialize)]
struct Numbered {
    seq: u64,
}
