//! The admin API over native objects: who may ask, what is taken, what is answered.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise fails the test")]

mod access;
mod bodies;
mod events;
mod key_directory;
mod ledger;

#[path = "../../../../shared/authority/tests/support/mod.rs"]
mod support;

use ::http::{Request, Response};
use bytes::Bytes;
use hookproof_authority::message::Fresh;
use hookproof_control::{Control, Settings};
use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointPolicy;
use hookproof_native::{Kept, MemoryQueue, SeededEntropy, TestClock};
use serde_json::{Value, json};
use support::{Reach, World, now};

pub(crate) const ROOT: &str = "root-token";

pub(crate) struct Site {
    pub(crate) world: World,
    pub(crate) queue: MemoryQueue<Fresh>,
    pub(crate) journal: Kept,
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
        assert!(text("type").ends_with(text("reason")) && self.body["status"] == self.status, "{self:?}");
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
        Self { world, queue, journal, control }
    }

    pub(crate) fn send(&self, request: Request<Bytes>) -> Response<Bytes> {
        now(self.control.answer(Ok(request)))
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
    let body = serde_json::from_slice(response.body()).unwrap();
    Answer { status: response.status().as_u16(), body }
}
