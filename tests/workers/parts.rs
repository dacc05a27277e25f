//! What most facts are made of: a tenant with one subscription at a scripted subscriber, its evidence, and
//! raw HTTP with everything an answer says.

use crate::subscriber::{Delivered, Subscriber, receipt, send};
use crate::world::{SOON, World};
use anyhow::{Context, Result, anyhow, bail, ensure};
use hookproof_core::evidence::{ChainScope, Head, verify};
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::receiver::Entry;
use hookproof_core::signature::SigningKey;
use hookproof_core::time::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use xtask::api::expect;
use xtask::journey::{self, Publisher, SubscriberKey, Subscription, text, until};
use xtask::site::{Answer, Site};

/// How a subscription's receipts are signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Contract {
    /// Not at all.
    None,
    /// With a key derived from the shared secret; the deliveries are signed so as well.
    Hmac,
    /// With the subscriber's own key.
    Ed25519,
}

/// A tenant and its subscription.
pub(crate) struct Party {
    /// The tenant.
    pub(crate) publisher: Publisher,
    /// The subscription.
    pub(crate) subscription: Subscription,
    /// What the subscriber knows of it, as a receiver's configuration.
    pub(crate) entry: Value,
}

impl Party {
    /// Registers `endpoint` for a new tenant; everything shown once is remembered as a secret.
    pub(crate) fn register(world: &World, name: &str, endpoint: &str, contract: Contract) -> Result<Self> {
        let publisher = world.publisher(name)?;
        Self::register_for(world, publisher, endpoint, contract)
    }

    /// Registers `endpoint` for a tenant.
    pub(crate) fn register_for(
        world: &World,
        publisher: Publisher,
        endpoint: &str,
        contract: Contract,
    ) -> Result<Self> {
        let key = SubscriberKey::draw()?;
        world.conceal("receipt seed", &key.seed);
        let asked = match contract {
            Contract::None => json!({ "alg": "none" }),
            Contract::Hmac => json!({ "alg": "hmac-sha256" }),
            Contract::Ed25519 => json!({ "alg": "ed25519", "public_key": key.public }),
        };
        let subscription = match contract {
            Contract::Hmac => register_hmac(&publisher, endpoint, &asked)?,
            Contract::None | Contract::Ed25519 => publisher.subscribe(endpoint, &asked)?,
        };
        world.conceal("subscriber secret", &text(&subscription.registered, "secret")?);
        world.conceal("recovery credential", &text(&subscription.registered, "recovery_credential")?);
        let mut entry = journey::entry(&subscription, endpoint, &key)?;
        match contract {
            Contract::None => drop(entry.as_object_mut().and_then(|entry| entry.remove("receipts"))),
            Contract::Hmac => entry["receipts"]["key"] = json!({ "alg": "hmac-sha256" }),
            Contract::Ed25519 => {}
        }
        Ok(Self { publisher, subscription, entry })
    }

    /// The subscription's id.
    pub(crate) fn id(&self) -> &str {
        &self.subscription.id
    }

    /// Lets the `receiver` Worker take it in at this source and hand it to `handler`, and activates it.
    pub(crate) fn receive(&self, world: &World, source: &str, handler: &Site) -> Result<()> {
        let entries = std::slice::from_ref(&self.entry);
        journey::configure(&world.receiver()?, source, &handler.url("/"), entries)?;
        self.activate()
    }

    /// Asks for a challenge and waits until it is proved.
    pub(crate) fn activate(&self) -> Result<()> {
        self.publisher.challenge(self.id())?;
        let active = until(SOON, || {
            Ok(Some(self.publisher.subscription(self.id())?).filter(|view| view["state"] == "ACTIVE"))
        })?;
        match active {
            Some(_) => Ok(()),
            None => bail!("It did not become ACTIVE: {}", self.publisher.subscription(self.id())?),
        }
    }

    /// Publishes an event with a little data.
    pub(crate) fn publish(&self, event: &str) -> Result<Value> {
        self.publisher.publish(event, "invoice.paid", &json!({ "invoice": event, "amount": 9900 }))
    }

    /// Waits until the delivery of `event` is in `state`.
    pub(crate) fn wait_for(&self, event: &str, state: &str, limit: Duration) -> Result<Value> {
        let waited = self.publisher.wait_for(self.id(), event, limit, |delivery| delivery["state"] == state);
        waited.with_context(|| format!("{event} was not {state} within {} s.", limit.as_secs()))
    }

    /// The delivery of `event`.
    pub(crate) fn delivery(&self, event: &str) -> Result<Value> {
        let delivery = self.publisher.delivery(self.id(), event)?;
        delivery.with_context(|| format!("{event} was never planned."))
    }

