//! Authorities by name: each command with the type of its reply, so that a caller carries the code of
//! those it uses and of no others.

use hookproof_core::id::{ChallengeId, DeliveryId, SubscriptionId};
use hookproof_core::keys::Issuer;
use hookproof_core::subscription::{OldGenerations, SuspendReason};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::Ask;
use serde_json::value::RawValue;

use super::Authority;
use super::change::{ChangeRequest, Changed};
use super::command::{
    ChallengeOutcome, ChallengeRequest, Claimed, Command, Described, Page, PlanItem, Planned, SettleItem,
    Standing,
};
use super::lifecycle::Expected;
use super::receipt::{ReceiptOutcome, ReceiptRequest};
use super::register::{Registered, Registration};
use crate::idempotency::Once;

/// Calls to authorities.
#[expect(async_fn_in_trait, reason = "hosts are single-threaded; a Send bound would exclude Workers")]
pub trait AskAuthority: Ask<Authority> {
    /// Creates the subscription.
    async fn register(&self, id: &SubscriptionId, registration: Registration) -> Result<Registered, Refusal> {
        self.ask(id.as_str(), Command::Register(Box::new(registration))).await
    }

    /// Reads the subscription.
    async fn describe(&self, id: &SubscriptionId) -> Result<Described, Refusal> {
        self.ask(id.as_str(), Command::Describe).await
    }

    /// Changes the subscription.
    async fn change(&self, id: &SubscriptionId, asked: ChangeRequest) -> Result<Changed, Refusal> {
        self.ask(id.as_str(), Command::Change(Box::new(asked))).await
    }

    /// Suspends what serves.
    async fn suspend(&self, id: &SubscriptionId, reason: SuspendReason) -> Result<Described, Refusal> {
        self.ask(id.as_str(), Command::Suspend { reason }).await
    }

    /// Brings a suspended generation back.
    async fn resume(&self, id: &SubscriptionId) -> Result<Described, Refusal> {
        self.ask(id.as_str(), Command::Resume).await
    }

    /// Brings back what only the recovery credential can.
    async fn recover(&self, id: &SubscriptionId, credential: String) -> Result<Changed, Refusal> {
        self.ask(id.as_str(), Command::Recover { credential }).await
    }

    /// Ends the subscription.
    async fn revoke(
        &self,
        id: &SubscriptionId,
        expected: Option<Expected>,
        registered: OldGenerations,
    ) -> Result<Described, Refusal> {
        self.ask(id.as_str(), Command::Revoke { expected, registered }).await
    }

    /// Asks for a challenge.
    async fn request_challenge(&self, id: &SubscriptionId) -> Result<Described, Refusal> {
        self.ask(id.as_str(), Command::RequestChallenge { consent: None }).await
    }

    /// Asks for a challenge and shows the old subscriber key's consent to its replacement.
    async fn consent_and_challenge(
        &self,
        id: &SubscriptionId,
        signature: String,
    ) -> Result<Described, Refusal> {
        self.ask(id.as_str(), Command::RequestChallenge { consent: Some(signature) }).await
    }

    /// Sends a command that answers a [`Described`], for a request that may come twice.
    async fn once(
        &self,
        id: &SubscriptionId,
        once: Option<&Once>,
        command: Command,
    ) -> Result<Described, Refusal> {
        self.ask(id.as_str(), at_most_once(once, command)).await
    }

    /// The same for a command that answers with what is shown once; its repeat shows nothing.
    async fn changed_once(
        &self,
        id: &SubscriptionId,
        once: Option<&Once>,
        command: Command,
    ) -> Result<Changed, Refusal> {
        self.ask(id.as_str(), at_most_once(once, command)).await
    }

    /// The challenge that is due, if one is.
    async fn issue_challenge(&self, id: &SubscriptionId) -> Result<Option<Box<ChallengeRequest>>, Refusal> {
        self.ask(id.as_str(), Command::IssueChallenge).await
    }

    /// Brings what came back for a challenge; the reply is why it failed, or nothing.
    async fn judge_challenge(
        &self,
        id: &SubscriptionId,
        challenge_id: ChallengeId,
        outcome: ChallengeOutcome,
    ) -> Result<Option<Reason>, Refusal> {
        self.ask(id.as_str(), Command::JudgeChallenge { challenge_id, outcome }).await
    }

    /// Plans what is new and claims what is due; one outcome an item, in order.
    async fn plan_and_claim(
        &self,
        id: &SubscriptionId,
        items: Vec<PlanItem>,
    ) -> Result<Vec<Planned>, Refusal> {
        self.ask(id.as_str(), Command::PlanAndClaim { items }).await
    }

    /// Claims what is due.
    async fn claim_due(&self, id: &SubscriptionId) -> Result<Vec<Claimed>, Refusal> {
        self.ask(id.as_str(), Command::ClaimDue).await
    }

    /// Brings what came of attempts.
    async fn settle(&self, id: &SubscriptionId, items: Vec<SettleItem>) -> Result<Vec<Standing>, Refusal> {
        self.ask(id.as_str(), Command::Settle { items }).await
    }

    /// Brings a receipt.
    async fn receipt(&self, id: &SubscriptionId, request: ReceiptRequest) -> Result<ReceiptOutcome, Refusal> {
        self.ask(id.as_str(), Command::Receipt(Box::new(request))).await
    }

    /// Reads a delivery.
    async fn delivery(&self, id: &SubscriptionId, delivery_id: DeliveryId) -> Result<Box<RawValue>, Refusal> {
        self.ask(id.as_str(), Command::Delivery { delivery_id }).await
    }

    /// Reads deliveries, newest first.
    async fn deliveries(
        &self,
        id: &SubscriptionId,
        after: Option<DeliveryId>,
        limit: u32,
        state: Option<String>,
    ) -> Result<Page, Refusal> {
        self.ask(id.as_str(), Command::Deliveries { after, limit, state }).await
    }

    /// Reads the evidence chain.
    async fn evidence(&self, id: &SubscriptionId) -> Result<Box<RawValue>, Refusal> {
        self.ask(id.as_str(), Command::Evidence).await
    }

    /// The signed key document, as it is served.
    async fn key_document(&self, id: &SubscriptionId) -> Result<String, Refusal> {
        self.ask(id.as_str(), Command::KeyDocument).await
    }

    /// Who signs key documents. Asked of an object of no subscription's name, which stays empty.
    async fn issuer(&self) -> Result<Issuer, Refusal> {
        self.ask("issuer", Command::Issuer).await
    }
}

impl<T: Ask<Authority>> AskAuthority for T {}

fn at_most_once(once: Option<&Once>, command: Command) -> Command {
    match once {
        Some(once) => Command::Once { once: once.clone(), command: Box::new(command) },
        None => command,
    }
}
