//! Planning and claiming: delivery row, lease, attempt, key and signature are one commit, and nothing
//! is sent that is not in it.

use hookproof_core::digest::Digest;
use hookproof_core::endpoint::LOOKUP_LIMIT;
use hookproof_core::id::DeliveryId;
use hookproof_core::ledger::{Claim, Delivery, Lease, Payload, State};
use hookproof_core::signature::{Fields, Message, SigningKey, profile, sign};
use hookproof_core::subscription::{GenerationState, Hold, admit};
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal, base64};
use hookproof_ports::{Sql, random};

use super::command::{Claimed, HeaderField, PlanItem, Planned};
use super::evidence::{What, payload_commitment};
use super::session::{LoadedGeneration, Session};
use super::store::{CredentialRow, DeliveryRow};
use crate::message::EventRef;

/// Sends at a time in one invocation: what the platform allows.
pub(super) const PARALLEL: i64 = 6;

/// Most deliveries one claim takes.
const CLAIM_LIMIT: usize = 6;

/// Life of a delivery signature.
const SIGNATURE_LIFE: i64 = 300;

/// Slack of a lease over the lookups and requests it covers.
const LEASE_SLACK: Span = Span::seconds(10);

/// Longest lease.
const LEASE_MAX: Span = Span::seconds(120);

/// The key a generation signs with, opened once for a command.
struct Signer {
    generation: LoadedGeneration,
    row: CredentialRow,
    key: SigningKey,
}

