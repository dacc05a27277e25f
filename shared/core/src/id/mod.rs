//! Names of things: parsed once at the edge, unforgeable enough to be refused before any object call.
//!
//! A minted id is `<prefix>_` and 26 characters of lower-case Crockford base32: 48 bits of
//! milliseconds, 60 random bits and, in the last four characters, a 20-bit check keyed by the
//! deployment. A made-up id is refused by [`IdKey::admits`] without waking anything. The check is no
//! authorisation: it only keeps strangers from creating empty objects.

mod scope;

pub use scope::{Generation, Scope};

use std::fmt;
use std::str::FromStr;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use sha2::Sha256;

use crate::time::Timestamp;
use crate::tuple::Tuple;

const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH: usize = 26;

/// 130 bits, the top two zero, as 26 Crockford characters.
fn encode(bits: u128) -> String {
    (0..LENGTH).rev().map(|i| char::from(ALPHABET[(bits >> (5 * i)) as usize & 31])).collect()
}

fn decode(text: &str) -> Option<u128> {
    if text.len() != LENGTH || text.as_bytes().first().is_none_or(|&b| b > b'7') {
        return None;
    }
    text.bytes().try_fold(0u128, |bits, byte| {
        let digit = ALPHABET.iter().position(|&symbol| symbol == byte)?;
        Some((bits << 5) | digit as u128)
    })
}

/// Crockford base32 of arbitrary octets, five bits a character, the last padded with zero bits.
pub fn crockford(octets: &[u8]) -> String {
    let mut out = String::with_capacity(octets.len() * 8 / 5 + 1);
    let (mut buffer, mut bits) = (0u32, 0);
    for &octet in octets {
        buffer = (buffer << 8) | u32::from(octet);
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            out.push(char::from(ALPHABET[(buffer >> bits) as usize & 31]));
        }
    }
    if bits > 0 {
        out.push(char::from(ALPHABET[(buffer << (5 - bits)) as usize & 31]));
    }
    out
}

/// The deployment's key for the check characters of its ids.
#[derive(Clone)]
pub struct IdKey([u8; 32]);

impl IdKey {
    /// From the deployment's secret; every function of one deployment must hold the same.
    pub fn new(secret: &[u8]) -> Self {
        Self(Tuple::new("hookproof-id-key-v1").field(secret).sha256())
    }

    fn check(&self, prefix: &str, bits: u128) -> u128 {
        let body = Tuple::new("hookproof-id-check-v1").field(prefix).field((bits >> 20).to_be_bytes());
        let Ok(mut mac) = <Hmac<Sha256> as KeyInit>::new_from_slice(&self.0) else { return 0 };
        mac.update(body.as_ref());
        let tag = mac.finalize().into_bytes();
        u128::from(u32::from_be_bytes([0, tag[0], tag[1], tag[2]]) >> 4)
    }

    fn mint(&self, prefix: &str, now: Timestamp, random: [u8; 10]) -> String {
        let mut low = [0u8; 16];
        low[6..].copy_from_slice(&random);
        let bits = ((now.millis() as u128 & 0xffff_ffff_ffff) << 80) | (u128::from_be_bytes(low) & !0xf_ffff);
        format!("{prefix}_{}", encode(bits | self.check(prefix, bits)))
    }

    /// Whether this deployment minted `id`. Minted ids only; event ids of the caller's own have no check.
    pub fn admits(&self, id: &impl Minted) -> bool {
        let text = id.as_str();
        let Some(bits) = text.rsplit_once('_').and_then(|(_, body)| decode(body)) else { return false };
        bits & 0xf_ffff == self.check(id.prefix(), bits)
    }
}

impl fmt::Debug for IdKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdKey(redacted)")
    }
}

/// An id this deployment mints.
pub trait Minted {
    /// The text, prefix included.
    fn as_str(&self) -> &str;
    /// The prefix, without the underscore.
    fn prefix(&self) -> &'static str;
}

macro_rules! minted {
    ($($(#[$doc:meta])* $name:ident = $prefix:literal;)*) => { $(
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// Mints one: 48 bits of time, 60 of `random`, 20 of check.
            pub fn mint(key: &IdKey, now: Timestamp, random: [u8; 10]) -> Self {
                Self(key.mint($prefix, now, random))
            }

            /// The text, prefix included.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl Minted for $name {
            fn as_str(&self) -> &str {
                &self.0
            }
            fn prefix(&self) -> &'static str {
                $prefix
            }
        }

        impl FromStr for $name {
            type Err = MalformedId;
            fn from_str(text: &str) -> Result<Self, MalformedId> {
                let body = text.strip_prefix(concat!($prefix, "_")).ok_or(MalformedId($prefix))?;
                decode(body).ok_or(MalformedId($prefix)).map(|_| Self(text.to_owned()))
            }
        }
        text_form!($name);
    )* };
}

macro_rules! text_form {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
            }
        }
    };
}

/// Text that is not an id of the expected kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedId(&'static str);

impl fmt::Display for MalformedId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "event" => {
                f.write_str("an event id is 1 to 128 of A-Z a-z 0-9 _ : - with at least one non-digit")
            }
            prefix => write!(f, "an id here is {prefix}_ and 26 characters of lower-case Crockford base32"),
        }
    }
}

minted! {
    /// A tenant.
    TenantId = "tnt";
    /// A subscription; never reused.
    SubscriptionId = "sub";
    /// One challenge sent to one endpoint.
    ChallengeId = "chl";
    /// An API token's public half, as it stands inside `hp_<environment>_<id>_<secret>`.
    TokenId = "tok";
}

