//! One POST over one connection to one vetted address. A failure before the request began to be written
//! is `NotSent`, any later one `Unknown`.
//!
//! No proxy, redirect, retry, cookie, decoding, connection reuse or session resumption: none is there to
//! be switched off. Under TLS the name in the URL is verified while the vetted address is dialled.

use std::cell::Cell;
use std::future::poll_fn;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hookproof_core::endpoint::{EndpointUrl, Permitted};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Outbound, Reply, Transport, TransportFailure};
use http::header::{CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

/// The longest response head, in octets; a longer one is no answer.
const HEAD: usize = 64 * 1024;
/// Fields that would change where the body ends or who reads it. A request with one is not sent.
const FRAMING: [&str; 6] = ["connection", "expect", "te", "trailer", "transfer-encoding", "upgrade"];

/// Sends over TCP and TLS from this machine.
#[derive(Clone)]
pub struct NativeTransport {
    tls: TlsConnector,
}

impl NativeTransport {
    /// Trusts the root certificates that Mozilla ships.
    pub fn new() -> Result<Self, Refusal> {
        Self::danger_trusting(&[])
    }

    /// Trusts these root certificates (DER) as well. For tests: whoever holds the key of one can be any
    /// endpoint.
    pub fn danger_trusting(roots: &[&[u8]]) -> Result<Self, Refusal> {
        let mut trusted = RootCertStore::from_iter(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        for root in roots {
            trusted.add(CertificateDer::from(*root)).map_err(|fault| unusable(&fault))?;
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|fault| unusable(&fault))?
            .with_root_certificates(trusted)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config.resumption = Resumption::disabled();
        Ok(Self { tls: TlsConnector::from(Arc::new(config)) })
    }

    /// Dials `address` for `url`, within the request's whole time.
    async fn send(
        &self,
        request: &Outbound,
        url: &EndpointUrl,
        address: IpAddr,
    ) -> Result<Reply, TransportFailure> {
        let begun = Cell::new(false);
        let longest = Duration::from_millis(u64::try_from(request.timeout.as_millis()).unwrap_or(0));
        let reply = timeout(longest, self.exchange(request, url, address, &begun)).await;
        let failure = if begun.get() { TransportFailure::Unknown } else { TransportFailure::NotSent };
        reply.ok().flatten().ok_or(failure)
    }

    /// `begun` tells how far it came, whether it ends by itself or is cut off.
    async fn exchange(
        &self,
        request: &Outbound,
        url: &EndpointUrl,
        address: IpAddr,
        begun: &Cell<bool>,
    ) -> Option<Reply> {
        let message = message(request, url)?;
        let stream = TcpStream::connect((address, url.port())).await.ok()?;
        stream.set_nodelay(true).ok()?;
        if url.is_https() {
            let stream = self.tls.connect(server_name(url)?, stream).await.ok()?;
            converse(stream, message, request.response_limit, begun).await
        } else {
            converse(stream, message, request.response_limit, begun).await
        }
    }
}

impl Transport for NativeTransport {
    /// The first address of the lookup is the one the resolver thinks best; the others are not tried.
    async fn send_permitted(
        &self,
        request: &Outbound,
        permitted: &Permitted,
    ) -> Result<Reply, TransportFailure> {
        let Some(&address) = permitted.addresses().first() else { return Err(TransportFailure::NotSent) };
        self.send(request, permitted.url(), address).await
    }
}

fn unusable(fault: &rustls::Error) -> Refusal {
    Refusal::new(Reason::InternalHost, format!("TLS cannot be set up: {fault}"))
}

fn server_name(url: &EndpointUrl) -> Option<ServerName<'static>> {
    match url.literal() {
        Some(address) => Some(ServerName::from(address)),
        None => ServerName::try_from(url.host().to_owned()).ok(),
    }
}

fn message(request: &Outbound, url: &EndpointUrl) -> Option<Request<Full<Bytes>>> {
    let mut message = Request::post(url.path_and_query()).body(Full::new(request.body.clone())).ok()?;
    let headers = message.headers_mut();
    headers.insert(HOST, HeaderValue::from_str(url.authority()).ok()?);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    headers.insert(CONTENT_LENGTH, HeaderValue::from(request.body.len()));
    for (name, value) in request.fields.iter() {
        let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
        if FRAMING.contains(&name.as_str()) {
            return None;
        }
        if name != HOST && name != CONTENT_LENGTH {
            headers.append(name, HeaderValue::from_bytes(value).ok()?);
        }
    }
    Some(message)
}

/// Writes the request and reads the answer, driving the connection in the same future: when this is
/// dropped nothing goes on behind it.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    message: Request<Full<Bytes>>,
    limit: usize,
    begun: &Cell<bool>,
) -> Option<Reply> {
    let builder = http1::Builder::new().max_buf_size(HEAD).to_owned();
    let (mut sender, connection) = builder.handshake(TokioIo::new(stream)).await.ok()?;
    let mut exchange = pin!(async {
        begun.set(true);
        let response = sender.send_request(message).await.ok()?;
        read(response, limit).await
    });
    // Dropped as soon as it has ended, so that the exchange sees the end instead of waiting for it.
    let mut connection = Some(Box::pin(connection));
    poll_fn(|context| {
        if connection.as_mut().is_some_and(|driven| driven.as_mut().poll(context).is_ready()) {
            connection = None;
        }
        exchange.as_mut().poll(context)
    })
    .await
}

/// Reads until the end or past the limit. A body that breaks off is no answer.
async fn read(response: Response<Incoming>, limit: usize) -> Option<Reply> {
    let (head, mut body) = response.into_parts();
    let field = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let (content_type, retry_after) = (field(CONTENT_TYPE), field(RETRY_AFTER));
    let (mut kept, mut truncated) = (Vec::new(), false);
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.ok()?.into_data() else { continue };
        let room = limit.saturating_sub(kept.len()).min(data.len());
        kept.extend_from_slice(&data[..room]);
        if room < data.len() {
            truncated = true;
            break;
        }
    }
    Some(Reply {
        status: head.status.as_u16(),
        content_type,
        retry_after,
        body: Bytes::from(kept),
        truncated,
    })
}

#[cfg(test)]
mod tests;
