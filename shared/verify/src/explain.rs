//! What the developer is told: found again from the same message, after the verdict and never before it.

use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointUrl;
use hookproof_core::receiver::Entry;
use hookproof_core::signature::profile::{self, MAX_WINDOW, SKEW};
use hookproof_core::signature::{Candidate, Message, Profile, select};
use hookproof_core::time::Timestamp;

use crate::{Failure, Request};

/// What the message was held against.
pub(crate) struct Expected<'a> {
    /// The URL it has to be signed for.
    pub(crate) url: &'a EndpointUrl,
    /// The ids of the keys.
    pub(crate) key_ids: Vec<&'a str>,
    /// Subscription and generation, where they are known.
    pub(crate) scope: String,
}

impl<'a> From<&'a Entry> for Expected<'a> {
    fn from(entry: &'a Entry) -> Self {
        let key_ids = entry.keys.iter().map(|key| key.key_id.as_str()).collect();
        let scope = format!("{} generation {}", entry.subscription_id, entry.generation);
        Self { url: &entry.public_url, key_ids, scope }
    }
}

/// Without the query: tokens are kept there.
fn shown(target: &str) -> String {
    match target.split_once('?') {
        Some((path, _)) => format!("{path}?…"),
        None => target.to_owned(),
    }
}

/// Path and query of the request's target, if it is our own.
pub(crate) fn target_of<'r>(url: &EndpointUrl, request: &Request<'r>) -> Result<&'r str, Failure> {
    let own = url.path_and_query();
    let target = if request.target.starts_with('/') {
        request.target
    } else if let Some(rest) = request.target.strip_prefix(url.origin()).filter(|rest| rest.starts_with('/'))
    {
        rest
    } else {
        return Err(Failure::new(
            "target.mismatch",
            format!("the target URI is not under {}, our own origin", url.origin()),
        ));
    };
    if target == own {
        return Ok(target);
    }
    Err(Failure::new(
        "target.mismatch",
        format!("the request came for another path or query than our own URL has ({})", shown(own)),
    ))
}

/// Why core refused with `reason`.
pub(crate) fn explain(ours: &Expected<'_>, request: &Request<'_>, now: Timestamp, reason: Reason) -> Failure {
    let message = Message::request(request.method, ours.url.as_str(), &request.fields);
    let candidate = select(&profile::DELIVERY, &message).or_else(|_| select(&profile::CHALLENGE, &message));
    if reason == Reason::RouteUnknown {
        return Failure::new("method.not_post", "the method is not POST, the only one that is signed");
    }
    match candidate {
        Ok(candidate) => with_candidate(ours, request, now, reason, &candidate),
        Err(_) => form(request, reason),
    }
}

fn with_candidate(
    ours: &Expected<'_>,
    request: &Request<'_>,
    now: Timestamp,
    reason: Reason,
    candidate: &Candidate,
) -> Failure {
    let known = |key_id: &str| ours.key_ids.contains(&key_id);
    let explanation = if reason == Reason::TimestampOutsideWindow {
        return window(candidate, now);
    } else if reason == Reason::DigestMismatch {
        format!(
            "body was re-serialised, decoded or cut: digest differs. The signed Content-Digest is {}, the \
             {} octets received give {}. Verify the raw body, before anything parses it",
            candidate.claimed("content-digest").unwrap_or_default(),
            request.body.len(),
            Digest::of(request.body).content_digest()
        )
    } else if reason == Reason::KeyUnknown && !known(candidate.keyid()) {
        format!("the key {} is not one of ours; fetch the subscription's keys", candidate.keyid())
    } else if reason == Reason::KeyUnknown {
        return Failure::new("subscription.mismatch", mismatch(ours, candidate));
    } else if reason == Reason::SignatureWrong {
        format!(
            "the signature does not verify under the key {}: a covered header was changed on the way, it was \
             sent to another URL than {}, or another key signed",
            candidate.keyid(),
            shown(ours.url.as_str())
        )
    } else if reason == Reason::KeyNotUsable {
        format!("the message says {} and the key is of another kind", candidate.alg().name())
    } else if reason == Reason::BodyMalformed {
        "the signature holds, but the body is no envelope with the signed webhook-id (or no challenge)"
            .to_owned()
    } else {
        return reason.into();
    };
    Failure::new(reason.code(), explanation)
}

fn mismatch(ours: &Expected<'_>, candidate: &Candidate) -> String {
    format!(
        "it was signed for subscription {} generation {}; this entry is {}",
        candidate.claimed("webhook-subscription").unwrap_or("none"),
        candidate.claimed("webhook-generation").unwrap_or("none"),
        ours.scope
    )
}

fn window(candidate: &Candidate, now: Timestamp) -> Failure {
    let (created, expires, now) = (candidate.created(), candidate.expires(), now.unix());
    let age = now.saturating_sub(created);
    if now >= expires && created <= now {
        let life = expires.saturating_sub(created);
        let late = now.saturating_sub(expires);
        return Failure::new(
            "timestamp.too_old",
            format!("timestamp {age} s old; it was good for {life} s and ended {late} s ago"),
        );
    }
    if age < -SKEW {
        return Failure::new(
            "timestamp.too_new",
            format!("timestamp {} s ahead of the clock; at most {SKEW} s are taken", age.saturating_neg()),
        );
    }
    let life = expires.saturating_sub(created);
    let explanation = if (1..=MAX_WINDOW).contains(&life) {
        "the signature is in time, but the challenge's own times are not".to_owned()
    } else {
        format!("it claims to be good for {life} s; 1 to {MAX_WINDOW} are taken")
    };
    Failure::new("timestamp.window", explanation)
}

/// No signature of ours could be read: what is missing, if anything is.
fn form(request: &Request<'_>, reason: Reason) -> Failure {
    let absent = |name: &&str| !request.fields.contains(name);
    let wanted: &Profile<'_> = &profile::DELIVERY;
    let fields = wanted.components.iter().copied().filter(|name| !name.starts_with('@'));
    let missing: Vec<&str> =
        ["signature-input", "signature"].into_iter().chain(fields).filter(absent).collect();
    if request.fields.contains("content-encoding") && reason == Reason::BodyMalformed {
        return Failure::new(
            "content.coded",
            "the content is coded; it is signed and sent without Content-Encoding",
        );
    }
    if !missing.is_empty() {
        return Failure::new("field.missing", format!("missing: {}", missing.join(", ")));
    }
    Failure::new(
        reason.code(),
        format!(
            "there is not exactly one well-formed signature with the tag {} over ({})",
            wanted.tag,
            wanted.components.join(" ")
        ),
    )
}
