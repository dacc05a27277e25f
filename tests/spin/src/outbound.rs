//! Requests of components: to each other within the app, or out, both only where `spin.toml` allows it.

use std::sync::{Arc, Weak};

use http::{Request, Response, Uri};
use http_body_util::BodyExt;
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks, default_send_request};

use crate::app::App;
use crate::state::Part;

/// The hooks of one instance.
pub struct Outbound {
    part: Arc<Part>,
    app: Weak<App>,
}

type Ended = Box<dyn Future<Output = Result<(), Error>> + Send>;
type Answer = Box<dyn Future<Output = Result<(Response<WasiBody>, Ended), Error>> + Send>;

impl Outbound {
    /// The way out of `part`.
    pub fn new(part: Arc<Part>, app: Weak<App>) -> Self {
        Self { part, app }
    }
}

impl WasiHttpHooks for Outbound {
    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _: Ended,
    ) -> Answer {
        let (part, app) = (Arc::clone(&self.part), self.app.clone());
        Box::new(async move {
            if !part.outbound.iter().any(|allowed| allows(allowed, request.uri())) {
                return Err(Error::HttpRequestDenied);
            }
            let host = request.uri().host().unwrap_or_default();
            if let Some(component) = host.strip_suffix(".spin.internal") {
                let app = app.upgrade().ok_or(Error::ConnectionTerminated)?;
                let component = component.to_owned();
                let answer = app.handle(&component, request).await;
                let answer = answer.map_err(|error| Error::InternalError(Some(format!("{error:#}"))))?;
                return Ok((answer, Box::new(async { Ok(()) }) as Ended));
            }
            let (answer, ended) = default_send_request(request, options).await?;
            Ok((answer.map(BodyExt::boxed_unsync), Box::new(ended) as Ended))
        })
    }
}

/// Whether an entry of `allowed_outbound_hosts` admits `uri`.
fn allows(allowed: &str, uri: &Uri) -> bool {
    let Some((scheme, rest)) = allowed.split_once("://") else { return false };
    let default = |scheme: &str| if scheme == "https" { 443 } else { 80 };
    let (host, port) = match rest.rsplit_once(':') {
        Some((host, port)) => (host, port.to_owned()),
        None => (rest, default(scheme).to_string()),
    };
    let asked = uri.scheme_str().unwrap_or_default();
    let asked_port = uri.port_u16().unwrap_or_else(|| default(asked));
    scheme == asked
        && (host == "*" || Some(host) == uri.host())
        && (port == "*" || port == asked_port.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_admits_its_scheme_host_and_port() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        assert!(allows("https://*:443", &uri("https://a.example/x")));
        assert!(!allows("https://*:443", &uri("https://a.example:8443/")));
        assert!(!allows("https://*:443", &uri("http://a.example:443/")));
        assert!(allows("http://dispatch.spin.internal", &uri("http://dispatch.spin.internal/internal/tick")));
        assert!(!allows("http://dispatch.spin.internal", &uri("http://receiver.spin.internal/")));
        assert!(allows("http://127.0.0.1:*", &uri("http://127.0.0.1:8790/")));
    }
}
