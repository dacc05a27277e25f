//! Answers: JSON bodies, problems and the request id.

use bytes::Bytes;
use hookproof_core::envelope::check_json;
use hookproof_core::id::crockford;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Entropy, random};
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What precedes the reason code in a problem's `type`.
const PROBLEM: &str = "urn:hookproof:problem:";

/// Seconds after which a caller may come back when something of ours is down.
const RETRY_SECONDS: &str = "5";

#[derive(Serialize)]
struct Problem<'a> {
    r#type: String,
    title: &'static str,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<&'a str>,
}

/// An answer with a JSON body; never to be cached.
pub fn json(status: u16, body: &impl Serialize) -> Response<Bytes> {
    typed(status, "application/json", body)
}

/// An answer whose body is a text of ours; never to be cached.
pub fn text(status: u16, content_type: &'static str, body: &'static str) -> Response<Bytes> {
    whole(status, content_type, Bytes::from_static(body.as_bytes()))
}

/// A refusal for the caller who is entitled to its reason.
pub fn problem(refusal: &Refusal) -> Response<Bytes> {
    let reason = refusal.reason;
    let detail = Some(refusal.detail.as_str()).filter(|detail| !detail.is_empty());
    let body = Problem {
        r#type: format!("{PROBLEM}{reason}"),
        title: reason.outside(),
        status: reason.http_status(),
        reason: Some(reason),
        detail: Some(detail.unwrap_or_else(|| reason.meaning())),
        field: refusal.field.as_deref(),
        accepted: refusal.accepted.as_deref(),
    };
    refused(reason.http_status(), &body, "Bearer")
}

/// A refusal for a stranger: `status` and generic words, never what was expected. Where it is a 401, a
/// signature was what would have told who they are.
pub fn stranger(status: u16, title: &'static str) -> Response<Bytes> {
    bare(status, title, "Signature")
}

/// The refusal of a stranger without the route's bearer token.
pub fn unauthorized() -> Response<Bytes> {
    bare(401, Reason::TokenRefused.outside(), "Bearer")
}

fn bare(status: u16, title: &'static str, scheme: &'static str) -> Response<Bytes> {
    let body = Problem {
        r#type: "about:blank".to_owned(),
        title,
        status,
        reason: None,
        detail: None,
        field: None,
        accepted: None,
    };
    refused(status, &body, scheme)
}

/// Puts a fresh `request-id` on an answer.
pub fn with_request_id(mut answer: Response<Bytes>, entropy: &impl Entropy) -> Response<Bytes> {
    let id = format!("req_{}", crockford(&random::<16>(entropy)));
    if let Ok(value) = HeaderValue::from_str(&id) {
        answer.headers_mut().insert(HeaderName::from_static("request-id"), value);
    }
    answer
}

/// Reads a strict JSON body; `kind` says in words what it should be. No value of it is repeated in the
/// refusal, only its position, the names of fields and what our own types say they take.
pub fn parse_json<T: DeserializeOwned>(body: &[u8], kind: &str) -> Result<T, Refusal> {
    let text = as_text(body, kind)?;
    check_json(text).map_err(|fault| fault.refusal("body"))?;
    parse_members(text, kind)
}

/// Reads a JSON object for its own members, whose names stand once; what is inside them is the caller's
/// to check. Refuses in the words of [`parse_json`].
pub fn parse_outer<'a, T: Deserialize<'a>>(body: &'a [u8], kind: &str) -> Result<T, Refusal> {
    parse_members(as_text(body, kind)?, kind)
}

fn as_text<'a>(body: &'a [u8], kind: &str) -> Result<&'a str, Refusal> {
    std::str::from_utf8(body).map_err(|_| malformed("the body is not UTF-8".to_owned(), kind))
}

fn parse_members<'a, T: Deserialize<'a>>(text: &'a str, kind: &str) -> Result<T, Refusal> {
    // The reader also takes an array of a struct's fields in order, which nobody agreed on.
    if !text.trim_start().starts_with('{') {
        return Err(malformed("the body is not a JSON object".to_owned(), kind));
    }
    serde_json::from_str(text).map_err(|fault| {
        let words = fault.to_string();
        // These quote the value, which may be a secret in the wrong place.
        let quotes = ["invalid ", "unknown variant"].iter().any(|start| words.starts_with(start));
        let (line, column) = (fault.line(), fault.column());
        let safe = format!("a value has the wrong shape at line {line} column {column}");
        malformed(if quotes { safe } else { words }, kind)
    })
}

fn malformed(detail: String, kind: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, detail).at("body", kind)
}

fn refused(status: u16, body: &Problem<'_>, scheme: &'static str) -> Response<Bytes> {
    let mut answer = typed(status, "application/problem+json", body);
    let headers = answer.headers_mut();
    match status {
        401 => headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static(scheme)),
        429 | 503 => headers.insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS)),
        _ => None,
    };
    answer
}

fn typed(status: u16, content_type: &'static str, body: &impl Serialize) -> Response<Bytes> {
    // Structs of strings and numbers always serialise.
    whole(status, content_type, Bytes::from(serde_json::to_vec(body).unwrap_or_default()))
}

fn whole(status: u16, content_type: &'static str, body: Bytes) -> Response<Bytes> {
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}