impl<S: Sql> Session<'_, S> {
    /// Plans what is new and claims what is due among `items`.
    pub(super) async fn plan_and_claim(&mut self, items: Vec<PlanItem>) -> Result<Vec<Planned>, Refusal> {
        let mut planned = Vec::with_capacity(items.len());
        let mut signer = None;
        let mut claimed = 0;
        let likely = items.len().min(CLAIM_LIMIT);
        for item in items {
            let outcome = self.plan_one(item, &mut signer, claimed < CLAIM_LIMIT, likely).await?;
            claimed += usize::from(matches!(outcome, Planned::Claimed(_)));
            planned.push(outcome);
        }
        Ok(planned)
    }

    async fn plan_one(
        &mut self,
        PlanItem { event, filter_digests }: PlanItem,
        signer: &mut Option<Signer>,
        may_claim: bool,
        likely: usize,
    ) -> Result<Planned, Refusal> {
        if event.tenant != self.head.record.tenant || event.environment != self.head.record.environment {
            return Ok(Planned::NotWanted { reason: Reason::SubscriptionUnknown });
        }
        let id = DeliveryId::of(
            &event.tenant,
            event.environment,
            &self.subscription,
            &event.id,
            event.accepted_at,
        );
        let known = self.tables.delivery(&id).await?;
        let row = match known {
            Some(row) if row.delivery.payload.digest != event.payload_digest => {
                return Ok(Planned::NotWanted { reason: Reason::EventConflict });
            }
            Some(row) => row,
            None => match self.plan_new(&event, &filter_digests, id)? {
                Ok(row) => {
                    self.tables.put_delivery(&row, "").await?;
                    self.touch();
                    row
                }
                Err(outcome) => return Ok(outcome),
            },
        };
        if !row.delivery.is_claimable(self.now()) {
            return Ok(waiting_or_settled(&row.delivery));
        }
        if !may_claim {
            return Ok(Planned::Later { at: row.delivery.due });
        }
        match self.claim(row, event, signer, likely).await? {
            Some(claimed) => Ok(Planned::Claimed(Box::new(claimed))),
            None => Ok(Planned::Later { at: None }),
        }
    }

    /// The delivery an event becomes, under the generation that served when it was accepted.
    fn plan_new(
        &self,
        event: &EventRef,
        filter_digests: &[Digest],
        id: DeliveryId,
    ) -> Result<Result<DeliveryRow, Planned>, Refusal> {
        let not_wanted = |reason| Ok(Err(Planned::NotWanted { reason }));
        let served = self.generations.iter().find(|g| g.record.served_at(event.accepted_at));
        let Some(generation) = served else { return not_wanted(Reason::GenerationNotServing) };
        // It registers nothing more, even for events from before its end.
        match &generation.record.state {
            GenerationState::Revoked { .. } => return not_wanted(Reason::GenerationRevoked),
            GenerationState::Expired { .. } => return not_wanted(Reason::GenerationExpired),
            GenerationState::PendingChallenge { .. }
            | GenerationState::Active { .. }
            | GenerationState::Rotating { .. }
            | GenerationState::Suspended { .. }
            | GenerationState::Draining { .. }
            | GenerationState::Closed { .. } => {}
        }
        // Not decided here: the event's bytes are elsewhere. Whoever has them tries, and says so.
        let wants = &generation.record.terms.wants;
        if !filter_digests.contains(&wants.digest()) {
            return Ok(Err(Planned::Stale { wants: Box::new(wants.clone()) }));
        }
        let payload = Payload { digest: event.payload_digest, length: event.length };
        let identity = (id, event.id.clone(), event.r#type.clone());
        let number = generation.record.generation;
        let delivery =
            Delivery::plan(identity, event.accepted_at, number, payload, &generation.record.terms.retry);
        let salt = base64::url(&random::<32>(self.context.entropy));
        Ok(Ok(DeliveryRow { delivery, api_version: event.api_version.clone(), salt }))
    }

    /// Claims what is due, oldest first.
    pub(super) async fn claim_due(&mut self) -> Result<Vec<Claimed>, Refusal> {
        let due = self.tables.due_deliveries(self.now(), CLAIM_LIMIT as u32).await?;
        let likely = due.len();
        let mut signer = None;
        let mut claimed = Vec::with_capacity(likely);
        for row in due {
            let row = self.step_over(row).await?;
            if row.delivery.is_claimable(self.now()) {
                let event = self.event_of(&row);
                claimed.extend(self.claim(row, event, &mut signer, likely).await?);
            }
        }
        Ok(claimed)
    }

    fn event_of(&self, row: &DeliveryRow) -> EventRef {
        let delivery = &row.delivery;
        EventRef {
            tenant: self.head.record.tenant.clone(),
            environment: self.head.record.environment,
            id: delivery.event.clone(),
            r#type: delivery.event_type.clone(),
            api_version: row.api_version.clone(),
            accepted_at: delivery.accepted_at,
            payload_digest: delivery.payload.digest,
            length: delivery.payload.length,
        }
    }

    /// Admits, signs and leases one delivery; holds or buries it where its generation may not be sent to.
    async fn claim(
        &mut self,
        row: DeliveryRow,
        event: EventRef,
        signer: &mut Option<Signer>,
        likely: usize,
    ) -> Result<Option<Claimed>, Refusal> {
        let now = self.now();
        let number = row.delivery.generation;
        let generation = self.generation(number)?.clone();
        let admitted = match admit(number, &generation.record.state, now) {
            Ok(admitted) => admitted,
            Err(hold) => {
                self.keep_back(row, hold).await?;
                return Ok(None);
            }
        };
        let signer = self.signer(generation, signer).await?;
        let attempt = row.delivery.attempt + 1;
        let endpoint = signer.generation.record.terms.endpoint.clone();
        let mut fields = delivery_fields(&self.subscription.to_string(), &row.delivery, attempt);
        let lines: Fields = fields.iter().map(|(name, value)| (name, value)).collect();
        let message = Message::request("POST", endpoint.as_str(), &lines);
        let key_id = signer.row.credential.key_id.clone();
        let signed = sign(
            &profile::DELIVERY,
            &message,
            now.unix(),
            now.unix() + SIGNATURE_LIFE,
            &key_id,
            &signer.key,
        )?;
        let timeout = signer.generation.record.terms.retry.timeout;
        let lease = Lease {
            token: base64::url(&random::<16>(self.context.entropy)),
            until: now + lease_span(likely, timeout),
        };
        let claim = Claim {
            lease: lease.clone(),
            key_id: key_id.clone(),
            key_generation: signer.row.credential.key_generation,
            signature_digest: signed.signature_digest(),
        };
        let what = What::Claimed {
            delivery_id: row.delivery.id.clone(),
            event_id: row.delivery.event.clone(),
            attempt,
            generation: number,
            endpoint_digest: endpoint.digest(),
            key_id: key_id.clone(),
            key_generation: claim.key_generation,
            payload_commitment: payload_commitment(&row.salt, &row.delivery.payload.digest),
            signature_input: signed.signature_input.clone(),
            signature_digest: claim.signature_digest,
        };
        let delivery = row.delivery.claim(&admitted, claim, now)?;
        let (delivery_id, row) = (delivery.id.clone(), DeliveryRow { delivery, ..row });
        let line = self.chain(what)?;
        self.tables.put_delivery(&row, &format!("{line}\n")).await?;
        fields.push(("signature-input".to_owned(), signed.signature_input.clone()));
        fields.push(("signature".to_owned(), signed.signature));
        Ok(Some(Claimed {
            delivery_id,
            event,
            attempt,
            lease_token: lease.token,
            lease_until: lease.until,
            endpoint,
            fields,
            signature_input: signed.signature_input,
            key_id,
            timeout,
        }))
    }

    async fn keep_back(&mut self, row: DeliveryRow, hold: Hold) -> Result<(), Refusal> {
        let now = self.now();
        let delivery = match hold {
            Hold::Held => row.delivery.hold(now),
            Hold::Never(reason) => row.delivery.dead_letter(reason, now)?,
        };
        self.put_moved(DeliveryRow { delivery, ..row }).await
    }

    /// Writes a delivery that moved without an attempt; a burial is evidence.
    pub(super) async fn put_moved(&mut self, row: DeliveryRow) -> Result<(), Refusal> {
        let log = match &row.delivery.state {
            State::DeadLetter { reason, .. } => {
                let what = What::DeadLettered { delivery_id: row.delivery.id.clone(), reason: *reason };
                format!("{}\n", self.chain(what)?)
            }
            State::Planned
            | State::Dispatching { .. }
            | State::EndpointAccepted { .. }
            | State::ApplicationConfirmed { .. }
            | State::Retryable
            | State::UnknownTransport { .. } => {
                self.touch();
                String::new()
            }
        };
        self.tables.put_delivery(&row, &log).await
    }

    async fn signer<'s>(
        &self,
        generation: LoadedGeneration,
        signer: &'s mut Option<Signer>,
    ) -> Result<&'s Signer, Refusal> {
        let number = generation.record.generation;
        let fits = signer.as_ref().is_some_and(|s| s.generation.record.generation == number);
        if !fits {
            let credentials = self.tables.credentials(number).await?;
            let row = credentials
                .into_iter()
                .find(|row| row.credential.signs_deliveries())
                .ok_or(Reason::KeyNotUsable)?;
            let key = self.open_signing_key(&generation, &row)?;
            *signer = Some(Signer { generation, row, key });
        }
        signer.as_ref().ok_or_else(|| Reason::InternalCorrupt.into())
    }
}

