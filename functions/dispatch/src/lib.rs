//! `dispatch`: claims what is due, sends it, settles what came of it.
//!
//! In: queue messages that name work. Out: signed POSTs, each durable before its first byte, and one
//! settlement each. At most two calls to an authority for a batch of its deliveries.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod attempt;
mod fresh;

#[cfg(target_os = "wasi")]
mod spin;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod workers;

use std::collections::BTreeMap;

use hookproof_authority::event::Events;
use hookproof_authority::message::Due;
use hookproof_authority::subscription::{AskAuthority, Authority};
use hookproof_core::Refusal;
use hookproof_ports::{Ask, Clock, Egress, Journal, Line, Resolver, Transport};

/// The flow, over its ports.
pub struct Dispatch<O, R, T, C, J> {
    /// Reaches authorities and event objects.
    pub objects: O,
    /// The one way out.
    pub egress: Egress<R, T>,
    /// The clock.
    pub clock: C,
    /// Log lines.
    pub journal: J,
}

impl<O, R, T, C, J> Dispatch<O, R, T, C, J>
where
    O: Ask<Authority> + Ask<Events>,
    R: Resolver,
    T: Transport,
    C: Clock,
    J: Journal,
{
    /// Works off wake-ups of subscriptions whose deliveries are due.
    pub async fn due(&self, messages: Vec<Due>) {
        let subscriptions: BTreeMap<_, ()> = messages.into_iter().map(|due| (due.subscription, ())).collect();
        for subscription in subscriptions.into_keys() {
            let outcome = match self.objects.claim_due(&subscription).await {
                Ok(claimed) => self.attempt(&subscription, claimed, &BTreeMap::new()).await,
                Err(refusal) => Err(refusal),
            };
            self.note("claim failed", subscription.as_str(), outcome);
        }
    }

    /// A failure costs time only: what was claimed is repaired by its lease, what was not by its timer.
    fn note(&self, event: &str, subscription: &str, outcome: Result<(), Refusal>) {
        if let Err(refusal) = outcome {
            let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
            let subscription = Some(subscription);
            self.journal.record(&Line { event, subscription, reason, detail, ..Line::default() });
        }
    }
}
