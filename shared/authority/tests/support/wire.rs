//! A resolver and an endpoint that follow a script.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use bytes::Bytes;
use hookproof_authority::subscription::HeaderField;
use hookproof_core::endpoint::{EndpointPolicy, Permitted};
use hookproof_core::time::Span;
use hookproof_native::TestClock;
use hookproof_ports::{Egress, Outbound, Reply, Resolution, Resolver, Transport, TransportFailure};

use super::once_pending;

/// Answers every name alike.
#[derive(Clone)]
pub struct Dns(pub Rc<RefCell<Resolution>>);

impl Resolver for Dns {
    async fn resolve(&self, _: &str) -> Resolution {
        self.0.borrow().clone()
    }
}

/// A request that arrived.
#[derive(Clone, Debug)]
pub struct Got {
    pub url: String,
    pub fields: Vec<HeaderField>,
    pub body: String,
}

impl Got {
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }
}

pub type Answer = Result<Reply, TransportFailure>;
type Handler = Box<dyn Fn(&Got) -> Answer>;

/// An endpoint: first the script, then its handler.
#[derive(Clone)]
pub struct Endpoint {
    pub got: Rc<RefCell<Vec<Got>>>,
    pub script: Rc<RefCell<VecDeque<Answer>>>,
    pub handler: Rc<RefCell<Handler>>,
    /// How long each request takes.
    pub takes: Rc<Cell<Span>>,
    /// The connection waits once before the request is read and once before it is answered.
    pub waits: Rc<Cell<bool>>,
    clock: TestClock,
}

impl Transport for Endpoint {
    async fn send_permitted(&self, request: &Outbound, to: &Permitted) -> Answer {
        if self.waits.get() {
            once_pending().await;
        }
        let text =
            |(name, value): (&str, &[u8])| (name.to_owned(), String::from_utf8(value.to_vec()).unwrap());
        let got = Got {
            url: to.url().as_str().to_owned(),
            fields: request.fields.iter().map(text).collect(),
            body: String::from_utf8(request.body.to_vec()).unwrap(),
        };
        self.clock.advance(self.takes.get());
        self.got.borrow_mut().push(got.clone());
        if self.waits.get() {
            once_pending().await;
        }
        let scripted = self.script.borrow_mut().pop_front();
        scripted.unwrap_or_else(|| self.handler.borrow()(&got))
    }
}

impl Endpoint {
    pub fn new(clock: &TestClock) -> Self {
        Self {
            got: Rc::default(),
            script: Rc::default(),
            handler: Rc::new(RefCell::new(Box::new(|_| Ok(reply(200))))),
            takes: Rc::default(),
            waits: Rc::default(),
            clock: clock.clone(),
        }
    }

    pub fn answers(&self, answers: impl IntoIterator<Item = Answer>) {
        self.script.borrow_mut().extend(answers);
    }

    pub fn always(&self, handler: impl Fn(&Got) -> Answer + 'static) {
        *self.handler.borrow_mut() = Box::new(handler);
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.borrow().clone()
    }
}

/// The way out to `endpoint`, under the strictest policy.
pub fn egress(endpoint: &Endpoint) -> (Dns, Egress<Dns, Endpoint>) {
    let dns = Dns(Rc::new(RefCell::new(Resolution::Addresses(vec!["1.1.1.1".parse().unwrap()]))));
    let egress =
        Egress { policy: EndpointPolicy::default(), resolver: dns.clone(), transport: endpoint.clone() };
    (dns, egress)
}

pub fn reply(status: u16) -> Reply {
    Reply { status, content_type: None, retry_after: None, body: Bytes::new(), truncated: false }
}

pub fn json(body: impl Into<Bytes>) -> Reply {
    Reply { content_type: Some("application/json".into()), body: body.into(), ..reply(200) }
}
