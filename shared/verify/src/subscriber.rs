//! The subscriber: takes a message only under the one entry it was configured with, answers challenges for
//! its own URL, and confirms only what it has verified.

use std::fmt;

use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::receipt::{Receipt, ReceiptResult, TYPE};
use hookproof_core::receiver::{Entry, Handler, Intake, Received, Source, VerifiedDelivery, receive};
use hookproof_core::signature::{Message as HttpMessage, profile, sign};
use hookproof_core::time::Timestamp;

use crate::explain::{explain, target_of};
use crate::{Failure, Request, SignedRequest};

/// One subscription, from the side that receives. Holds its secret.
pub struct Subscriber {
    source: Source,
}

/// What a verified request is.
#[derive(Debug)]
pub enum Message {
    /// An event. Store it before answering 2xx, and deduplicate by [`Delivery::event_id`].
    Delivery(Delivery),
    /// A challenge: answer 200 with this JSON (`application/json`).
    Challenge {
        /// The answer's body.
        answer: Vec<u8>,
    },
}

/// A delivery that was verified: there is no other way to make one.
#[derive(Debug)]
pub struct Delivery(Box<VerifiedDelivery>);

impl Subscriber {
    /// Reads an [`Entry`] as JSON, in the form that the receiver's configuration has.
    pub fn from_json(text: &str) -> Result<Self, Failure> {
        let entry = serde_json::from_str(text).map_err(|error| misread(&error))?;
        Self::new(entry)
    }

    /// Checks the entry: its secret, its keys and its receipt key.
    pub fn new(entry: Entry) -> Result<Self, Failure> {
        // The check and the verification are the receiver's, whose source has a handler; nothing is sent
        // to this one.
        let handler = Handler { url: entry.public_url.clone() };
        let source = Source { handler, entries: vec![entry] };
        source.check().map_err(|refusal| {
            let field = refusal.field.unwrap_or_default();
            let field = field.strip_prefix("entries[0].").unwrap_or("keys");
            let accepted = refusal.accepted.unwrap_or_default();
            Failure::new("entry.malformed", format!("the entry's {field} is not usable; give {accepted}"))
        })?;
        Ok(Self { source })
    }

    /// The URL that the sender was given for this subscription.
    pub fn public_url(&self) -> &str {
        self.entry().public_url.as_str()
    }

    pub(crate) fn entry(&self) -> &Entry {
        // A subscriber has exactly one.
        &self.source.entries[0]
    }

    /// Verifies a request at `now`: a delivery or a challenge for this very subscription.
    pub fn receive(&self, request: &Request<'_>, now: Timestamp) -> Result<Message, Failure> {
        let entry = self.entry();
        let intake = Intake {
            method: request.method,
            path_and_query: target_of(&entry.public_url, request)?,
            fields: &request.fields,
            body: request.body,
        };
        match receive(&self.source, &intake, now) {
            Ok(Received::Delivery(delivery)) => Ok(Message::Delivery(Delivery(delivery))),
            Ok(Received::Challenge { answer }) => Ok(Message::Challenge { answer }),
            Err(reason) => Err(explain(&entry.into(), request, now, reason)),
        }
    }

    /// The receipt for a delivery that was handled, signed at `now` and to be sent within five minutes.
    ///
    /// `operation_id` is your own name for the effect, 1 to 256 visible ASCII characters, the same for
    /// every receipt about this event.
    pub fn receipt(
        &self,
        delivery: &Delivery,
        result: ReceiptResult,
        operation_id: &str,
        now: Timestamp,
    ) -> Result<SignedRequest, Failure> {
        let entry = self.entry();
        let receipts = entry.receipts.as_ref().ok_or_else(|| {
            Failure::new(Reason::ReceiptNotContracted.code(), "the entry has no `receipts`: none is expected")
        })?;
        let (key, key_id, generation) = entry.receipt_key()?;
        let body = self.word(delivery, result, operation_id, (generation, now)).to_bytes();
        Receipt::parse(&body).map_err(|_| {
            Failure::new("operation_id.refused", "use 1 to 256 visible ASCII characters, without blanks")
        })?;
        let headers = vec![
            ("content-digest", Digest::of(&body).content_digest()),
            ("content-type", "application/json".to_owned()),
        ];
        let request = SignedRequest::new(receipts.url.as_str(), headers, body);
        let fields = request.fields();
        let message = HttpMessage::request("POST", receipts.url.as_str(), &fields);
        let created = now.unix();
        let signature =
            sign(&profile::RECEIPT, &message, created, created + profile::MAX_WINDOW, &key_id, &key)?;
        Ok(request.sign_with(signature))
    }

    fn word(
        &self,
        Delivery(delivery): &Delivery,
        result: ReceiptResult,
        operation_id: &str,
        (receipt_key_generation, issued_at): (u64, Timestamp),
    ) -> Receipt {
        let entry = self.entry();
        Receipt {
            r#type: TYPE.to_owned(),
            issuer: entry.issuer.clone(),
            tenant: entry.tenant_id.clone(),
            environment: entry.environment,
            subscription_id: entry.subscription_id.clone(),
            generation: entry.generation,
            event_id: delivery.head.id.clone(),
            delivery_id: delivery.delivery_id.clone(),
            attempt: delivery.attempt,
            delivery_signature_digest: delivery.authentic.signature_digest(),
            payload_digest: delivery.digest,
            operation_id: operation_id.to_owned(),
            result,
            receipt_key_generation,
            issued_at,
        }
    }
}

impl Delivery {
    /// The event's id: the same for every attempt, every subscription and every replay.
    pub fn event_id(&self) -> &str {
        self.0.head.id.as_str()
    }

    /// The event's type.
    pub fn event_type(&self) -> &str {
        &self.0.head.r#type
    }

    /// The delivery's id: the same for every attempt.
    pub fn delivery_id(&self) -> &str {
        self.0.delivery_id.as_str()
    }

    /// The attempt, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.attempt
    }

    /// The key that signed.
    pub fn key_id(&self) -> &str {
        self.0.authentic.keyid()
    }

    /// When it was signed, Unix seconds.
    pub fn signed_at(&self) -> i64 {
        self.0.authentic.created()
    }

    /// SHA-256 of the body, spelled `sha-256:<base64url>`: another one under a known event id is a conflict.
    pub fn payload_digest(&self) -> String {
        self.0.digest.to_string()
    }
}

impl fmt::Debug for Subscriber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.entry();
        write!(f, "Subscriber({}, generation {}, redacted)", entry.subscription_id, entry.generation)
    }
}

/// Names fields and places only: a value could be the secret in the wrong place.
fn misread(error: &serde_json::Error) -> Failure {
    let text = error.to_string();
    let names_a_field =
        ["missing field", "unknown field", "duplicate field"].iter().any(|kind| text.starts_with(kind));
    let what = if names_a_field {
        text
    } else {
        format!("a value of another form at line {} column {}", error.line(), error.column())
    };
    Failure::new("entry.malformed", format!("the entry is not usable: {what}"))
}
