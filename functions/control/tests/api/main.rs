//! The admin API over native objects: who may ask, what is taken, what is answered.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise fails the test")]

mod access;
mod bodies;
mod event_types;
mod events;
mod key_directory;
mod ledger;
mod lifecycle;
mod limits;
mod lists;
mod portal;
mod repeats;
mod schema;
mod table;

#[path = "../../../../shared/authority/tests/support/mod.rs"]
mod support;

use ::http::{Request, Response};
use bytes::Bytes;
use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::Described;
use hookproof_control::{Control, KeyDirectory, KnownIssuer, Settings};
use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointPolicy;
use hookproof_core::id::Generation;
use hookproof_native::{Kept, MemoryKv, MemoryQueue, SeededEntropy, TestClock};
use serde_json::{Value, json};
use support::{Party, Reach, Setup, World, now};

pub(crate) const ROOT: &str = "root-token";

pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) queue: MemoryQueue<Fresh>,
    pub(crate) journal: Kept,
    kv: MemoryKv,
    issuer: KnownIssuer,
    control: Control<Reach, MemoryQueue<Fresh>, TestClock, SeededEntropy, Kept>,
}

/// An answer, read.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl Answer {
    pub(crate) fn text(&self, name: &str) -> String {
        self.body[name].as_str().unwrap_or_else(|| panic!("{name} in {self:?}")).to_owned()
    }

    /// Status, reason and field of a problem.
    pub(crate) fn problem(&self) -> (u16, &str, &str) {
        let text = |name: &str| self.body[name].as_str().unwrap_or("");
        schema::conforms("Problem", &self.body);
        assert_eq!(text("type"), format!("urn:hookproof:problem:{}", text("reason")), "{self:?}");
        assert!(self.body["status"] == self.status && !text("detail").is_empty(), "{self:?}");
        (self.status, text("reason"), text("field"))
    }
}

impl Site {
    pub(crate) fn new() -> Self {
        let world = World::new();
        let (queue, journal) = (MemoryQueue::default(), Kept::default());
        let settings = Settings {
            root_token: Digest::of(ROOT.as_bytes()),
            policy: EndpointPolicy::default(),
            id_key: support::id_key(),
        };
        let control = Control {
            objects: world.objects.clone(),
            fresh: queue.clone(),
            clock: world.clock.clone(),
            entropy: world.entropy.clone(),
            journal: journal.clone(),
            settings,
        };
        let (kv, issuer) = (MemoryKv::new(world.clock.clone()), KnownIssuer::default());
        Self { world, queue, journal, kv, issuer, control }
    }

    pub(crate) fn send(&self, request: Request<Bytes>) -> Response<Bytes> {
        let site = KeyDirectory { control: &self.control, kv: &self.kv, issuer: &self.issuer };
        now(site.answer(Ok(request)))
    }

    pub(crate) fn unread(&self, refusal: Refusal) -> Answer {
        read(&now(self.control.answer(Err(refusal))))
    }

    /// A call with an `Authorization` field as given.
    pub(crate) fn call(&self, auth: &str, method: &str, path: &str, body: impl Into<Bytes>) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !auth.is_empty() {
            request = request.header("authorization", auth);
        }
        read(&self.send(request.body(body.into()).unwrap()))
    }

    pub(crate) fn get(&self, token: &str, path: &str) -> Answer {
        self.call(&format!("Bearer {token}"), "GET", path, "")
    }

    pub(crate) fn post(&self, token: &str, path: &str, body: &Value) -> Answer {
        self.call(&format!("Bearer {token}"), "POST", path, body.to_string())
    }

    pub(crate) fn tenant(&self, name: &str) -> String {
        self.post(ROOT, "/v1/tenants", &json!({ "name": name })).text("tenant_id")
    }

    /// A token of `tenant` with these scopes; all if none is given.
    pub(crate) fn token(&self, tenant: &str, environment: &str, scopes: &[&str]) -> String {
        let mut asked = json!({ "tenant_id": tenant, "environment": environment });
        if !scopes.is_empty() {
            asked["scopes"] = json!(scopes);
        }
        self.post(ROOT, "/v1/tokens", &asked).text("token")
    }

    /// A tenant's token with every scope, in `test`.
    pub(crate) fn publisher(&self) -> String {
        self.token(&self.tenant("Acme"), "test", &[])
    }

    pub(crate) fn register(&self, token: &str) -> Answer {
        let answer = self.post(token, "/v1/subscriptions", &registration());
        assert_eq!(answer.status, 201, "{answer:?}");
        answer
    }
}

impl Site {
    /// Registers and proves a subscription; its answer.
    pub(crate) fn active(&self, token: &str) -> Answer {
        let answer = self.register(token);
        let party = subscriber(&answer);
        self.world.prove(&party);
        answer
    }
}

/// Who answers for a subscription that was just registered.
pub(crate) fn subscriber(answer: &Answer) -> Party {
    let described = Described {
        tenant_id: answer.text("tenant_id").parse().unwrap(),
        environment: serde_json::from_value(answer.body["environment"].clone()).unwrap(),
        state: answer.text("state"),
        view: serde_json::value::RawValue::from_string(answer.body.to_string()).unwrap(),
    };
    let setup = Setup { receipt: support::party::Contract::None, ..Setup::default() };
    let (secret, recovery) = (answer.text("secret"), answer.text("recovery_credential"));
    let id = answer.text("subscription_id").parse().unwrap();
    Party::of(Generation::FIRST, setup, id, &described, secret, recovery)
}

pub(crate) fn registration() -> Value {
    json!({
        "endpoint": "https://hooks.example.com/in",
        "topics": ["invoice.*"],
        "owner": { "name": "Billing", "contact": "billing@example.com" },
    })
}

pub(crate) fn event(id: &str) -> Value {
    json!({ "id": id, "type": "invoice.paid", "api_version": "1", "data": { "n": 1 } })
}

pub(crate) fn read(response: &Response<Bytes>) -> Answer {
    let field = |name: &str| response.headers().get(name).map(|value| value.to_str().unwrap());
    assert!(field("request-id").is_some_and(|id| id.starts_with("req_") && id.len() == 30));
    let problem = field("content-type") == Some("application/problem+json");
    assert_eq!(problem, response.status().as_u16() >= 400);
    assert_eq!(response.status() == 401, field("www-authenticate") == Some("Bearer"));
    let body = if response.body().is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(response.body()).unwrap()
    };
    Answer { status: response.status().as_u16(), body }
}
