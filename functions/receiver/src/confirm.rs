//! Due receipts to the sender, each signed anew for its try; the count was raised before it is sent.

use bytes::Bytes;
use hookproof_authority::inbox::{Command, OwedReceipt, Reply, Wake, Wakeup};
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointUrl;
use hookproof_core::receipt::{Receipt, TYPE};
use hookproof_core::receiver::{Entry, Source};
use hookproof_core::signature::{Fields, Message, profile, sign};
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Outbound, Queue, Resolver, SendFailure, Transport};

use crate::join::join_all;
use crate::{AT_A_TIME, Objects, Receiver, odd_reply};

/// Longest time for a receipt.
const TIMEOUT: Span = Span::seconds(10);

/// How much of the sender's answer is read, in octets.
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
    /// Sends due receipts.
    pub(crate) async fn confirm(&self, name: &str, source: &Source) -> Result<(), Refusal> {
        let taken = self.inbox(name, Command::TakeReceipts { limit: AT_A_TIME }).await?;
        let Reply::Receipts { owed, more } = taken else { return Err(odd_reply()) };
        let reports = join_all(owed.iter().map(|owed| self.send(name, source, owed))).await;
        if more {
            self.hint(name, Wake::Receipts).await;
        }
        reports.into_iter().collect()
    }

    async fn send(&self, name: &str, source: &Source, owed: &OwedReceipt) -> Result<(), Refusal> {
        let (status, reason) = match request(source, owed, self.clock.now()) {
            Ok((url, request)) => {
                let sent = self.egress.post(url, &request).await;
                let reason = sent.result.as_ref().err().map(SendFailure::reason);
                (sent.result.ok().map(|answer| answer.status), reason)
            }
            Err(reason) => (None, Some(reason)),
        };
        let subscription = owed.arrival.subscription.clone();
        self.journal.record(&Line {
            event: "receipt sent",
            subscription: Some(subscription.as_str()),
            event_id: Some(owed.key.event_id.as_str()),
            delivery_id: Some(owed.arrival.delivery_id.as_str()),
            attempt: Some(owed.tries),
            status,
            reason,
            ..Line::default()
        });
        self.inbox(name, Command::ReportReceipt { id: owed.id.clone(), subscription, status }).await.map(drop)
    }
}

/// The signed request, where the source still has the entry it belongs to.
fn request<'a>(
    source: &'a Source,
    owed: &OwedReceipt,
    now: Timestamp,
) -> Result<(&'a EndpointUrl, Outbound), Reason> {
    let entry = source.entries.iter().find(|entry| brought(entry, owed)).ok_or(Reason::KeyUnknown)?;
    let url = &entry.receipts.as_ref().ok_or(Reason::ReceiptNotContracted)?.url;
    let (key, key_id, key_generation) = entry.receipt_key()?;
    let body = receipt(owed, key_generation, now).to_bytes();
    let mut fields = Fields::new();
    fields.push("content-digest", Digest::of(&body).content_digest());
    fields.push("content-type", "application/json");
    let message = Message::request("POST", url.as_str(), &fields);
    let expires = now.unix() + profile::MAX_WINDOW;
    let headers = sign(&profile::RECEIPT, &message, now.unix(), expires, &key_id, &key)?;
    fields.push("signature-input", &headers.signature_input);
    fields.push("signature", &headers.signature);
    let body = Bytes::from(body);
    Ok((url, Outbound { fields, body, timeout: TIMEOUT, response_limit: ANSWER_LIMIT }))
}

fn brought(entry: &Entry, owed: &OwedReceipt) -> bool {
    entry.subscription_id == owed.arrival.subscription
        && entry.generation == owed.arrival.generation
        && entry.issuer == owed.key.issuer
        && entry.tenant_id == owed.key.tenant
        && entry.environment == owed.key.environment
}

fn receipt(owed: &OwedReceipt, receipt_key_generation: u64, now: Timestamp) -> Receipt {
    Receipt {
        r#type: TYPE.to_owned(),
        issuer: owed.key.issuer.clone(),
        tenant: owed.key.tenant.clone(),
        environment: owed.key.environment,
        subscription_id: owed.arrival.subscription.clone(),
        generation: owed.arrival.generation,
        event_id: owed.key.event_id.clone(),
        delivery_id: owed.arrival.delivery_id.clone(),
        attempt: owed.arrival.attempt,
        delivery_signature_digest: owed.arrival.signature_digest,
        payload_digest: owed.digest,
        operation_id: owed.operation_id.clone(),
        result: owed.result,
        receipt_key_generation,
        issued_at: now,
    }
}
