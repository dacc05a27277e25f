//! `timestamped-hmac.v1`: `X-Webhook-Signature: t=<seconds>,v1=<hex HMAC-SHA256 of "t.body">`.
//!
//! No id is signed: a receiver takes it from the body, which is.

use super::standard::single;
use super::{Fault, MAX_SIGNATURES, Verified, check_window, mac_match, seconds};
use crate::digest::Digest;
use crate::signature::MacKey;
use crate::signature::fields::Fields;
use crate::signature::verify::refuse_coding;

/// The profile's name.
pub const NAME: &str = "timestamped-hmac.v1";

/// The field that carries time and signatures.
pub const FIELD: &str = "x-webhook-signature";

const VERSION: &str = "v1";

/// Takes the field's value from a message's fields.
pub fn read(fields: &Fields) -> Result<String, Fault> {
    refuse_coding(fields).map_err(|_| Fault::ContentCoded)?;
    single(fields, FIELD)
}

/// The field's value for `body`, signed with each of `keys`, of which there are several during a rotation.
pub fn sign(keys: &[MacKey], timestamp: i64, body: &[u8]) -> Result<String, Fault> {
    if timestamp < 0 {
        return Err(Fault::TimestampMalformed);
    }
    if keys.is_empty() {
        return Err(Fault::KeyUnsuitable);
    }
    if keys.len() > MAX_SIGNATURES {
        return Err(Fault::SignatureTooMany);
    }
    let opening = format!("{timestamp}.");
    let mut value = format!("t={timestamp}");
    for key in keys {
        value.push_str(",v1=");
        value.push_str(&hex(&key.tag_parts(&[opening.as_bytes(), body])));
    }
    Ok(value)
}

/// Verifies `body`, as received, under any of `keys`; `value` is that of [`FIELD`].
///
/// The time is judged last. `now_unix` is in Unix seconds.
pub fn verify(keys: &[MacKey], value: &str, body: &[u8], now_unix: i64) -> Result<Verified, Fault> {
    if keys.is_empty() {
        return Err(Fault::KeyUnsuitable);
    }
    let (timestamp, signatures) = parse(value)?;
    let opening = format!("{timestamp}.");
    let found = mac_match(keys, &[opening.as_bytes(), body], &signatures);
    let (key, signature) = found.ok_or(Fault::SignatureWrong { version: VERSION, keys: keys.len() })?;
    check_window(timestamp, now_unix)?;
    Ok(Verified { id: None, timestamp, key, signature_digest: Digest::of(signature) })
}

/// The one time and the well-formed `v1` signatures. Items with other names are passed over.
fn parse(value: &str) -> Result<(i64, Vec<[u8; 32]>), Fault> {
    let (mut timestamp, mut signatures) = (None, Vec::new());
    for (seen, item) in value.split(',').enumerate() {
        // The time, and as many signatures as are looked at.
        if seen > MAX_SIGNATURES {
            return Err(Fault::SignatureTooMany);
        }
        // A blank is what a platform joins two lines with: which time counts would be its choice.
        let (name, text) = item
            .split_once('=')
            .filter(|(name, _)| !name.is_empty() && !item.contains([' ', '\t']))
            .ok_or(Fault::FieldMalformed(FIELD))?;
        match name {
            "t" if timestamp.is_some() => return Err(Fault::FieldMalformed(FIELD)),
            "t" => timestamp = Some(seconds(text)?),
            VERSION => signatures.extend(unhex(text)),
            _ => {}
        }
    }
    let timestamp = timestamp.ok_or(Fault::TimestampMalformed)?;
    if signatures.is_empty() { Err(Fault::SignatureMissing(VERSION)) } else { Ok((timestamp, signatures)) }
}

fn hex(octets: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    octets
        .iter()
        .flat_map(|octet| [octet >> 4, octet & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

/// Exactly 64 lower-case digits.
fn unhex(text: &str) -> Option<[u8; 32]> {
    let digit = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    if text.len() != 64 {
        return None;
    }
    let mut out = [0; 32];
    for (slot, pair) in out.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *slot = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(out)
}
