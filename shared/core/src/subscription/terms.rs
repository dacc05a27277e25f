//! What a generation binds. Changing any of it makes the next generation.

use serde::{Deserialize, Serialize};

use super::Wants;
use crate::base64;
use crate::endpoint::EndpointUrl;
use crate::reason::{Reason, Refusal};
use crate::retry::Policy;
use crate::signature::{VerifyKey, is_published_test_key, thumbprint};

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

/// How a subscriber confirms that it applied an event. In JSON `{"alg", "public_key"?}`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
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

/// The JSON of a [`ReceiptContract`].
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flat {
    alg: ContractAlg,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    public_key: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum ContractAlg {
    None,
    HmacSha256,
    Ed25519,
}

impl From<ReceiptContract> for Flat {
    fn from(contract: ReceiptContract) -> Self {
        match contract {
            ReceiptContract::None => Self { alg: ContractAlg::None, public_key: None },
            ReceiptContract::HmacSha256 => Self { alg: ContractAlg::HmacSha256, public_key: None },
            ReceiptContract::Ed25519 { public_key } => {
                Self { alg: ContractAlg::Ed25519, public_key: Some(public_key) }
            }
        }
    }
}

impl TryFrom<Flat> for ReceiptContract {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        match (flat.alg, flat.public_key) {
            (ContractAlg::None, None) => Ok(Self::None),
            (ContractAlg::HmacSha256, None) => Ok(Self::HmacSha256),
            (ContractAlg::Ed25519, Some(public_key)) => Ok(Self::Ed25519 { public_key }),
            (ContractAlg::Ed25519, None) => Err("an ed25519 receipt contract names its public_key"),
            (ContractAlg::None | ContractAlg::HmacSha256, Some(_)) => {
                Err("only an ed25519 receipt contract has a public_key")
            }
        }
    }
}

impl ReceiptContract {
    /// Refuses a key that is not canonical, weak, or one that everybody has.
    pub fn check(&self) -> Result<(), Refusal> {
        let Self::Ed25519 { public_key } = self else { return Ok(()) };
        let accepted = "base64url of a 32-octet Ed25519 public key of your own";
        let refuse = |reason, words: &str| Refusal::new(reason, words).at("receipt.public_key", accepted);
        let octets: [u8; 32] = base64::array_from_url(public_key)
            .ok_or_else(|| refuse(Reason::KeyWeak, "the receipt key is not 32 octets of base64url"))?;
        VerifyKey::ed25519(&octets)
            .map_err(|reason| refuse(reason, "the receipt key is not canonical or of small order"))?;
        if is_published_test_key(&thumbprint(&octets)) {
            return Err(refuse(Reason::KeyReserved, "the receipt key is a published test key"));
        }
        Ok(())
    }
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
    /// Which events are wanted.
    pub wants: Wants,
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

/// Some terms.
#[cfg(test)]
pub(super) fn sample() -> Terms {
    let endpoint = EndpointUrl::from_stored("https://hooks.example.com/in".to_owned());
    Terms {
        endpoint: endpoint.unwrap(),
        wants: Wants {
            topics: vec!["invoice.*".parse().unwrap()],
            accepted_versions: Vec::new(),
            filter: None,
        },
        profile: PROFILE_DELIVERY.to_owned(),
        receipt: ReceiptContract::None,
        owner: Owner { name: "Billing".to_owned(), contact: "b@example.com".to_owned() },
        retry: Policy::preset("standard").unwrap(),
        old_generations: OldGenerations::Drain,
    }
}
