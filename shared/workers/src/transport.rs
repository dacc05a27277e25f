//! `fetch`, held to what the port promises: POST, no redirect, a time limit over all of it, a cap on
//! what is read. An error after the call began proves nothing about whether it arrived.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::{Either, select};
use hookproof_core::endpoint::Permitted;
use hookproof_ports::{Outbound, Reply, Transport, TransportFailure};
use wasm_bindgen::JsValue;
use worker::{AbortController, Delay, Fetch, Request, Response, web_sys};

/// Sends by the platform's `fetch`.
#[derive(Clone, Copy, Debug, Default)]
pub struct FetchTransport;

impl Transport for FetchTransport {
    async fn send_permitted(
        &self,
        request: &Outbound,
        permitted: &Permitted,
    ) -> Result<Reply, TransportFailure> {
        let prepared = prepare(request, permitted.url().as_str()).map_err(|_| TransportFailure::NotSent)?;
        let controller = AbortController::default();
        let signal = controller.signal();
        let fetch = Fetch::Request(prepared);
        let exchange = pin!(async {
            let response = fetch.send_with_signal(&signal).await?;
            receive(response, request.response_limit).await
        });
        let limit = Duration::from_millis(u64::try_from(request.timeout.as_millis()).unwrap_or(0));
        let outcome = match select(exchange, pin!(Delay::from(limit))).await {
            Either::Left((outcome, _)) => outcome.map_err(|_| TransportFailure::Unknown),
            Either::Right(_) => Err(TransportFailure::Unknown),
        };
        // Also after an answer: what is left of an over-long body is not read.
        controller.abort();
        outcome
    }
}

fn prepare(request: &Outbound, url: &str) -> Result<Request, JsValue> {
    let headers = web_sys::Headers::new()?;
    for (name, value) in request.fields.iter() {
        let value = std::str::from_utf8(value).map_err(|_| JsValue::from_str("a field is not text"))?;
        headers.append(name, value)?;
    }
    headers.set("accept-encoding", "identity")?;
    let init = web_sys::RequestInit::new();
    init.set_method("POST");
    init.set_redirect(web_sys::RequestRedirect::Manual);
    init.set_headers(&headers);
    init.set_body(&js_sys::Uint8Array::from(request.body.as_ref()));
    Ok(web_sys::Request::new_with_str_and_init(url, &init)?.into())
}

pub(crate) async fn receive(mut response: Response, limit: usize) -> worker::Result<Reply> {
    let field = |name| response.headers().get(name).ok().flatten();
    let (content_type, retry_after, status) =
        (field("content-type"), field("retry-after"), response.status_code());
    let mut body = Vec::new();
    let mut truncated = false;
    if let Ok(mut stream) = response.stream() {
        while let Some(chunk) = stream.next().await {
            let chunk = chunk?;
            let room = limit - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                truncated = true;
                break;
            }
        }
    }
    Ok(Reply { status, content_type, retry_after, body: Bytes::from(body), truncated })
}
