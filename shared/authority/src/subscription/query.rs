//! What an authority shows of itself: everything an operator asks, nothing secret.

use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointUrl;
use hookproof_core::id::{DeliveryId, Environment, EventId, Generation, SubscriptionId, TenantId};
use hookproof_core::keys::{Credential, IssuerKey};
use hookproof_core::ledger::{Application, ApplicationTier, Attempt, Basis, State};
use hookproof_core::subscription::{
    GenerationState, KeyChange, OldGenerations, Owner, ReceiptContract, Wants,
};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::Sql;
use serde::Serialize;
use serde_json::value::RawValue;

use super::command::{Described, Page, Standing};
use super::session::{LoadedGeneration, Session};
use super::store::DeliveryRow;
use crate::rows::raw;

/// A subscription, with its serving (else newest) generation's state on top.
#[derive(Clone, Debug, Serialize)]
pub struct SubscriptionView {
    /// Its id.
    pub subscription_id: SubscriptionId,
    /// Its tenant.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// Rises with every change; the `ETag`.
    pub revision: u64,
    /// The state shown.
    pub state: String,
    /// The generation shown.
    pub generation: Generation,
    /// The sender's origin, to be configured at the receiver.
    pub issuer: String,
    /// The key that signs key documents, to be pinned.
    pub issuer_key: IssuerKey,
    /// Where receipts go.
    pub receipts_url: String,
    /// The region that sends.
    pub region: String,
    /// When it was registered.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// All generations, newest first.
    pub generations: Vec<GenerationView>,
}

/// A generation.
#[derive(Clone, Debug, Serialize)]
pub struct GenerationView {
    /// Which.
    pub generation: Generation,
    /// Where it is.
    #[serde(flatten)]
    pub state: GenerationState,
    /// Where it sends.
    pub endpoint: EndpointUrl,
    /// Digest of that.
    pub endpoint_digest: Digest,
    /// What it wants: topics, majors, filter.
    #[serde(flatten)]
    pub wants: Wants,
    /// How it signs.
    pub profile: String,
    /// How receipts are signed.
    pub receipt: ReceiptContract,
    /// Whom to tell.
    pub owner: Owner,
    /// The retry policy's name.
    pub retry_policy: String,
    /// What becomes of its deliveries when the next generation takes over.
    pub old_generations: OldGenerations,
    /// When it was made.
    pub created_at: Timestamp,
    /// Since when events are planned under it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_from: Option<Timestamp>,
    /// Until when they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub served_until: Option<Timestamp>,
    /// Challenges sent since the last request.
    pub challenge_tries: u32,
    /// Why the last failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_challenge_failure: Option<Reason>,
    /// When the next challenge is due.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_challenge_at: Option<Timestamp>,
    /// The change of the subscriber's key that the old key has to agree to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_change: Option<KeyChange>,
    /// Its credentials' public part.
    pub keys: Vec<Credential>,
}

/// A delivery: what state, why did the last attempt fail, when is the next.
#[derive(Clone, Debug, Serialize)]
pub struct DeliveryView {
    /// Its id.
    pub delivery_id: DeliveryId,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// Digest of the bytes.
    pub payload_digest: Digest,
    /// When the event was accepted.
    pub accepted_at: Timestamp,
    /// The generation it belongs to.
    pub generation: Generation,
    /// How far it got.
    #[serde(flatten)]
    pub state: StateView,
    /// The application tier.
    pub application_tier: ApplicationTier,
    /// What the subscriber's receipt said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Attempts made.
    pub attempt: u32,
    /// When the next attempt is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_attempt_at: Option<Timestamp>,
    /// Why the last attempt failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Reason>,
    /// The last status the endpoint answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_status: Option<u16>,
    /// Whom to tell.
    pub owner: Owner,
    /// Every attempt.
    pub attempts: Vec<AttemptView>,
}

/// A delivery's state, without its lease: whoever knows a lease can settle.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StateView {
    /// Its name.
    pub state: &'static str,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// What an acceptance rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// Why it is a dead letter.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
}

/// An attempt, without its lease.
#[derive(Clone, Debug, Serialize)]
pub struct AttemptView {
    /// Which.
    pub number: u32,
    /// When it was signed.
    pub claimed_at: Timestamp,
    /// The key that signed.
    pub key_id: String,
    /// SHA-256 of the signature.
    pub signature_digest: Digest,
    /// What came of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settled: Option<hookproof_core::ledger::Settled>,
}

