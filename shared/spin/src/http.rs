//! Requests and responses between the platform's types and `http`'s, octet for octet.

use bytes::Bytes;
use hookproof_core::{Reason, Refusal};
use http::header::CONTENT_LENGTH;
use http::{HeaderValue, StatusCode, Uri};
use http_body_util::BodyExt as _;
use spin_sdk::http::{FullBody, Request, Response};

use crate::fault;

/// Reads a request whole, at most `limit` octets of body. The URI keeps path and query as received.
pub async fn read(request: Request, limit: usize) -> Result<http::Request<Bytes>, Refusal> {
    let (mut head, mut body) = request.into_parts();
    let declared = head.headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    if declared.is_some_and(|length: usize| length > limit) {
        return Err(too_large(limit));
    }
    let mut read = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| fault::host("reading a request", &error))?;
        let Ok(data) = frame.into_data() else { continue };
        if read.len() + data.len() > limit {
            return Err(too_large(limit));
        }
        read.extend_from_slice(&data);
    }
    let target = head.uri.path_and_query().map_or("/", |target| target.as_str());
    head.uri =
        target.parse::<Uri>().map_err(|error| Refusal::new(Reason::BodyMalformed, error.to_string()))?;
    head.extensions.clear();
    Ok(http::Request::from_parts(head, read.into()))
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(Reason::BodyTooLarge, format!("the body is larger than {limit} octets"))
}

/// Writes a response; its length is said, so that it is not sent in chunks.
pub fn write(response: http::Response<Bytes>) -> Response<FullBody<Bytes>> {
    let (mut head, body) = response.into_parts();
    // A 304 has the length of what it stands for, or none (RFC 9110 §8.6).
    if ![StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&head.status) {
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    Response::from_parts(head, FullBody::new(body))
}
