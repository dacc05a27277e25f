//! Queues only wake: messages may come five times, with anything in them, or never.

use crate::parts::{Contract, Party, event, joined};
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::{Duration, Instant};
use xtask::api::expect;
use xtask::site::Answer;

/// Longer than a message needs.
const QUIET: Duration = Duration::from_secs(2);

/// The message that control would put on the queue for `event`, with this body inside.
fn fresh(party: &Party, event: &str, body: Option<&str>) -> Result<String> {
    let path = format!("/v1/events/{event}");
    let view = expect(party.publisher.api.get(&path)?, &[200], "Reading an event")?;
    let mut message = json!({ "subscription": party.id(), "event": view["event"], "page": 0 });
    if let Some(body) = body {
        message["body"] = json!(body);
    }
    Ok(message.to_string())
}

/// Publishes an event whose own message is lost.
fn publish_and_lose(world: &World, party: &Party, event: &str) -> Result<()> {
    let data = json!({ "invoice": event });
    let published = world.losing(&party.publisher).publish(event, "invoice.paid", &data)?;
    assert_eq!((&published["duplicate"], &published["subscriptions"]), (&json!(false), &json!(1)));
    Ok(())
}

pub(crate) fn five_copies_of_a_message_make_one_attempt(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Doubled", Contract::Ed25519, |_| {
        Answer::status(200).after(Duration::from_millis(500))
    })?;
    let event = event("doubled");
    publish_and_lose(world, &party, &event)?;
    let copies = vec![fresh(&party, &event, None)?; 5];
    // Three in one batch, two alone, all before the endpoint has answered.
    world.queue("fresh", &copies[..3])?;
    world.queue("fresh", &copies[3..4])?;
    world.queue("fresh", &copies[4..])?;
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    // And after it.
    world.queue("fresh", &copies)?;
    let due = json!({ "subscription": party.id() }).to_string();
    world.queue("retry", &vec![due.clone(); 5])?;
    world.queue("challenge", &vec![due; 5])?;
    sleep(QUIET);
    let delivered = subscriber.delivered();
    assert_eq!(delivered.len(), 1, "exactly one request reaches the endpoint: {delivered:?}");
    let delivery = party.delivery(&event)?;
    assert_eq!((&delivery["state"], &delivery["attempt"]), (&json!("ENDPOINT_ACCEPTED"), &json!(1)));
    assert_eq!(party.evidence("claimed")?.len(), 1);
    assert_eq!(party.evidence("settled")?.len(), 1);
    assert_eq!(subscriber.challenges(), 1, "a challenge message that is not due asks nothing");
    assert_eq!(subscriber.requests().len(), 3, "decoy, question and delivery");
    Ok(())
}

pub(crate) fn forged_bytes_in_a_message_are_not_sent(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Forged", Contract::Ed25519, |_| Answer::status(200))?;
    let event = event("forged");
    publish_and_lose(world, &party, &event)?;
    world.queue("fresh", &[fresh(&party, &event, Some("{\"id\":\"evt_forged\",\"data\":\"worse\"}"))?])?;
    let delivered = subscriber.wait(1, SOON)?;
    let text = delivered[0].request.text();
    ensure!(text.contains("invoice") && !text.contains("worse"), "{text}");
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    Ok(())
}

pub(crate) fn a_message_that_no_worker_understands_holds_nothing_up(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Garbled", Contract::Ed25519, |_| Answer::status(200))?;
    let unknown = party.id().replace(&party.id()[party.id().len() - 8..], "00000000");
    let due = json!({ "subscription": unknown }).to_string();
    for queue in ["fresh", "retry", "challenge"] {
        world.queue(queue, &["garbage".to_owned(), "{}".to_owned(), "[]".to_owned(), due.clone()])?;
    }
    let event = event("garbled");
    party.publish(&event)?;
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!(subscriber.delivered().len(), 1);
    Ok(())
}

pub(crate) fn a_lost_message_is_repaired_by_the_events_own_timer(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Lost", Contract::Ed25519, |_| Answer::status(200))?;
    let event = event("lost");
    let started = Instant::now();
    publish_and_lose(world, &party, &event)?;
    sleep(QUIET);
    assert_eq!(subscriber.delivered().len(), 0, "the message is lost");
    let path = format!("/v1/deliveries?event={event}");
    let list = expect(party.publisher.api.get(&path)?, &[200], "Reading deliveries")?;
    assert_eq!((&list["items"], &list["planned"]), (&json!([]), &json!([party.id()])));

    let delivery = party.wait_for(&event, "ENDPOINT_ACCEPTED", Duration::from_secs(75))?;
    let took = started.elapsed();
    ensure!(took > Duration::from_secs(55), "It arrived after {took:?}: not by the timer.");
    assert_eq!((&delivery["attempt"], subscriber.delivered().len()), (&json!(1), 1));
    let list = expect(party.publisher.api.get(&path)?, &[200], "Reading deliveries")?;
    let items = list["items"].as_array().context("A list.")?;
    assert_eq!((items.len(), &list["planned"]), (1, &Value::Array(Vec::new())));
    Ok(())
}
