//! What travels on queues. A message names work; it decides nothing and may be lost or doubled.

use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, EventId, SubscriptionId, TenantId};
use hookproof_core::time::Timestamp;
use serde::{Deserialize, Serialize};

/// Largest body that travels inside a message, in octets; larger ones are fetched from the event object.
pub const INLINE_LIMIT: usize = 16 * 1024;

/// One event for one subscription, on `<region>-fresh`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fresh {
    /// Whom to ask.
    pub subscription: SubscriptionId,
    /// Where the event lives, and its identity.
    pub event: EventRef,
    /// The fan-out page the event object waits for.
    pub page: u32,
    /// Digests of the subscription's wants that the event was found to fit. None says nothing: the authority
    /// then tells which to try.
    #[serde(default)]
    pub filter_digests: Vec<Digest>,
    /// The frozen envelope, where it is small; checked against the digest before use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// An accepted event, as the authority needs to know it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRef {
    /// The tenant.
    pub tenant: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The event.
    pub id: EventId,
    /// Its type.
    pub r#type: String,
    /// Its contract's version.
    pub api_version: String,
    /// When it was accepted.
    pub accepted_at: Timestamp,
    /// SHA-256 of the frozen envelope.
    pub payload_digest: Digest,
    /// Its length in octets.
    pub length: u64,
}

/// Deliveries of a subscription are due, on `<region>-retry`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// Whom to ask.
    pub subscription: SubscriptionId,
}

/// A challenge of a subscription is due, on `<region>-challenge`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChallengeDue {
    /// Whom to ask.
    pub subscription: SubscriptionId,
}