fn waiting_or_settled(delivery: &Delivery) -> Planned {
    match &delivery.state {
        State::Planned | State::Retryable | State::UnknownTransport { .. } => {
            Planned::Later { at: delivery.due }
        }
        State::Dispatching { .. }
        | State::EndpointAccepted { .. }
        | State::ApplicationConfirmed { .. }
        | State::DeadLetter { .. } => Planned::Settled { state: delivery.state.name().to_owned() },
    }
}

fn lease_span(claimed: usize, timeout: Span) -> Span {
    let rounds = (i64::try_from(claimed).unwrap_or(PARALLEL) + PARALLEL - 1) / PARALLEL;
    let round = timeout.as_millis() + LOOKUP_LIMIT.as_millis();
    Span::millis(rounds.max(1) * round + LEASE_SLACK.as_millis()).min(LEASE_MAX)
}

fn delivery_fields(subscription: &str, delivery: &Delivery, attempt: u32) -> Vec<HeaderField> {
    let field = |name: &str, value: String| (name.to_owned(), value);
    vec![
        field("content-type", "application/json".to_owned()),
        field("content-digest", delivery.payload.digest.content_digest()),
        field("webhook-id", delivery.event.to_string()),
        field("webhook-subscription", subscription.to_owned()),
        field("webhook-generation", delivery.generation.to_string()),
        field("webhook-delivery", delivery.id.to_string()),
        field("webhook-attempt", attempt.to_string()),
    ]
}
