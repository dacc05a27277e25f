//! A receiver on the native ports, with a sender, a handler and a store that can be told to fail.

#![allow(dead_code, unreachable_pub, reason = "each test file uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken premise fails the test")]

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use hookproof_authority::inbox::{Inbox, Sources, Wakeup};
use hookproof_core::base64;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl, Permitted};
use hookproof_core::id::{DeliveryId, Environment, EventId, Generation, IdKey, SubscriptionId, TenantId};
use hookproof_core::keys::MasterKeys;
use hookproof_core::receiver::{Entry, EntryKey, Handler, ReceiptKey, Receipts, Source};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Alg, Fields, Message, Profile, SigningKey, profile, sign, thumbprint};
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_native::sql::NativeSql;
use hookproof_native::{Kept, MemoryQueue, NativeStore, Objects, SeededEntropy, TestClock};
use hookproof_ports::{
    Clock, Egress, FromRow, Outbound, Queue, Reply, Resolution, Resolver, Row, Sql, Store, Transport,
    TransportFailure,
};
use hookproof_receiver::{Receiver, Settings};
use http::{Request, Response};

pub const NAME: &str = "billing";
pub const TOKEN: &str = "receiver-token";
pub const PUBLIC_URL: &str = "https://hooks.example.com/in/billing";
pub const HANDLER: &str = "https://app.example.com/webhooks";
pub const RECEIPTS: &str = "https://sender.example.com/receipts";

/// Everything here is ready when first polled.
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a test future had to wait"),
    }
}

/// A database that can be down.
#[derive(Clone)]
pub struct Disk {
    store: Rc<NativeStore>,
    pub down: Rc<Cell<bool>>,
}

impl Store for Disk {
    type Tx = NativeSql;

    async fn transact<T>(
        &self,
        body: impl AsyncFnOnce(&Self::Tx) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        if self.down.get() {
            return Err(Refusal::new(Reason::InternalStore, "the disk is gone"));
        }
        self.store.transact(body).await
    }
}

impl Disk {
    pub fn rows(&self, statement: &str) -> Vec<Row> {
        now(self.store.transact(async |sql: &NativeSql| sql.query(statement, &[]).await)).unwrap()
    }

    pub fn count(&self, table: &str) -> i64 {
        self.rows(&format!("SELECT count(*) FROM {table}"))[0].integer(0).unwrap()
    }

    pub fn states(&self) -> Vec<String> {
        let rows = self.rows("SELECT state FROM inbox ORDER BY object, received_at, id");
        rows.iter().map(|row| row.text(0).unwrap().to_owned()).collect()
    }
}

pub struct Deployment {
    sources: Sources,
    inbox: Inbox,
}

impl AsRef<Sources> for Deployment {
    fn as_ref(&self) -> &Sources {
        &self.sources
    }
}

impl AsRef<Inbox> for Deployment {
    fn as_ref(&self) -> &Inbox {
        &self.inbox
    }
}

/// A queue that can be down.
#[derive(Clone, Default)]
pub struct Wakes {
    pub messages: MemoryQueue<Wakeup>,
    pub down: Rc<Cell<bool>>,
}

impl Queue<Wakeup> for Wakes {
    async fn send(&self, messages: &[Wakeup]) -> Result<(), Refusal> {
        if self.down.get() {
            return Err(Refusal::new(Reason::InternalHost, "the queue is gone"));
        }
        self.messages.send(messages).await
    }
}

pub struct Dns;

impl Resolver for Dns {
    async fn resolve(&self, _: &str) -> Resolution {
        Resolution::ByPlatform
    }
}

/// A request somebody got.
#[derive(Clone)]
pub struct Got {
    pub url: String,
    pub fields: Fields,
    pub body: Bytes,
    /// The states in the inbox at that moment.
    pub states: Vec<String>,
}

impl Got {
    pub fn field(&self, name: &str) -> String {
        self.fields.single(name).unwrap()
    }
}

type Answer = Result<(u16, String), TransportFailure>;

/// Handler and sender: scripted answers, then 200.
#[derive(Clone)]
pub struct Peers {
    pub got: Rc<RefCell<Vec<Got>>>,
    pub handler: Rc<RefCell<VecDeque<Answer>>>,
    pub receipts: Rc<RefCell<VecDeque<Answer>>>,
    /// The disk breaks while the handler works.
    pub breaks_disk: Rc<Cell<bool>>,
    disk: Disk,
}

