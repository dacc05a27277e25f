//! A subscriber of its own, written beside the `receiver` Worker: it answers challenges properly and verifies
//! every delivery, and then answers as the fact wants.

use crate::world::{lock, now};
use anyhow::{Context, Result, anyhow};
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::{DeliveryId, EventId};
use hookproof_core::receipt::{Receipt, ReceiptResult, TYPE};
use hookproof_core::receiver::{Entry, Intake, Received as Verified, Source, receive};
use hookproof_core::signature::{Fields, Message, Profile, SigningKey, profile, sign};
use serde_json::Value;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use xtask::api::Api;
use xtask::journey::until;
use xtask::site::{Answer, Received, Site};

/// A delivery that verified.
#[derive(Clone, Debug)]
pub(crate) struct Delivered {
    /// The event.
    pub(crate) event: EventId,
    /// The delivery.
    pub(crate) delivery: DeliveryId,
    /// The attempt.
    pub(crate) attempt: u32,
    /// SHA-256 of the body.
    pub(crate) payload_digest: Digest,
    /// SHA-256 of the signature.
    pub(crate) signature_digest: Digest,
    /// The request as it arrived.
    pub(crate) request: Received,
}

#[derive(Default)]
struct Book {
    source: Option<Source>,
    delivered: Vec<Delivered>,
    refused: Vec<Reason>,
    challenges: usize,
    answers: Vec<Vec<u8>>,
}

/// The running subscriber.
pub(crate) struct Subscriber {
    site: Site,
    book: Arc<Mutex<Book>>,
}

impl Subscriber {
    /// Starts it; `answer` decides what each verified delivery is answered.
    pub(crate) fn start(answer: impl Fn(&Delivered) -> Answer + Send + Sync + 'static) -> Result<Self> {
        let book = Arc::new(Mutex::new(Book::default()));
        let shared = Arc::clone(&book);
        let site = Site::start(move |request| {
            let judged = {
                let mut book = lock(&shared);
                let judged = judge(book.source.as_ref(), request);
                match &judged {
                    Ok(Judged::Challenge(answer)) => {
                        book.challenges += 1;
                        book.answers.push(answer.clone());
                    }
                    Ok(Judged::Delivery(delivered)) => book.delivered.push(delivered.clone()),
                    Err(reason) => book.refused.push(*reason),
                }
                judged
            };
            match judged {
                Ok(Judged::Challenge(body)) => {
                    Answer::status(200).with("content-type", "application/json").body(body)
                }
                Ok(Judged::Delivery(delivered)) => answer(&delivered),
                Err(_) => Answer::status(400),
            }
        })?;
        Ok(Self { site, book })
    }

    /// The URL to register.
    pub(crate) fn url(&self) -> String {
        self.site.url("/hooks")
    }

    /// Tells it the subscription it belongs to.
    pub(crate) fn configure(&self, entry: &Value) -> Result<()> {
        let source = serde_json::json!({ "handler": { "url": self.url() }, "entries": [entry] });
        lock(&self.book).source = Some(serde_json::from_value(source).context("A source is not usable.")?);
        Ok(())
    }

    /// What challenges were answered.
    pub(crate) fn answers(&self) -> Vec<Vec<u8>> {
        lock(&self.book).answers.clone()
    }

    /// Everything that verified so far.
    pub(crate) fn delivered(&self) -> Vec<Delivered> {
        lock(&self.book).delivered.clone()
    }

    /// Why requests were refused so far; each challenge's decoy is one of them.
    pub(crate) fn refused(&self) -> Vec<Reason> {
        lock(&self.book).refused.clone()
    }

    /// How many challenges it has answered.
    pub(crate) fn challenges(&self) -> usize {
        lock(&self.book).challenges
    }

    /// Every request so far, whatever it was.
    pub(crate) fn requests(&self) -> Vec<Received> {
        self.site.received()
    }

    /// The first `count` deliveries, once there are so many.
    pub(crate) fn wait(&self, count: usize, limit: Duration) -> Result<Vec<Delivered>> {
        let found = until(limit, || Ok(Some(self.delivered()).filter(|list| list.len() >= count)))?;
        found.with_context(|| {
            let (have, refused) = (self.delivered().len(), self.refused());
            format!("{have} deliveries arrived instead of {count}; refused: {refused:?}")
        })
    }
}

enum Judged {
    Challenge(Vec<u8>),
    Delivery(Delivered),
}

fn judge(source: Option<&Source>, request: &Received) -> Result<Judged, Reason> {
    let source = source.ok_or(Reason::SourceUnknown)?;
    let fields: Fields = request.fields.iter().map(|(name, value)| (name, value)).collect();
    let intake = Intake {
        method: &request.method,
        path_and_query: &request.target,
        fields: &fields,
        body: &request.body,
    };
    Ok(match receive(source, &intake, now())? {
        Verified::Challenge { answer } => Judged::Challenge(answer),
        Verified::Delivery(verified) => Judged::Delivery(Delivered {
            event: verified.head.id.clone(),
            delivery: verified.delivery_id.clone(),
            attempt: verified.attempt,
            payload_digest: verified.digest,
            signature_digest: verified.authentic.signature_digest(),
            request: request.clone(),
        }),
    })
}

/// The receipt that answers `delivered` under `entry`.
pub(crate) fn receipt(
    entry: &Entry,
    delivered: &Delivered,
    operation_id: &str,
    result: ReceiptResult,
) -> Receipt {
    Receipt {
        r#type: TYPE.to_owned(),
        issuer: entry.issuer.clone(),
        tenant: entry.tenant_id.clone(),
        environment: entry.environment,
        subscription_id: entry.subscription_id.clone(),
        generation: entry.generation,
        event_id: delivered.event.clone(),
        delivery_id: delivered.delivery.clone(),
        attempt: delivered.attempt,
        delivery_signature_digest: delivered.signature_digest,
        payload_digest: delivered.payload_digest,
        operation_id: operation_id.to_owned(),
        result,
        receipt_key_generation: 1,
        issued_at: now(),
    }
}

/// Sends a receipt to `url`, signed with `key` under `key_id`, at a time `age` seconds ago.
pub(crate) fn send(
    url: &str,
    receipt: &Receipt,
    key: &SigningKey,
    key_id: &str,
    age: i64,
) -> Result<(u16, Value)> {
    let body = receipt.to_bytes();
    let fields = signed(&profile::RECEIPT, url, &[], &body, (key_id, key), age)?;
    Api::new(url, "").post_raw("", &fields, &body)
}

/// The fields of a POST of `body` to `url`, signed under `profile` at a time `age` seconds ago.
pub(crate) fn signed(
    profile: &Profile<'_>,
    url: &str,
    fields: &[(&str, String)],
    body: &[u8],
    (key_id, key): (&str, &SigningKey),
    age: i64,
) -> Result<Vec<(String, String)>> {
    let mut lines = vec![
        ("content-type".to_owned(), "application/json".to_owned()),
        ("content-digest".to_owned(), Digest::of(body).content_digest()),
    ];
    lines.extend(fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let covered: Fields = lines.iter().map(|(name, value)| (name, value)).collect();
    let created = now().unix() - age;
    let headers =
        sign(profile, &Message::request("POST", url, &covered), created, created + 300, key_id, key)
            .map_err(|reason| anyhow!("Signing was refused: {reason}"))?;
    lines.push(("signature-input".to_owned(), headers.signature_input));
    lines.push(("signature".to_owned(), headers.signature));
    Ok(lines)
}
