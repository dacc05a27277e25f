//! What a receipt does to a delivery.

use serde::{Deserialize, Serialize};

use super::delivery::Delivery;
use super::state::{Basis, State};
use crate::digest::Digest;
use crate::reason::Reason;
use crate::receipt::{Assurance, Receipt, ReceiptResult};
use crate::subscription::ReceiptContract;
use crate::time::Timestamp;

/// The subscriber's word, as recorded. Compared exactly, never overwritten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Application {
    /// The subscriber's own name for the effect.
    pub operation_id: String,
    /// What it did.
    pub result: ReceiptResult,
    /// The bytes it speaks of.
    pub payload_digest: Digest,
    /// The attempt it answers.
    pub attempt: u32,
    /// The key it was signed with.
    pub key_id: String,
    /// Whether a third party can check it.
    pub assurance: Assurance,
    /// SHA-256 of the receipt's body.
    pub receipt_digest: Digest,
    /// When it was accepted.
    pub at: Timestamp,
}

/// The application tier, as every answer shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ApplicationTier {
    /// No receipt contract: nobody will ever know.
    Unobservable,
    /// No receipt yet.
    Pending,
    /// Applied.
    Applied,
    /// Received and not acted on.
    Ignored,
    /// Received and refused.
    Rejected,
}

/// What recording a receipt did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Recorded {
    /// The first for this delivery.
    Confirmed,
    /// The same again.
    Duplicate,
}

impl Delivery {
    /// The application tier under `contract`.
    pub fn tier(&self, contract: &ReceiptContract) -> ApplicationTier {
        match (contract, &self.application) {
            (ReceiptContract::None, _) => ApplicationTier::Unobservable,
            (ReceiptContract::HmacSha256 | ReceiptContract::Ed25519 { .. }, None) => ApplicationTier::Pending,
            (ReceiptContract::HmacSha256 | ReceiptContract::Ed25519 { .. }, Some(it)) => match it.result {
                ReceiptResult::Applied => ApplicationTier::Applied,
                ReceiptResult::Ignored => ApplicationTier::Ignored,
                ReceiptResult::Rejected => ApplicationTier::Rejected,
            },
        }
    }

    /// Records a receipt whose signature verified and whose body is `receipt`.
    ///
    /// With an attempt made, in any state, one change records acceptance (`basis: receipt`, where
    /// nothing else established it) and then the result; a later settle moves nothing.
    pub fn record(mut self, receipt: &Receipt, application: Application) -> Result<(Self, Recorded), Reason> {
        if self.attempt == 0 {
            return Err(Reason::ReceiptBeforeAttempt);
        }
        let about = receipt.delivery_id == self.id && receipt.event_id == self.event;
        if !about || receipt.generation != self.generation {
            return Err(Reason::ReceiptUnbound);
        }
        if receipt.payload_digest != self.payload.digest {
            return Err(Reason::ReceiptConflict);
        }
        let answered = self.attempts.iter().find(|a| a.number == receipt.attempt);
        if answered.is_none_or(|a| a.signature_digest != receipt.delivery_signature_digest) {
            return Err(Reason::ReceiptUnbound);
        }
        if let Some(earlier) = &self.application {
            return match (earlier.operation_id == receipt.operation_id, earlier.result == receipt.result) {
                (true, true) => Ok((self, Recorded::Duplicate)),
                (false, _) => Err(Reason::ReceiptSecondEffect),
                (true, false) => Err(Reason::ReceiptConflict),
            };
        }
        self.accept(application.at, application.result);
        self.application = Some(application);
        Ok((self, Recorded::Confirmed))
    }

    fn accept(&mut self, now: Timestamp, result: ReceiptResult) {
        let (at, basis) = match self.state {
            State::EndpointAccepted { at, basis } => (at, basis),
            State::ApplicationConfirmed { .. } => return,
            State::Planned
            | State::Dispatching { .. }
            | State::Retryable
            | State::UnknownTransport { .. }
            | State::DeadLetter { .. } => (now, Basis::Receipt),
        };
        self.due = None;
        self.state = match result {
            ReceiptResult::Applied => State::ApplicationConfirmed { at: now, basis },
            ReceiptResult::Ignored | ReceiptResult::Rejected => State::EndpointAccepted { at, basis },
        };
    }
}