impl Transport for Peers {
    async fn send_permitted(&self, request: &Outbound, to: &Permitted) -> Result<Reply, TransportFailure> {
        let url = to.url().as_str().to_owned();
        let script = if url == HANDLER { &self.handler } else { &self.receipts };
        let (fields, body, states) = (request.fields.clone(), request.body.clone(), self.disk.states());
        self.got.borrow_mut().push(Got { url, fields, body, states });
        self.disk.down.set(self.disk.down.get() || self.breaks_disk.get());
        let (status, body) = script.borrow_mut().pop_front().unwrap_or(Ok((200, String::new())))?;
        let body = Bytes::from(body);
        Ok(Reply { status, content_type: None, retry_after: None, body, truncated: false })
    }
}

pub struct World {
    pub clock: TestClock,
    pub disk: Disk,
    pub queue: Wakes,
    pub peers: Peers,
    pub journal: Kept,
    pub receiver: Receiver<Objects<Deployment, Disk>, Wakes, Dns, Peers, TestClock, SeededEntropy, Kept>,
}

impl World {
    pub fn new() -> Self {
        let clock = TestClock::at(Timestamp::from_unix(1_800_000_000));
        let disk = Disk { store: Rc::new(NativeStore::in_memory().unwrap()), down: Rc::default() };
        let keys = MasterKeys::parse(&format!("1:{}", Secret::new([7; 32]).show_once())).unwrap();
        let deployment = Deployment { sources: Sources { keys }, inbox: Inbox };
        let entropy = SeededEntropy::new(1);
        let peers = Peers {
            got: Rc::default(),
            handler: Rc::default(),
            receipts: Rc::default(),
            breaks_disk: Rc::default(),
            disk: disk.clone(),
        };
        let (queue, journal) = (Wakes::default(), Kept::default());
        let receiver = Receiver {
            objects: Objects::new(deployment, disk.clone(), clock.clone(), entropy.clone()),
            queue: queue.clone(),
            egress: Egress { policy: EndpointPolicy::default(), resolver: Dns, transport: peers.clone() },
            clock: clock.clone(),
            entropy,
            journal: journal.clone(),
            settings: Settings { admin_token: Some(Digest::of(TOKEN.as_bytes())) },
        };
        Self { clock, disk, queue, peers, journal, receiver }
    }

    /// A world whose source takes these senders.
    pub fn with(senders: &[&Sender]) -> Self {
        let world = Self::new();
        let source = Source {
            handler: Handler { url: url(HANDLER) },
            entries: senders.iter().map(|sender| sender.entry.clone()).collect(),
        };
        let body = serde_json::to_vec(&source).unwrap();
        let answer = world.api("PUT", "/receiver/sources/billing", body);
        assert_eq!(answer.status(), 201, "{answer:?}");
        world
    }

    pub fn api(&self, method: &str, path: &str, body: impl Into<Bytes>) -> Response<Bytes> {
        let request = Request::builder().method(method).uri(path);
        let request = request.header("authorization", format!("Bearer {TOKEN}"));
        now(self.receiver.respond(&request.body(body.into()).unwrap()))
    }

    pub fn get(&self, path: &str) -> serde_json::Value {
        let answer = self.api("GET", path, "");
        assert_eq!(answer.status(), 200, "{answer:?}");
        json(&answer)
    }

    pub fn post(&self, request: &Request<Bytes>) -> Response<Bytes> {
        now(self.receiver.respond(request))
    }

    /// Delivers what is on the queue until it is empty.
    pub fn drain(&self) {
        while let Some(wakeup) = self.queue.messages.take(1).unwrap().pop() {
            let _ = now(self.receiver.wake(&wakeup));
        }
    }

    /// Moves time on, firing the inbox's timer whenever it is due, and draining the queue after it.
    pub fn pass(&self, span: Span) {
        let end = self.clock.now() + span;
        while let Some(due) = now(self.receiver.objects.next_alarm()).unwrap().filter(|&due| due <= end) {
            self.clock.advance_to(due);
            for key in now(self.receiver.objects.due::<Inbox>(self.clock.now())).unwrap() {
                let wakes = now(self.receiver.objects.fire::<Inbox>(&key)).unwrap();
                let _ = now(self.receiver.announce(&key, &wakes));
            }
            self.drain();
        }
        self.clock.advance_to(end);
    }

    pub fn lose_messages(&self) {
        self.queue.messages.take(usize::MAX).unwrap();
    }

    /// What the handler got so far.
    pub fn handled(&self) -> Vec<Got> {
        self.peers.got.borrow().iter().filter(|got| got.url == HANDLER).cloned().collect()
    }

    /// The receipts the sender got so far.
    pub fn receipts(&self) -> Vec<Got> {
        self.peers.got.borrow().iter().filter(|got| got.url == RECEIPTS).cloned().collect()
    }

    pub fn handler_answers(&self, status: u16, body: &str) {
        self.peers.handler.borrow_mut().push_back(Ok((status, body.to_owned())));
    }

