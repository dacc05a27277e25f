//! Compatibility profiles: what verifies here was signed, over its exact body and time, with a key the
//! caller named. None of them covers the target, the subscription or the generation.
//!
//! | profile | signed | sent as |
//! |---|---|---|
//! | [`standard_v1`] | `id.timestamp.body`, HMAC-SHA256 | `webhook-id`, `webhook-timestamp`, `webhook-signature: v1,<base64>` |
//! | [`standard_v1a`] | the same, Ed25519 | the same, `v1a,<base64>` |
//! | [`timestamped`] | `timestamp.body`, HMAC-SHA256 | `x-webhook-signature: t=<seconds>,v1=<hex>` |
//!
//! The signed text does not name its profile. An id with a dot, or of digits alone, would let a text of
//! one profile be read as one of another; so both sides take event ids only ([`EventId`]).

mod fault;
mod standard;
pub mod standard_v1;
pub mod standard_v1a;
pub mod timestamped;

use std::fmt;

use crate::digest::Digest;
use crate::id::EventId;
use crate::secret::constant_time_eq;
use crate::signature::MacKey;

pub use fault::{Fault, KeyFault};
pub use standard::StandardHeaders;

/// How far a signed time may lie from now, either way, in seconds.
pub const WINDOW: i64 = 300;

/// Most signatures that are looked at; a message with more is refused.
pub const MAX_SIGNATURES: usize = 16;

/// Proof that a message was verified under a compatibility profile: there is no other way to make one.
pub struct Verified {
    id: Option<EventId>,
    timestamp: i64,
    key: usize,
    signature_digest: Digest,
}

impl Verified {
    /// The signed event id; none where the profile signs none.
    pub fn id(&self) -> Option<&EventId> {
        self.id.as_ref()
    }

    /// The signed time, Unix seconds.
    pub fn timestamp(&self) -> i64 {
        self.timestamp
    }

    /// The position, in the caller's list, of the key that verified.
    pub fn key(&self) -> usize {
        self.key
    }

    /// SHA-256 of the octets of the signature that verified.
    pub fn signature_digest(&self) -> Digest {
        self.signature_digest
    }
}

/// A signature in a log could be sent again while it is good.
impl fmt::Debug for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = self.id.as_ref().map_or("none", EventId::as_str);
        write!(f, "Verified(id {id}, at {}, key {})", self.timestamp, self.key)
    }
}

/// Which of `keys` made one of `signatures`, and which one.
///
/// All pairs are compared, also after a match: how long it takes says nothing of where it was.
fn mac_match<'s, S: AsRef<[u8]>>(
    keys: &[MacKey],
    parts: &[&[u8]],
    signatures: &'s [S],
) -> Option<(usize, &'s [u8])> {
    let mut found = None;
    for (index, key) in keys.iter().enumerate() {
        let tag = key.tag_parts(parts);
        for signature in signatures {
            let same = constant_time_eq(&tag, signature.as_ref());
            if same && found.is_none() {
                found = Some((index, signature.as_ref()));
            }
        }
    }
    found
}

/// Unix seconds as these profiles write them: 1 to 16 digits, no sign, no zero in front.
fn seconds(text: &str) -> Result<i64, Fault> {
    let digits = (1..=16).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_digit());
    if !digits || (text.starts_with('0') && text != "0") {
        return Err(Fault::TimestampMalformed);
    }
    text.parse().map_err(|_| Fault::TimestampMalformed)
}

/// Judged after the signature, so that only who signed learns that it was too early or too late.
fn check_window(timestamp: i64, now_unix: i64) -> Result<(), Fault> {
    match now_unix.saturating_sub(timestamp) {
        age if age > WINDOW => Err(Fault::TooOld { seconds: age }),
        age if age < -WINDOW => Err(Fault::TooNew { seconds: age.saturating_neg() }),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
