//! Drives a running stack through the whole life of a webhook and prints each step as it happens: what
//! was decided, under which ids, with which signature, and the evidence for it at the end.

use crate::api::{Api, expect};
use crate::journey::{self, Publisher, SOURCE, SubscriberKey, Subscription, text, until};
use crate::site::{Answer, Site};
use crate::stack::Stack;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long each stage may take.
const LIMIT: Duration = Duration::from_secs(45);

/// What a run keeps for the next one.
pub const KEPT: &str = "sample.json";

/// The sample application's port where it is free.
const APPLICATION_PORT: u16 = 8790;

/// The sample subscriber, which goes on running with this value.
pub struct Sample {
    _application: Site,
}

/// Runs every step against `stack`, writes what happens to `out`, and says whether the delivery is
/// APPLICATION_CONFIRMED.
///
/// # Errors
/// When a step cannot be carried out at all.
pub fn drive(stack: &Stack, out: &mut dyn Write) -> Result<(bool, Sample)> {
    let application = start_application()?;
    let endpoint = format!("{}/in/{SOURCE}", stack.urls().receiver);
    let (publisher, subscription) = match kept(stack)? {
        Some((publisher, subscription)) => {
            writeln!(out, "\n1. The subscription of an earlier run is still here")?;
            line(out, "subscription", &subscription)?;
            (publisher, subscription)
        }
        None => register(stack, out, &application, &endpoint)?,
    };
    let (before, _) = publisher.evidence(&subscription)?;
    let mut shown = before.len();
    let event = event_id()?;
    writeln!(out, "\n3. Publish an event")?;
    let data = json!({ "invoice": "in_1001", "amount": 9900, "currency": "EUR" });
    let published = publisher.publish(&event, "invoice.paid", &data)?;
    line(out, "event", &event)?;
    line(out, "payload digest", published["payload_digest"].as_str().unwrap_or(""))?;
    line(out, "accepted at", published["accepted_at"].as_str().unwrap_or(""))?;
    writeln!(out, "\n4. Deliver, store, handle, confirm")?;
    let confirmed = until(LIMIT, || {
        show_evidence(out, &publisher, &subscription, &mut shown)?;
        let delivery = publisher.delivery(&subscription, &event)?;
        Ok(delivery.filter(|d| d["state"] == "APPLICATION_CONFIRMED" || d["state"] == "DEAD_LETTER"))
    })?;
    show_evidence(out, &publisher, &subscription, &mut shown)?;
    show_receiver(out, stack, &event)?;
    let state = conclude(out, &publisher, &subscription, &event, confirmed)?;
    Ok((state == "APPLICATION_CONFIRMED", Sample { _application: application }))
}

/// The application behind the receiver: applies every event and names the operation.
fn start_application() -> Result<Site> {
    let script = |request: &crate::site::Received| {
        let id = request.field("webhook-id");
        Answer::json(200, &json!({ "operation_id": format!("sample-{id}") }))
    };
    Site::start_on(APPLICATION_PORT, script).or_else(|_| Site::start(script))
}

fn register(
    stack: &Stack,
    out: &mut dyn Write,
    application: &Site,
    endpoint: &str,
) -> Result<(Publisher, String)> {
    writeln!(out, "\n1. Register")?;
    let publisher = journey::publisher(stack, "Sample tenant")?;
    line(out, "tenant", &publisher.tenant)?;
    let key = SubscriberKey::draw()?;
    let receipt = json!({ "alg": "ed25519", "public_key": key.public });
    let subscription = publisher.subscribe(endpoint, &receipt)?;
    show_subscription(out, &subscription.registered)?;
    let receiver = journey::receiver(stack)?;
    let entry = journey::entry(&subscription, endpoint, &key)?;
    journey::configure(&receiver, SOURCE, &application.url("/"), &[entry])?;
    line(out, "receiver", &format!("source {SOURCE} configured, handler {}", application.url("/")))?;
    writeln!(out, "\n2. Challenge the endpoint")?;
    publisher.challenge(&subscription.id)?;
    let mut shown = 1;
    let settled = until(LIMIT, || {
        show_evidence(out, &publisher, &subscription.id, &mut shown)?;
        let view = publisher.subscription(&subscription.id)?;
        let failed = view["generations"][0]["last_challenge_failure"].is_string();
        Ok((view["state"] == "ACTIVE" || failed).then_some(view))
    })?;
    show_evidence(out, &publisher, &subscription.id, &mut shown)?;
    match settled {
        Some(view) if view["state"] == "ACTIVE" => {}
        other => bail!("The subscription did not become ACTIVE: {}", other.unwrap_or(Value::Null)),
    }
    keep(stack, &publisher, &subscription)?;
    Ok((publisher, subscription.id))
}

fn show_subscription(out: &mut dyn Write, it: &Value) -> Result<()> {
    let key = &it["generations"][0]["keys"][0];
    line(out, "subscription", &text(it, "subscription_id")?)?;
    line(out, "generation", &format!("{}, {}", it["generation"], text(it, "state")?))?;
    line(out, "endpoint", it["generations"][0]["endpoint"].as_str().unwrap_or(""))?;
    line(
        out,
        "signing key",
        &format!("{} ({}, {})", text(key, "key_id")?, text(key, "alg")?, text(key, "state")?),
    )?;
    line(out, "secret", "shown once in the answer, not here")
}

