//! What an authority can be told and what it answers.

use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::{EgressAssurance, EndpointUrl, Lookup};
use hookproof_core::id::{ChallengeId, DeliveryId, Environment, EventId, SubscriptionId, TenantId};
use hookproof_core::keys::Issuer;
use hookproof_core::ledger::Outcome;
use hookproof_core::subscription::{OldGenerations, SuspendReason, Wants};
use hookproof_core::time::{Span, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::change::{ChangeRequest, Changed};
use super::lifecycle::Expected;
use super::receipt::{ReceiptOutcome, ReceiptRequest};
use super::register::{Registered, Registration};
use crate::idempotency::Once;
use crate::message::EventRef;

/// A command to one authority.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Creates the subscription with its first generation.
    Register(Box<Registration>),
    /// Reads the subscription.
    Describe,
    /// Changes the subscription; what binds stages the next generation.
    Change(Box<ChangeRequest>),
    /// Suspends what serves; also pause.
    Suspend {
        /// Why.
        reason: SuspendReason,
    },
    /// Brings a suspended generation back; it is challenged at once.
    Resume,
    /// Brings back what only the recovery credential can.
    Recover {
        /// The credential.
        credential: String,
    },
    /// Ends the subscription.
    Revoke {
        /// Only if the subscription is there.
        expected: Option<Expected>,
        /// What becomes of deliveries that are registered already.
        registered: OldGenerations,
    },
    /// Asks for a challenge of the generations that wait for one; resets their tries.
    RequestChallenge {
        /// The old subscriber key's consent to its replacement, base64url.
        consent: Option<String>,
    },
    /// Draws and signs the challenge that is due, if one is.
    IssueChallenge,
    /// Judges what came back, and activates on a proof.
    JudgeChallenge {
        /// Which challenge.
        challenge_id: ChallengeId,
        /// What came back.
        outcome: ChallengeOutcome,
        /// What the lookup for it gave: where a generation's addresses begin.
        #[serde(default)]
        lookup: Lookup,
    },
    /// Plans deliveries that are new and claims, signs and leases those that are due.
    PlanAndClaim {
        /// The events.
        items: Vec<PlanItem>,
    },
    /// Claims what is due.
    ClaimDue,
    /// Records what came of attempts.
    Settle {
        /// The attempts.
        items: Vec<SettleItem>,
    },
    /// Verifies and records an application receipt.
    Receipt(Box<ReceiptRequest>),
    /// Reads a delivery.
    Delivery {
        /// Which.
        delivery_id: DeliveryId,
    },
    /// Reads deliveries, newest first.
    Deliveries {
        /// Continue after this one.
        after: Option<DeliveryId>,
        /// At most so many.
        limit: u32,
        /// Only in this state.
        state: Option<String>,
    },
    /// Reads the evidence chain.
    Evidence,
    /// Runs a command that answers a [`Described`] once; a repeat of the request reads the subscription.
    Once {
        /// The request.
        once: Once,
        /// What it asks for.
        command: Box<Self>,
    },
    /// The signed key document.
    KeyDocument,
    /// Who signs key documents; any authority knows, whether its subscription exists or not.
    Issuer,
}

/// A reply to a command, sent bare: [`super::AskAuthority`] knows its type. Views travel as the JSON they
/// are shown as: nobody on the way reads them.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `Register`.
    Registered(Box<Registered>),
    /// To `Describe`, `Suspend`, `Resume`, `Revoke` and `RequestChallenge`.
    Subscription(Box<Described>),
    /// To `Change` and `Recover`.
    Changed(Box<Changed>),
    /// To `IssueChallenge`: what to send, or nothing.
    Challenge(Option<Box<ChallengeRequest>>),
    /// To `JudgeChallenge`: why it failed, or nothing when it proved.
    ChallengeJudged(Option<Reason>),
    /// To `PlanAndClaim`, item by item.
    Planned(Vec<Planned>),
    /// To `ClaimDue`.
    Claimed(Vec<Claimed>),
    /// To `Settle`: the state after each.
    Settled(Vec<Standing>),
    /// To `Receipt`.
    Receipt(Box<ReceiptOutcome>),
    /// To `Delivery`: a [`super::DeliveryView`].
    Delivery(Box<RawValue>),
    /// To `Deliveries`.
    Deliveries(Page),
    /// To `Evidence`: a [`super::Bundle`].
    Evidence(Box<RawValue>),
    /// To `KeyDocument`: the text of a [`hookproof_core::key_document::Signed`], as it is served.
    KeyDocument(String),
    /// To `Issuer`.
    Issuer(Issuer),
}

