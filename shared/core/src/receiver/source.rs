//! A source: whom the receiver takes messages from, under which keys, at which URL, and who handles them.
//!
//! `keyid` selects one entry and the entry fixes everything else; the message only has to agree.

use serde::{Deserialize, Serialize};

use super::inbox::Key;
use crate::challenge::ProofKey;
use crate::digest::Digest;
use crate::endpoint::EndpointUrl;
use crate::id::{Environment, EventId, Generation, Scope, SubscriptionId, TenantId};
use crate::keys::{Purpose, derive};
use crate::reason::{Reason, Refusal};
use crate::secret::Secret;
use crate::signature::{Alg, SigningKey, VerifyKey, thumbprint};

/// A source's name, as it stands in paths: 1 to 64 of `a-z 0-9 _ -`, a letter or digit first.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceName(String);

impl SourceName {
    /// What [`SourceName::parse`] takes, in words.
    pub const ACCEPTED: &'static str = "1 to 64 of a-z 0-9 _ -, a letter or digit first";

    /// Reads a name.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
        let fits = text.len() <= 64
            && text.bytes().next().is_some_and(plain)
            && text.bytes().all(|b| plain(b) || b == b'_' || b == b'-');
        fits.then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SourceName {
    type Error = &'static str;
    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or(Self::ACCEPTED)
    }
}

impl From<SourceName> for String {
    fn from(name: SourceName) -> Self {
        name.0
    }
}

/// A configured source. Holds secrets: stored sealed, never logged.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// Where verified events go.
    #[serde(deserialize_with = "crate::json::object")]
    pub handler: Handler,
    /// The subscriptions this source takes.
    #[serde(deserialize_with = "crate::json::list")]
    pub entries: Vec<Entry>,
}

/// The application behind the receiver.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Handler {
    /// Its URL; the event is POSTed there with a stable `Idempotency-Key`.
    pub url: EndpointUrl,
}

/// One subscription the receiver knows.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// The sender's origin.
    pub issuer: String,
    /// The sender's tenant.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// Its generation.
    pub generation: Generation,
    /// Its signing profile.
    pub profile: String,
    /// The URL the sender was given for us, from our own configuration.
    pub public_url: EndpointUrl,
    /// The sender's keys.
    #[serde(deserialize_with = "crate::json::list")]
    pub keys: Vec<EntryKey>,
    /// The subscriber secret, base64url, shown once at registration.
    pub secret: String,
    /// How receipts are sent; none without a receipt contract.
    #[serde(default, deserialize_with = "crate::json::optional", skip_serializing_if = "Option::is_none")]
    pub receipts: Option<Receipts>,
}

/// A key of the sender.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryKey {
    /// Its id, as in `keyid`.
    pub key_id: String,
    /// Its algorithm.
    pub alg: Alg,
    /// Ed25519 public key, base64url; none for HMAC, which is derived from the secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
}

/// Where and how receipts are sent.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipts {
    /// The sender's receipts URL.
    pub url: EndpointUrl,
    /// The key they are signed with.
    #[serde(deserialize_with = "crate::json::object")]
    pub key: ReceiptKey,
}

/// The subscriber's receipt key. In JSON `{"alg", "seed"?, "generation"?}`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(into = "FlatKey", try_from = "FlatKey")]
pub enum ReceiptKey {
    /// Derived from the subscriber secret.
    HmacSha256,
    /// The subscriber's own Ed25519 key.
    Ed25519 {
        /// Its 32-octet seed, base64url.
        seed: String,
        /// Which of the subscriber's receipt keys this is.
        generation: u64,
    },
}

/// The JSON of a [`ReceiptKey`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlatKey {
    alg: Alg,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seed: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    generation: Option<u64>,
}

impl From<ReceiptKey> for FlatKey {
    fn from(key: ReceiptKey) -> Self {
        match key {
            ReceiptKey::HmacSha256 => Self { alg: Alg::HmacSha256, seed: None, generation: None },
            ReceiptKey::Ed25519 { seed, generation } => {
                Self { alg: Alg::Ed25519, seed: Some(seed), generation: Some(generation) }
            }
        }
    }
}

impl TryFrom<FlatKey> for ReceiptKey {
    type Error = &'static str;
    fn try_from(flat: FlatKey) -> Result<Self, Self::Error> {
        match (flat.alg, flat.seed) {
            (Alg::HmacSha256, None) => Ok(Self::HmacSha256),
            (Alg::Ed25519, Some(seed)) => {
                Ok(Self::Ed25519 { seed, generation: flat.generation.unwrap_or(1) })
            }
            (Alg::HmacSha256, Some(_)) => Err("an hmac-sha256 receipt key is derived and has no seed"),
            (Alg::Ed25519, None) => Err("an ed25519 receipt key has a seed"),
        }
    }
}

