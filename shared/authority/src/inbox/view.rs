//! The inbox as its operator sees it: no lease, no credential, no signature.

use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, EventId, TenantId};
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::receiver::{Arrival, InboxState, Item, Latency, ReceiptState};
use hookproof_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::body::Body;

/// An inbox state by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateFilter {
    /// Waiting for the handler.
    Pending,
    /// With the handler.
    Processing,
    /// Handled.
    Completed,
    /// Failed too often.
    DeadLetter,
}

impl StateFilter {
    /// What [`StateFilter::parse`] takes.
    pub const ACCEPTED: &'static str = "pending, processing, completed or dead_letter";

    /// Reads a state's name.
    pub fn parse(text: &str) -> Option<Self> {
        let all = [Self::Pending, Self::Processing, Self::Completed, Self::DeadLetter];
        all.into_iter().find(|state| state.name() == text)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Completed => "completed",
            Self::DeadLetter => "dead_letter",
        }
    }
}

impl From<&InboxState> for StateFilter {
    fn from(state: &InboxState) -> Self {
        match state {
            InboxState::Pending => Self::Pending,
            InboxState::Processing { .. } => Self::Processing,
            InboxState::Completed { .. } => Self::Completed,
            InboxState::DeadLetter { .. } => Self::DeadLetter,
        }
    }
}

/// A page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Listed {
    /// The newest first.
    pub items: Vec<ItemView>,
    /// The next page's cursor.
    pub next: Option<String>,
}

/// An item as its operator sees it: without lease and body.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ItemView {
    /// Its id in paths.
    pub id: String,
    /// The sender's origin.
    pub issuer: String,
    /// The sender's tenant.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// SHA-256 of its bytes.
    pub payload_digest: Digest,
    /// Where it is.
    pub state: StateFilter,
    /// When it arrived first.
    pub received_at: Timestamp,
    /// The signed time of that arrival.
    pub signed_at: Timestamp,
    /// When it was completed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// From the signed time to the recorded result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_ms: Option<i64>,
    /// What the handler did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<ReceiptResult>,
    /// Its name for the effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_id: Option<String>,
    /// When it became a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_at: Option<Timestamp>,
    /// Why it is a dead letter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// Handler attempts that failed in a row.
    pub failures: u32,
    /// The handler's last status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    /// When the handler is asked next, or its lease ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// Further arrivals of the same bytes.
    pub duplicates: u32,
    /// Replays from the dead letters.
    pub replays: u32,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed_at: Option<Timestamp>,
}

impl From<&Item> for ItemView {
    fn from(item: &Item) -> Self {
        let (mut completed_at, mut result, mut operation_id) = (None, None, None);
        let (mut dead_at, mut reason) = (None, None);
        match &item.state {
            InboxState::Pending | InboxState::Processing { .. } => {}
            InboxState::Completed { at, result: what, operation_id: name } => {
                (completed_at, result, operation_id) = (Some(*at), Some(*what), Some(name.clone()));
            }
            InboxState::DeadLetter { at, reason: why } => (dead_at, reason) = (Some(*at), Some(*why)),
        }
        Self {
            id: item.key.id(),
            issuer: item.key.issuer.clone(),
            tenant_id: item.key.tenant.clone(),
            environment: item.key.environment,
            event_id: item.key.event_id.clone(),
            event_type: item.event_type.clone(),
            payload_digest: item.digest,
            state: (&item.state).into(),
            received_at: item.received_at,
            signed_at: item.signed_at,
            completed_at,
            latency_ms: item.latency().map(|span| span.as_millis()),
            result,
            operation_id,
            dead_at,
            reason,
            failures: item.failures,
            last_status: item.last_status,
            next_attempt_at: item.due,
            duplicates: item.duplicates,
            replays: item.replays,
            replayed_at: item.replayed_at,
        }
    }
}

/// One item with all that is kept of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ItemDetail {
    /// The item.
    #[serde(flatten)]
    pub item: ItemView,
    /// Its receipts, one a subscription.
    pub receipts: Vec<ReceiptView>,
    /// The fields it arrived with, credentials and signatures left out; dropped when it is completed.
    pub fields: Vec<(String, String)>,
    /// Its octets; dropped when it is completed.
    pub body: Option<Body>,
}

/// A receipt as its operator sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReceiptView {
    /// The delivery it answers.
    #[serde(flatten)]
    pub arrival: Arrival,
    /// Where it is.
    pub receipt: ReceiptState,
    /// Tries made.
    pub tries: u32,
    /// The sender's last status.
    pub last_status: Option<u16>,
    /// When it is tried next.
    pub next_try_at: Option<Timestamp>,
}

/// A delivery that contradicts the inbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Quarantined {
    /// The item it contradicts, or would have been.
    pub id: String,
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// Why.
    pub reason: Reason,
    /// SHA-256 of the bytes that came.
    pub payload_digest: Digest,
    /// SHA-256 of the bytes in the inbox.
    pub stored_digest: Option<Digest>,
    /// Which delivery brought it, where a receipt would have been owed.
    pub arrival: Option<Arrival>,
    /// The first time.
    pub first_at: Timestamp,
    /// The last time.
    pub last_at: Timestamp,
    /// How often.
    pub times: u32,
}

/// Counts and latencies of one source. Totals count from its first event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// Waiting for the handler now.
    pub pending: i64,
    /// With the handler now.
    pub processing: i64,
    /// Dead letters now.
    pub dead_letters: i64,
    /// Receipts waiting to be sent now.
    pub receipts_due: i64,
    /// Totals.
    #[serde(flatten)]
    pub totals: Totals,
    /// Of the last completed events.
    pub completion: Latency,
}

/// What happened at a source since its first event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Totals {
    /// Events completed.
    pub completed: u64,
    /// Times an event became a dead letter.
    pub dead_lettered: u64,
    /// Replays from the dead letters.
    pub replays: u64,
    /// Arrivals of bytes already stored.
    pub duplicates: u64,
    /// Arrivals of other bytes under a known id.
    pub conflicts: u64,
    /// Arrivals of events older than the inbox remembers.
    pub too_old: u64,
    /// Receipts the sender recorded.
    pub receipts_confirmed: u64,
    /// Receipts the sender refused for good.
    pub receipts_refused: u64,
    /// Receipts nobody accepted in time.
    pub receipts_given_up: u64,
}
