//! The `receiver` Worker before a sender that is not who it says, or says it twice.

use crate::challenges::end_to_end;
use crate::parts::{Contract, Party, event};
use crate::subscriber::signed;
use crate::world::{SOON, World, now};
use anyhow::{Context, Result, ensure};
use hookproof_core::base64;
use hookproof_core::id::{DeliveryId, Environment, EventId, IdKey, SubscriptionId, TenantId};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{SigningKey, profile, thumbprint};
use serde_json::{Value, json};
use xtask::api::{Api, expect};
use xtask::journey::{self, until};
use xtask::site::{Answer, Received, Site};

/// The answer to whatever is refused: it never says what was expected.
fn generic() -> Value {
    json!({ "type": "about:blank", "title": "Bad request", "status": 400 })
}

/// A copy of the fields with one value changed.
fn with(fields: &[(String, String)], name: &str, change: impl Fn(&str) -> String) -> Vec<(String, String)> {
    let changed = |(field, value): &(String, String)| {
        (field.clone(), if field == name { change(value) } else { value.clone() })
    };
    fields.iter().map(changed).collect()
}

/// The items in a source's inbox.
fn inbox(receiver: &Api, source: &str) -> Result<Vec<Value>> {
    let list =
        expect(receiver.get(&format!("/receiver/inbox?source={source}"))?, &[200], "Reading the inbox")?;
    Ok(list["items"].as_array().cloned().unwrap_or_default())
}

pub(crate) fn a_tampered_request_is_refused_and_a_replayed_one_is_a_duplicate(world: &World) -> Result<()> {
    let handler = Site::start(|_| Answer::status(200))?;
    // Between sender and receiver, as a proxy of the subscriber's own: it sees every request.
    let behind = Api::new(&world.urls().receiver, "");
    let proxy = Site::start(move |request| {
        match behind.post_raw(&request.target, &end_to_end(request), &request.body) {
            Ok((status, body)) => Answer::json(status, &body),
            Err(_) => Answer::status(502),
        }
    })?;
    let endpoint = proxy.url("/in/tampered");
    let party = Party::register(world, "Tampered", &endpoint, Contract::Ed25519)?;
    let receiver = world.receiver()?;
    party.receive(world, "tampered", &handler)?;
    let event = event("tampered");
    party.publish(&event)?;
    party.wait_for(&event, "APPLICATION_CONFIRMED", SOON)?;

    let is_delivery = |request: &Received| !request.field("webhook-delivery").is_empty();
    let captured = proxy.received().into_iter().find(is_delivery).context("The delivery was captured.")?;
    let fields = end_to_end(&captured);
    world.conceal("a delivery's signature", signature_octets(&captured)?);
    let behind = Api::new(&world.urls().receiver, "");
    let send = |fields: &[(String, String)], body: &[u8]| behind.post_raw("/in/tampered", fields, body);

    let text = captured.text();
    let amount = text.replace("9900", "9901");
    ensure!(amount != text, "{text}");
    for body in [amount.as_bytes(), format!("{text} ").as_bytes(), b"", b"{}"] {
        assert_eq!(send(&fields, body)?, (400, generic()), "{}", String::from_utf8_lossy(body));
    }
    let digest = hookproof_core::digest::Digest::of(amount.as_bytes()).content_digest();
    let with_digest = with(&fields, "content-digest", |_| digest.clone());
    assert_eq!(send(&with_digest, amount.as_bytes())?, (400, generic()), "body and digest together");
    for (name, _) in &fields {
        let bent = with(&fields, name, |value| bend(name, value));
        assert_eq!(send(&bent, &captured.body)?, (400, generic()), "{name} changed");
        let without: Vec<_> = fields.iter().filter(|(field, _)| field != name).cloned().collect();
        assert_eq!(send(&without, &captured.body)?, (400, generic()), "without {name}");
    }
    let elsewhere = behind.post_raw("/in/tampered?x=1", &fields, &captured.body)?;
    assert_eq!(elsewhere, (400, generic()), "another target");

    assert_eq!(send(&fields, &captured.body)?, (200, json!({ "duplicate": true })));
    let items = inbox(&receiver, "tampered")?;
    assert_eq!(items.len(), 1, "nothing is stored twice: {items:?}");
    assert_eq!((&items[0]["state"], &items[0]["duplicates"]), (&json!("completed"), &json!(1)));
    assert_eq!(handler.received().len(), 1, "the handler is called once");
    assert_eq!(party.evidence("receipt")?.len(), 1);
    Ok(())
}

fn signature_octets(request: &Received) -> Result<&str> {
    let value = request.field("signature").strip_prefix("hookproof=:").and_then(|it| it.strip_suffix(':'));
    value.context("A signature is a byte sequence.")
}

/// Another value of the same form.
fn bend(name: &str, value: &str) -> String {
    match name {
        "content-type" => "text/plain".to_owned(),
        "webhook-attempt" | "webhook-generation" => "2".to_owned(),
        // A second later, well inside the window.
        "signature-input" => later(value),
        "signature" | "content-digest" => {
            let at = value.len() / 2;
            let other = if &value[at..=at] == "A" { "B" } else { "A" };
            format!("{}{other}{}", &value[..at], &value[at + 1..])
        }
        _ => format!("{}x", &value[..value.len() - 1]),
    }
}

