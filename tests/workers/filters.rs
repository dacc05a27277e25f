//! What is wanted is decided by an event's content, and what an event says by its type's schema.

use crate::parts::{Party, event};
use crate::subscriber::Subscriber;
use crate::world::{SOON, World};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;
use xtask::api::expect;
use xtask::journey::{self, SubscriberKey, Subscription, text};
use xtask::site::Answer;

/// Longer than a message needs.
const QUIET: Duration = Duration::from_secs(2);

/// A party that wants amounts above 100 only, and is ACTIVE.
fn filtered(world: &World, name: &str) -> Result<(Party, Subscriber)> {
    let subscriber = Subscriber::start(|_| Answer::status(200))?;
    let publisher = world.publisher(name)?;
    let body = json!({
        "endpoint": subscriber.url(),
        "topics": ["*"],
        "owner": { "name": "Billing team", "contact": "billing@example.com" },
        "retry_policy": "immediate",
        "receipt": { "alg": "none" },
        "filter": { "data": { "amount": [{ "numeric": [">", 100] }] } },
    });
    let registered = expect(publisher.api.post("/v1/subscriptions", &body)?, &[201], "Registering")?;
    ensure!(registered["generations"][0]["filter"] == body["filter"], "The filter is shown: {registered}");
    world.conceal("subscriber secret", &text(&registered, "secret")?);
    world.conceal("recovery credential", &text(&registered, "recovery_credential")?);
    let subscription = Subscription { id: text(&registered, "subscription_id")?, registered };
    let mut entry = journey::entry(&subscription, &subscriber.url(), &SubscriberKey::draw()?)?;
    entry.as_object_mut().and_then(|entry| entry.remove("receipts"));
    subscriber.configure(&entry)?;
    let party = Party { publisher, subscription, entry };
    party.activate()?;
    Ok((party, subscriber))
}

fn publish(party: &Party, event: &str, amount: u32) -> Result<Value> {
    party.publisher.publish(event, "invoice.paid", &json!({ "amount": amount }))
}

pub(crate) fn only_what_the_filter_lets_through_is_delivered(world: &World) -> Result<()> {
    let (party, subscriber) = filtered(world, "Filtered")?;
    let (low, high) = (event("filter_low"), event("filter_high"));
    let asked = |published: Value| published["subscriptions"].clone();
    assert_eq!(asked(publish(&party, &low, 100)?), json!(0));
    assert_eq!(asked(publish(&party, &high, 101)?), json!(1));
    party.wait_for(&high, "ENDPOINT_ACCEPTED", SOON)?;
    sleep(QUIET);
    let delivered = subscriber.delivered();
    assert_eq!((delivered.len(), delivered[0].event.as_str()), (1, high.as_str()));
    ensure!(party.publisher.delivery(party.id(), &low)?.is_none(), "Nothing is planned for {low}.");
    Ok(())
}

pub(crate) fn a_message_that_names_no_filter_is_matched_where_it_arrives(world: &World) -> Result<()> {
    let (party, subscriber) = filtered(world, "Stale")?;
    let (low, high) = (event("stale_low"), event("stale_high"));
    let losing = world.losing(&party.publisher);
    for (event, amount) in [(&low, 100), (&high, 101)] {
        losing.publish(event, "invoice.paid", &json!({ "amount": amount }))?;
        let view =
            expect(party.publisher.api.get(&format!("/v1/events/{event}"))?, &[200], "Reading an event")?;
        let message = json!({ "subscription": party.id(), "event": view["event"], "page": 0 });
        world.queue("fresh", &[message.to_string()])?;
    }
    party.wait_for(&high, "ENDPOINT_ACCEPTED", SOON)?;
    sleep(QUIET);
    assert_eq!(subscriber.delivered().len(), 1);
    ensure!(party.publisher.delivery(party.id(), &low)?.is_none(), "Nothing is planned for {low}.");
    let view = party.publisher.api.get(&format!("/v1/events/{high}"))?.1;
    assert_eq!(view["unanswered"], json!([]), "it was acknowledged");
    Ok(())
}

pub(crate) fn an_event_is_held_to_the_schema_of_its_type_and_version(world: &World) -> Result<()> {
    let publisher = world.publisher("Catalogue")?;
    let api = &publisher.api;
    let version = json!({
        "api_version": "2026-01",
        "schema": { "type": "object", "properties": { "amount": { "type": "integer", "minimum": 1 } }, "required": ["amount"] },
        "sample": { "amount": 9900 },
        "description": "An invoice was paid in full.",
    });
    let path = "/v1/event-types/invoice.paid";
    assert_eq!(api.put(path, &version)?.0, 201);
    assert_eq!(api.put(path, &version)?.0, 200);
    let mut other = version.clone();
    other["schema"]["required"] = json!([]);
    let (status, problem) = api.put(path, &other)?;
    assert_eq!((status, &problem["reason"]), (409, &json!("event_type.immutable")), "{problem}");
    let draft = |id: &str, data: Value| json!({ "id": id, "type": "invoice.paid", "api_version": "2026-01", "data": data });
    let (status, problem) = api.post("/v1/events", &draft(&event("schema_bad"), json!({ "amount": 0 })))?;
    assert_eq!((status, &problem["reason"]), (400, &json!("event.schema_mismatch")), "{problem}");
    assert_eq!(problem["field"], "/data/amount");
    assert_eq!(api.get(&format!("/v1/events/{}", event("schema_bad")))?.0, 404, "nothing was stored");
    assert_eq!(api.post("/v1/events", &draft(&event("schema_good"), json!({ "amount": 1 })))?.0, 202);
    let unknown = json!({ "id": event("schema_none"), "type": "order.made", "api_version": "1", "data": {} });
    assert_eq!(api.put("/v1/event-types-policy", &json!({ "require_catalogue": true }))?.0, 200);
    let (status, problem) = api.post("/v1/events", &unknown)?;
    assert_eq!((status, &problem["reason"]), (422, &json!("event_type.required")), "{problem}");
    assert_eq!(api.put("/v1/event-types-policy", &json!({ "require_catalogue": false }))?.0, 200);
    assert_eq!(api.post("/v1/events", &unknown)?.0, 202);
    let listed = expect(api.get("/v1/event-types")?, &[200], "Reading the catalogue")?;
    assert_eq!(listed["items"].as_array().map(Vec::len), Some(1), "{listed}");
    Ok(())
}