/// A delivery: one event to one subscription, whatever the number of attempts (see [`DeliveryId::of`]).
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeliveryId(String);

impl DeliveryId {
    /// `dlv_` + 48 bits of the event's acceptance time + 80 bits of a hash over its identity: stable
    /// for (tenant, environment, subscription, event) and ordered by time for the ledger's B-tree.
    pub fn of(
        tenant: &TenantId,
        environment: Environment,
        subscription: &SubscriptionId,
        event: &EventId,
        accepted_at: Timestamp,
    ) -> Self {
        let hash = Tuple::new("hookproof-delivery-id-v1")
            .field(tenant.as_str())
            .field(environment.as_str())
            .field(subscription.as_str())
            .field(event.as_str())
            .sha256();
        let mut low = [0u8; 16];
        low[6..].copy_from_slice(&hash[..10]);
        let bits = ((accepted_at.millis() as u128 & 0xffff_ffff_ffff) << 80) | u128::from_be_bytes(low);
        Self(format!("dlv_{}", encode(bits)))
    }

    /// The text, prefix included.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for DeliveryId {
    type Err = MalformedId;
    fn from_str(text: &str) -> Result<Self, MalformedId> {
        let body = text.strip_prefix("dlv_").ok_or(MalformedId("dlv"))?;
        decode(body).ok_or(MalformedId("dlv")).map(|_| Self(text.to_owned()))
    }
}
text_form!(DeliveryId);

/// An event's id: the caller's own, or minted for it. `[A-Za-z0-9_:-]{1,128}` with a non-digit, so
/// that it can neither hold the dot that separates fields in compatibility profiles nor pass for a time.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EventId(String);

impl EventId {
    /// An id for an event whose publisher gave none.
    pub fn mint(key: &IdKey, now: Timestamp, random: [u8; 10]) -> Self {
        Self(key.mint("evt", now, random))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EventId {
    type Err = MalformedId;
    fn from_str(text: &str) -> Result<Self, MalformedId> {
        let symbol = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'-');
        let fits = (1..=128).contains(&text.len()) && text.bytes().all(symbol);
        if fits && text.bytes().any(|b| !b.is_ascii_digit()) {
            return Ok(Self(text.to_owned()));
        }
        Err(MalformedId("event"))
    }
}
text_form!(EventId);

/// The two worlds whose keys, tokens and data never cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// Real events.
    Live,
    /// Trial events.
    Test,
}

impl Environment {
    /// `live` or `test`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Test => "test",
        }
    }

    /// Reads [`Environment::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "live" => Some(Self::Live),
            "test" => Some(Self::Test),
            _ => None,
        }
    }
}

impl fmt::Display for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_796_060_438_120;

    #[test]
    fn a_minted_id_is_admitted_by_its_deployment_only() {
        let (ours, theirs) = (IdKey::new(b"ours"), IdKey::new(b"theirs"));
        let id = SubscriptionId::mint(&ours, Timestamp::from_millis(NOW), [9; 10]);
        assert!(ours.admits(&id) && !theirs.admits(&id));
        let text = id.to_string();
        assert_eq!(text.len(), 30);
        assert_eq!(text.parse::<SubscriptionId>().unwrap(), id);
        assert!(text.replace("sub_", "tnt_").parse::<TenantId>().is_ok_and(|t| !ours.admits(&t)));
    }

    #[test]
    fn changing_any_character_is_noticed() {
        let key = IdKey::new(b"ours");
        let id = TenantId::mint(&key, Timestamp::from_millis(NOW), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
        for position in 4..id.as_str().len() {
            let mut text = id.as_str().as_bytes().to_vec();
            text[position] = if text[position] == b'0' { b'1' } else { b'0' };
            let other: Result<TenantId, _> = String::from_utf8(text).unwrap().parse();
            assert!(other.is_err() || !key.admits(&other.unwrap()), "position {position}");
        }
    }

    #[test]
    fn a_delivery_id_is_stable_and_ordered_by_time() {
        let key = IdKey::new(b"k");
        let tenant = TenantId::mint(&key, Timestamp::from_millis(NOW), [0; 10]);
        let subscription = SubscriptionId::mint(&key, Timestamp::from_millis(NOW), [0; 10]);
        let event: EventId = "evt-1".parse().unwrap();
        let at = |ms| {
            DeliveryId::of(&tenant, Environment::Test, &subscription, &event, Timestamp::from_millis(ms))
        };
        assert_eq!(at(NOW), at(NOW));
        assert!(at(NOW) < at(NOW + 1));
        let other =
            DeliveryId::of(&tenant, Environment::Live, &subscription, &event, Timestamp::from_millis(NOW));
        assert_ne!(at(NOW), other);
    }

    #[test]
    fn event_ids_hold_no_dot_and_are_no_time() {
        for good in ["a", "evt_01", "a:b-c_D", "1700000000x", &"x".repeat(128)] {
            assert!(good.parse::<EventId>().is_ok(), "{good}");
        }
        for bad in ["", "a.1700000000", "1700000000", "a b", "é", &"x".repeat(129)] {
            assert!(bad.parse::<EventId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn crockford_of_octets() {
        assert_eq!(crockford(&[0xff; 5]), "zzzzzzzz");
        assert_eq!(crockford(&[0; 32]).len(), 52);
    }
}
