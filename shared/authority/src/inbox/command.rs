//! What the inbox can be told and asked, and what it answers.

use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::SubscriptionId;
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::receiver::{Arrival, HandlerResult, Key};
use hookproof_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use super::body::Body;
use super::view::{ItemDetail, ItemView, Listed, Metrics, Quarantined, StateFilter};

/// A command to the inbox of one source.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Stores a verified delivery; [`Reply::Stored`].
    Store(Box<Delivery>),
    /// Leases up to `limit` due events to a handler; [`Reply::Taken`].
    Take {
        /// Most events to take.
        limit: u32,
    },
    /// What the handler answered; [`Reply::Reported`].
    Report {
        /// The item.
        id: String,
        /// The lease it was taken under.
        lease: String,
        /// The answer.
        result: HandlerResult,
    },
    /// Counts a try of up to `limit` due receipts and hands them out; [`Reply::Receipts`].
    TakeReceipts {
        /// Most receipts to take.
        limit: u32,
    },
    /// What the sender answered to a receipt; [`Reply::Done`].
    ReportReceipt {
        /// The item.
        id: String,
        /// The subscription the receipt is for.
        subscription: SubscriptionId,
        /// The status, or none without an answer.
        status: Option<u16>,
    },
    /// Its source is not configured any more: up to `limit` due events become dead letters and due
    /// receipts are given up; [`Reply::Done`].
    Abandon {
        /// Most of each.
        limit: u32,
    },
    /// Items, the newest first; [`Reply::Page`].
    List {
        /// Where the last page ended.
        cursor: Option<String>,
        /// Most items.
        limit: u32,
        /// Only those in this state.
        state: Option<StateFilter>,
    },
    /// Dead letters, the newest first; [`Reply::Page`].
    ListDeadLetters {
        /// Where the last page ended.
        cursor: Option<String>,
        /// Most items.
        limit: u32,
    },
    /// What was refused for contradicting the inbox, the newest first; [`Reply::Quarantine`].
    ListQuarantine {
        /// Most rows.
        limit: u32,
    },
    /// One item with its receipts, fields and body; [`Reply::Item`].
    Show {
        /// The item.
        id: String,
    },
    /// A dead letter becomes pending; [`Reply::Replayed`].
    Replay {
        /// The item.
        id: String,
    },
    /// Counts and latencies; [`Reply::Metrics`].
    Metrics,
}

/// A reply of the inbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The delivery is durable, or quarantined.
    Stored {
        /// Which.
        outcome: Outcome,
        /// The item's id.
        id: String,
        /// A receipt became due at once.
        receipts_due: bool,
    },
    /// Events to handle now.
    Taken {
        /// They and their leases.
        work: Vec<Work>,
        /// More are due.
        more: bool,
    },
    /// The report was recorded, or its lease was stale.
    Reported {
        /// The lease still held.
        accepted: bool,
        /// The state after it.
        state: StateFilter,
        /// Receipts that became due.
        receipts_due: u32,
    },
    /// Receipts to send now.
    Receipts {
        /// They.
        owed: Vec<OwedReceipt>,
        /// More are due.
        more: bool,
    },
    /// A page of items.
    Page(Listed),
    /// Quarantined deliveries.
    Quarantine(Vec<Quarantined>),
    /// One item.
    Item(Box<ItemDetail>),
    /// The item is pending again.
    Replayed(Box<ItemView>),
    /// Counts and latencies.
    Metrics(Box<Metrics>),
    /// Done.
    Done,
}

/// What the timer asks its host to put on the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// Events are due for the handler.
    Handle,
    /// Receipts are due.
    Receipts,
}

/// A queue message: something is due at this source. It may be lost or doubled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wakeup {
    /// The source.
    pub source: String,
    /// What is due.
    pub kind: Wake,
}

/// A delivery that verified; everything in its key but the event id comes from our own configuration.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Delivery {
    /// The event's identity.
    pub key: Key,
    /// Which delivery brought it, where a receipt is owed for it.
    pub arrival: Option<Arrival>,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// The event's type.
    pub event_type: String,
    /// The signed time.
    pub signed_at: Timestamp,
    /// When the sender accepted the event.
    pub accepted_at: Timestamp,
    /// The body's media type.
    pub content_type: String,
    /// Fields kept for dead letters; no credential, no signature.
    pub fields: Vec<(String, String)>,
    /// The octets.
    pub body: Body,
}

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Stored now.
    New,
    /// Stored before with the same bytes.
    Duplicate,
    /// Quarantined, and nothing else changed.
    Refused(Reason),
}

/// An event under a lease.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Work {
    /// The item.
    pub id: String,
    /// Its identity.
    pub key: Key,
    /// To be told in the report.
    pub lease: String,
    /// The event's type.
    pub event_type: String,
    /// The body's media type.
    pub content_type: String,
    /// The octets as received.
    pub body: Body,
    /// Which handler attempt this is, from 1.
    pub attempt: u32,
    /// The same for every attempt: the operation id where the handler names none.
    pub idempotency_key: String,
}

/// A receipt to send.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OwedReceipt {
    /// The item.
    pub id: String,
    /// Its identity.
    pub key: Key,
    /// The delivery it answers.
    pub arrival: Arrival,
    /// SHA-256 of the event's bytes.
    pub digest: Digest,
    /// What the handler did.
    pub result: ReceiptResult,
    /// Its name for the effect.
    pub operation_id: String,
    /// Tries with this one.
    pub tries: u32,
}
