//! The sender's half of a delivery, for tests and simulators: what it signs, [`Subscriber::receive`] takes.

use std::fmt;

use hookproof_core::digest::Digest;
use hookproof_core::envelope::Head;
use hookproof_core::id::DeliveryId;
use hookproof_core::keys::Purpose;
use hookproof_core::receiver::Entry;
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Alg, Message, SigningKey, profile, sign, thumbprint};
use hookproof_core::time::Timestamp;

use crate::{Failure, SignedRequest, Subscriber};

/// Signs as the sender of one subscription does.
pub struct Sender<'a> {
    entry: &'a Entry,
    key: SigningKey,
    key_id: String,
}

impl<'a> Sender<'a> {
    /// With the delivery key that both sides derive from the subscriber's secret.
    pub fn hmac(subscriber: &'a Subscriber) -> Result<Self, Failure> {
        let entry = subscriber.entry();
        let key = entry.keys.iter().find(|key| key.alg == Alg::HmacSha256);
        let key_id = key.map(|key| key.key_id.clone()).ok_or_else(unsuitable)?;
        let key = SigningKey::hmac(entry.derived(Purpose::Deliver, &key_id)?);
        Ok(Self { entry, key, key_id })
    }

    /// With the Ed25519 key of this seed, which must be that of one of the entry's public keys.
    pub fn ed25519(subscriber: &'a Subscriber, seed: [u8; 32]) -> Result<Self, Failure> {
        let entry = subscriber.entry();
        let key = SigningKey::ed25519(&Secret::new(seed));
        let key_id = thumbprint(&key.public().unwrap_or_default());
        if entry.keys.iter().all(|known| known.key_id != key_id) {
            return Err(unsuitable());
        }
        Ok(Self { entry, key, key_id })
    }

    /// As [`Sender::ed25519`], with the seed in base64url.
    pub fn ed25519_from_text(subscriber: &'a Subscriber, seed: &str) -> Result<Self, Failure> {
        let seed = Secret::from_base64url(seed)
            .ok_or_else(|| Failure::new("key.length", "the seed is not base64url of 32 octets"))?;
        Self::ed25519(subscriber, *seed.expose())
    }

    /// Signs an attempt of a delivery of `envelope`, accepted and signed at `now`.
    pub fn delivery(&self, envelope: &[u8], attempt: u32, now: Timestamp) -> Result<SignedRequest, Failure> {
        let entry = self.entry;
        let head = Head::parse(envelope).map_err(|_| {
            Failure::new(
                "body.malformed",
                "the body is no envelope; it is JSON with id, type, created, api_version and data",
            )
        })?;
        let delivery =
            DeliveryId::of(&entry.tenant_id, entry.environment, &entry.subscription_id, &head.id, now);
        let headers = vec![
            ("content-type", "application/json".to_owned()),
            ("content-digest", Digest::of(envelope).content_digest()),
            ("webhook-id", head.id.to_string()),
            ("webhook-subscription", entry.subscription_id.to_string()),
            ("webhook-generation", entry.generation.to_string()),
            ("webhook-delivery", delivery.to_string()),
            ("webhook-attempt", attempt.to_string()),
        ];
        let request = SignedRequest::new(entry.public_url.as_str(), headers, envelope.to_vec());
        let fields = request.fields();
        let message = Message::request("POST", entry.public_url.as_str(), &fields);
        let created = now.unix();
        let expires = created + profile::MAX_WINDOW;
        let signature = sign(&profile::DELIVERY, &message, created, expires, &self.key_id, &self.key)?;
        Ok(request.sign_with(signature))
    }
}

fn unsuitable() -> Failure {
    Failure::new("key.unsuitable", "the entry has no key of this kind; use one that its `keys` name")
}

impl fmt::Debug for Sender<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sender({}, key {}, redacted)", self.entry.subscription_id, self.key_id)
    }
}
