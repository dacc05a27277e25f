//! Key documents: which keys of a subscription may verify now, signed by the issuer, with an order and an
//! end. A reader that pinned the issuer's key believes nobody in between, not the cache it came through.
//!
//! docs/wire/key-document.v1.md fixes the octets.

mod verify;

pub use verify::Pin;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{Generation, SubscriptionId};
use crate::keys::{Credential, CredentialState, KeyGeneration};
use crate::reason::{Reason, Refusal};
use crate::signature::Alg;
use crate::subscription::GenerationState;
use crate::time::{Span, Timestamp};
use crate::tuple::Tuple;

/// The document's type.
pub const TYPE: &str = "keyDocument.v1";

/// A document that is not older is not signed again as long as its content is the same.
pub const RENEWAL: Span = Span::seconds(5 * 60);

/// From a document's time to the time by which a newer one is to be had.
pub const LIFETIME: Span = Span::seconds(10 * 60);

/// How long after that a reader may still go by it.
pub const GRACE: Span = Span::seconds(15 * 60);

const LABEL: &str = "hookproof-key-document-v1";

/// What the issuer says of a subscription's keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyDocument {
    /// [`TYPE`].
    pub r#type: String,
    /// The deployment's origin.
    pub issuer: String,
    /// Whose keys.
    pub subscription_id: SubscriptionId,
    /// The generation shown: the one that serves, else the newest.
    pub generation: Generation,
    /// Every key that verifies or will, the oldest first.
    pub keys: Vec<PublishedKey>,
    /// Ids of keys that must not verify anything again, in alphabetical order.
    pub revoked: Vec<String>,
    /// Rises with every change of the members above and with nothing else.
    pub sequence: u64,
    /// When it was signed.
    pub issued_at: Timestamp,
    /// When a newer one is to be had.
    pub next_update: Timestamp,
}

/// A key, without anything secret: of an HMAC key there is its name only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedKey {
    /// RFC 7638 thumbprint for Ed25519, random for HMAC.
    pub key_id: String,
    /// Its algorithm.
    pub alg: Alg,
    /// Ed25519 public key, base64url; none for HMAC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_key: Option<String>,
    /// The generation it belongs to.
    pub generation: Generation,
    /// Which key of the subscription it is.
    pub key_generation: KeyGeneration,
    /// `NOT_BEFORE`, `ACTIVE` or `VERIFY_ONLY`.
    pub state: CredentialState,
    /// When `VERIFY_ONLY` ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify_until: Option<Timestamp>,
}

/// A document as it travels: its text octet for octet as it was signed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The text of a [`KeyDocument`].
    pub document: String,
    /// Thumbprint of the issuer's key that signed.
    pub key_id: String,
    /// Ed25519 over [`tuple()`], base64url.
    pub signature: String,
}

/// What is signed: the label, the issuer, the subscription, the signing key's id and the document's text.
pub fn tuple(issuer: &str, subscription: &SubscriptionId, key_id: &str, document: &str) -> Tuple {
    Tuple::new(LABEL).field(issuer).field(subscription.as_str()).field(key_id).field(document)
}

/// The part of a document that counts in its sequence.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Content {
    generation: Generation,
    keys: Vec<PublishedKey>,
    revoked: Vec<String>,
}

impl Content {
    /// Sorts a subscription's credentials, each with its generation and that one's state, into keys and
    /// revocations as of `now`. A key is revoked with its generation, and when its overlap has ended.
    pub fn new<'a>(
        generation: Generation,
        credentials: impl IntoIterator<Item = (Generation, &'a GenerationState, &'a Credential)>,
        now: Timestamp,
    ) -> Self {
        let (mut keys, mut revoked) = (Vec::new(), Vec::new());
        for (generation, state, credential) in credentials {
            if is_over(state, now) || is_revoked(credential, now) {
                revoked.push(credential.key_id.clone());
            } else {
                keys.push(published(generation, credential));
            }
        }
        keys.sort_by(|one, other| {
            (one.key_generation, &one.key_id).cmp(&(other.key_generation, &other.key_id))
        });
        revoked.sort_unstable();
        Self { generation, keys, revoked }
    }

    /// Tells one content from another.
    pub fn digest(&self) -> Result<Digest, Refusal> {
        Ok(Digest::of(text(self)?.as_bytes()))
    }

    /// The document that says so from `now` on.
    pub fn document(
        self,
        issuer: &str,
        subscription: &SubscriptionId,
        sequence: u64,
        now: Timestamp,
    ) -> KeyDocument {
        KeyDocument {
            r#type: TYPE.to_owned(),
            issuer: issuer.to_owned(),
            subscription_id: subscription.clone(),
            generation: self.generation,
            keys: self.keys,
            revoked: self.revoked,
            sequence,
            issued_at: now,
            next_update: now + LIFETIME,
        }
    }
}

impl KeyDocument {
    /// Its one spelling.
    pub fn to_text(&self) -> Result<String, Refusal> {
        text(self)
    }

    /// Whether nobody may go by it any more.
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now > self.next_update + GRACE
    }
}

impl Signed {
    /// Its one spelling, which is what is served, stored and cached.
    pub fn to_text(&self) -> Result<String, Refusal> {
        text(self)
    }
}

fn published(generation: Generation, credential: &Credential) -> PublishedKey {
    PublishedKey {
        key_id: credential.key_id.clone(),
        alg: credential.alg,
        public_key: credential.public_key.clone(),
        generation,
        key_generation: credential.key_generation,
        state: credential.state,
        verify_until: credential.verify_until,
    }
}

fn is_revoked(credential: &Credential, now: Timestamp) -> bool {
    match credential.state {
        CredentialState::NotBefore | CredentialState::Active => false,
        CredentialState::VerifyOnly => !credential.verifies(now),
        CredentialState::Revoked => true,
    }
}

/// Whether nothing of the generation will be sent again: what was registered may run out after its end.
fn is_over(state: &GenerationState, now: Timestamp) -> bool {
    match state {
        GenerationState::Closed { .. } => true,
        GenerationState::Revoked { drain_until, .. } | GenerationState::Expired { drain_until, .. } => {
            drain_until.is_none_or(|until| until <= now)
        }
        GenerationState::PendingChallenge { .. }
        | GenerationState::Active { .. }
        | GenerationState::Rotating { .. }
        | GenerationState::Suspended { .. }
        | GenerationState::Draining { .. } => false,
    }
}

fn text(value: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value)
        .map_err(|_| Refusal::new(Reason::InternalCorrupt, "a key document does not serialise"))
}

#[cfg(test)]
mod tests;
