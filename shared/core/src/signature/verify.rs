//! The verifier: an [`Authentic`] exists only for a message whose every covered part was signed in time.
//!
//! Two steps, so that the caller can look up the key between them: [`select`] reads and judges the
//! form, [`Candidate::verify`] judges key, time, signature and body. What the first step returns is
//! claimed, not proved.

use std::fmt;

use super::base::{Line, join};
use super::content_digest;
use super::coverage::{covered, is_keyid};
use super::fields::{FieldFault, Fields};
use super::key::{Alg, VerifyKey};
use super::message::Message;
use super::profile::Profile;
use super::sfv::{self, Bare, Dictionary, InnerList, Item, Member, Params};
use crate::digest::Digest;
use crate::reason::Reason;

/// Most signatures a message may carry, whoever made them.
pub const MAX_SIGNATURES: usize = 4;

/// The one signature of a profile on a message, well-formed and with full coverage, not yet verified.
pub struct Candidate {
    claims: Claims,
    base: String,
    max_window: i64,
    skew: i64,
    signature: Vec<u8>,
}

/// Proof that a message was verified: there is no other way to make one.
pub struct Authentic {
    claims: Claims,
    signature_digest: Digest,
}

struct Claims {
    keyid: String,
    alg: Alg,
    created: i64,
    expires: i64,
    tag: String,
    params: String,
    lines: Vec<Line>,
}

/// Finds the signature of `profile` on `message` and checks all that needs no key.
///
/// [`Reason::SignatureMalformed`] for anything unreadable, for no or two signatures with the tag and
/// for labels that do not pair up; [`Reason::SignatureCoverage`] for other components or parameters
/// than the profile's; [`Reason::BodyMalformed`] for coded content.
pub fn select(profile: &Profile<'_>, message: &Message<'_>) -> Result<Candidate, Reason> {
    refuse_coding(message.fields())?;
    let inputs = signature_field(message.fields(), "signature-input")?;
    let values = signature_field(message.fields(), "signature")?;
    let inputs = sfv::parse_dictionary(&inputs)?;
    let values = sfv::parse_dictionary(&values)?;
    let (label, raw, list) = tagged(&inputs, &values, profile.tag)?;
    let signature = octets(&values, label)?;
    // The base is closed by the text as received; a text with a second spelling of the same value
    // could be read otherwise elsewhere, so only the canonical one is taken.
    if list.serialise() != raw {
        return Err(Reason::SignatureMalformed);
    }
    if !lists_exactly(list, profile.components) {
        return Err(Reason::SignatureCoverage);
    }
    let lines = covered(profile, message)?;
    let claims = Claims::read(profile, &list.params, raw, lines)?;
    if signature.len() != claims.alg.signature_length() {
        return Err(Reason::SignatureMalformed);
    }
    let base = join(&claims.lines, raw);
    Ok(Candidate { claims, base, max_window: profile.max_window, skew: profile.skew, signature })
}

impl Candidate {
    /// The key the signature claims.
    pub fn keyid(&self) -> &str {
        &self.claims.keyid
    }

    /// The algorithm it claims.
    pub fn alg(&self) -> Alg {
        self.claims.alg
    }

    /// The claimed time of signing, Unix seconds.
    pub fn created(&self) -> i64 {
        self.claims.created
    }

    /// The claimed end of validity, Unix seconds.
    pub fn expires(&self) -> i64 {
        self.claims.expires
    }

    /// The claimed value of a covered component; to be used for look-ups only.
    pub fn claimed(&self, component: &str) -> Option<&str> {
        self.claims.covered(component)
    }

    /// SHA-256 of the signature octets.
    pub fn signature_digest(&self) -> Digest {
        Digest::of(&self.signature)
    }

    /// Judges algorithm, time, signature and body, in this order.
    ///
    /// `key` is the one recorded under [`Candidate::keyid`] for the sender; whether its state admits it
    /// is the caller's to say. `now_unix` is in Unix seconds. `body` is the content as received.
    pub fn verify(self, key: &VerifyKey, body: &[u8], now_unix: i64) -> Result<Authentic, Reason> {
        if key.alg() != self.claims.alg {
            return Err(Reason::KeyNotUsable);
        }
        if !key.verify(self.base.as_bytes(), &self.signature) {
            return Err(Reason::SignatureWrong);
        }
        let digest = self.claims.covered("content-digest").ok_or(Reason::SignatureCoverage)?;
        content_digest::verify(digest, body)?;
        // The time last: only who signed learns that it was too early or too late.
        let (created, expires) = (self.claims.created, self.claims.expires);
        let window = expires.saturating_sub(created);
        let begun = created <= now_unix.saturating_add(self.skew);
        if !begun || now_unix >= expires || !(1..=self.max_window).contains(&window) {
            return Err(Reason::TimestampOutsideWindow);
        }
        Ok(Authentic { signature_digest: self.signature_digest(), claims: self.claims })
    }
}

impl Authentic {
    /// The key that verified.
    pub fn keyid(&self) -> &str {
        &self.claims.keyid
    }

    /// Its algorithm.
    pub fn alg(&self) -> Alg {
        self.claims.alg
    }

    /// When it was signed, Unix seconds.
    pub fn created(&self) -> i64 {
        self.claims.created
    }

    /// When the signature ends, Unix seconds.
    pub fn expires(&self) -> i64 {
        self.claims.expires
    }

    /// The tag, which says for what kind of message this is proof.
    pub fn tag(&self) -> &str {
        &self.claims.tag
    }

