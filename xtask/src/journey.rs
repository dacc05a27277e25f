//! The steps of a webhook's life, each one call of the public API: what `cargo xtask run` shows and what the
//! end-to-end tests are made of.

use crate::api::{Api, expect};
use crate::secrets::Secrets;
use crate::stack::Stack;
use anyhow::{Context, Result, bail};
use base64ct::{Base64UrlUnpadded, Encoding};
use hookproof_core::secret::Secret;
use hookproof_core::signature::SigningKey;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The source's name at the receiver.
pub const SOURCE: &str = "hookproof";

/// A tenant with a token of its own.
#[derive(Clone, Debug)]
pub struct Publisher {
    /// The API as this tenant.
    pub api: Api,
    /// The tenant.
    pub tenant: String,
    /// Its token.
    pub token: String,
}

/// A registered subscription, with what was shown once.
#[derive(Clone, Debug)]
pub struct Subscription {
    /// Its id.
    pub id: String,
    /// The whole answer of the registration.
    pub registered: Value,
}

/// The subscriber's own key pair for challenges and receipts.
#[derive(Clone)]
pub struct SubscriberKey {
    /// Its seed, base64url.
    pub seed: String,
    /// Its public half, base64url.
    pub public: String,
}

impl SubscriberKey {
    /// The key of a seed in base64url.
    ///
    /// # Errors
    /// When it is not 32 octets.
    pub fn from_seed(seed: &str) -> Result<Self> {
        let secret = Secret::from_base64url(seed).context("A seed is 32 octets of base64url.")?;
        let public = SigningKey::ed25519(&secret).public().context("An Ed25519 key has a public half.")?;
        Ok(Self { seed: seed.to_owned(), public: Base64UrlUnpadded::encode_string(&public) })
    }

    /// A new key.
    ///
    /// # Errors
    /// When the system gives no random octets.
    pub fn draw() -> Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| anyhow::anyhow!("No random octets: {error}"))?;
        Self::from_seed(&Base64UrlUnpadded::encode_string(&seed))
    }
}

/// The root's view of the API.
///
/// # Errors
/// When the stack's secrets cannot be read.
pub fn root(stack: &Stack) -> Result<Api> {
    Ok(Api::new(&stack.urls().control, &Secrets::open(stack.state())?.get("ROOT_TOKEN")?))
}

/// The receiver's own API.
///
/// # Errors
/// When the stack's secrets cannot be read.
pub fn receiver(stack: &Stack) -> Result<Api> {
    Ok(Api::new(&stack.urls().receiver, &Secrets::open(stack.state())?.get("ADMIN_TOKEN")?))
}

/// Creates a tenant and a token for its test environment.
///
/// # Errors
/// When the API refuses.
pub fn publisher(stack: &Stack, name: &str) -> Result<Publisher> {
    let root = root(stack)?;
    let tenant = expect(root.post("/v1/tenants", &json!({ "name": name }))?, &[201], "Creating a tenant")?;
    let tenant = text(&tenant, "tenant_id")?;
    let token = root.post("/v1/tokens", &json!({ "tenant_id": tenant, "environment": "test" }))?;
    let token = text(&expect(token, &[201], "Creating a token")?, "token")?;
    Ok(Publisher { api: Api::new(&stack.urls().control, &token), tenant, token })
}

impl Publisher {
    /// Registers a subscription for every event at `endpoint`.
    ///
    /// # Errors
    /// When the API refuses.
    pub fn subscribe(&self, endpoint: &str, receipt: &Value) -> Result<Subscription> {
        let body = json!({
            "endpoint": endpoint,
            "topics": ["*"],
            "owner": { "name": "Billing team", "contact": "billing@example.com" },
            "accepted_versions": ["2026"],
            "retry_policy": "immediate",
            "receipt": receipt,
        });
        let registered =
            expect(self.api.post("/v1/subscriptions", &body)?, &[201], "Registering a subscription")?;
        Ok(Subscription { id: text(&registered, "subscription_id")?, registered })
    }

    /// The subscription as it is now.
    ///
    /// # Errors
    /// When the API refuses.
    pub fn subscription(&self, id: &str) -> Result<Value> {
        expect(self.api.get(&format!("/v1/subscriptions/{id}"))?, &[200], "Reading a subscription")
    }

