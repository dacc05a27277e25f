//! The inbox: an event is stored once, handled until it is done, and confirmed under one operation id.
//!
//! `completed` is never written before the effect; a result, once recorded, never changes.

use serde::{Deserialize, Serialize};

use crate::base64;
use crate::digest::Digest;
use crate::id::{Environment, EventId, TenantId};
use crate::reason::Reason;
use crate::receipt::ReceiptResult;
use crate::time::{Span, Timestamp};
use crate::tuple::Tuple;

/// Waits between handler attempts in seconds; after the last the event is a receiver dead letter.
const HANDLER_WAITS: [i64; 3] = [0, 1, 5];

/// Longest time a handler may take.
pub const HANDLER_TIMEOUT: Span = Span::seconds(30);

/// Its lease is a little longer, so that whoever still waits for it can report.
pub(crate) const HANDLER_LEASE: Span = Span::seconds(40);

/// How long a completed event is remembered; the sender replays nothing that is nearly as old.
pub const RETENTION: Span = Span::days(30);

/// Clocks differ: an event is too old a little before its row may be gone.
const RETENTION_MARGIN: Span = Span::hours(1);

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

impl Key {
    /// Its text in tables and paths: a digest of the sender, a dot, the event id. Unique in a source, for
    /// the digest holds no dot, and in the order of event ids for each sender.
    pub fn id(&self) -> String {
        let sender = Tuple::new("hookproof-inbox-sender-v1")
            .field(&self.issuer)
            .field(self.tenant.as_str())
            .field(self.environment.as_str())
            .sha256();
        format!("{}.{}", base64::url(&sender[..16]), self.event_id)
    }
}

/// Whether an event the sender accepted at `accepted_at` may have been here before and been forgotten.
pub fn is_too_old(accepted_at: Timestamp, now: Timestamp) -> bool {
    now - accepted_at > Span::millis(RETENTION.as_millis() - RETENTION_MARGIN.as_millis())
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

/// Where an event is. In JSON a flat object with its `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
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
    DeadLetter {
        /// When.
        at: Timestamp,
        /// Why.
        reason: Reason,
    },
}

/// The JSON of an [`InboxState`].
#[derive(Serialize, Deserialize)]
struct Flat {
    state: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<ReceiptResult>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operation_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Pending,
    Processing,
    Completed,
    DeadLetter,
}

impl From<InboxState> for Flat {
    fn from(state: InboxState) -> Self {
        let bare =
            |state| Self { state, lease: None, at: None, result: None, operation_id: None, reason: None };
        match state {
            InboxState::Pending => bare(Name::Pending),
            InboxState::Processing { lease } => Self { lease: Some(lease), ..bare(Name::Processing) },
            InboxState::Completed { at, result, operation_id } => Self {
                at: Some(at),
                result: Some(result),
                operation_id: Some(operation_id),
                ..bare(Name::Completed)
            },
            InboxState::DeadLetter { at, reason } => {
                Self { at: Some(at), reason: Some(reason), ..bare(Name::DeadLetter) }
            }
        }
    }
}

impl TryFrom<Flat> for InboxState {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let at = flat.at.ok_or("this state has a time");
        Ok(match flat.state {
            Name::Pending => Self::Pending,
            Name::Processing => Self::Processing { lease: flat.lease.ok_or("this state has a lease")? },
            Name::Completed => Self::Completed {
                at: at?,
                result: flat.result.ok_or("this state has a result")?,
                operation_id: flat.operation_id.ok_or("this state has an operation")?,
            },
            Name::DeadLetter => {
                Self::DeadLetter { at: at?, reason: flat.reason.ok_or("this state has a reason")? }
            }
        })
    }
}

impl InboxState {
    /// Its name in JSON, in tables and in queries.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing { .. } => "processing",
            Self::Completed { .. } => "completed",
            Self::DeadLetter { .. } => "dead_letter",
        }
    }
}

