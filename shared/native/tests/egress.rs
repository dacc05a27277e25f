//! The way out judges the URL, then the answer, then dials: a refused host is not even asked for, and each
//! attempt is judged anew.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

use std::cell::{Cell, RefCell};
use std::net::IpAddr;

use bytes::Bytes;
use hookproof_core::endpoint::{EgressAssurance, EndpointPolicy, EndpointUrl, Permitted};
use hookproof_core::signature::Fields;
use hookproof_core::time::Span;
use hookproof_ports::{
    Egress, Outbound, Reply, Resolution, Resolver, SendFailure, Sent, Transport, TransportFailure,
};

/// Gives one resolution after the other.
struct Script {
    answers: RefCell<Vec<Resolution>>,
    asked: Cell<usize>,
}

impl Resolver for Script {
    async fn resolve(&self, _: &str) -> Resolution {
        self.asked.set(self.asked.get() + 1);
        self.answers.borrow_mut().remove(0)
    }
}

/// Remembers which addresses it was permitted; answers 200.
#[derive(Default)]
struct Wire(RefCell<Vec<Vec<IpAddr>>>);

impl Transport for Wire {
    async fn send_permitted(&self, _: &Outbound, to: &Permitted) -> Result<Reply, TransportFailure> {
        self.0.borrow_mut().push(to.addresses().to_vec());
        let body = Bytes::new();
        Ok(Reply { status: 200, content_type: None, retry_after: None, body, truncated: false })
    }
}

fn egress(answers: Vec<Resolution>) -> Egress<Script, Wire> {
    let resolver = Script { answers: RefCell::new(answers), asked: Cell::new(0) };
    Egress { policy: EndpointPolicy::default(), resolver, transport: Wire::default() }
}

async fn post(egress: &Egress<Script, Wire>, url: &str) -> Sent {
    let url = EndpointUrl::from_stored(url.to_owned()).unwrap();
    let request = Outbound {
        fields: Fields::default(),
        body: Bytes::new(),
        timeout: Span::seconds(1),
        response_limit: 10,
    };
    egress.post(&url, &request).await
}

fn list(texts: &[&str]) -> Vec<IpAddr> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

const URL: &str = "https://hooks.example.com/in";

#[tokio::test]
async fn a_host_that_is_refused_anyway_is_not_asked_for() {
    for (url, code) in [
        ("https://dispatch.spin.internal/", "special_use_name"),
        ("https://self.alt/", "special_use_name"),
        ("https://localhost/", "localhost_name"),
        ("https://169.254.169.254/", "ipv4_link_local"),
        ("http://hooks.example.com/", "scheme_not_https"),
        ("https://hooks.example.com:8443/", "port_not_allowed"),
    ] {
        let egress = egress(vec![]);
        let sent = post(&egress, url).await;
        assert!(matches!(sent.result, Err(SendFailure::Refused(_))), "{url}");
        assert_eq!((sent.lookup.detail(), sent.assurance), (Some(code), None), "{url}");
        assert_eq!((egress.resolver.asked.get(), egress.transport.0.borrow().len()), (0, 0), "{url}");
    }
}

#[tokio::test]
async fn each_attempt_asks_once_and_is_judged_by_its_own_answer() {
    let egress = egress(vec![
        Resolution::Addresses(list(&["1.1.1.1"])),
        Resolution::Addresses(list(&["127.0.0.1"])),
        Resolution::Addresses(list(&["1.1.1.1", "64:ff9b::a9fe:a9fe"])),
        Resolution::Addresses(list(&["1.0.0.1"])),
    ]);
    let mut details = Vec::new();
    for _ in 0..4 {
        let sent = post(&egress, URL).await;
        details.push((sent.result.is_ok(), sent.lookup.detail().map(str::to_owned)));
    }
    let refused = |code: &str| (false, Some(code.to_owned()));
    assert_eq!(details, [(true, None), refused("dns_private"), refused("dns_mixed"), (true, None)]);
    assert_eq!(egress.resolver.asked.get(), 4);
    assert_eq!(*egress.transport.0.borrow(), [list(&["1.1.1.1"]), list(&["1.0.0.1"])]);
}

#[tokio::test]
async fn what_was_asked_beforehand_is_vetted_alike_and_promised_less() {
    let answers = [list(&["1.1.1.1"]), list(&["1.1.1.1", "10.0.0.1"])].map(Resolution::Beforehand);
    let egress = egress(answers.into());
    let sent = post(&egress, URL).await;
    assert_eq!(sent.assurance, Some(EgressAssurance::Preflight));
    assert_eq!(sent.lookup.addresses(), list(&["1.1.1.1"]));
    let sent = post(&egress, URL).await;
    assert_eq!((sent.lookup.detail(), sent.assurance), (Some("dns_mixed"), None));
    assert_eq!(egress.transport.0.borrow().len(), 1);
}

#[tokio::test]
async fn a_host_that_shows_no_address_leaves_nothing_to_keep() {
    let egress = egress(vec![Resolution::ByPlatform, Resolution::ByEnforcingPlatform]);
    for assurance in [EgressAssurance::Preflight, EgressAssurance::HostEnforced] {
        let sent = post(&egress, URL).await;
        assert_eq!((sent.assurance, sent.lookup.is_empty()), (Some(assurance), true));
    }
}

#[tokio::test]
async fn no_answer_and_one_too_long_are_not_sent() {
    let many = (0..65).map(|n| IpAddr::from([1, 1, 1, n])).collect();
    let egress = egress(vec![Resolution::Failed, Resolution::Beforehand(many)]);
    for _ in 0..2 {
        let sent = post(&egress, URL).await;
        assert_eq!(sent.result.unwrap_err(), SendFailure::Transport(TransportFailure::NotSent));
        assert_eq!(sent.lookup.detail(), Some("dns_unresolved"));
    }
    assert!(egress.transport.0.borrow().is_empty());
}
