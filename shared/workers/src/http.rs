//! Requests and responses between the platform's types and `http`'s, octet for octet.

use bytes::Bytes;
use hookproof_core::{Reason, Refusal};
use worker::{Headers, Response, ResponseBuilder};

use crate::fault;

/// Reads a request whole, at most `limit` octets of body. The URI keeps path and query as received.
pub async fn read(mut request: worker::Request, limit: usize) -> Result<http::Request<Bytes>, Refusal> {
    let url = request.inner().url();
    let target = url
        .find("://")
        .and_then(|at| url[at + 3..].find('/').map(|path| &url[at + 3 + path..]))
        .unwrap_or("/");
    let mut builder = http::Request::builder().method(request.method().as_ref()).uri(target);
    for (name, value) in request.headers().entries() {
        builder = builder.header(name, value);
    }
    let declared =
        request.headers().get("content-length").ok().flatten().and_then(|n| n.parse::<usize>().ok());
    if declared.is_some_and(|length| length > limit) {
        return Err(too_large(limit));
    }
    let body =
        if request.inner().body().is_some() { capped(&mut request, limit).await? } else { Bytes::new() };
    builder.body(body).map_err(|error| Refusal::new(Reason::BodyMalformed, error.to_string()))
}

async fn capped(request: &mut worker::Request, limit: usize) -> Result<Bytes, Refusal> {
    use futures_util::StreamExt;
    let mut stream = request.stream().map_err(|error| fault::host("reading a request", &error))?;
    let mut body = Vec::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|error| fault::host("reading a request", &error))?;
        if body.len() + chunk.len() > limit {
            return Err(too_large(limit));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.into())
}

fn too_large(limit: usize) -> Refusal {
    Refusal::new(Reason::BodyTooLarge, format!("the body is larger than {limit} octets"))
}

/// Writes a response; a header the platform refuses is an error, never dropped.
pub fn write(response: http::Response<Bytes>) -> worker::Result<Response> {
    let headers = Headers::new();
    for (name, value) in response.headers() {
        let value = value.to_str().map_err(|error| worker::Error::RustError(error.to_string()))?;
        headers.append(name.as_str(), value)?;
    }
    let builder = ResponseBuilder::new().with_status(response.status().as_u16()).with_headers(headers);
    if response.body().is_empty() {
        return Ok(builder.empty());
    }
    Ok(builder.fixed(response.into_body().to_vec()))
}