    /// SHA-256 of the signature octets.
    pub fn signature_digest(&self) -> Digest {
        self.signature_digest
    }

    /// The signature parameters as received.
    pub fn params(&self) -> &str {
        &self.claims.params
    }

    /// The signed value of a covered component, such as `webhook-id` or `@target-uri`.
    pub fn covered(&self, component: &str) -> Option<&str> {
        self.claims.covered(component)
    }
}

/// A signature in a log could be sent again while it is good: only whose and what for is shown.
impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Candidate({}, {})", self.claims.keyid, self.claims.tag)
    }
}

impl fmt::Debug for Authentic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Authentic({}, {})", self.claims.keyid, self.claims.tag)
    }
}

impl Claims {
    fn read(profile: &Profile<'_>, params: &Params, raw: &str, lines: Vec<Line>) -> Result<Self, Reason> {
        let known = |key: &str| {
            matches!(key, "created" | "expires" | "keyid" | "alg" | "tag")
                || (key == "nonce" && profile.nonce_allowed)
        };
        if params.has_repeats() || !params.iter().all(|(key, _)| known(key)) {
            return Err(Reason::SignatureCoverage);
        }
        if params.iter().any(|(key, value)| key == "nonce" && !matches!(value, Bare::String(_))) {
            return Err(Reason::SignatureMalformed);
        }
        let keyid = text(params, "keyid")?;
        if !is_keyid(keyid) {
            return Err(Reason::SignatureMalformed);
        }
        Ok(Self {
            keyid: keyid.to_owned(),
            alg: Alg::parse(text(params, "alg")?).ok_or(Reason::SignatureMalformed)?,
            created: seconds(params, "created")?,
            expires: seconds(params, "expires")?,
            tag: text(params, "tag")?.to_owned(),
            params: raw.to_owned(),
            lines,
        })
    }

    fn covered(&self, component: &str) -> Option<&str> {
        // A profile's components have no parameters, so an identifier is the quoted name.
        let is_it = |line: &&Line| line.0.trim_matches('"') == component;
        self.lines.iter().find(is_it).map(|line| line.1.as_str())
    }
}

/// Content coded in transit could decode to something else than was meant: refused, not decoded.
pub(super) fn refuse_coding(fields: &Fields) -> Result<(), Reason> {
    match fields.single("content-encoding") {
        Err(FieldFault::Absent) => Ok(()),
        Ok(coding) if coding.eq_ignore_ascii_case("identity") => Ok(()),
        Ok(_) | Err(FieldFault::Repeated | FieldFault::Forbidden) => Err(Reason::BodyMalformed),
    }
}

/// The combined value of one of the two fields (RFC 9421 §4): several lines are one dictionary.
fn signature_field(fields: &Fields, name: &str) -> Result<String, Reason> {
    fields.combined(name).map_err(|_| Reason::SignatureMalformed)
}

/// The one member of `Signature-Input` with this tag: its label, its text and its list.
///
/// Labels pair up one to one with those of `Signature`; the label itself says nothing.
fn tagged<'d>(
    inputs: &'d Dictionary<'d>,
    values: &Dictionary<'_>,
    tag: &str,
) -> Result<(&'d str, &'d str, &'d InnerList), Reason> {
    let (given, signed) = (inputs.entries(), values.entries());
    let paired = given.len() == signed.len() && given.iter().all(|entry| values.get(entry.key).is_some());
    if !paired || given.len() > MAX_SIGNATURES || inputs.repeated().or_else(|| values.repeated()).is_some() {
        return Err(Reason::SignatureMalformed);
    }
    let mut found = None;
    for entry in given {
        let Member::InnerList(list) = &entry.value else { return Err(Reason::SignatureMalformed) };
        // Any occurrence of the tag counts, so that a repeated parameter cannot hide one reading.
        let ours =
            |(key, value): (&str, &Bare)| key == "tag" && matches!(value, Bare::String(text) if text == tag);
        if list.params.iter().any(ours) && found.replace((entry.key, entry.raw, list)).is_some() {
            return Err(Reason::SignatureMalformed);
        }
    }
    found.ok_or(Reason::SignatureMalformed)
}

/// The signature octets under `label`: a byte sequence without parameters.
fn octets(values: &Dictionary<'_>, label: &str) -> Result<Vec<u8>, Reason> {
    match values.get(label) {
        Some(Member::Item(Item { bare: Bare::Bytes(octets), params })) if params.is_empty() => {
            Ok(octets.clone())
        }
        Some(Member::Item(_) | Member::InnerList(_)) | None => Err(Reason::SignatureMalformed),
    }
}

/// The same names in the same order, and no parameter on any.
fn lists_exactly(list: &InnerList, components: &[&str]) -> bool {
    let same = |item: &Item, name: &str| {
        item.params.is_empty() && matches!(&item.bare, Bare::String(text) if text == name)
    };
    list.items.len() == components.len()
        && list.items.iter().zip(components).all(|(item, name)| same(item, name))
}

fn text<'p>(params: &'p Params, key: &str) -> Result<&'p str, Reason> {
    match params.get(key) {
        Some(Bare::String(text)) => Ok(text),
        Some(_) => Err(Reason::SignatureMalformed),
        None => Err(Reason::SignatureCoverage),
    }
}

fn seconds(params: &Params, key: &str) -> Result<i64, Reason> {
    match params.get(key) {
        Some(Bare::Integer(seconds)) => Ok(*seconds),
        Some(_) => Err(Reason::SignatureMalformed),
        None => Err(Reason::SignatureCoverage),
    }
}