    pub fn sender_answers(&self, status: u16) {
        self.peers.receipts.borrow_mut().push_back(Ok((status, String::new())));
    }
}

pub fn json(answer: &Response<Bytes>) -> serde_json::Value {
    serde_json::from_slice(answer.body()).unwrap()
}

pub fn url(text: &str) -> EndpointUrl {
    EndpointUrl::from_stored(text.to_owned()).unwrap()
}

/// A tenant's subscription to us, with its keys.
pub struct Sender {
    pub entry: Entry,
    pub key: SigningKey,
    pub key_id: String,
}

impl Sender {
    /// Number `n` differs from the others in tenant, subscription and keys.
    pub fn new(n: u8) -> Self {
        let (ids, at) = (IdKey::new(b"sender"), Timestamp::from_unix(1_790_000_000));
        let key = SigningKey::ed25519(&Secret::new([n; 32]));
        let public = key.public().unwrap();
        let key_id = thumbprint(&public);
        let entry = Entry {
            issuer: "https://sender.example.com".into(),
            tenant_id: TenantId::mint(&ids, at, [n; 10]),
            environment: Environment::Live,
            subscription_id: SubscriptionId::mint(&ids, at, [n; 10]),
            generation: Generation(1),
            profile: "hookproof.delivery.v1".into(),
            public_url: url(PUBLIC_URL),
            keys: vec![EntryKey {
                key_id: key_id.clone(),
                alg: Alg::Ed25519,
                public_key: Some(base64::url(&public)),
            }],
            secret: Secret::new([n + 100; 32]).show_once(),
            receipts: Some(Receipts {
                url: url(RECEIPTS),
                key: ReceiptKey::Ed25519 { seed: Secret::new([n + 50; 32]).show_once(), generation: 1 },
            }),
        };
        Self { entry, key, key_id }
    }

    /// The same tenant's second subscription.
    pub fn second_subscription(&self, n: u8) -> Self {
        let mut other = Self::new(n);
        other.entry.tenant_id = self.entry.tenant_id.clone();
        other
    }

    /// The same subscription's next generation, at a URL of its own.
    pub fn next_generation(&self, n: u8) -> Self {
        let mut next = self.second_subscription(n);
        next.entry.subscription_id = self.entry.subscription_id.clone();
        next.entry.generation = self.entry.generation.next();
        next.entry.public_url = url(&format!("{PUBLIC_URL}?generation={}", next.entry.generation));
        next
    }

    /// A delivery of the event `id`, accepted and signed at `at`.
    pub fn delivery(&self, id: &str, data: &str, at: Timestamp) -> Request<Bytes> {
        self.attempt(id, data, at, at, 1)
    }

    pub fn attempt(
        &self,
        id: &str,
        data: &str,
        accepted: Timestamp,
        at: Timestamp,
        n: u32,
    ) -> Request<Bytes> {
        let event: EventId = id.parse().unwrap();
        let body = format!(
            "{{\"id\":\"{id}\",\"type\":\"invoice.paid\",\"created\":\"{accepted}\",\
             \"api_version\":\"1\",\"data\":{data}}}"
        );
        let Entry { tenant_id, environment, subscription_id, .. } = &self.entry;
        let delivery = DeliveryId::of(tenant_id, *environment, subscription_id, &event, accepted);
        let mut fields = self.fields(id, &body);
        fields.push("webhook-delivery", delivery.as_str());
        fields.push("webhook-attempt", n.to_string());
        self.signed(&profile::DELIVERY, fields, body, at)
    }

    pub fn fields(&self, id: &str, body: &str) -> Fields {
        let mut fields = Fields::new();
        fields.push("content-digest", Digest::of(body.as_bytes()).content_digest());
        fields.push("content-type", "application/json");
        fields.push("webhook-id", id);
        fields.push("webhook-subscription", self.entry.subscription_id.as_str());
        fields.push("webhook-generation", self.entry.generation.to_string());
        fields
    }

    pub fn signed(&self, kind: &Profile<'_>, fields: Fields, body: String, at: Timestamp) -> Request<Bytes> {
        let url = &self.entry.public_url;
        let message = Message::request("POST", url.as_str(), &fields);
        let headers = sign(kind, &message, at.unix(), at.unix() + 300, &self.key_id, &self.key).unwrap();
        let mut request = Request::builder().method("POST").uri(url.path_and_query());
        for (name, value) in fields.iter() {
            request = request.header(name, value);
        }
        let request = request
            .header("signature-input", headers.signature_input)
            .header("signature", headers.signature)
            .header("authorization", "Bearer of-the-sender")
            .header("x-shop-token", "t0ken");
        request.body(Bytes::from(body)).unwrap()
    }
}