/// A subscription: whose it is, where it stands, and its [`super::SubscriptionView`].
#[derive(Debug, Serialize, Deserialize)]
pub struct Described {
    /// Its tenant.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The state shown.
    pub state: String,
    /// The view.
    pub view: Box<RawValue>,
}

/// Where a delivery stands, for the log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Standing {
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// The event.
    pub event_id: EventId,
    /// The attempt.
    pub attempt: u32,
    /// Its state.
    pub state: String,
    /// The last status the endpoint answered.
    pub status: Option<u16>,
    /// Why the last attempt failed.
    pub reason: Option<Reason>,
}

/// Some deliveries, newest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct Page {
    /// A [`super::DeliveryView`] each.
    pub items: Vec<Box<RawValue>>,
    /// Where the next page starts, if there may be one.
    pub next: Option<DeliveryId>,
}

/// What the timer asks of the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// Deliveries are due: one message on the retry queue.
    Deliveries(SubscriptionId),
    /// A challenge is due: one message on the challenge queue.
    Challenge(SubscriptionId),
}

/// One event to plan.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlanItem {
    /// The event.
    pub event: EventRef,
    /// Digests of wants that somebody found it to fit.
    #[serde(default)]
    pub filter_digests: Vec<Digest>,
}

/// What became of an item.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Planned {
    /// To be sent now.
    Claimed(Box<Claimed>),
    /// Planned or waiting; the authority's timer will ask.
    Later {
        /// Until when.
        at: Option<Timestamp>,
    },
    /// Already past that: nothing to send.
    Settled {
        /// The delivery's state.
        state: String,
    },
    /// It was not matched against what its generation wants: to be tried, and asked again if it fits.
    Stale {
        /// What that is.
        wants: Box<Wants>,
    },
    /// Not for this subscription.
    NotWanted {
        /// Why.
        reason: Reason,
    },
}

/// An attempt that is durable, signed and leased: everything to send it, nothing to look up again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Claimed {
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// Where its bytes are.
    pub event: EventRef,
    /// The attempt.
    pub attempt: u32,
    /// Settle with this.
    pub lease_token: String,
    /// Do not start after this.
    pub lease_until: Timestamp,
    /// Where to send.
    pub endpoint: EndpointUrl,
    /// The finished header fields.
    pub fields: Vec<HeaderField>,
    /// The `Signature-Input` member, for the journal.
    pub signature_input: String,
    /// The key that signed, for the journal.
    pub key_id: String,
    /// Longest time the request may take.
    pub timeout: Span,
}

/// A header field.
pub type HeaderField = (String, String);

/// What came of an attempt.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettleItem {
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// The attempt.
    pub attempt: u32,
    /// Its lease.
    pub lease_token: String,
    /// What the transport saw.
    pub outcome: Outcome,
    /// How sure the address was.
    pub assurance: Option<EgressAssurance>,
    /// What the lookup for it gave.
    #[serde(default)]
    pub lookup: Lookup,
}

/// A challenge ready to send: the decoy first, then the question.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ChallengeRequest {
    /// Which.
    pub challenge_id: ChallengeId,
    /// Where to.
    pub endpoint: EndpointUrl,
    /// The decoy's fields.
    pub decoy_fields: Vec<HeaderField>,
    /// The decoy's body: one character changed after signing.
    pub decoy_body: String,
    /// The question's fields.
    pub fields: Vec<HeaderField>,
    /// The question's body.
    pub body: String,
    /// The `Signature-Input` member, for the journal.
    pub signature_input: String,
    /// The key being proved.
    pub key_id: String,
    /// Longest time the decoy may take.
    pub decoy_timeout: Span,
    /// Longest time the question may take.
    pub timeout: Span,
}

/// What came back for a challenge.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChallengeOutcome {
    /// The decoy was answered as if it were genuine.
    DecoyAnswered,
    /// A complete answer.
    Answered {
        /// Its status.
        status: u16,
        /// Its content type.
        content_type: Option<String>,
        /// Its body as text; none when it was not UTF-8 or too long.
        body: Option<String>,
    },
    /// No answer, or the endpoint was refused by policy.
    Failed {
        /// Why.
        reason: Reason,
    },
}
