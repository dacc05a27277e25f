//! `wasi:http`, held to what the port promises: POST, no redirect, a time limit over all of it, a cap on
//! what is read. The host says how far a request came; whatever it does not say is unknown.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{Either, select};
use hookproof_core::endpoint::Permitted;
use hookproof_ports::{Outbound, Reply, Transport, TransportFailure};
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Request};
use http_body_util::BodyExt as _;
use spin_sdk::http::{FullBody, Response};
use spin_sdk::time::sleep;
use spin_sdk::wasip3::http::types::{ErrorCode, RequestOptions};
use spin_sdk::wasip3::http_compat::RequestOptionsExtension;

/// Longest time for a TCP connection, and at most half of the whole: a peer that does not even accept is
/// to be told apart from one that does not answer.
const CONNECT: Duration = Duration::from_secs(5);

/// Sends by the host's `wasi:http` client.
#[derive(Clone, Copy, Debug, Default)]
pub struct WasiTransport;

impl Transport for WasiTransport {
    async fn send_permitted(
        &self,
        request: &Outbound,
        permitted: &Permitted,
    ) -> Result<Reply, TransportFailure> {
        let limit = Duration::from_millis(u64::try_from(request.timeout.as_millis()).unwrap_or(0));
        let message = message(request, permitted.url().as_str(), limit).ok_or(TransportFailure::NotSent)?;
        let exchange = pin!(async {
            let response = spin_sdk::http::send(message).await.map_err(|error| classify(&error))?;
            receive(response, request.response_limit).await
        });
        match select(exchange, pin!(sleep(limit))).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(_) => Err(TransportFailure::Unknown),
        }
    }
}

fn message(request: &Outbound, url: &str, limit: Duration) -> Option<Request<FullBody<Bytes>>> {
    let body = FullBody::new(request.body.clone());
    let mut message = Request::post(url).extension(options(limit)?).body(body).ok()?;
    let headers = message.headers_mut();
    for (name, value) in request.fields.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if name != HOST && name != CONTENT_LENGTH {
            headers.append(name, HeaderValue::from_bytes(value).ok()?);
        }
    }
    headers.insert(CONTENT_LENGTH, HeaderValue::from(request.body.len()));
    Some(message)
}

/// The host's own limits, each 600 s unless it is set.
pub(crate) fn options(limit: Duration) -> Option<RequestOptionsExtension> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).ok();
    let options = RequestOptions::new();
    options.set_connect_timeout(Some(nanoseconds(CONNECT.min(limit / 2))?)).ok()?;
    options.set_first_byte_timeout(Some(nanoseconds(limit)?)).ok()?;
    options.set_between_bytes_timeout(Some(nanoseconds(limit)?)).ok()?;
    Some(RequestOptionsExtension(options))
}

/// Only what the host reports before it has a connection, or instead of one, proves that nothing was sent.
fn classify(error: &ErrorCode) -> TransportFailure {
    let never_sent = matches!(
        error,
        ErrorCode::DnsTimeout
            | ErrorCode::DnsError(_)
            | ErrorCode::DestinationNotFound
            | ErrorCode::DestinationUnavailable
            | ErrorCode::DestinationIpProhibited
            | ErrorCode::DestinationIpUnroutable
            | ErrorCode::ConnectionRefused
            | ErrorCode::ConnectionTimeout
            | ErrorCode::ConnectionLimitReached
            | ErrorCode::TlsProtocolError
            | ErrorCode::TlsCertificateError
            | ErrorCode::HttpRequestDenied
            | ErrorCode::HttpRequestMethodInvalid
            | ErrorCode::HttpRequestUriInvalid
            | ErrorCode::HttpRequestUriTooLong
    );
    if never_sent { TransportFailure::NotSent } else { TransportFailure::Unknown }
}

/// Reads until the end or past the limit. A body that breaks off is no answer.
async fn receive(response: Response, limit: usize) -> Result<Reply, TransportFailure> {
    let (head, mut body) = response.into_parts();
    let field = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (content_type, retry_after) = (field(CONTENT_TYPE), field(RETRY_AFTER));
    let (mut kept, mut truncated) = (Vec::new(), false);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| TransportFailure::Unknown)?.into_data() else { continue };
        let room = limit.saturating_sub(kept.len()).min(data.len());
        kept.extend_from_slice(&data[..room]);
        if room < data.len() {
            truncated = true;
            break;
        }
    }
    let status = head.status.as_u16();
    Ok(Reply { status, content_type, retry_after, body: Bytes::from(kept), truncated })
}
