//! `challenge`: sends the challenge an authority signed, and brings back what the endpoint answered.
//!
//! In: queue messages that name a subscription. Out: two POSTs (a decoy that must be refused, then the
//! question) and one verdict, decided by the authority.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

#[cfg(target_os = "wasi")]
mod spin;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod workers;

use bytes::Bytes;
use hookproof_authority::message::ChallengeDue;
use hookproof_authority::subscription::{
    AskAuthority, Authority, ChallengeOutcome, ChallengeRequest, HeaderField,
};
use hookproof_core::Refusal;
use hookproof_core::challenge::Answer;
use hookproof_core::endpoint::Lookup;
use hookproof_core::id::SubscriptionId;
use hookproof_core::time::Span;
use hookproof_ports::{Ask, Egress, Journal, Line, Outbound, Reply, Resolver, SendFailure, Sent, Transport};

/// How much of an answer is read.
const RESPONSE_LIMIT: usize = 4 * 1024;

/// The flow, over its ports.
pub struct Challenger<O, R, T, J> {
    /// Reaches authorities.
    pub objects: O,
    /// The one way out.
    pub egress: Egress<R, T>,
    /// Log lines.
    pub journal: J,
}

/// Challenges of one subscription in one go: one that serves or comes back, and one that is staged.
const AT_ONCE: usize = 2;

impl<O: Ask<Authority>, R: Resolver, T: Transport, J: Journal> Challenger<O, R, T, J> {
    /// Works off a batch of messages; a doubled one finds nothing due.
    pub async fn run(&self, messages: Vec<ChallengeDue>) {
        for message in messages {
            if let Err(refusal) = self.challenge(&message.subscription).await {
                let subscription = Some(message.subscription.as_str());
                let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
                self.journal.record(&Line {
                    event: "challenge failed",
                    subscription,
                    reason,
                    detail,
                    ..Line::default()
                });
            }
        }
    }

    /// Asks until nothing is due: two generations may wait at the same time.
    async fn challenge(&self, subscription: &SubscriptionId) -> Result<(), Refusal> {
        for _ in 0..AT_ONCE {
            let Some(request) = self.objects.issue_challenge(subscription).await? else { return Ok(()) };
            self.ask(subscription, *request).await?;
        }
        Ok(())
    }

    async fn ask(&self, subscription: &SubscriptionId, request: ChallengeRequest) -> Result<(), Refusal> {
        self.journal.record(&Line {
            event: "challenge sent",
            subscription: Some(subscription.as_str()),
            key_id: Some(&request.key_id),
            signature_input: Some(&request.signature_input),
            ..Line::default()
        });
        let (outcome, lookup) = self.exchange(&request).await;
        let judged = self.objects.judge_challenge(subscription, request.challenge_id, outcome, lookup);
        let reason = judged.await?;
        let event = if reason.is_none() { "challenge proved" } else { "challenge refused" };
        self.journal.record(&Line {
            event,
            subscription: Some(subscription.as_str()),
            reason,
            ..Line::default()
        });
        Ok(())
    }

    /// The decoy first: an endpoint that answers it as if it were genuine has no verifier. One that did not
    /// answer at all has refused nothing, so the question is not asked either.
    async fn exchange(&self, request: &ChallengeRequest) -> (ChallengeOutcome, Lookup) {
        let (decoy, lookup) =
            self.post(request, &request.decoy_fields, &request.decoy_body, request.decoy_timeout).await;
        match &decoy {
            ChallengeOutcome::Failed { .. } | ChallengeOutcome::Answered { status: 500.., .. } => {
                (decoy, lookup)
            }
            ChallengeOutcome::Answered { status: 200..=299, body: Some(body), .. }
                if Answer::parse(body.as_bytes()).is_ok() =>
            {
                (ChallengeOutcome::DecoyAnswered, lookup)
            }
            ChallengeOutcome::Answered { .. } | ChallengeOutcome::DecoyAnswered => {
                self.post(request, &request.fields, &request.body, request.timeout).await
            }
        }
    }

    async fn post(
        &self,
        request: &ChallengeRequest,
        fields: &[HeaderField],
        body: &str,
        timeout: Span,
    ) -> (ChallengeOutcome, Lookup) {
        let outbound = Outbound {
            fields: fields.iter().map(|(name, value)| (name, value)).collect(),
            body: Bytes::copy_from_slice(body.as_bytes()),
            timeout,
            response_limit: RESPONSE_LIMIT,
        };
        let Sent { result, lookup, .. } = self.egress.post(&request.endpoint, &outbound).await;
        (outcome(result), lookup)
    }
}

fn outcome(result: Result<Reply, SendFailure>) -> ChallengeOutcome {
    match result {
        Ok(reply) => {
            let body = if reply.truncated { None } else { String::from_utf8(reply.body.to_vec()).ok() };
            ChallengeOutcome::Answered { status: reply.status, content_type: reply.content_type, body }
        }
        Err(failure) => ChallengeOutcome::Failed { reason: failure.reason() },
    }
}
