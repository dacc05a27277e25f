//! One batch of claimed deliveries of one subscription: sent side by side, settled together.

use bytes::Bytes;
use futures_util::future::join_all;
use hookproof_authority::event::{AskEvents, Events};
use hookproof_authority::message::EventRef;
use hookproof_authority::subscription::{AskAuthority, Authority, Claimed, SettleItem, Standing};
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::{LOOKUP_LIMIT, Lookup};
use hookproof_core::id::SubscriptionId;
use hookproof_core::ledger::Outcome;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{
    Ask, Clock, Journal, Line, Outbound, Resolver, SendFailure, Transport, TransportFailure,
};

use crate::Dispatch;
use crate::fresh::Bodies;

/// Sends at a time; a seventh would only queue in the platform with its lease running.
const PARALLEL: usize = 6;

/// How much of an endpoint's answer is read.
const RESPONSE_LIMIT: usize = 4 * 1024;

/// Longest `Retry-After` kept, twice a date; what is longer says nothing (RFC 9110 §10.2.3).
const RETRY_AFTER_LIMIT: usize = 64;

impl<O, R, T, C, J> Dispatch<O, R, T, C, J>
where
    O: Ask<Authority> + Ask<Events>,
    R: Resolver,
    T: Transport,
    C: Clock,
    J: Journal,
{
    /// Sends what was claimed and settles all of it in one command.
    pub(crate) async fn attempt(
        &self,
        subscription: &SubscriptionId,
        claimed: Vec<Claimed>,
        bodies: &Bodies,
    ) -> Result<(), Refusal> {
        if claimed.is_empty() {
            return Ok(());
        }
        let mut items = Vec::with_capacity(claimed.len());
        for chunk in claimed.chunks(PARALLEL) {
            items.extend(join_all(chunk.iter().map(|claim| self.send(subscription, claim, bodies))).await);
        }
        for standing in &self.objects.settle(subscription, items).await? {
            self.report(subscription, standing);
        }
        Ok(())
    }

    /// One request on the wire, or none: what cannot start within its lease is given back.
    async fn send(&self, subscription: &SubscriptionId, claim: &Claimed, bodies: &Bodies) -> SettleItem {
        let settled = |outcome, assurance, lookup| SettleItem {
            delivery_id: claim.delivery_id.clone(),
            attempt: claim.attempt,
            lease_token: claim.lease_token.clone(),
            outcome,
            assurance,
            lookup,
        };
        let body = match self.frozen(&claim.event, bodies).await {
            Ok(body) => body,
            Err(refusal) => {
                // Nothing has left. It waits and counts, or bytes that are gone would be asked for without end.
                self.note("body missing", subscription.as_str(), Err(refusal));
                return settled(Outcome::NotSent, None, Lookup::default());
            }
        };
        if self.clock.now() + LOOKUP_LIMIT + claim.timeout > claim.lease_until {
            return settled(Outcome::Released, None, Lookup::default());
        }
        self.journal.record(&Line {
            event: "sending",
            subscription: Some(subscription.as_str()),
            event_id: Some(claim.event.id.as_str()),
            delivery_id: Some(claim.delivery_id.as_str()),
            attempt: Some(claim.attempt),
            key_id: Some(&claim.key_id),
            signature_input: Some(&claim.signature_input),
            ..Line::default()
        });
        let request = Outbound {
            fields: claim.fields.iter().map(|(name, value)| (name, value)).collect(),
            body,
            timeout: claim.timeout,
            response_limit: RESPONSE_LIMIT,
        };
        let sent = self.egress.post(&claim.endpoint, &request).await;
        let outcome = match sent.result {
            Ok(reply) => {
                let retry_after = reply.retry_after.filter(|wish| wish.len() <= RETRY_AFTER_LIMIT);
                Outcome::Answered { status: reply.status, retry_after }
            }
            Err(SendFailure::Refused(_)) => Outcome::Refused,
            Err(SendFailure::Transport(TransportFailure::NotSent)) => Outcome::NotSent,
            Err(SendFailure::Transport(TransportFailure::Unknown)) => Outcome::Unknown,
        };
        settled(outcome, sent.assurance, sent.lookup)
    }

    /// The frozen bytes: from the message where they came along, else from the event's own object;
    /// either way only if they have the digest that was signed.
    pub(crate) async fn frozen(&self, event: &EventRef, bodies: &Bodies) -> Result<Bytes, Refusal> {
        let fits = |body: &str| Digest::of(body.as_bytes()) == event.payload_digest;
        if let Some(body) = bodies.get(&event.payload_digest).filter(|body| fits(body)) {
            return Ok(Bytes::copy_from_slice(body.as_bytes()));
        }
        let body = self.objects.bytes(&event.tenant, event.environment, &event.id).await?;
        if fits(&body) {
            return Ok(Bytes::from(body));
        }
        let words = "the stored bytes do not have the digest that was signed";
        Err(Refusal::new(Reason::InternalCorrupt, words))
    }

    fn report(&self, subscription: &SubscriptionId, standing: &Standing) {
        self.journal.record(&Line {
            event: "settled",
            subscription: Some(subscription.as_str()),
            event_id: Some(standing.event_id.as_str()),
            delivery_id: Some(standing.delivery_id.as_str()),
            attempt: Some(standing.attempt),
            state: Some(&standing.state),
            status: standing.status,
            reason: standing.reason,
            ..Line::default()
        });
    }
}
