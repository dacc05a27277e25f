//! The whole life of a webhook through the built components, and who may ask for a tick.

mod world;

use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};
use xtask::journey::SOURCE;

use world::{LIMIT, TICK, World, applying};

fn confirmed(delivery: &Value) -> bool {
    delivery["state"] == "APPLICATION_CONFIRMED"
}

/// No tick from outside: what each request leaves to do is asked for by the components themselves.
#[test]
fn a_webhook_is_delivered_and_confirmed() -> Result<()> {
    let begun = Instant::now();
    let world = World::start()?;
    println!("loaded after {:?}", begun.elapsed());
    let application = applying()?;
    let publisher = world.publisher("Path")?;
    let subscription = world.activate(&publisher, None, &application)?;
    println!("ACTIVE after {:?}", begun.elapsed());
    let published = Instant::now();
    let answer = publisher.publish("evt_spin_1", "invoice.paid", &json!({ "amount": 9900 }))?;
    println!("accepted after {:?}", published.elapsed());
    let delivery = publisher.wait_for(&subscription.id, "evt_spin_1", LIMIT, confirmed)?;
    println!("APPLICATION_CONFIRMED after {:?}", published.elapsed());
    assert_eq!(delivery["application_tier"], "APPLIED");
    let again = publisher.publish("evt_spin_1", "invoice.paid", &json!({ "amount": 9900 }))?;
    assert_eq!((&again["duplicate"], &again["payload_digest"]), (&json!(true), &answer["payload_digest"]));
    let (entries, _) = publisher.evidence(&subscription.id)?;
    for entry in &entries {
        println!("{entry}");
    }
    let assurance = entries.iter().find(|entry| entry["what"] == "settled").map(|entry| &entry["assurance"]);
    assert_eq!(assurance, Some(&json!("PREFLIGHT")));
    let (_, inbox) = world.receiver().get(&format!("/receiver/inbox?source={SOURCE}"))?;
    assert!(inbox.to_string().contains("evt_spin_1"), "{inbox}");
    assert_eq!(application.received().len(), 1);
    assert_eq!(world.server().app().traps(), 0);
    Ok(())
}

#[test]
fn a_tick_is_for_those_who_have_the_token() -> Result<()> {
    let world = World::start()?;
    assert_eq!(world.api("").post("/internal/tick", &json!({}))?.0, 401);
    assert_eq!(world.api("another").post("/internal/tick", &json!({}))?.0, 401);
    assert_eq!(world.api(TICK).get("/internal/tick")?.0, 405);
    let done = world.tick()?;
    assert_eq!(
        (&done["fresh"], &done["challenge"], &done["work"]),
        (&json!(0), &json!(0), &json!(0)),
        "{done}"
    );
    // challenge has no route from outside, and of receiver's paths the tick is none.
    assert_eq!(world.api(TICK).post("/", &json!({}))?.0, 404);
    assert_eq!(world.api(TICK).post("/receiver/internal/tick", &json!({}))?.0, 401);
    assert_eq!(world.api("").get("/v1/health")?.0, 200);
    assert_eq!(world.api("").get("/receiver/health")?.0, 200);
    Ok(())
}
