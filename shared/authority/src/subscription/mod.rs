//! The authority: everything about one subscription, decided by one object, one transaction a command.
//!
//! Private keys and secrets are unsealed here only, inside the transaction that needs them; what
//! leaves is finished header values. A revocation that has committed is therefore final.

mod challenge;
mod change;
mod claim;
mod client;
mod command;
mod dns;
mod evidence;
mod key_document;
mod lifecycle;
mod query;
mod receipt;
mod recovery;
mod register;
mod session;
mod settle;
mod store;
mod wake;

pub use change::{ChangeRequest, Changed};
pub use client::AskAuthority;
pub use command::{
    ChallengeOutcome, ChallengeRequest, Claimed, Command, Described, HeaderField, Page, PlanItem, Planned,
    Reply, SettleItem, Standing, Wake,
};
pub use evidence::{Bundle, What};
pub use lifecycle::Expected;
pub use query::{AttemptView, DeliveryView, GenerationView, StateView, SubscriptionView};
pub use receipt::{ReceiptOutcome, ReceiptRequest};
pub use register::{Registered, Registration, SigningAlg};

use crate::rows::raw;
use hookproof_core::Refusal;
use hookproof_core::id::IdKey;
use hookproof_core::keys::{IssuerKeys, MasterKeys};
use hookproof_ports::{Aggregate, Commit, Context, Sql};

/// The authority's code and what its deployment gives it.
pub struct Authority {
    /// The deployment's origin; part of every proof and key derivation.
    pub issuer: String,
    /// Where subscribers send receipts.
    pub receipts_url: String,
    /// This region's name.
    pub region: String,
    /// Opens and seals what is at rest.
    pub keys: MasterKeys,
    /// Sign key documents.
    pub issuer_keys: IssuerKeys,
    /// Checks ids.
    pub id_key: IdKey,
}

impl Aggregate for Authority {
    const NAME: &'static str = "subscription";
    const SCHEMA: &'static [&'static str] = store::SCHEMA;
    type Command = Command;
    type Reply = Reply;
    type Wake = Wake;

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: Command,
    ) -> Result<Commit<Reply>, Refusal> {
        if let Command::Register(registration) = command {
            return self.register(context, sql, *registration).await;
        }
        if let Command::Issuer = command {
            return Ok(Commit::keep(Reply::Issuer(self.issuer()?)));
        }
        let mut session = self.open(context, sql).await?;
        let command = if let Command::Once { once, command } = command {
            let first = session.first(&once).await?;
            if first {
                *command
            } else if let Command::Recover { .. } = *command {
                let repeated = session.nothing_shown().await?;
                return session.commit(Reply::Changed(Box::new(repeated))).await;
            } else {
                Command::Describe
            }
        } else {
            command
        };
        let reply = match command {
            Command::Once { .. } | Command::Register(_) | Command::Issuer => {
                return Err(hookproof_core::Reason::InternalCorrupt.into());
            }
            Command::Describe => Reply::Subscription(Box::new(session.describe().await?)),
            Command::Change(asked) => Reply::Changed(Box::new(session.change(*asked).await?)),
            Command::Suspend { reason } => {
                Reply::Subscription(Box::new(session.suspend_serving(reason).await?))
            }
            Command::Resume => Reply::Subscription(Box::new(session.resume().await?)),
            Command::Recover { credential } => Reply::Changed(Box::new(session.recover(&credential).await?)),
            Command::Revoke { expected, registered } => {
                Reply::Subscription(Box::new(session.revoke(expected, registered).await?))
            }
            Command::RequestChallenge { consent } => {
                Reply::Subscription(Box::new(session.request_challenge(consent.as_deref()).await?))
            }
            Command::IssueChallenge => Reply::Challenge(session.issue_challenge().await?.map(Box::new)),
            Command::JudgeChallenge { challenge_id, outcome, lookup } => {
                Reply::ChallengeJudged(session.judge_challenge(&challenge_id, outcome, &lookup).await?)
            }
            Command::PlanAndClaim { items } => Reply::Planned(session.plan_and_claim(items).await?),
            Command::ClaimDue => Reply::Claimed(session.claim_due().await?),
            Command::Settle { items } => Reply::Settled(session.settle(items).await?),
            Command::Receipt(request) => Reply::Receipt(Box::new(session.receipt(*request).await?)),
            Command::Delivery { delivery_id } => Reply::Delivery(session.delivery(&delivery_id).await?),
            Command::Deliveries { after, limit, state } => {
                Reply::Deliveries(session.deliveries(after.as_ref(), limit, state.as_deref()).await?)
            }
            Command::Evidence => Reply::Evidence(raw(&session.evidence().await?)?),
            Command::KeyDocument => Reply::KeyDocument(session.key_document().await?),
        };
        session.commit(reply).await
    }

    async fn wake<S: Sql>(&self, context: &Context<'_>, sql: &S) -> Result<Commit<Vec<Wake>>, Refusal> {
        let mut session = self.open(context, sql).await?;
        let wakes = session.wake().await?;
        session.commit_woken(wakes).await
    }
}