/// A `Signature-Input` whose `created` is the next second.
fn later(input: &str) -> String {
    let (before, rest) = input.split_once(";created=").unwrap_or((input, ""));
    let (created, after) = rest.split_once(';').unwrap_or((rest, ""));
    let next = created.parse::<i64>().unwrap_or_default() + 1;
    format!("{before};created={next};{after}")
}

/// A sender of our own, whose key the receiver is configured with.
struct Sender {
    url: String,
    key: SigningKey,
    key_id: String,
    tenant: TenantId,
    subscription: SubscriptionId,
    handler: Site,
    receiver: Api,
    source: &'static str,
}

impl Sender {
    fn known_to(world: &World, source: &'static str) -> Result<Self> {
        let seed: [u8; 32] = hookproof_core::digest::sha256(format!("{source}{}", now().millis()).as_bytes());
        let key = SigningKey::ed25519(&Secret::new(seed));
        let public = key.public().context("An Ed25519 key has a public half.")?;
        let id_key = IdKey::new(b"another deployment");
        let it = Self {
            url: format!("{}/in/{source}", world.urls().receiver),
            key_id: thumbprint(&public),
            tenant: TenantId::mint(&id_key, now(), [1; 10]),
            subscription: SubscriptionId::mint(&id_key, now(), [2; 10]),
            handler: Site::start(|_| Answer::status(200))?,
            receiver: world.receiver()?,
            key,
            source,
        };
        let entry = json!({
            "issuer": "http://sender.example",
            "tenant_id": it.tenant,
            "environment": "test",
            "subscription_id": it.subscription,
            "generation": 1,
            "profile": "hookproof.delivery.v1",
            "public_url": it.url,
            "keys": [{ "key_id": it.key_id, "alg": "ed25519", "public_key": base64::url(&public) }],
            "secret": base64::url(&seed),
        });
        journey::configure(&it.receiver, source, &it.handler.url("/"), &[entry])?;
        Ok(it)
    }

    /// Sends an event with this amount, signed `age` seconds ago.
    fn send(&self, event: &str, amount: u32, age: i64) -> Result<(u16, Value)> {
        let body = json!({
            "id": event, "type": "invoice.paid", "created": "2026-01-01T00:00:00Z", "api_version": "1",
            "data": { "amount": amount },
        });
        let body = body.to_string().into_bytes();
        let id: EventId = event.parse().map_err(|fault| anyhow::anyhow!("{fault}"))?;
        let delivery = DeliveryId::of(&self.tenant, Environment::Test, &self.subscription, &id, now());
        let fields = [
            ("webhook-id", event.to_owned()),
            ("webhook-subscription", self.subscription.to_string()),
            ("webhook-generation", "1".to_owned()),
            ("webhook-delivery", delivery.to_string()),
            ("webhook-attempt", "1".to_owned()),
        ];
        let lines = signed(&profile::DELIVERY, &self.url, &fields, &body, (&self.key_id, &self.key), age)?;
        Api::new(&self.url, "").post_raw("", &lines, &body)
    }

    fn handled(&self, count: usize) -> Result<()> {
        let done = until(SOON, || Ok((self.handler.received().len() >= count).then_some(())))?;
        done.with_context(|| format!("The handler was called {} times.", self.handler.received().len()))
    }
}

pub(crate) fn an_expired_signature_is_outside_the_window(world: &World) -> Result<()> {
    let sender = Sender::known_to(world, "expired")?;
    let outside = (400, json!({ "error": "timestamp_outside_window" }));
    assert_eq!(sender.send("evt_expired", 1, 400)?, outside, "expired 100 s ago");
    assert_eq!(sender.send("evt_expired", 1, 301)?, outside, "expired a second ago");
    assert_eq!(sender.send("evt_expired", 1, -90)?, outside, "signed in the future");
    assert_eq!(inbox(&sender.receiver, sender.source)?, Vec::<Value>::new(), "nothing is stored");
    assert_eq!(sender.send("evt_expired", 1, 200)?, (200, json!({ "accepted": true })), "still good");
    sender.handled(1)?;
    assert_eq!(inbox(&sender.receiver, sender.source)?.len(), 1);
    Ok(())
}

pub(crate) fn other_bytes_under_a_known_id_are_quarantined(world: &World) -> Result<()> {
    let sender = Sender::known_to(world, "conflict")?;
    assert_eq!(sender.send("evt_conflict", 1, 0)?.0, 200);
    sender.handled(1)?;
    let (status, body) = sender.send("evt_conflict", 2, 0)?;
    assert_eq!((status, &body["title"]), (409, &json!("Conflict")));
    assert_eq!(sender.send("evt_conflict", 1, 0)?, (200, json!({ "duplicate": true })));
    let path = format!("/receiver/quarantine?source={}", sender.source);
    let quarantine = expect(sender.receiver.get(&path)?, &[200], "Reading the quarantine")?;
    let items = quarantine["items"].as_array().context("A list.")?;
    assert_eq!((items.len(), &items[0]["reason"]), (1, &json!("event.conflict")));
    assert_eq!(inbox(&sender.receiver, sender.source)?.len(), 1);
    assert_eq!(sender.handler.received().len(), 1, "no second effect");
    Ok(())
}
