//! The inbox: an event is stored once, handled until it is done, and confirmed under one operation id.
//!
//! `completed` is never written before the effect; a result, once recorded, never changes.

use serde::{Deserialize, Serialize};

use crate::base64;
use crate::digest::Digest;
use crate::id::{DeliveryId, Environment, EventId, Generation, SubscriptionId, TenantId};
use crate::receipt::ReceiptResult;
use crate::time::{Span, Timestamp};
use crate::tuple::Tuple;

/// Waits between handler attempts in seconds; after the last the event is a receiver dead letter.
const HANDLER_WAITS: [i64; 3] = [0, 1, 5];

/// Waits between tries to send a receipt in seconds; the last repeats for a day.
const RECEIPT_WAITS: [i64; 8] = [0, 1, 5, 30, 120, 600, 1800, 3600];

/// How long a receipt is tried.
const RECEIPT_LIFE: Span = Span::hours(24);

/// Longest time a handler may take; its lease is a little longer.
pub(crate) const HANDLER_LEASE: Span = Span::seconds(40);

/// What makes an event the same event: never the sender's subscription, so that an event arriving
/// through two of them has one effect.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Key {
    /// The source's name.
    pub source: String,
    /// The sender's origin.
    pub issuer: String,
    /// The sender's tenant.
    pub tenant: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The event.
    pub event_id: EventId,
}

/// The operation id used where the handler names none: stable over retries and restarts.
pub fn default_operation_id(key: &Key) -> String {
    let hash = Tuple::new("hookproof-operation-v1")
        .field(&key.source)
        .field(&key.issuer)
        .field(key.tenant.as_str())
        .field(key.environment.as_str())
        .field(key.event_id.as_str())
        .sha256();
    format!("op_{}", base64::url(&hash[..16]))
}

/// Which delivery brought an event, for its receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrival {
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Its generation.
    pub generation: Generation,
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// The attempt.
    pub attempt: u32,
    /// SHA-256 of the attempt's signature octets.
    pub signature_digest: Digest,
}

/// Where an event is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "lowercase")]
pub enum InboxState {
    /// Stored, not yet handled.
    Pending,
    /// With the handler, until the lease ends.
    Processing {
        /// Random; whoever reports must know it.
        lease: String,
    },
    /// Handled.
    Completed {
        /// When.
        at: Timestamp,
        /// What the handler did.
        result: ReceiptResult,
        /// Its name for the effect.
        operation_id: String,
    },
    /// The handler failed too often; kept for a replay.
    #[serde(rename = "dead_letter")]
    DeadLetter {
        /// When.
        at: Timestamp,
    },
}

/// What the handler answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HandlerResult {
    /// Done, one way or another.
    Done {
        /// Which way.
        result: ReceiptResult,
        /// Its name for the effect, where it gave one.
        operation_id: Option<String>,
    },
    /// Not now: 5xx, 429 or no answer.
    Failed {
        /// The status, where there was one.
        status: Option<u16>,
    },
}

/// An event in the inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    /// Its identity.
    pub key: Key,
    /// SHA-256 of its bytes.
    pub digest: Digest,
    /// Its type.
    pub event_type: String,
    /// When it arrived first.
    pub received_at: Timestamp,
    /// The signed time of that arrival.
    pub signed_at: Timestamp,
    /// Further arrivals of the same bytes.
    pub duplicates: u32,
    /// Handler attempts that failed in a row.
    pub failures: u32,
    /// The handler's last status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    /// Where it is.
    #[serde(flatten)]
    pub state: InboxState,
    /// When something is to be done next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

/// What a step asks of its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The result is recorded now: receipts become due.
    Completed,
    /// Nothing more.
    Waiting,
}

impl Item {
    /// A first arrival.
    pub fn arrive(
        key: Key,
        digest: Digest,
        event_type: String,
        signed_at: Timestamp,
        now: Timestamp,
    ) -> Self {
        Self {
            key,
            digest,
            event_type,
            received_at: now,
            signed_at,
            duplicates: 0,
            failures: 0,
            last_status: None,
            state: InboxState::Pending,
            due: Some(now),
        }
    }

