use std::net::SocketAddr;

use hookproof_core::endpoint::EndpointPolicy;
use hookproof_core::signature::Fields;
use hookproof_core::time::Span;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::contract_server::{ContractServer, Hits, serve_one};

const LOCAL: EndpointPolicy = EndpointPolicy { allow_8443: false, danger_loopback_http: true };
const NAME: &str = "hooks.example.com";

fn url(text: &str) -> EndpointUrl {
    EndpointUrl::from_stored(text.to_owned()).unwrap()
}

fn outbound(fields: &[(&str, &str)]) -> Outbound {
    let fields: Fields = fields.iter().copied().collect();
    Outbound { fields, body: Bytes::from_static(b"{}"), timeout: Span::seconds(5), response_limit: 100 }
}

/// One TLS connection to a server that is certified as `certified`.
struct TlsServer {
    address: SocketAddr,
    certificate: Vec<u8>,
    /// What the client asked for by name, once a session was made.
    asked_for: oneshot::Receiver<Option<String>>,
    hits: Hits,
}

async fn tls_server(certified: &str) -> TlsServer {
    let made = rcgen::generate_simple_self_signed([certified.to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, hits) = (listener.local_addr().unwrap(), Hits::default());
    let (tell, asked_for) = oneshot::channel();
    let counted = hits.clone();
    tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let Ok(session) = TlsAcceptor::from(Arc::new(config)).accept(stream).await else { return };
        tell.send(session.get_ref().1.server_name().map(str::to_owned)).unwrap();
        let _ = serve_one(session, &counted).await;
    });
    TlsServer { address, certificate: made.cert.der().to_vec(), asked_for, hits }
}

impl TlsServer {
    fn transport(&self) -> NativeTransport {
        NativeTransport::danger_trusting(&[&self.certificate]).unwrap()
    }

    fn url(&self, host: &str, path: &str) -> EndpointUrl {
        url(&format!("https://{host}:{}{path}", self.address.port()))
    }
}

#[tokio::test]
async fn the_name_is_verified_while_the_vetted_address_is_dialled() {
    let server = tls_server(NAME).await;
    let sent = server.transport().send(&outbound(&[]), &server.url(NAME, "/ok"), server.address.ip()).await;
    let reply = sent.unwrap();
    assert_eq!((reply.status, &reply.body[..]), (200, &b"ok"[..]));
    assert_eq!(server.asked_for.await.unwrap().as_deref(), Some(NAME));
}

#[tokio::test]
async fn another_name_is_not_sent_to() {
    let server = tls_server("other.example.com").await;
    let sent = server.transport().send(&outbound(&[]), &server.url(NAME, "/ok"), server.address.ip()).await;
    assert_eq!(sent.unwrap_err(), TransportFailure::NotSent);
    assert_eq!(server.hits.of("/ok"), 0);
}

#[tokio::test]
async fn an_issuer_that_is_not_trusted_is_not_sent_to() {
    let server = tls_server(NAME).await;
    let transport = NativeTransport::new().unwrap();
    let sent = transport.send(&outbound(&[]), &server.url(NAME, "/ok"), server.address.ip()).await;
    assert_eq!(sent.unwrap_err(), TransportFailure::NotSent);
    assert_eq!(server.hits.of("/ok"), 0);
}

#[tokio::test]
async fn under_tls_too_a_lost_answer_is_unknown() {
    let server = tls_server(NAME).await;
    let sent =
        server.transport().send(&outbound(&[]), &server.url(NAME, "/reset"), server.address.ip()).await;
    assert_eq!(sent.unwrap_err(), TransportFailure::Unknown);
    assert_eq!(server.hits.of("/reset"), 1);
}

#[tokio::test]
async fn a_literal_is_verified_as_an_address() {
    let server = tls_server("127.0.0.1").await;
    let url = server.url("127.0.0.1", "/ok");
    let permitted = LOCAL.permit(&url, &[server.address.ip()]).unwrap();
    let reply = server.transport().send_permitted(&outbound(&[]), &permitted).await.unwrap();
    assert_eq!(reply.status, 200);
    assert_eq!(server.asked_for.await.unwrap(), None);
}

#[tokio::test]
async fn plain_http_behind_https_is_not_sent_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        std::future::pending::<()>().await;
    });
    let url = url(&format!("https://{NAME}:{}/ok", address.port()));
    let sent = NativeTransport::new().unwrap().send(&outbound(&[]), &url, address.ip()).await;
    assert_eq!(sent.unwrap_err(), TransportFailure::NotSent);
}

#[tokio::test]
async fn a_session_that_is_never_made_is_not_sent() {
    // The kernel accepts; nobody ever answers the handshake.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let request = Outbound { timeout: Span::millis(200), ..outbound(&[]) };
    let transport = NativeTransport::new().unwrap();
    let secret = url(&format!("https://{NAME}:{}/", address.port()));
    assert_eq!(transport.send(&request, &secret, address.ip()).await.unwrap_err(), TransportFailure::NotSent);
    // In the clear the same silence comes after the request.
    let plain = url(&format!("http://{NAME}:{}/", address.port()));
    assert_eq!(transport.send(&request, &plain, address.ip()).await.unwrap_err(), TransportFailure::Unknown);
}

#[tokio::test]
async fn only_the_first_address_is_dialled() {
    let server = ContractServer::bind().await.unwrap();
    let (address, hits) = (server.address().unwrap(), server.hits());
    tokio::spawn(server.serve());
    let url = url(&format!("http://localhost:{}/ok", address.port()));
    let transport = NativeTransport::new().unwrap();
    let list = ["::1".parse().unwrap(), address.ip()];
    let permitted = LOCAL.permit(&url, &list).unwrap();
    let sent = transport.send_permitted(&outbound(&[]), &permitted).await;
    assert_eq!((sent.unwrap_err(), hits.of("/ok")), (TransportFailure::NotSent, 0));
    let permitted = LOCAL.permit(&url, &[address.ip()]).unwrap();
    assert_eq!(transport.send_permitted(&outbound(&[]), &permitted).await.unwrap().status, 200);
}

