//! The app behind a socket, on threads of its own, until it is dropped.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use wasmtime_wasi_http::WasiBody;

use crate::app::{App, Options};

/// A listening app.
pub struct Server {
    app: Arc<App>,
    address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Server {
    /// Reserves a port of this machine: addresses stand in settings before the app is there.
    pub fn reserve() -> Result<std::net::TcpListener> {
        std::net::TcpListener::bind("127.0.0.1:0").context("no port is free")
    }

    /// Loads the app and serves it on `listener`.
    pub fn start(options: &Options, listener: std::net::TcpListener) -> Result<Self> {
        let app = App::load(options)?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        let runtime = Runtime::new()?;
        let serving = Arc::clone(&app);
        runtime.spawn(async move {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while let Ok((stream, _)) = listener.accept().await {
                let app = Arc::clone(&serving);
                tokio::spawn(async move {
                    let service = service_fn(move |request| {
                        let app = Arc::clone(&app);
                        async move { Ok::<_, std::convert::Infallible>(answer(&app, request).await) }
                    });
                    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        Ok(Self { app, address, runtime: Some(runtime) })
    }

    /// The app.
    pub fn app(&self) -> &App {
        &self.app
    }

    /// Its base URL, without a slash at the end.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.app.close();
        // Not waited for: what an instance was at is lost, as in a crash.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

async fn answer(app: &App, request: Request<Incoming>) -> Response<WasiBody> {
    let Some(component) = app.manifest().route(request.uri().path()).map(str::to_owned) else {
        return plain(StatusCode::NOT_FOUND, "no route");
    };
    match absolute(request) {
        Ok(request) => match app.handle(&component, request).await {
            Ok(answer) => answer,
            Err(error) => {
                eprintln!("{component} did not answer: {error:?}");
                plain(StatusCode::INTERNAL_SERVER_ERROR, "no answer")
            }
        },
        Err(error) => plain(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// As the trigger hands requests on: with scheme and authority in the URI.
fn absolute(request: Request<Incoming>) -> Result<Request<WasiBody>> {
    let (mut head, body) = request.into_parts();
    let host = head.headers.remove(http::header::HOST).context("no host")?;
    let mut uri = std::mem::take(&mut head.uri).into_parts();
    uri.scheme = Some(http::uri::Scheme::HTTP);
    uri.authority = Some(host.to_str()?.parse()?);
    head.uri = Uri::from_parts(uri)?;
    Ok(Request::from_parts(head, body.map_err(Into::into).boxed_unsync()))
}

fn plain(status: StatusCode, words: &str) -> Response<WasiBody> {
    let body = Full::new(Bytes::copy_from_slice(words.as_bytes())).map_err(|never| match never {});
    let mut answer = Response::new(body.boxed_unsync());
    *answer.status_mut() = status;
    answer
}
