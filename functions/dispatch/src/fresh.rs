//! Fresh events: planned and claimed in one command for each subscription of the batch, sent, and then
//! acknowledged once for each event object.

use std::collections::BTreeMap;

use hookproof_authority::event::{self, Answer, AskEvents, Events};
use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::{AskAuthority, Authority, Claimed, PlanItem, Planned};
use hookproof_core::digest::Digest;
use hookproof_core::id::SubscriptionId;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Journal, Line, Resolver, Transport};

use crate::Dispatch;

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
        let items = batch.iter().map(|fresh| PlanItem { event: fresh.event.clone() }).collect();
        let planned = match self.objects.plan_and_claim(subscription, items).await {
            Ok(planned) if planned.len() == batch.len() => planned,
            Ok(_) => return Err(Reason::InternalCorrupt.into()),
            // Nobody will ever plan for a subscription that does not exist: that is an answer too.
            Err(refusal) if refusal.reason == Reason::SubscriptionUnknown => Vec::new(),
            Err(refusal) => return Err(refusal),
        };
        let mut bodies = Bodies::new();
        for fresh in batch {
            let object = event::key(&fresh.event.tenant, fresh.event.environment, &fresh.event.id);
            let answer =
                Answer { event: fresh.event.id, page: fresh.page, subscription: subscription.clone() };
            answers.entry(object).or_default().push(answer);
            if let Some(body) = fresh.body {
                bodies.insert(fresh.event.payload_digest, body);
            }
        }
        let claimed = planned.into_iter().filter_map(|outcome| self.claimed(subscription, outcome)).collect();
        self.attempt(subscription, claimed, &bodies).await
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
            Planned::Later { .. } | Planned::Settled { .. } => None,
        }
    }
}