impl Source {
    /// Checks what a configuration must hold, before it is stored.
    pub fn check(&self) -> Result<(), Refusal> {
        let bad = |field: String, accepted: &str| {
            Err(Refusal::new(Reason::BodyMalformed, "the source is not usable as given").at(field, accepted))
        };
        if self.entries.is_empty() {
            return bad("entries".into(), "at least one subscription");
        }
        let mut key_ids: Vec<_> =
            self.entries.iter().flat_map(|e| e.keys.iter().map(|k| &k.key_id)).collect();
        key_ids.sort_unstable();
        if key_ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return bad("entries".into(), "each key_id once: it selects one entry");
        }
        for (index, entry) in self.entries.iter().enumerate() {
            let at = |field: &str| format!("entries[{index}].{field}");
            if Secret::from_base64url(&entry.secret).is_none() {
                return bad(at("secret"), "base64url of 32 octets, as shown at registration");
            }
            if entry.keys.is_empty() || entry.keys.iter().any(|key| entry.verify_key(key).is_err()) {
                return bad(at("keys"), "the keys of the registration answer: key_id, alg, public_key");
            }
            if entry.receipts.is_some() && entry.receipt_key().is_err() {
                return bad(
                    at("receipts.key"),
                    "{\"alg\":\"hmac-sha256\"} or {\"alg\":\"ed25519\",\"seed\":\"…\"}",
                );
            }
        }
        Ok(())
    }
}

impl Entry {
    /// What its keys and proofs are bound to.
    pub fn scope(&self) -> Scope {
        Scope {
            issuer: self.issuer.clone(),
            tenant: self.tenant_id.clone(),
            environment: self.environment,
            subscription: self.subscription_id.clone(),
            generation: self.generation,
        }
    }

    /// The inbox key of an event that this entry brought: all but the event id is our own configuration.
    pub fn inbox_key(&self, source: &SourceName, event_id: EventId) -> Key {
        Key {
            source: source.as_str().to_owned(),
            issuer: self.issuer.clone(),
            tenant: self.tenant_id.clone(),
            environment: self.environment,
            event_id,
        }
    }

    /// Digest of our own URL.
    pub fn endpoint_digest(&self) -> Digest {
        self.public_url.digest()
    }

    /// The key derived from the subscriber secret for `purpose`.
    pub fn derived(&self, purpose: Purpose, key_id: &str) -> Result<Secret, Reason> {
        let secret = Secret::from_base64url(&self.secret).ok_or(Reason::InternalCorrupt)?;
        Ok(derive(&secret, purpose, &self.scope(), key_id, &self.profile))
    }

    /// The verification key behind `key`.
    pub fn verify_key(&self, key: &EntryKey) -> Result<VerifyKey, Reason> {
        match key.alg {
            Alg::Ed25519 => {
                let text = key.public_key.as_deref().ok_or(Reason::KeyWeak)?;
                let octets: [u8; 32] = crate::base64::array_from_url(text).ok_or(Reason::KeyWeak)?;
                if thumbprint(&octets) != key.key_id {
                    return Err(Reason::KeyUnknown);
                }
                VerifyKey::ed25519(&octets)
            }
            Alg::HmacSha256 => Ok(VerifyKey::hmac(self.derived(Purpose::Deliver, &key.key_id)?)),
        }
    }

    /// What challenges are proved with: the subscriber's Ed25519 key where it has one, else the
    /// derived challenge key of the credential `key_id`.
    pub fn proof_key(&self, key_id: &str) -> Result<ProofKey, Reason> {
        match self.receipts.as_ref().map(|r| &r.key) {
            Some(ReceiptKey::Ed25519 { .. }) => {
                let (key, key_id, _) = self.receipt_key()?;
                Ok(ProofKey::Ed25519 { key, key_id })
            }
            Some(ReceiptKey::HmacSha256) | None => Ok(ProofKey::Hmac {
                key: self.derived(Purpose::Challenge, key_id)?,
                key_id: key_id.to_owned(),
            }),
        }
    }

    /// What receipts are signed with: key, id and key generation.
    pub fn receipt_key(&self) -> Result<(SigningKey, String, u64), Reason> {
        match self.receipts.as_ref().map(|r| &r.key) {
            None => Err(Reason::ReceiptNotContracted),
            Some(ReceiptKey::Ed25519 { seed, generation }) => {
                let seed = Secret::from_base64url(seed).ok_or(Reason::KeyWeak)?;
                let key = SigningKey::ed25519(&seed);
                let id = thumbprint(&key.public().unwrap_or_default());
                Ok((key, id, *generation))
            }
            Some(ReceiptKey::HmacSha256) => {
                let key_id = self.keys.first().map(|k| k.key_id.clone()).ok_or(Reason::KeyUnknown)?;
                Ok((SigningKey::hmac(self.derived(Purpose::Receipt, &key_id)?), key_id, 1))
            }
        }
    }
}
