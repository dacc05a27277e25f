//! The onlooker: whoever holds the public key and knows the URL can tell that the sender signed this
//! delivery, and holds no secret for it.

use hookproof_core::Reason;
use hookproof_core::base64;
use hookproof_core::endpoint::EndpointUrl;
use hookproof_core::signature::key::Ed25519Public;
use hookproof_core::signature::{Message, VerifyKey, profile, select};
use hookproof_core::time::Timestamp;

use crate::explain::{Expected, explain, target_of};
use crate::{Failure, Request};

/// Verifies Ed25519 deliveries with the sender's public key alone.
///
/// It knows no subscription: whose delivery it was is in [`Seen`], and to judge. To take deliveries in, use
/// [`crate::Subscriber`], which refuses what is not for it.
#[derive(Debug)]
pub struct Onlooker {
    key: Ed25519Public,
    key_id: String,
    url: EndpointUrl,
}

/// What a verified delivery says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The event's id.
    pub event_id: String,
    /// The subscription it was signed for.
    pub subscription_id: String,
    /// Its generation.
    pub generation: String,
    /// The delivery's id.
    pub delivery_id: String,
    /// The attempt.
    pub attempt: String,
    /// The key that signed.
    pub key_id: String,
    /// When it was signed, Unix seconds.
    pub signed_at: i64,
}

impl Onlooker {
    /// `public_key` is base64url of 32 octets; `url` is the endpoint's, in the spelling that was signed.
    pub fn new(public_key: &str, url: &str) -> Result<Self, Failure> {
        let octets = base64::from_url(public_key)
            .filter(|octets| octets.len() == 32)
            .ok_or_else(|| Failure::new("key.length", "the public key is not base64url of 32 octets"))?;
        let key = Ed25519Public::new(&octets)
            .map_err(|_| Failure::new("key.weak", "the public key is weak or not canonical"))?;
        let url = EndpointUrl::from_stored(url.to_owned()).ok_or_else(|| {
            Failure::new("url.malformed", "the URL is not normalised; write it as the registration shows it")
        })?;
        Ok(Self { key_id: key.thumbprint(), key, url })
    }

    /// Verifies a request as it would have been at `now`.
    pub fn verify(&self, request: &Request<'_>, now: Timestamp) -> Result<Seen, Failure> {
        target_of(&self.url, request)?;
        self.judge(request, now).map_err(|reason| {
            let ours = Expected { url: &self.url, key_ids: vec![&self.key_id], scope: "another".to_owned() };
            explain(&ours, request, now, reason)
        })
    }

    fn judge(&self, request: &Request<'_>, now: Timestamp) -> Result<Seen, Reason> {
        let message = Message::request(request.method, self.url.as_str(), &request.fields);
        let candidate = select(&profile::DELIVERY, &message)?;
        if candidate.keyid() != self.key_id {
            return Err(Reason::KeyUnknown);
        }
        let authentic = candidate.verify(&VerifyKey::Ed25519(self.key), request.body, now.unix())?;
        let field = |name| authentic.covered(name).map(str::to_owned).ok_or(Reason::SignatureCoverage);
        Ok(Seen {
            event_id: field("webhook-id")?,
            subscription_id: field("webhook-subscription")?,
            generation: field("webhook-generation")?,
            delivery_id: field("webhook-delivery")?,
            attempt: field("webhook-attempt")?,
            key_id: authentic.keyid().to_owned(),
            signed_at: authentic.created(),
        })
    }
}
