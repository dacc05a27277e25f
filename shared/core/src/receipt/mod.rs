//! `applicationReceipt.v1`: the subscriber's signed word that it applied, ignored or rejected an event.
//!
//! It names the signature of the attempt it answers, so nobody can write it who has not received that
//! attempt.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{DeliveryId, Environment, EventId, Generation, SubscriptionId, TenantId};
use crate::reason::Reason;
use crate::time::Timestamp;

/// The `type` of a receipt.
pub const TYPE: &str = "applicationReceipt.v1";

/// Largest receipt body in octets.
pub const MAX_BYTES: usize = 8 * 1024;

/// What the subscriber did with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ReceiptResult {
    /// The effect took place.
    Applied,
    /// Not meant for it, or stale.
    Ignored,
    /// Refused for what it says.
    Rejected,
}

/// Who can check a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Assurance {
    /// Only the two parties: both hold the key.
    Mutual,
    /// Anybody with the subscriber's public key.
    ThirdParty,
}

/// The body, exactly these fields in this order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Always `applicationReceipt.v1`.
    pub r#type: String,
    /// The sender's origin.
    pub issuer: String,
    /// The tenant.
    pub tenant: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The delivery's generation.
    pub generation: Generation,
    /// The event.
    pub event_id: EventId,
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// The attempt that was received.
    pub attempt: u32,
    /// SHA-256 of that attempt's signature octets.
    pub delivery_signature_digest: Digest,
    /// SHA-256 of the received body.
    pub payload_digest: Digest,
    /// The subscriber's own name for the effect; stable over retries.
    pub operation_id: String,
    /// What it did.
    pub result: ReceiptResult,
    /// Which of the subscriber's receipt keys signed.
    pub receipt_key_generation: u64,
    /// When it was written.
    pub issued_at: Timestamp,
}

impl Receipt {
    /// Reads a receipt in its exact shape.
    pub fn parse(body: &[u8]) -> Result<Self, Reason> {
        let receipt: Self = crate::json::read(body).ok_or(Reason::BodyMalformed)?;
        let operation_fits = (1..=256).contains(&receipt.operation_id.len())
            && receipt.operation_id.bytes().all(|b| b.is_ascii_graphic());
        if receipt.r#type == TYPE && operation_fits { Ok(receipt) } else { Err(Reason::BodyMalformed) }
    }

    /// The bytes to sign and send.
    pub fn to_bytes(&self) -> Vec<u8> {
        // A struct of strings and numbers always serialises.
        serde_json::to_vec(self).unwrap_or_default()
    }
}
