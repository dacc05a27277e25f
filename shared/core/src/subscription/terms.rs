//! What a generation binds. Changing any of it makes the next generation (decisions 6).

use serde::{Deserialize, Serialize};

use super::TopicPattern;
use crate::endpoint::EndpointUrl;
use crate::envelope::major;
use crate::retry::Policy;

/// The default signing profile.
pub const PROFILE_DELIVERY: &str = "hookproof.delivery.v1";

/// Whom to tell; a dead letter without an owner cannot exist.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// A team's or person's name.
    pub name: String,
    /// An address a notice reaches.
    pub contact: String,
}

/// How a subscriber confirms that it applied an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "alg", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ReceiptContract {
    /// Not at all: the application tier reads UNOBSERVABLE.
    None,
    /// Under the derived receipt key: mutual, never proof to a third party.
    HmacSha256,
    /// Under the subscriber's own Ed25519 key.
    Ed25519 {
        /// The public key, base64url.
        public_key: String,
    },
}

/// What becomes of deliveries of a generation that is no longer the serving one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OldGenerations {
    /// They run out to their own endpoint.
    Drain,
    /// They are kept and not sent.
    Quarantine,
}

/// The terms of a generation, frozen with it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Terms {
    /// Where deliveries go.
    pub endpoint: EndpointUrl,
    /// Which types are wanted.
    pub topics: Vec<TopicPattern>,
    /// Which `api_version` majors are understood; empty takes all.
    pub accepted_versions: Vec<String>,
    /// How deliveries are signed.
    pub profile: String,
    /// How receipts are signed.
    pub receipt: ReceiptContract,
    /// Whom to tell.
    pub owner: Owner,
    /// Retry policy; part of the revision, not of the generation, but carried here with it.
    pub retry: Policy,
    /// What becomes of deliveries when the next generation takes over.
    pub old_generations: OldGenerations,
}

impl Terms {
    /// Whether an event of this type and version is wanted.
    pub fn wants(&self, kind: &str, api_version: &str) -> bool {
        let version = major(api_version);
        self.topics.iter().any(|topic| topic.matches(kind))
            && (self.accepted_versions.is_empty() || self.accepted_versions.iter().any(|v| v == version))
    }
}