    /// The evidence of this kind, after the whole chain was recomputed.
    pub(crate) fn evidence(&self, what: &str) -> Result<Vec<Value>> {
        let (entries, bundle) = self.publisher.evidence(self.id())?;
        check_chain(&bundle)?;
        Ok(entries.into_iter().filter(|entry| entry["what"] == what).collect())
    }

    /// The subscriber's side of it.
    pub(crate) fn as_entry(&self) -> Result<Entry> {
        serde_json::from_value(self.entry.clone()).context("An entry is not usable.")
    }

    /// What receipts are signed with, and its id.
    pub(crate) fn receipt_key(&self) -> Result<(SigningKey, String)> {
        let key = self.as_entry()?.receipt_key();
        key.map(|(key, id, _)| (key, id)).map_err(|reason| anyhow!("There is no receipt key: {reason}"))
    }

    /// Sends the genuine receipt of a delivery.
    pub(crate) fn confirm(
        &self,
        delivered: &Delivered,
        operation: &str,
        result: ReceiptResult,
    ) -> Result<(u16, Value)> {
        let (key, key_id) = self.receipt_key()?;
        let entry = self.as_entry()?;
        let url = text(&self.subscription.registered, "receipts_url")?;
        send(&url, &receipt(&entry, delivered, operation, result), &key, &key_id, 0)
    }
}

/// A party whose subscriber is scripted and whose subscription is ACTIVE.
pub(crate) fn joined(
    world: &World,
    name: &str,
    contract: Contract,
    answer: impl Fn(&Delivered) -> Answer + Send + Sync + 'static,
) -> Result<(Party, Subscriber)> {
    let subscriber = Subscriber::start(answer)?;
    let party = Party::register(world, name, &subscriber.url(), contract)?;
    subscriber.configure(&party.entry)?;
    party.activate()?;
    ensure!(
        subscriber.challenges() == 1,
        "One challenge was to be answered, not {}.",
        subscriber.challenges()
    );
    Ok((party, subscriber))
}

fn register_hmac(publisher: &Publisher, endpoint: &str, receipt: &Value) -> Result<Subscription> {
    let body = json!({
        "endpoint": endpoint,
        "topics": ["*"],
        "owner": { "name": "Billing team", "contact": "billing@example.com" },
        "retry_policy": "immediate",
        "signing": "hmac-sha256",
        "receipt": receipt,
    });
    let registered = expect(publisher.api.post("/v1/subscriptions", &body)?, &[201], "Registering")?;
    Ok(Subscription { id: text(&registered, "subscription_id")?, registered })
}

/// Recomputes an exported chain, and shows that one octet less breaks it.
pub(crate) fn check_chain(bundle: &Value) -> Result<()> {
    let scope: ChainScope = serde_json::from_value(bundle["scope"].clone())?;
    let head: Head = serde_json::from_value(bundle["head"].clone())?;
    let entries = bundle["entries"].as_array().context("A bundle has entries.")?;
    let octets: Vec<&[u8]> = entries.iter().filter_map(Value::as_str).map(str::as_bytes).collect();
    ensure!(octets.len() as u64 == head.seq, "{} entries up to seq {}.", octets.len(), head.seq);
    ensure!(verify(&scope, octets.iter().copied(), &head), "The chain does not end at its head: {bundle}");
    for cut in 0..octets.len() {
        let bent = octets.iter().enumerate().map(|(i, &entry)| if i == cut { &entry[1..] } else { entry });
        ensure!(!verify(&scope, bent, &head), "The chain holds without an octet of entry {cut}.");
    }
    Ok(())
}

/// Sends raw octets with a token; gives the status, the content type and the text of the answer.
pub(crate) fn ask(
    method: &str,
    url: &str,
    token: &str,
    body: Option<&[u8]>,
) -> Result<(u16, String, String)> {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(30)))
        .build()
        .into();
    let mut request = ureq::http::Request::builder().method(method).uri(url);
    if !token.is_empty() {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let answer = match body {
        Some(body) => agent.run(request.header("content-type", "application/json").body(body)?),
        None => agent.run(request.body(())?),
    };
    let mut answer = answer.with_context(|| format!("{method} {url} was not answered."))?;
    let kind = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
    let (status, kind) = (answer.status().as_u16(), kind.unwrap_or_default().to_owned());
    Ok((status, kind, answer.body_mut().read_to_string()?))
}

/// A time in an answer.
pub(crate) fn time(value: &Value) -> Result<Timestamp> {
    value.as_str().and_then(Timestamp::parse).with_context(|| format!("{value} is no time."))
}

/// An event id that no other fact uses.
pub(crate) fn event(name: &str) -> String {
    format!("evt_{name}")
}
