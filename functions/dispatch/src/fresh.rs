//! Fresh events: planned and claimed in one command for each subscription of the batch, sent, and then
//! acknowledged once for each event object.
//!
//! A message says against which wants its event was matched. Where the generation that will plan it has
//! others, the event is matched again here, so that no change of a filter depends on when a message arrives.

use std::collections::BTreeMap;

use hookproof_authority::event::{self, Answer, AskEvents, Events};
use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::{AskAuthority, Authority, Claimed, PlanItem, Planned};
use hookproof_core::digest::Digest;
use hookproof_core::filter::Subject;
use hookproof_core::id::SubscriptionId;
use hookproof_core::subscription::Wants;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Journal, Line, Resolver, Transport};

use crate::Dispatch;

/// How often what a subscription wants may change while one batch is planned.
const ROUNDS: usize = 3;

/// Frozen bodies that came inside messages, by their digest.
pub(crate) type Bodies = BTreeMap<Digest, String>;

impl<O, R, T, C, J> Dispatch<O, R, T, C, J>
where
    O: Ask<Authority> + Ask<Events>,
    R: Resolver,
    T: Transport,
    C: Clock,
    J: Journal,
{
    /// Works off a batch of fresh messages.
    pub async fn fresh(&self, messages: Vec<Fresh>) {
        let mut of_subscription: BTreeMap<SubscriptionId, Vec<Fresh>> = BTreeMap::new();
        for message in messages {
            of_subscription.entry(message.subscription.clone()).or_default().push(message);
        }
        let mut answers: BTreeMap<String, Vec<Answer>> = BTreeMap::new();
        for (subscription, batch) in of_subscription {
            let outcome = self.plan(&subscription, batch, &mut answers).await;
            self.note("plan failed", subscription.as_str(), outcome);
        }
        for (object, answers) in answers {
            let noted = self.objects.answered(&object, answers).await;
            self.note("acknowledgement failed", &object, noted);
        }
    }

    async fn plan(
        &self,
        subscription: &SubscriptionId,
        batch: Vec<Fresh>,
        answers: &mut BTreeMap<String, Vec<Answer>>,
    ) -> Result<(), Refusal> {
        let mut bodies = Bodies::new();
        let mut open = Vec::with_capacity(batch.len());
        for mut fresh in batch {
            if let Some(body) = fresh.body.take() {
                bodies.insert(fresh.event.payload_digest, body);
            }
            open.push(fresh);
        }
        for _ in 0..ROUNDS {
            let planned = self.ask(subscription, &open).await?;
            let (mut claimed, mut stale) = (Vec::new(), Vec::new());
            for (fresh, outcome) in open.drain(..).zip(planned) {
                if let Planned::Stale { wants } = outcome {
                    stale.push((fresh, wants));
                } else {
                    acknowledge(&fresh, answers);
                    claimed.extend(self.claimed(subscription, outcome));
                }
            }
            self.attempt(subscription, claimed, &bodies).await?;
            for (fresh, wants) in stale {
                open.extend(self.reconsider(fresh, &wants, &bodies, answers).await?);
            }
            if open.is_empty() {
                return Ok(());
            }
        }
        // Nobody has answered for these, so that the event's object asks again.
        Err(Refusal::new(Reason::FilterStale, "what the subscription wants changes while it is asked"))
    }

    /// Asks the authority; one outcome a message, in order.
    async fn ask(&self, subscription: &SubscriptionId, open: &[Fresh]) -> Result<Vec<Planned>, Refusal> {
        let item = |fresh: &Fresh| PlanItem {
            event: fresh.event.clone(),
            filter_digests: fresh.filter_digests.clone(),
        };
        match self.objects.plan_and_claim(subscription, open.iter().map(item).collect()).await {
            Ok(planned) if planned.len() == open.len() => Ok(planned),
            Ok(_) => Err(Reason::InternalCorrupt.into()),
            // Nobody will ever plan for a subscription that does not exist: that is an answer too.
            Err(refusal) if refusal.reason == Reason::SubscriptionUnknown => {
                let unknown = || Planned::NotWanted { reason: Reason::SubscriptionUnknown };
                Ok(open.iter().map(|_| unknown()).collect())
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Holds an event against what the generation that will plan it wants: to be asked again with that
    /// digest, or answered as not wanted.
    async fn reconsider(
        &self,
        mut fresh: Fresh,
        wants: &Wants,
        bodies: &Bodies,
        answers: &mut BTreeMap<String, Vec<Answer>>,
    ) -> Result<Option<Fresh>, Refusal> {
        let event = &fresh.event;
        let subscription = fresh.subscription.clone();
        let body = match self.frozen(event, bodies).await {
            Ok(body) => body,
            // Bytes that never were have nobody to tell; any other failure is mended by asking again.
            Err(refusal) if refusal.reason == Reason::EventUnknown => {
                self.note("body missing", subscription.as_str(), Err(refusal));
                acknowledge(&fresh, answers);
                return Ok(None);
            }
            Err(refusal) => {
                self.note("body missing", subscription.as_str(), Err(refusal));
                return Ok(None);
            }
        };
        let text = std::str::from_utf8(&body).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        if wants.matches(&Subject::of_envelope(text)?) {
            fresh.filter_digests.push(wants.digest());
            return Ok(Some(fresh));
        }
        acknowledge(&fresh, answers);
        self.claimed(&subscription, Planned::NotWanted { reason: Reason::FilterNotMatched });
        Ok(None)
    }

    fn claimed(&self, subscription: &SubscriptionId, outcome: Planned) -> Option<Claimed> {
        match outcome {
            Planned::Claimed(claimed) => Some(*claimed),
            Planned::NotWanted { reason } => {
                let subscription = Some(subscription.as_str());
                self.journal.record(&Line {
                    event: "not planned",
                    subscription,
                    reason: Some(reason),
                    ..Line::default()
                });
                None
            }
            Planned::Later { .. } | Planned::Settled { .. } | Planned::Stale { .. } => None,
        }
    }
}

/// This subscription's authority knows of the event, whatever it decided.
fn acknowledge(fresh: &Fresh, answers: &mut BTreeMap<String, Vec<Answer>>) {
    let object = event::key(&fresh.event.tenant, fresh.event.environment, &fresh.event.id);
    let answer =
        Answer { event: fresh.event.id.clone(), page: fresh.page, subscription: fresh.subscription.clone() };
    answers.entry(object).or_default().push(answer);
}
