//! `standard-webhooks.v1`: HMAC-SHA256 over `id.timestamp.body` under a secret written `whsec_…`.

use super::standard::{Claims, opening};
use super::{Fault, KeyFault, StandardHeaders, Verified, check_window, mac_match};
use crate::base64;
use crate::digest::Digest;
use crate::id::EventId;
use crate::secret::Secret;
use crate::signature::MacKey;

/// The profile's name.
pub const NAME: &str = "standard-webhooks.v1";

const VERSION: &str = "v1";
const PREFIX: &str = "whsec_";

/// Reads a secret: base64 of 24 to 64 octets, with or without `whsec_`.
pub fn read_secret(text: &str) -> Result<MacKey, KeyFault> {
    let encoded = text.strip_prefix(PREFIX).unwrap_or(text);
    // Standard base64 has neither sign, and so another prefix is told as such.
    if encoded.contains(['_', ',']) {
        return Err(KeyFault::Prefix(PREFIX));
    }
    let octets = base64::from_standard(encoded).ok_or(KeyFault::Base64)?;
    if !(24..=64).contains(&octets.len()) {
        return Err(KeyFault::Length("24 to 64"));
    }
    MacKey::imported(&octets).map_err(|_| KeyFault::Weak)
}

/// A secret of ours as a subscriber is shown it, once.
pub fn show_once(key: &Secret) -> String {
    [PREFIX, &base64::standard(key.expose())].concat()
}

/// Signs `body` with each of `keys`, of which there are several during a rotation.
pub fn sign(keys: &[MacKey], id: &EventId, timestamp: i64, body: &[u8]) -> Result<StandardHeaders, Fault> {
    if timestamp < 0 {
        return Err(Fault::TimestampMalformed);
    }
    if keys.is_empty() {
        return Err(Fault::KeyUnsuitable);
    }
    if keys.len() > super::MAX_SIGNATURES {
        return Err(Fault::SignatureTooMany);
    }
    let opening = opening(id, timestamp);
    let one = |key: &MacKey| {
        [VERSION, ",", &base64::standard(&key.tag_parts(&[opening.as_bytes(), body]))].concat()
    };
    let signature = keys.iter().map(one).collect::<Vec<_>>().join(" ");
    Ok(StandardHeaders { id: id.as_str().to_owned(), timestamp: timestamp.to_string(), signature })
}

/// Verifies `body`, as received, under any of `keys`.
///
/// The time is judged last. `now_unix` is in Unix seconds.
pub fn verify(
    keys: &[MacKey],
    headers: &StandardHeaders,
    body: &[u8],
    now_unix: i64,
) -> Result<Verified, Fault> {
    if keys.is_empty() {
        return Err(Fault::KeyUnsuitable);
    }
    let claims = Claims::read(headers, VERSION, 32)?;
    let opening = opening(&claims.id, claims.timestamp);
    let found = mac_match(keys, &[opening.as_bytes(), body], &claims.signatures);
    let (key, signature) = found.ok_or(Fault::SignatureWrong { version: VERSION, keys: keys.len() })?;
    check_window(claims.timestamp, now_unix)?;
    Ok(Verified {
        timestamp: claims.timestamp,
        key,
        signature_digest: Digest::of(signature),
        id: Some(claims.id),
    })
}
