//! The signer: what it returns verifies under the same profile, or it returns nothing.

use std::fmt;

use super::base::join;
use super::coverage::{covered, is_keyid};
use super::key::SigningKey;
use super::message::Message;
use super::profile::Profile;
use super::sfv::{Bare, InnerList, Item, Params};
use crate::base64;
use crate::digest::Digest;
use crate::reason::Reason;

/// The two header values of a signature, and its octets for the record.
#[derive(Clone, PartialEq, Eq)]
pub struct SignatureHeaders {
    /// The value of `Signature-Input`.
    pub signature_input: String,
    /// The value of `Signature`.
    pub signature: String,
    /// The signature itself; receipts name the SHA-256 of it.
    pub octets: Vec<u8>,
}

impl SignatureHeaders {
    /// SHA-256 of the signature octets, as a receipt has to name it.
    pub fn signature_digest(&self) -> Digest {
        Digest::of(&self.octets)
    }
}

/// A signature in a log could be sent again while it is good.
impl fmt::Debug for SignatureHeaders {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SignatureHeaders(redacted)")
    }
}

/// Signs `message`, which already carries every covered field, `Content-Digest` included.
///
/// `created` and `expires` are Unix seconds. A refusal is [`Reason::InternalCorrupt`]: the caller made
/// a message that the profile's own verifier would not take.
pub fn sign(
    profile: &Profile<'_>,
    message: &Message<'_>,
    created: i64,
    expires: i64,
    keyid: &str,
    key: &SigningKey,
) -> Result<SignatureHeaders, Reason> {
    let window = expires.checked_sub(created).ok_or(Reason::InternalCorrupt)?;
    if created < 0 || !(1..=profile.max_window).contains(&window) || !is_keyid(keyid) {
        return Err(Reason::InternalCorrupt);
    }
    let lines = covered(profile, message).map_err(|_| Reason::InternalCorrupt)?;
    let mut params = Params::default();
    params.push("created", Bare::Integer(created));
    params.push("expires", Bare::Integer(expires));
    params.push("keyid", Bare::String(keyid.to_owned()));
    params.push("alg", Bare::String(key.alg().name().to_owned()));
    params.push("tag", Bare::String(profile.tag.to_owned()));
    let items = profile.components.iter().map(|name| Item::plain(Bare::String((*name).to_owned()))).collect();
    let params = InnerList { items, params }.serialise();
    let octets = key.sign(join(&lines, &params).as_bytes());
    Ok(SignatureHeaders {
        signature_input: [profile.label, "=", &params].concat(),
        signature: [profile.label, "=:", &base64::standard(&octets), ":"].concat(),
        octets,
    })
}
