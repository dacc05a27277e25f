//! `POST /in/{source}`: cap, verify, window, store, and only then 2xx.
//!
//! Whoever is refused learns that and no more; the journal has the reason and what was signed, never
//! the signature.

use bytes::Bytes;
use hookproof_authority::api::{json, stranger};
use hookproof_authority::inbox::{Body, Command, Delivery, Outcome, Reply, Wake, Wakeup};
use hookproof_core::reason::Fault;
use hookproof_core::receiver::{
    Arrival, Intake, Received, Source, SourceName, VerifiedDelivery, kept_fields, receive,
};
use hookproof_core::signature::Fields;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue, Resolver, Transport};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue};
use http::{Request, Response};
use serde_json::json as value;

use crate::{Objects, Receiver, odd_reply};

/// Most of a `Signature-Input` that is written to the journal, in characters.
const INPUT_KEPT: usize = 512;

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
    /// Takes one request in.
    pub(crate) async fn take_in(&self, name: &str, request: &Request<Bytes>) -> Response<Bytes> {
        let fields: Fields = request.headers().iter().map(|(name, value)| (name, value.as_bytes())).collect();
        match self.judge(name, request, &fields).await {
            Ok(answer) => answer,
            Err(refusal) => {
                let answer = refused(refusal.reason);
                self.journal_refusal(name, &fields, &refusal, answer.status().as_u16());
                answer
            }
        }
    }

    async fn judge(
        &self,
        name: &str,
        request: &Request<Bytes>,
        fields: &Fields,
    ) -> Result<Response<Bytes>, Refusal> {
        if request.body().len() > crate::MAX_BODY {
            return Err(Reason::BodyTooLarge.into());
        }
        let name = SourceName::parse(name).ok_or(Reason::SourceUnknown)?;
        let source = self.source(name.as_str()).await?;
        let intake = Intake {
            method: request.method().as_str(),
            path_and_query: request.uri().path_and_query().map_or("/", |target| target.as_str()),
            fields,
            body: request.body(),
        };
        match receive(&source, &intake, self.clock.now())? {
            Received::Challenge { answer } => {
                self.journal.record(&Line {
                    event: "challenge answered",
                    status: Some(200),
                    ..Line::default()
                });
                Ok(challenge_answer(answer))
            }
            Received::Delivery(verified) => {
                let delivery = delivery(&source, &name, *verified, &intake)?;
                self.keep(&name, delivery).await
            }
        }
    }

    async fn keep(&self, name: &SourceName, delivery: Kept) -> Result<Response<Bytes>, Refusal> {
        let Kept { command, key_id, attempt } = delivery;
        let (event_id, arrival) = (command.key.event_id.clone(), command.arrival.clone());
        let line = |event, reason: Option<Reason>, status| {
            let subscription = arrival.as_ref().map(|arrival| arrival.subscription.as_str());
            self.journal.record(&Line {
                event,
                subscription,
                event_id: Some(event_id.as_str()),
                delivery_id: arrival.as_ref().map(|arrival| arrival.delivery_id.as_str()),
                attempt: Some(attempt),
                status: Some(status),
                key_id: Some(&key_id),
                reason,
                ..Line::default()
            });
        };
        let stored = self.inbox(name.as_str(), Command::Store(Box::new(command))).await?;
        let Reply::Stored { outcome, receipts_due, .. } = stored else { return Err(odd_reply()) };
        match outcome {
            Outcome::New => {
                self.hint(name.as_str(), Wake::Handle).await;
                line("delivery accepted", None, 200);
                Ok(json(200, &value!({"accepted": true})))
            }
            Outcome::Duplicate => {
                if receipts_due {
                    self.hint(name.as_str(), Wake::Receipts).await;
                }
                line("delivery repeated", None, 200);
                Ok(json(200, &value!({"duplicate": true})))
            }
            Outcome::Refused(reason) => {
                line("delivery quarantined", Some(reason), reason.http_status());
                Ok(stranger(reason.http_status(), reason.outside()))
            }
        }
    }

    fn journal_refusal(&self, name: &str, fields: &Fields, refusal: &Refusal, status: u16) {
        let input = fields.combined("signature-input").unwrap_or_default();
        let input: String = input.chars().take(INPUT_KEPT).collect();
        // Only claimed, and good enough to find a misconfigured sender by.
        let key_id = input.split_once(";keyid=\"").and_then(|(_, rest)| rest.split_once('"'));
        let detail = format!("source {}: {}", name.chars().take(64).collect::<String>(), refusal.detail);
        self.journal.record(&Line {
            event: "intake refused",
            status: Some(status),
            key_id: key_id.map(|(id, _)| id),
            signature_input: (!input.is_empty()).then_some(&input),
            reason: Some(refusal.reason),
            detail: Some(&detail),
            ..Line::default()
        });
    }
}

/// A delivery on its way into the inbox, and what the journal says of it.
struct Kept {
    command: Delivery,
    key_id: String,
    attempt: u32,
}

fn delivery(
    source: &Source,
    name: &SourceName,
    verified: VerifiedDelivery,
    intake: &Intake<'_>,
) -> Result<Kept, Refusal> {
    let entry = source.entries.get(verified.entry).ok_or(Reason::InternalCorrupt)?;
    let accepted_at = verified.accepted_at();
    let arrival = entry.receipts.as_ref().map(|_| Arrival {
        subscription: entry.subscription_id.clone(),
        generation: entry.generation,
        delivery_id: verified.delivery_id.clone(),
        attempt: verified.attempt,
        signature_digest: verified.authentic.signature_digest(),
    });
    let content_type = verified.authentic.covered("content-type").ok_or(Reason::SignatureCoverage)?;
    let command = Delivery {
        key: entry.inbox_key(name, verified.head.id),
        arrival,
        digest: verified.digest,
        event_type: verified.head.r#type,
        signed_at: Timestamp::from_unix(verified.authentic.created()),
        accepted_at,
        content_type: content_type.to_owned(),
        fields: kept_fields(intake.fields),
        body: Body(intake.body.to_vec()),
    };
    Ok(Kept { command, key_id: verified.authentic.keyid().to_owned(), attempt: verified.attempt })
}

fn challenge_answer(body: Vec<u8>) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::from(body));
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// What the outside sees: our own faults as such, an unknown source, a body that is too large, the
/// window, and for everything else that the request was bad.
fn refused(reason: Reason) -> Response<Bytes> {
    if reason.fault() == Fault::Ours || matches!(reason, Reason::SourceUnknown | Reason::BodyTooLarge) {
        return stranger(reason.http_status(), reason.outside());
    }
    if reason == Reason::TimestampOutsideWindow {
        return json(400, &value!({"error": reason.code()}));
    }
    stranger(400, Reason::BodyMalformed.outside())
}
