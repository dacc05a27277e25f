//! DNS over HTTPS, asked beforehand and anew for each attempt. `fetch` then resolves once more by itself
//! and shows no address, so what is vetted here is not promised to be what is dialled.

use std::net::IpAddr;
use std::pin::pin;
use std::time::Duration;

use futures_util::future::{Either, join, select};
use hookproof_core::endpoint::doh::{self, Family};
use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl, LOOKUP_LIMIT};
use hookproof_ports::{Resolution, Resolver, spelled_out};
use wasm_bindgen::JsValue;
use worker::{AbortController, AbortSignal, Delay, Fetch, Request, web_sys};

use crate::transport::receive;

/// The resolver that is asked where no other is configured.
pub(crate) const DEFAULT: &str = "https://cloudflare-dns.com/dns-query";

/// Asks one resolver for both families.
#[derive(Clone, Debug)]
pub struct DohResolver {
    url: EndpointUrl,
    /// In local development a resolver on this machine also says where `localhost` is, so that a change of
    /// an answer can be shown without a name.
    knows_localhost: bool,
}

impl DohResolver {
    /// Asks the resolver at `url`, which stands in the same policy as what it is asked for; `None` where
    /// that refuses it.
    pub(crate) fn new(url: &str, policy: &EndpointPolicy) -> Option<Self> {
        let url = EndpointUrl::from_stored(url.to_owned()).filter(|url| policy.vet(url).is_ok())?;
        let local = spelled_out(url.host()).is_some_and(|list| list.iter().all(IpAddr::is_loopback));
        Some(Self { url, knows_localhost: local && policy.danger_loopback_http })
    }

    async fn ask(&self, host: &str, family: Family, signal: &AbortSignal) -> Option<Vec<IpAddr>> {
        let question = doh::question(self.url.as_str(), host, family)?;
        let answer = Fetch::Request(request(&question).ok()?).send_with_signal(signal).await.ok()?;
        let reply = receive(answer, doh::MAX_ANSWER_OCTETS).await.ok()?;
        if reply.status != 200 || reply.truncated {
            return None;
        }
        doh::read(&reply.body, host, family)
    }
}

impl Resolver for DohResolver {
    async fn resolve(&self, host: &str) -> Resolution {
        match spelled_out(host) {
            Some(_) if host == "localhost" && self.knows_localhost => {}
            Some(addresses) => return Resolution::Beforehand(addresses),
            None => {}
        }
        let controller = AbortController::default();
        let signal = controller.signal();
        let [v4, v6] = Family::ALL.map(|family| self.ask(host, family, &signal));
        let limit = Duration::from_millis(u64::try_from(LOOKUP_LIMIT.as_millis()).unwrap_or(0));
        let (both, late) = (pin!(join(v4, v6)), pin!(Delay::from(limit)));
        let addresses = match select(both, late).await {
            // Half an answer is none: what the other half hides may be what is dialled.
            Either::Left(((Some(v4), Some(v6)), _)) => [v4, v6].concat(),
            Either::Left(_) | Either::Right(_) => Vec::new(),
        };
        controller.abort();
        if addresses.is_empty() { Resolution::Failed } else { Resolution::Beforehand(addresses) }
    }
}

fn request(url: &str) -> Result<Request, JsValue> {
    let headers = web_sys::Headers::new()?;
    headers.set("accept", doh::CONTENT_TYPE)?;
    let init = web_sys::RequestInit::new();
    init.set_redirect(web_sys::RequestRedirect::Manual);
    init.set_headers(&headers);
    // Nobody's memory answers in the resolver's stead.
    js_sys::Reflect::set(&init, &"cache".into(), &"no-store".into())?;
    Ok(web_sys::Request::new_with_str_and_init(url, &init)?.into())
}
