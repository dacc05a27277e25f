//! A subscription's `ETag` names its generation and revision, and whoever changes it may say which one
//! was meant (RFC 9110 §13).

use ::http::header::{ETAG, HeaderMap, HeaderName, HeaderValue, IF_MATCH, IF_NONE_MATCH};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use hookproof_authority::api::json;
use hookproof_core::id::Generation;
use hookproof_core::{Reason, Refusal};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

const ACCEPTED: &str = "one strong entity tag as the ETag field gave it, e.g. \"1.4\", or *";

/// What control reads of a subscription's view; the rest passes as it is.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Glance {
    pub(crate) generation: Generation,
    pub(crate) revision: u64,
    pub(crate) state: String,
    pub(crate) issuer: String,
}

impl Glance {
    pub(crate) fn of(view: &RawValue) -> Result<Self, Refusal> {
        serde_json::from_str(view.get()).map_err(|_| Reason::InternalCorrupt.into())
    }

    fn tag(&self) -> String {
        format!("\"{}.{}\"", self.generation, self.revision)
    }
}

/// `body`, which shows the subscription of `view`, with its `ETag`.
pub(crate) fn tagged(
    status: u16,
    view: &RawValue,
    body: &impl Serialize,
) -> Result<Response<Bytes>, Refusal> {
    let tag = HeaderValue::try_from(Glance::of(view)?.tag()).map_err(|_| Reason::InternalCorrupt)?;
    let mut answer = json(status, body);
    answer.headers_mut().insert(ETAG, tag);
    Ok(answer)
}

/// The answer to a read: the subscription, or 304 where the caller has it.
pub(crate) fn read(headers: &HeaderMap, view: &RawValue) -> Result<Response<Bytes>, Refusal> {
    let mut answer = tagged(200, view, &view)?;
    let tag = Glance::of(view)?.tag();
    // A weak comparison (RFC 9110 §13.1.2).
    let same = |given: &str| given == "*" || given.strip_prefix("W/").unwrap_or(given) == tag;
    let values = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    if values.flat_map(|value| value.split(',')).any(|given| same(given.trim())) {
        *answer.status_mut() = StatusCode::NOT_MODIFIED;
        *answer.body_mut() = Bytes::new();
        answer.headers_mut().remove(::http::header::CONTENT_TYPE);
    }
    Ok(answer)
}

/// The generation and revision a change is meant for; none where any will do. What is found to be
/// another is refused with [`Reason::PreconditionFailed`].
pub(crate) fn if_match(headers: &HeaderMap) -> Result<Option<(Generation, u64)>, Refusal> {
    let Some(value) = one(headers, IF_MATCH)? else { return Ok(None) };
    if value == "*" {
        return Ok(None);
    }
    let malformed = || {
        Refusal::new(Reason::BodyMalformed, "If-Match is not one strong entity tag of a subscription")
            .at("If-Match", ACCEPTED)
    };
    let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).ok_or_else(malformed)?;
    let (generation, revision) = inner.split_once('.').ok_or_else(malformed)?;
    let number = |text: &str| {
        let canonical = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
        text.parse::<u64>().ok().filter(|_| canonical)
    };
    let pair = number(generation).zip(number(revision)).ok_or_else(malformed)?;
    Ok(Some((Generation(pair.0), pair.1)))
}

/// The value of a field that may stand once; none where it is absent.
pub(crate) fn one(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, Refusal> {
    let mut fields = headers.get_all(&name).iter();
    let Some(first) = fields.next() else { return Ok(None) };
    let text = first.to_str().ok().filter(|_| fields.next().is_none());
    text.map(Some).ok_or_else(|| {
        Refusal::new(Reason::BodyMalformed, format!("the field {name} stands twice or is not ASCII"))
            .at(name.as_str(), "the field once, in visible ASCII characters")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(values: &[&str]) -> HeaderMap {
        values.iter().map(|value| (IF_MATCH, value.parse().unwrap())).collect()
    }

    #[test]
    fn if_match_is_one_strong_tag_or_any() {
        assert_eq!(if_match(&headers(&[])), Ok(None));
        assert_eq!(if_match(&headers(&["*"])), Ok(None));
        assert_eq!(if_match(&headers(&["\"3.14\""])), Ok(Some((Generation(3), 14))));
        for bad in ["", "3.14", "W/\"3.14\"", "\"3\"", "\"3.\"", "\"03.1\"", "\"3.+1\"", "\"1.1\", \"1.2\""] {
            let refused = if_match(&headers(&[bad])).unwrap_err();
            assert_eq!((refused.reason, refused.field.as_deref()), (Reason::BodyMalformed, Some("If-Match")));
        }
        assert_eq!(if_match(&headers(&["*", "*"])).unwrap_err().field.as_deref(), Some("if-match"));
    }
}
