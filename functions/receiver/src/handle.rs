//! Due events to the handler: leased first, sent with the bytes as received, reported after the answer.

use bytes::Bytes;
use hookproof_authority::inbox::{Command, Reply, StateFilter, Wake, Wakeup, Work};
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::receiver::{HANDLER_TIMEOUT, HandlerResult, Source};
use hookproof_core::signature::Fields;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{
    Clock, Entropy, Journal, Line, Outbound, Queue, Reply as Answer, Resolver, SendFailure, Transport,
};
use serde::Deserialize;

use crate::join::join_all;
use crate::{AT_A_TIME, Objects, Receiver, odd_reply};

/// How much of a handler's answer is read, in octets.
const ANSWER_LIMIT: usize = 4 * 1024;

impl<O, Q, R, T, C, N, J> Receiver<O, Q, R, T, C, N, J>
where
    O: Objects,
    Q: Queue<Wakeup>,
    R: Resolver,
    T: Transport,
    C: Clock,
    N: Entropy,
    J: Journal,
{
    /// Hands due events to the handler, and sends the receipts that became due by it.
    pub(crate) async fn handle(&self, name: &str, source: &Source) -> Result<(), Refusal> {
        let taken = self.inbox(name, Command::Take { limit: AT_A_TIME }).await?;
        let Reply::Taken { work, more } = taken else { return Err(odd_reply()) };
        let reports = join_all(work.iter().map(|work| self.apply(name, source, work))).await;
        if more {
            self.hint(name, Wake::Handle).await;
        }
        let mut receipts_due = 0;
        let mut fault = None;
        for report in reports {
            match report {
                Ok(due) => receipts_due += due,
                Err(refusal) => fault = Some(refusal),
            }
        }
        if receipts_due > 0 {
            self.confirm(name, source).await?;
        }
        fault.map_or(Ok(()), Err)
    }

    /// One event to the handler; the number of receipts that became due.
    async fn apply(&self, name: &str, source: &Source, work: &Work) -> Result<u32, Refusal> {
        let sent = self.egress.post(&source.handler.url, &request(name, work)).await;
        let (result, reason) = judge(&sent.result);
        let status = sent.result.as_ref().ok().map(|answer| answer.status);
        let report = Command::Report { id: work.id.clone(), lease: work.lease.clone(), result };
        let reported = self.inbox(name, report).await;
        let state = match &reported {
            Ok(Reply::Reported { accepted: true, state, .. }) => state.name(),
            Ok(_) => "lease lost",
            Err(_) => "not recorded",
        };
        self.journal.record(&Line {
            event: "event handled",
            event_id: Some(work.key.event_id.as_str()),
            attempt: Some(work.attempt),
            state: Some(state),
            status,
            reason: reason.or_else(|| reported.as_ref().err().map(|refusal| refusal.reason)),
            ..Line::default()
        });
        let Reply::Reported { state, receipts_due, .. } = reported? else { return Err(odd_reply()) };
        Ok(if state == StateFilter::Completed { receipts_due } else { 0 })
    }
}

/// The request: the bytes as received, the identity for deduplication, and no field of the sender's own.
fn request(name: &str, work: &Work) -> Outbound {
    let mut fields = Fields::new();
    fields.push("content-type", &work.content_type);
    fields.push("idempotency-key", &work.idempotency_key);
    fields.push("webhook-id", work.key.event_id.as_str());
    fields.push("hookproof-source", name);
    fields.push("hookproof-tenant", work.key.tenant.as_str());
    fields.push("hookproof-environment", work.key.environment.as_str());
    fields.push("hookproof-event-type", &work.event_type);
    fields.push("hookproof-attempt", work.attempt.to_string());
    Outbound {
        fields,
        body: Bytes::from(work.body.0.clone()),
        timeout: HANDLER_TIMEOUT,
        response_limit: ANSWER_LIMIT,
    }
}

/// What a handler may say beside its status.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Said {
    operation_id: Option<String>,
    ignored: Option<String>,
}

/// What the answer means, and why where it is a failure.
fn judge(sent: &Result<Answer, SendFailure>) -> (HandlerResult, Option<Reason>) {
    let answer = match sent {
        Ok(answer) => answer,
        Err(failure) => return (HandlerResult::Failed { status: None }, Some(failure.reason())),
    };
    let said = said(answer);
    let done = |result| (HandlerResult::Done { result, operation_id: said.operation_id.clone() }, None);
    match answer.status {
        200..=299 if said.ignored.is_some() => done(ReceiptResult::Ignored),
        200..=299 => done(ReceiptResult::Applied),
        422 => done(ReceiptResult::Rejected),
        status => (HandlerResult::Failed { status: Some(status) }, None),
    }
}

/// An operation id that a receipt could not carry is left out; the stable default takes its place.
fn said(answer: &Answer) -> Said {
    let mut said: Said = serde_json::from_slice(&answer.body).unwrap_or_default();
    let fits = |id: &String| (1..=256).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    said.operation_id = said.operation_id.filter(fits);
    said
}