    /// Pending, or processing under a lease that ran out, → processing.
    pub fn take(mut self, lease: String, now: Timestamp) -> Option<Self> {
        let free = match &self.state {
            InboxState::Pending | InboxState::Processing { .. } => self.due.is_some_and(|due| due <= now),
            InboxState::Completed { .. } | InboxState::DeadLetter { .. } => false,
        };
        if !free {
            return None;
        }
        self.state = InboxState::Processing { lease };
        self.due = Some(now + HANDLER_LEASE);
        Some(self)
    }

    /// Records what the handler answered under `lease`; a stale lease changes nothing.
    pub fn report(mut self, lease: &str, answer: HandlerResult, now: Timestamp) -> (Self, Advance) {
        let current = matches!(&self.state, InboxState::Processing { lease: held } if held == lease);
        if !current {
            return (self, Advance::Waiting);
        }
        match answer {
            HandlerResult::Done { result, operation_id } => {
                let operation_id = operation_id.unwrap_or_else(|| default_operation_id(&self.key));
                self.state = InboxState::Completed { at: now, result, operation_id };
                self.due = None;
                (self, Advance::Completed)
            }
            HandlerResult::Failed { status } => {
                self.failures += 1;
                self.last_status = status;
                match HANDLER_WAITS.get(self.failures as usize) {
                    Some(&wait) => {
                        self.state = InboxState::Pending;
                        self.due = Some(now + Span::seconds(wait));
                    }
                    None => {
                        self.state = InboxState::DeadLetter { at: now };
                        self.due = None;
                    }
                }
                (self, Advance::Waiting)
            }
        }
    }
}

/// Where a receipt is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum ReceiptState {
    /// Waiting for the event to be handled.
    Waiting,
    /// To be sent.
    Due,
    /// Recorded by the sender, the first time or again.
    Confirmed {
        /// When.
        at: Timestamp,
    },
    /// The sender refused it for good.
    Refused {
        /// When.
        at: Timestamp,
        /// Its status.
        status: u16,
    },
    /// Not accepted within a day.
    GivenUp {
        /// When.
        at: Timestamp,
    },
}

/// The receipt owed for one event to one subscription.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemReceipt {
    /// The delivery it answers.
    pub arrival: Arrival,
    /// When it was first due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Tries made.
    pub tries: u32,
    /// The sender's last status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    /// Where it is.
    #[serde(flatten)]
    pub state: ReceiptState,
    /// When to try next.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

impl ItemReceipt {
    /// The receipt for a first arrival.
    pub fn waiting(arrival: Arrival) -> Self {
        Self { arrival, since: None, tries: 0, last_status: None, state: ReceiptState::Waiting, due: None }
    }

    /// The event is handled: send it.
    #[must_use]
    pub fn release(mut self, now: Timestamp) -> Self {
        if self.state == ReceiptState::Waiting {
            self.state = ReceiptState::Due;
            self.since = Some(now);
            self.due = Some(now);
        }
        self
    }

    /// Counts a try before it is made, so that a lost worker does not lose the receipt.
    #[must_use]
    pub fn begin(mut self, now: Timestamp) -> Self {
        self.tries += 1;
        let wait = RECEIPT_WAITS[(self.tries as usize).min(RECEIPT_WAITS.len() - 1)];
        self.due = Some(now + Span::seconds(wait.max(15)));
        self
    }

    /// Records the sender's answer; `None` is no answer.
    #[must_use]
    pub fn answered(mut self, status: Option<u16>, now: Timestamp) -> Self {
        if self.state != ReceiptState::Due {
            return self;
        }
        self.last_status = status;
        self.state = match status {
            Some(200..=299) => ReceiptState::Confirmed { at: now },
            Some(status @ (400..=407 | 409..=428 | 430..=499)) => ReceiptState::Refused { at: now, status },
            Some(_) | None if self.since.is_some_and(|since| now - since > RECEIPT_LIFE) => {
                ReceiptState::GivenUp { at: now }
            }
            Some(_) | None => {
                let wait = RECEIPT_WAITS[(self.tries as usize).min(RECEIPT_WAITS.len() - 1)];
                self.due = Some(now + Span::seconds(wait));
                return self;
            }
        };
        self.due = None;
        self
    }
}
