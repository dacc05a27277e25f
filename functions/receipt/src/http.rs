//! The one route: `POST /receipts`.

use ::http::header::CONTENT_ENCODING;
use ::http::{Method, Request, Response};
use bytes::Bytes;
use hookproof_authority::api::{json, stranger, with_request_id};
use hookproof_authority::subscription::{Authority, HeaderField, ReceiptOutcome, ReceiptRequest};
use hookproof_core::ledger::Recorded;
use hookproof_core::reason::Fault;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Entropy, Journal, Line};
use serde::Serialize;

use crate::Receipts;

#[derive(Serialize)]
struct Confirmation<'a> {
    receipt: &'a str,
    delivery_id: &'a str,
    state: &'a str,
}

#[derive(Serialize)]
struct Conflict {
    receipt: &'static str,
    reason: Reason,
}

#[derive(Serialize)]
struct Health {
    status: &'static str,
}

impl<O: Ask<Authority>, N: Entropy, J: Journal> Receipts<O, N, J> {
    /// Answers a request. `Err` in `read` is a request that could not be read whole.
    pub async fn answer(&self, read: Result<Request<Bytes>, Refusal>) -> Response<Bytes> {
        let response = match read {
            Ok(request) => self.route(&request).await,
            Err(refusal) => self.refuse(&refusal),
        };
        with_request_id(response, &self.entropy)
    }

    async fn route(&self, request: &Request<Bytes>) -> Response<Bytes> {
        match (request.method(), request.uri().path()) {
            (&Method::GET, "/health") => json(200, &Health { status: "ok" }),
            (&Method::POST, "/receipts") => match as_receipt(request) {
                Ok(receipt) => self.outcome(self.take(receipt).await),
                Err(refusal) => self.refuse(&refusal),
            },
            (_, "/receipts" | "/health") => stranger(405, "Method not allowed"),
            _ => stranger(404, "Not found"),
        }
    }

    fn outcome(&self, outcome: Result<ReceiptOutcome, Refusal>) -> Response<Bytes> {
        match outcome {
            Ok(ReceiptOutcome::Recorded { recorded, delivery }) => {
                let receipt = match recorded {
                    Recorded::Confirmed => "confirmed",
                    Recorded::Duplicate => "duplicate",
                };
                let (delivery_id, state) = (delivery.delivery_id.as_str(), delivery.state.as_str());
                self.journal.record(&Line {
                    event: "receipt recorded",
                    event_id: Some(delivery.event_id.as_str()),
                    delivery_id: Some(delivery_id),
                    state: Some(state),
                    detail: Some(receipt),
                    ..Line::default()
                });
                json(200, &Confirmation { receipt, delivery_id, state })
            }
            // Whoever signed with the receipt key is entitled to know that it contradicts itself.
            Ok(ReceiptOutcome::Quarantined { reason }) => {
                self.journal.record(&Line {
                    event: "receipt quarantined",
                    reason: Some(reason),
                    ..Line::default()
                });
                json(409, &Conflict { receipt: "quarantined", reason })
            }
            Err(refusal) => self.refuse(&refusal),
        }
    }

    /// Generic words outside, the reason in the journal. Whatever the authority refuses before a signature
    /// has verified answers alike, so that nobody learns which ids exist.
    fn refuse(&self, refusal: &Refusal) -> Response<Bytes> {
        let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
        self.journal.record(&Line { event: "receipt refused", reason, detail, ..Line::default() });
        let answered = |it: Reason| stranger(it.http_status(), it.outside());
        // What cannot be read is told for every id alike; before an attempt is decided after the signature,
        // so its maker may know.
        let told = [Reason::BodyMalformed, Reason::BodyTooLarge, Reason::ReceiptBeforeAttempt];
        if told.contains(&refusal.reason) {
            answered(refusal.reason)
        } else if refusal.reason.fault() == Fault::Ours {
            answered(Reason::InternalHost)
        } else {
            answered(Reason::KeyUnknown)
        }
    }
}

fn as_receipt(request: &Request<Bytes>) -> Result<ReceiptRequest, Refusal> {
    let malformed = |_| Refusal::new(Reason::BodyMalformed, "a field or the body is not text");
    // Refused here for every id; the authority would refuse it for those that exist.
    let mut codings = request.headers().get_all(CONTENT_ENCODING).iter();
    if codings.next().is_some_and(|coding| coding != "identity") || codings.next().is_some() {
        return Err(Refusal::new(Reason::BodyMalformed, "coded content is not taken"));
    }
    let mut fields: Vec<HeaderField> = Vec::new();
    for (name, value) in request.headers() {
        // An unsigned field that is not ASCII is nobody's business; a signed one fails verification.
        if let Ok(value) = value.to_str() {
            fields.push((name.as_str().to_owned(), value.to_owned()));
        }
    }
    let body = String::from_utf8(request.body().to_vec()).map_err(|_| ()).map_err(malformed)?;
    Ok(ReceiptRequest { fields, body })
}