    /// Asks for a challenge.
    ///
    /// # Errors
    /// When the API refuses.
    pub fn challenge(&self, id: &str) -> Result<Value> {
        expect(
            self.api.post(&format!("/v1/subscriptions/{id}/challenge"), &json!({}))?,
            &[202],
            "Asking for a challenge",
        )
    }

    /// Publishes an event.
    ///
    /// # Errors
    /// When the API refuses.
    pub fn publish(&self, id: &str, kind: &str, data: &Value) -> Result<Value> {
        let body = json!({ "id": id, "type": kind, "api_version": "2026-01", "data": data });
        expect(self.api.post("/v1/events", &body)?, &[200, 202], "Publishing")
    }

    /// The delivery of an event to a subscription, once it is planned.
    ///
    /// # Errors
    /// When the API refuses.
    pub fn delivery(&self, subscription: &str, event: &str) -> Result<Option<Value>> {
        let path = format!("/v1/deliveries?subscription={subscription}&event={event}");
        let list = expect(self.api.get(&path)?, &[200], "Reading deliveries")?;
        Ok(list["items"].get(0).cloned())
    }

    /// The evidence entries of a subscription, in order.
    ///
    /// # Errors
    /// When the API refuses or an entry does not parse.
    pub fn evidence(&self, subscription: &str) -> Result<(Vec<Value>, Value)> {
        let path = format!("/v1/subscriptions/{subscription}/evidence");
        let bundle = expect(self.api.get(&path)?, &[200], "Reading evidence")?;
        let entries = bundle["entries"].as_array().context("A bundle has entries.")?;
        let parsed: Result<Vec<Value>, _> =
            entries.iter().map(|entry| serde_json::from_str(entry.as_str().unwrap_or_default())).collect();
        Ok((parsed?, bundle))
    }

    /// Waits until the delivery is as `wanted` says.
    ///
    /// # Errors
    /// When it is not within `limit`; the message shows how it was last.
    pub fn wait_for(
        &self,
        subscription: &str,
        event: &str,
        limit: Duration,
        wanted: impl Fn(&Value) -> bool,
    ) -> Result<Value> {
        let mut last = None;
        until(limit, || {
            last = self.delivery(subscription, event)?;
            Ok(last.clone().filter(&wanted))
        })?
        .with_context(|| format!("The delivery of {event} was last {last:?}."))
    }
}

/// What the receiver has to know of a subscription: the registration's answer and the subscriber's own
/// settings.
///
/// # Errors
/// When the answer lacks something.
pub fn entry(subscription: &Subscription, endpoint: &str, key: &SubscriberKey) -> Result<Value> {
    let it = &subscription.registered;
    let keys = it["generations"][0]["keys"].as_array().context("A registration has keys.")?;
    let key_of = |k: &Value| json!({ "key_id": k["key_id"], "alg": k["alg"], "public_key": k["public_key"] });
    Ok(json!({
        "issuer": it["issuer"],
        "tenant_id": it["tenant_id"],
        "environment": it["environment"],
        "subscription_id": it["subscription_id"],
        "generation": it["generation"],
        "profile": it["generations"][0]["profile"],
        "public_url": endpoint,
        "keys": keys.iter().map(key_of).collect::<Vec<_>>(),
        "secret": it["secret"],
        "receipts": { "url": it["receipts_url"], "key": { "alg": "ed25519", "seed": key.seed, "generation": 1 } },
    }))
}

/// Configures a source of the receiver.
///
/// # Errors
/// When the receiver refuses.
pub fn configure(receiver: &Api, source: &str, handler: &str, entries: &[Value]) -> Result<()> {
    let body = json!({ "handler": { "url": handler }, "entries": entries });
    let answer = receiver.put(&format!("/receiver/sources/{source}"), &body)?;
    expect(answer, &[200, 201, 204], "Configuring the receiver").map(|_| ())
}

/// Calls `step` until it gives something, at most for `limit`.
///
/// # Errors
/// As `step`.
pub fn until<T>(limit: Duration, mut step: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
    let started = Instant::now();
    loop {
        if let Some(found) = step()? {
            return Ok(Some(found));
        }
        if started.elapsed() > limit {
            return Ok(None);
        }
        sleep(Duration::from_millis(100));
    }
}

/// The text in a field of an answer.
///
/// # Errors
/// When there is none.
pub fn text(value: &Value, field: &str) -> Result<String> {
    match value[field].as_str() {
        Some(text) => Ok(text.to_owned()),
        None => bail!("An answer has no {field}: {value}"),
    }
}