/// Prints the entries that came since, one line or two each.
fn show_evidence(
    out: &mut dyn Write,
    publisher: &Publisher,
    subscription: &str,
    shown: &mut usize,
) -> Result<()> {
    let (entries, _) = publisher.evidence(subscription)?;
    for entry in entries.iter().skip(*shown) {
        let field = |name: &str| entry[name].as_str().unwrap_or("").to_owned();
        let words = match entry["what"].as_str().unwrap_or("") {
            "challenge_issued" => format!("{} sent under key {}", field("challenge_id"), field("key_id")),
            "challenge_judged" if entry["reason"].is_string() => {
                format!("{} refused: {}", field("challenge_id"), field("reason"))
            }
            "challenge_judged" => format!("{} proved", field("challenge_id")),
            "generation_state" => format!("generation {} is {}", entry["generation"], field("state")),
            "claimed" => format!("{} attempt {} is DISPATCHING", field("delivery_id"), entry["attempt"]),
            "settled" => format!(
                "{} attempt {} → {}{}",
                field("delivery_id"),
                entry["attempt"],
                field("state"),
                outcome(entry)
            ),
            "receipt" => format!(
                "{} {} as {} → {}",
                field("delivery_id"),
                field("result"),
                field("operation_id"),
                field("state")
            ),
            _ => String::new(),
        };
        let label = entry["what"].as_str().unwrap_or("").replace('_', " ");
        line(out, &label, &words)?;
        if entry["signature_input"].is_string() {
            line(out, "  Signature-Input", &field("signature_input"))?;
        }
        out.flush()?;
    }
    *shown = (*shown).max(entries.len());
    Ok(())
}

fn outcome(entry: &Value) -> String {
    let outcome = &entry["outcome"];
    match (outcome["status"].as_u64(), outcome["kind"].as_str()) {
        (Some(status), _) => {
            format!(" (HTTP {status}, {})", entry["assurance"].as_str().unwrap_or("no address"))
        }
        (None, kind) => format!(" ({})", kind.unwrap_or("")),
    }
}

fn show_receiver(out: &mut dyn Write, stack: &Stack, event: &str) -> Result<()> {
    let receiver: Api = journey::receiver(stack)?;
    let list = receiver.get(&format!("/receiver/inbox?source={SOURCE}"))?;
    let list = expect(list, &[200], "Reading the receiver's inbox")?;
    let items = list["items"].as_array().cloned().unwrap_or_default();
    let item = items.iter().find(|item| item.to_string().contains(event));
    let state = item.and_then(|item| item["state"].as_str()).unwrap_or("not there");
    line(out, "receiver's inbox", &format!("{event} is {state}"))
}

fn conclude(
    out: &mut dyn Write,
    publisher: &Publisher,
    subscription: &str,
    event: &str,
    delivery: Option<Value>,
) -> Result<String> {
    let delivery = match delivery {
        Some(delivery) => delivery,
        None => publisher.delivery(subscription, event)?.context("The delivery was never planned.")?,
    };
    let (entries, bundle) = publisher.evidence(subscription)?;
    let id = text(&delivery, "delivery_id")?;
    let state = text(&delivery, "state")?;
    writeln!(out, "\n5. The ledger's evidence for {id}")?;
    for entry in entries.iter().filter(|entry| entry["delivery_id"] == id.as_str()) {
        writeln!(out, "   {entry}")?;
    }
    line(
        out,
        "chain head",
        &format!("seq {} {}", bundle["head"]["seq"], bundle["head"]["hash"].as_str().unwrap_or("")),
    )?;
    line(out, "application tier", delivery["application_tier"].as_str().unwrap_or(""))?;
    writeln!(out, "\n   {id} is {state}")?;
    Ok(state)
}

fn line(out: &mut dyn Write, label: &str, words: &str) -> Result<()> {
    writeln!(out, "   {label:<18} {words}").context("The output cannot be written.")
}

fn event_id() -> Result<String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("The system's clock is before 1970.")?;
    Ok(format!("evt_sample_{}", now.as_millis()))
}

/// The tenant and subscription of an earlier run on this state, where it is still ACTIVE.
fn kept(stack: &Stack) -> Result<Option<(Publisher, String)>> {
    let Ok(text) = fs::read_to_string(stack.state().join(KEPT)) else { return Ok(None) };
    let kept: Value = serde_json::from_str(&text).unwrap_or(Value::Null);
    let (Some(tenant), Some(token), Some(id)) =
        (kept["tenant"].as_str(), kept["token"].as_str(), kept["subscription"].as_str())
    else {
        return Ok(None);
    };
    let api = Api::new(&stack.urls().control, token);
    let publisher = Publisher { api, tenant: tenant.to_owned(), token: token.to_owned() };
    let same_place = kept["receiver"] == stack.urls().receiver.as_str();
    let active = same_place && publisher.subscription(id).is_ok_and(|view| view["state"] == "ACTIVE");
    Ok(active.then(|| (publisher, id.to_owned())))
}

fn keep(stack: &Stack, publisher: &Publisher, subscription: &Subscription) -> Result<()> {
    let kept = json!({
        "tenant": publisher.tenant,
        "token": publisher.token,
        "subscription": subscription.id,
        "receiver": stack.urls().receiver,
    });
    crate::secrets::write_private(&stack.state().join(KEPT), kept.to_string().as_bytes())
}