/// What the handler answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HandlerResult {
    /// Done, one way or another.
    Done {
        /// Which way.
        result: ReceiptResult,
        /// Its name for the effect, where it gave one.
        operation_id: Option<String>,
    },
    /// Not now: any other status, or no answer.
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
    /// Replays from the dead letters.
    #[serde(default)]
    pub replays: u32,
    /// The last of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replayed_at: Option<Timestamp>,
    /// Where it is.
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
            replays: 0,
            replayed_at: None,
            state: InboxState::Pending,
            due: Some(now),
        }
    }

    /// The same bytes arrived again.
    #[must_use]
    pub fn repeat(mut self) -> Self {
        self.duplicates = self.duplicates.saturating_add(1);
        self
    }

    /// Processing under a lease that ran out → pending at once; a handler that took its worker along
    /// gave no answer, and the third time is the last.
    #[must_use]
    pub fn lapse(self, now: Timestamp) -> Self {
        let lost = matches!(self.state, InboxState::Processing { .. }) && self.is_due(now);
        if !lost {
            return self;
        }
        let mut it = self.fail(None, now);
        it.due = it.due.map(|_| now);
        it
    }

    /// Pending, or processing under a lease that ran out, → processing.
    pub fn take(self, lease: String, now: Timestamp) -> Option<Self> {
        let mut it = self.lapse(now);
        if it.state != InboxState::Pending || !it.is_due(now) {
            return None;
        }
        it.state = InboxState::Processing { lease };
        it.due = Some(now + HANDLER_LEASE);
        Some(it)
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
            HandlerResult::Failed { status } => (self.fail(status, now), Advance::Waiting),
        }
    }

    /// Dead letter → pending, with its attempts counted anew. A replay that is already under way is
    /// answered the same; anything else is [`Reason::StateForbids`].
    pub fn replay(mut self, now: Timestamp) -> Result<Self, Reason> {
        match self.state {
            InboxState::DeadLetter { .. } => {
                self.state = InboxState::Pending;
                self.failures = 0;
                self.replays += 1;
                self.replayed_at = Some(now);
                self.due = Some(now);
                Ok(self)
            }
            InboxState::Pending | InboxState::Processing { .. } if self.replays > 0 => Ok(self),
            InboxState::Pending | InboxState::Processing { .. } | InboxState::Completed { .. } => {
                Err(Reason::StateForbids)
            }
        }
    }

    /// Due, and its source is gone → dead letter.
    #[must_use]
    pub fn abandon(self, now: Timestamp) -> Self {
        if self.is_due(now) { self.bury(Reason::SourceUnknown, now) } else { self }
    }

    /// From the signed time to the recorded result.
    pub fn latency(&self) -> Option<Span> {
        match self.state {
            InboxState::Completed { at, .. } => Some(at - self.signed_at),
            InboxState::Pending | InboxState::Processing { .. } | InboxState::DeadLetter { .. } => None,
        }
    }

    fn is_due(&self, now: Timestamp) -> bool {
        self.due.is_some_and(|due| due <= now)
    }

    fn fail(mut self, status: Option<u16>, now: Timestamp) -> Self {
        self.failures += 1;
        self.last_status = status;
        match HANDLER_WAITS.get(self.failures as usize) {
            Some(&wait) => {
                self.state = InboxState::Pending;
                self.due = Some(now + Span::seconds(wait));
                self
            }
            None => self.bury(failure(status), now),
        }
    }

    fn bury(mut self, reason: Reason, now: Timestamp) -> Self {
        self.state = InboxState::DeadLetter { at: now, reason };
        self.due = None;
        self
    }
}

fn failure(status: Option<u16>) -> Reason {
    match status {
        None => Reason::TransportUnknown,
        Some(300..=399) => Reason::RedirectRefused,
        Some(429) => Reason::EndpointThrottled,
        Some(400..=499) => Reason::EndpointClientError,
        Some(_) => Reason::EndpointServerError,
    }
}
