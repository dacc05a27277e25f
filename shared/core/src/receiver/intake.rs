//! One request in: verified against exactly one entry, or refused without saying what was expected.

use super::source::{Entry, Source};
use crate::challenge::{Answerer, SenderKey};
use crate::digest::Digest;
use crate::envelope::Head;
use crate::id::DeliveryId;
use crate::keys::Purpose;
use crate::reason::Reason;
use crate::signature::{Alg, Authentic, Candidate, Fields, Message, Profile, VerifyKey, profile, select};
use crate::time::Timestamp;

/// A request as it arrived.
pub struct Intake<'a> {
    /// Its method.
    pub method: &'a str,
    /// Path and query of its target, as received.
    pub path_and_query: &'a str,
    /// Its fields.
    pub fields: &'a Fields,
    /// Its raw body.
    pub body: &'a [u8],
}

/// What a verified request is.
#[derive(Debug)]
pub enum Received {
    /// A challenge; here is the answer to give.
    Challenge {
        /// The answer's body.
        answer: Vec<u8>,
    },
    /// A delivery to store.
    Delivery(Box<VerifiedDelivery>),
}

/// A delivery that verified: stored before it is answered.
#[derive(Debug)]
pub struct VerifiedDelivery {
    /// Witness of the verification.
    pub authentic: Authentic,
    /// The envelope's head.
    pub head: Head,
    /// SHA-256 of the raw body.
    pub digest: Digest,
    /// The delivery.
    pub delivery_id: DeliveryId,
    /// The attempt.
    pub attempt: u32,
    /// Position of the entry in its source.
    pub entry: usize,
}

impl VerifiedDelivery {
    /// When the sender accepted the event: the time that leads every delivery id, whatever the
    /// subscription, and that no publisher chooses.
    pub fn accepted_at(&self) -> Timestamp {
        let digits = self.delivery_id.as_str().bytes().skip("dlv_".len()).take(10);
        let value = |digit: u8| b"0123456789abcdefghjkmnpqrstvwxyz".iter().position(|&d| d == digit);
        let millis = digits.fold(0_i64, |sum, digit| (sum << 5) | value(digit).unwrap_or(0) as i64);
        Timestamp::from_millis(millis)
    }
}

/// The fields that may be kept with a stored message: none that carries a credential or a signature.
///
/// At most 32, of at most 1 KiB each.
pub fn kept_fields(fields: &Fields) -> Vec<(String, String)> {
    let text = |(name, value): (&str, &[u8])| {
        let value = std::str::from_utf8(value).ok().filter(|value| value.len() <= 1024)?;
        (!carries_secret(name)).then(|| (name.to_owned(), value.to_owned()))
    };
    fields.iter().filter_map(text).take(32).collect()
}

fn carries_secret(name: &str) -> bool {
    const TELLING: [&str; 8] =
        ["auth", "cookie", "credential", "key", "password", "secret", "signature", "token"];
    name != "signature-input" && TELLING.iter().any(|part| name.contains(part))
}

/// Verifies `intake` against `source` at `now`.
pub fn receive(source: &Source, intake: &Intake<'_>, now: Timestamp) -> Result<Received, Reason> {
    if intake.method != "POST" {
        return Err(Reason::RouteUnknown);
    }
    // Every entry of a source answers at one path, so its own URL decides the target, never Host.
    for kind in [&profile::DELIVERY, &profile::CHALLENGE] {
        for (index, entry) in source.entries.iter().enumerate() {
            if entry.public_url.path_and_query() != intake.path_and_query {
                continue;
            }
            let message = Message::request(intake.method, entry.public_url.as_str(), intake.fields);
            let Ok(candidate) = select(kind, &message) else { continue };
            if let Some(key) = entry.keys.iter().find(|key| key.key_id == candidate.keyid()) {
                let chosen = Chosen { index, entry, key_id: &key.key_id, key: entry.verify_key(key)? };
                return judge(&chosen, kind, candidate, intake, now);
            }
        }
    }
    Err(refusal(source, intake))
}

/// Why nothing matched: told to the journal only.
fn refusal(source: &Source, intake: &Intake<'_>) -> Reason {
    let Some(entry) = source.entries.first() else { return Reason::KeyUnknown };
    let message = Message::request(intake.method, entry.public_url.as_str(), intake.fields);
    select(&profile::DELIVERY, &message).err().unwrap_or(Reason::KeyUnknown)
}

/// The one entry and key that a message's `keyid` selects; they fix everything else.
struct Chosen<'a> {
    index: usize,
    entry: &'a Entry,
    key_id: &'a str,
    key: VerifyKey,
}

fn judge(
    chosen: &Chosen<'_>,
    kind: &Profile<'_>,
    candidate: Candidate,
    intake: &Intake<'_>,
    now: Timestamp,
) -> Result<Received, Reason> {
    let entry = chosen.entry;
    let authentic = candidate.verify(&chosen.key, intake.body, now.unix())?;
    // Only what the signature covers is read; an unsigned field of the same name decides nothing.
    let field = |name: &str| authentic.covered(name).map(str::to_owned).ok_or(Reason::SignatureCoverage);
    let agrees = field("webhook-subscription")? == entry.subscription_id.as_str()
        && field("webhook-generation")? == entry.generation.to_string();
    if !agrees {
        return Err(Reason::KeyUnknown);
    }
    if kind.tag == profile::CHALLENGE.tag {
        return answer(chosen, &authentic, intake.body, now);
    }
    let head = Head::parse(intake.body)?;
    if field("webhook-id")? != head.id.as_str() {
        return Err(Reason::BodyMalformed);
    }
    let (delivery_id, attempt) = (field("webhook-delivery")?, field("webhook-attempt")?);
    Ok(Received::Delivery(Box::new(VerifiedDelivery {
        head,
        digest: Digest::of(intake.body),
        delivery_id: delivery_id.parse().map_err(|_| Reason::BodyMalformed)?,
        attempt: attempt.parse().map_err(|_| Reason::BodyMalformed)?,
        entry: chosen.index,
        authentic,
    })))
}

fn answer(
    chosen: &Chosen<'_>,
    authentic: &Authentic,
    body: &[u8],
    now: Timestamp,
) -> Result<Received, Reason> {
    let Chosen { entry, key_id, key, .. } = chosen;
    let deliver = entry.derived(Purpose::Deliver, key_id)?;
    let sender = match key.alg() {
        Alg::Ed25519 => SenderKey::Ed25519(key),
        Alg::HmacSha256 => SenderKey::Hmac(&deliver),
    };
    let scope = entry.scope();
    let proof_key = entry.proof_key(key_id)?;
    let answerer = Answerer {
        scope: &scope,
        endpoint_digest: entry.endpoint_digest(),
        profile: &entry.profile,
        key_id,
        key: sender,
        proof_key: &proof_key,
    };
    Ok(Received::Challenge { answer: answerer.answer(body, authentic, now)? })
}
