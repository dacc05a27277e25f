//! A receipt is owed for every subscription that brought the event, until its sender answers for good.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{DeliveryId, Generation, SubscriptionId};
use crate::time::{Span, Timestamp};

/// Waits between tries to send a receipt in seconds; the last repeats for a day.
const RECEIPT_WAITS: [i64; 8] = [0, 1, 5, 30, 120, 600, 1800, 3600];

/// How long a receipt is tried.
const RECEIPT_LIFE: Span = Span::hours(24);

/// How soon a try is repeated whose outcome nobody reported, in seconds.
const LOST_TRY: i64 = 15;

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

/// Where a receipt is. In JSON a flat object with its `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
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

/// The JSON of a [`ReceiptState`].
#[derive(Serialize, Deserialize)]
struct Flat {
    state: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Name {
    Waiting,
    Due,
    Confirmed,
    Refused,
    GivenUp,
}

impl From<ReceiptState> for Flat {
    fn from(state: ReceiptState) -> Self {
        let (state, at, status) = match state {
            ReceiptState::Waiting => (Name::Waiting, None, None),
            ReceiptState::Due => (Name::Due, None, None),
            ReceiptState::Confirmed { at } => (Name::Confirmed, Some(at), None),
            ReceiptState::Refused { at, status } => (Name::Refused, Some(at), Some(status)),
            ReceiptState::GivenUp { at } => (Name::GivenUp, Some(at), None),
        };
        Self { state, at, status }
    }
}

impl TryFrom<Flat> for ReceiptState {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let at = flat.at.ok_or("this state has a time");
        Ok(match flat.state {
            Name::Waiting => Self::Waiting,
            Name::Due => Self::Due,
            Name::Confirmed => Self::Confirmed { at: at? },
            Name::Refused => Self::Refused { at: at?, status: flat.status.ok_or("this state has a status")? },
            Name::GivenUp => Self::GivenUp { at: at? },
        })
    }
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

    /// The event arrived again through this subscription. A newer generation asks for a receipt of its
    /// own, and one that failed is tried again with the new arrival.
    #[must_use]
    pub fn again(self, arrival: Arrival) -> Self {
        let failed = matches!(self.state, ReceiptState::Refused { .. } | ReceiptState::GivenUp { .. });
        let newer = arrival.generation > self.arrival.generation;
        if newer || (failed && arrival.generation == self.arrival.generation) {
            return Self::waiting(arrival);
        }
        self
    }

    /// There is nobody left to send it.
    #[must_use]
    pub fn abandon(mut self, now: Timestamp) -> Self {
        if self.state == ReceiptState::Due {
            self.state = ReceiptState::GivenUp { at: now };
            self.due = None;
        }
        self
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
        self.due = Some(now + Span::seconds(wait.max(LOST_TRY)));
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