#[tokio::test]
async fn without_a_vetted_address_nothing_is_dialled() {
    let server = ContractServer::bind().await.unwrap();
    let (address, hits) = (server.address().unwrap(), server.hits());
    tokio::spawn(server.serve());
    let permitted = LOCAL.permit_unresolved(&url(&format!("http://{address}/ok"))).unwrap();
    let sent = NativeTransport::new().unwrap().send_permitted(&outbound(&[]), &permitted).await;
    assert_eq!((sent.unwrap_err(), hits.of("/ok")), (TransportFailure::NotSent, 0));
}

#[tokio::test]
async fn an_interim_answer_is_not_the_answer() {
    let server = ContractServer::bind().await.unwrap();
    let address = server.address().unwrap();
    tokio::spawn(server.serve());
    let url = url(&format!("http://{address}/interim"));
    let reply = NativeTransport::new().unwrap().send(&outbound(&[]), &url, address.ip()).await.unwrap();
    assert_eq!((reply.status, &reply.body[..]), (200, &b"final"[..]));
}

#[tokio::test]
async fn exactly_these_octets_are_written() {
    let server = ContractServer::bind().await.unwrap();
    let address = server.address().unwrap();
    tokio::spawn(server.serve());
    let url = url(&format!("http://{address}/echo?a=b"));
    let fields = [
        ("Host", "evil.example"),
        ("content-length", "9"),
        ("signature", "a=:AA==:"),
        ("signature", "b=:AA==:"),
    ];
    let request = Outbound { response_limit: 4096, ..outbound(&fields) };
    let reply = NativeTransport::new().unwrap().send(&request, &url, address.ip()).await.unwrap();
    let expected = format!(
        "POST /echo?a=b HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: 2\r\n\
         signature: a=:AA==:\r\nsignature: b=:AA==:\r\n\r\n{{}}"
    );
    assert_eq!(String::from_utf8_lossy(&reply.body), expected);
}

#[test]
fn what_would_frame_the_request_otherwise_is_never_sent() {
    let url = url("https://hooks.example.com/");
    for (name, value) in [
        ("Transfer-Encoding", "chunked"),
        ("connection", "keep-alive"),
        ("expect", "100-continue"),
        ("x-a", "1\r\nhost: evil.example"),
        ("x a", "1"),
        ("", "1"),
    ] {
        assert!(message(&outbound(&[(name, value)]), &url).is_none(), "{name}");
    }
    assert!(message(&outbound(&[("x-a", "1\t2")]), &url).is_some());
}

#[test]
fn every_path_and_query_goes_out_as_spelled() {
    let printable: String = (b'!'..=b'~').map(char::from).filter(|c| !"#?\\".contains(*c)).collect();
    let text = format!("https://hooks.example.com/{printable}/ü?{printable}?ü'");
    let url = EndpointUrl::parse(&text, &EndpointPolicy::default()).unwrap();
    let message = message(&outbound(&[]), &url).unwrap();
    assert_eq!(message.uri().to_string(), url.path_and_query());
}

/// Counts connections; answers none.
async fn counting(address: &str) -> (SocketAddr, Arc<std::sync::atomic::AtomicUsize>) {
    let listener = TcpListener::bind(address).await.unwrap();
    let (address, count) = (listener.local_addr().unwrap(), Arc::<std::sync::atomic::AtomicUsize>::default());
    let counted = Arc::clone(&count);
    tokio::spawn(async move {
        loop {
            drop(listener.accept().await.unwrap());
            counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
    });
    (address, count)
}

#[tokio::test]
async fn the_vetted_address_is_dialled_whatever_the_system_says() {
    let (vetted, dialled) = counting("127.0.0.2:0").await;
    // Where every resolver of this machine finds `localhost`.
    let (_, elsewhere) = counting(&format!("127.0.0.1:{}", vetted.port())).await;
    for host in ["localhost", NAME] {
        let url = url(&format!("https://{host}:{}/ok", vetted.port()));
        let sent = NativeTransport::new().unwrap().send(&outbound(&[]), &url, vetted.ip()).await;
        assert_eq!(sent.unwrap_err(), TransportFailure::NotSent, "no TLS session was made");
    }
    let count = |of: &std::sync::atomic::AtomicUsize| of.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!((count(&dialled), count(&elsewhere)), (2, 0));
}

#[tokio::test]
async fn nothing_beside_the_vetted_list_is_ever_dialled() {
    let (vetted, dialled) = counting("127.0.0.2:0").await;
    let (_, elsewhere) = counting(&format!("127.0.0.1:{}", vetted.port())).await;
    let url = url(&format!("http://localhost:{}/ok", vetted.port()));
    let permitted = LOCAL.permit(&url, &[vetted.ip()]).unwrap();
    // It closes at once, which is an answer to nobody; a second address is not looked for.
    assert!(NativeTransport::new().unwrap().send_permitted(&outbound(&[]), &permitted).await.is_err());
    let unresolved = LOCAL.permit_unresolved(&url).unwrap();
    let sent = NativeTransport::new().unwrap().send_permitted(&outbound(&[]), &unresolved).await;
    assert_eq!(sent.unwrap_err(), TransportFailure::NotSent, "an empty list holds nothing to dial");
    let count = |of: &std::sync::atomic::AtomicUsize| of.load(std::sync::atomic::Ordering::SeqCst);
    assert_eq!((count(&dialled), count(&elsewhere)), (1, 0));
}
