//! `standard-webhooks.v1a`: Ed25519 over `id.timestamp.body`; keys are written `whsk_…` and `whpk_…`.

use super::standard::{Claims, opening};
use super::{Fault, KeyFault, StandardHeaders, Verified, check_window};
use crate::base64;
use crate::digest::Digest;
use crate::id::EventId;
use crate::secret::Secret;
use crate::signature::SigningKey;
use crate::signature::key::Ed25519Public;

/// The profile's name.
pub const NAME: &str = "standard-webhooks.v1a";

const VERSION: &str = "v1a";
const PUBLIC: &str = "whpk_";
const PRIVATE: &str = "whsk_";

/// Reads a public key: `whpk_` and base64 of 32 octets.
pub fn read_public(text: &str) -> Result<Ed25519Public, KeyFault> {
    let octets = octets(text, PUBLIC)?;
    if octets.len() != 32 {
        return Err(KeyFault::Length("32"));
    }
    Ed25519Public::new(&octets).map_err(|_| KeyFault::Weak)
}

/// Reads a key pair: `whsk_` and base64 of seed and public key, 64 octets.
pub fn read_private(text: &str) -> Result<SigningKey, KeyFault> {
    let octets = zeroize::Zeroizing::new(octets(text, PRIVATE)?);
    let (seed, public) = octets.split_at_checked(32).ok_or(KeyFault::Length("64"))?;
    let seed: [u8; 32] = seed.try_into().map_err(|_| KeyFault::Length("64"))?;
    let key = SigningKey::ed25519(&Secret::new(seed));
    match key.public() {
        Some(own) if own == public => Ok(key),
        Some(_) if public.len() == 32 => Err(KeyFault::Unpaired),
        Some(_) | None => Err(KeyFault::Length("64")),
    }
}

/// A public key as a subscriber is shown it.
pub fn show(key: &Ed25519Public) -> String {
    [PUBLIC, &base64::standard(key.as_bytes())].concat()
}

fn octets(text: &str, prefix: &'static str) -> Result<Vec<u8>, KeyFault> {
    let encoded = text.strip_prefix(prefix).ok_or(KeyFault::Prefix(prefix))?;
    base64::from_standard(encoded).ok_or(KeyFault::Base64)
}

/// Signs `body` with each of `keys`, of which there are several during a rotation.
pub fn sign(
    keys: &[SigningKey],
    id: &EventId,
    timestamp: i64,
    body: &[u8],
) -> Result<StandardHeaders, Fault> {
    if timestamp < 0 {
        return Err(Fault::TimestampMalformed);
    }
    if keys.is_empty() || keys.iter().any(|key| key.public().is_none()) {
        return Err(Fault::KeyUnsuitable);
    }
    if keys.len() > super::MAX_SIGNATURES {
        return Err(Fault::SignatureTooMany);
    }
    let text = [opening(id, timestamp).as_bytes(), body].concat();
    let one = |key: &SigningKey| [VERSION, ",", &base64::standard(&key.sign(&text))].concat();
    let signature = keys.iter().map(one).collect::<Vec<_>>().join(" ");
    Ok(StandardHeaders { id: id.as_str().to_owned(), timestamp: timestamp.to_string(), signature })
}

/// Verifies `body`, as received, under any of `keys`; a signature under the label `v1` is not looked at.
///
/// The time is judged last. `now_unix` is in Unix seconds.
pub fn verify(
    keys: &[Ed25519Public],
    headers: &StandardHeaders,
    body: &[u8],
    now_unix: i64,
) -> Result<Verified, Fault> {
    if keys.is_empty() {
        return Err(Fault::KeyUnsuitable);
    }
    let claims = Claims::read(headers, VERSION, 64)?;
    let text = [opening(&claims.id, claims.timestamp).as_bytes(), body].concat();
    let mut pairs = keys.iter().enumerate().flat_map(|key| claims.signatures.iter().map(move |it| (key, it)));
    let found = pairs.find(|((_, key), signature)| key.verify(&text, signature));
    let ((key, _), signature) = found.ok_or(Fault::SignatureWrong { version: VERSION, keys: keys.len() })?;
    check_window(claims.timestamp, now_unix)?;
    Ok(Verified {
        timestamp: claims.timestamp,
        key,
        signature_digest: Digest::of(signature),
        id: Some(claims.id),
    })
}