impl<S: Sql> Session<'_, S> {
    /// The subscription.
    pub(super) async fn describe(&self) -> Result<Described, Refusal> {
        let mut generations = Vec::with_capacity(self.generations.len());
        for generation in &self.generations {
            let credentials = self.tables.credentials(generation.record.generation).await?;
            generations.push(generation_view(
                generation,
                credentials.into_iter().map(|row| row.credential).collect(),
            ));
        }
        let (record, shown) = (&self.head.record, &self.shown()?.record);
        let view = SubscriptionView {
            subscription_id: self.subscription.clone(),
            tenant_id: record.tenant.clone(),
            environment: record.environment,
            revision: record.revision,
            state: shown.state.name().to_owned(),
            generation: if matches!(shown.state, GenerationState::Revoked { .. }) {
                record.last_generation
            } else {
                shown.generation
            },
            issuer: self.authority.issuer.clone(),
            issuer_key: self.authority.issuer_keys.current()?,
            receipts_url: self.authority.receipts_url.clone(),
            region: record.region.clone(),
            created_at: record.created_at,
            expires_at: record.expires_at,
            generations,
        };
        Ok(Described {
            tenant_id: view.tenant_id.clone(),
            environment: view.environment,
            state: view.state.clone(),
            view: raw(&view)?,
        })
    }

    /// One delivery.
    pub(super) async fn delivery(&self, id: &DeliveryId) -> Result<Box<RawValue>, Refusal> {
        let row = self.tables.delivery(id).await?.ok_or(Reason::DeliveryUnknown)?;
        raw(&self.view(&row)?)
    }

    /// Deliveries, newest first.
    pub(super) async fn deliveries(
        &self,
        after: Option<&DeliveryId>,
        limit: u32,
        state: Option<&str>,
    ) -> Result<Page, Refusal> {
        let limit = limit.clamp(1, 200);
        let after = after.map_or("", DeliveryId::as_str);
        let rows = self.tables.deliveries(after, state, limit).await?;
        let next = rows.last().filter(|_| rows.len() == limit as usize).map(|row| row.delivery.id.clone());
        let items = rows.iter().map(|row| raw(&self.view(row)?)).collect::<Result<_, _>>()?;
        Ok(Page { items, next })
    }

    /// Where a delivery stands.
    pub(super) fn standing(&self, row: &DeliveryRow) -> Standing {
        let delivery = &row.delivery;
        let settled = delivery.attempts.iter().rev().find_map(|a| a.settled.as_ref());
        Standing {
            delivery_id: delivery.id.clone(),
            event_id: delivery.event.clone(),
            attempt: delivery.attempt,
            state: delivery.state.name().to_owned(),
            status: settled.and_then(|s| s.outcome.status()),
            reason: settled.and_then(|s| s.reason),
        }
    }

    fn view(&self, row: &DeliveryRow) -> Result<DeliveryView, Refusal> {
        let delivery = &row.delivery;
        let terms = &self.generation(delivery.generation)?.record.terms;
        let settled = delivery.attempts.iter().rev().find_map(|a| a.settled.as_ref());
        let waiting =
            matches!(delivery.state, State::Planned | State::Retryable | State::UnknownTransport { .. });
        Ok(DeliveryView {
            delivery_id: delivery.id.clone(),
            subscription_id: self.subscription.clone(),
            event_id: delivery.event.clone(),
            event_type: delivery.event_type.clone(),
            payload_digest: delivery.payload.digest,
            accepted_at: delivery.accepted_at,
            generation: delivery.generation,
            state: state_view(&delivery.state),
            application_tier: delivery.tier(&terms.receipt),
            application: delivery.application.clone(),
            attempt: delivery.attempt,
            next_attempt_at: delivery.due.filter(|_| waiting),
            last_failure: settled.and_then(|s| s.reason),
            last_status: settled.and_then(|s| s.outcome.status()),
            owner: terms.owner.clone(),
            attempts: delivery.attempts.iter().map(attempt_view).collect(),
        })
    }
}

fn state_view(state: &State) -> StateView {
    let bare = StateView { state: state.name(), ..StateView::default() };
    match state {
        State::Planned | State::Dispatching { .. } | State::Retryable => bare,
        State::EndpointAccepted { at, basis } | State::ApplicationConfirmed { at, basis } => {
            StateView { at: Some(*at), basis: Some(*basis), ..bare }
        }
        State::UnknownTransport { since } => StateView { at: Some(*since), ..bare },
        State::DeadLetter { at, reason } => StateView { at: Some(*at), reason: Some(*reason), ..bare },
    }
}

fn attempt_view(attempt: &Attempt) -> AttemptView {
    AttemptView {
        number: attempt.number,
        claimed_at: attempt.claimed_at,
        key_id: attempt.key_id.clone(),
        signature_digest: attempt.signature_digest,
        settled: attempt.settled.clone(),
    }
}

fn generation_view(generation: &LoadedGeneration, keys: Vec<Credential>) -> GenerationView {
    let record = &generation.record;
    GenerationView {
        generation: record.generation,
        state: record.state.clone(),
        endpoint: record.terms.endpoint.clone(),
        endpoint_digest: record.terms.endpoint.digest(),
        wants: record.terms.wants.clone(),
        profile: record.terms.profile.clone(),
        receipt: record.terms.receipt.clone(),
        owner: record.terms.owner.clone(),
        retry_policy: record.terms.retry.name.clone(),
        old_generations: record.terms.old_generations,
        created_at: record.created_at,
        served_from: record.served_from,
        served_until: record.served_until,
        challenge_tries: record.challenge_tries,
        last_challenge_failure: record.last_challenge_failure,
        next_challenge_at: generation.challenge_due,
        key_change: record.key_change.clone(),
        keys,
    }
}
