//! The main path: registered, proved, published, sent, stored, handled, confirmed.

use crate::parts::{Contract, Party, check_chain, event, joined};
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use xtask::site::{Answer, Site};

pub(crate) fn one_event_goes_from_post_to_application_confirmed(world: &World) -> Result<()> {
    let handler = Site::start(|request| {
        Answer::json(200, &json!({ "operation_id": format!("op-{}", request.field("webhook-id")) }))
    })?;
    let endpoint = format!("{}/in/path", world.urls().receiver);
    let party = Party::register(world, "Path", &endpoint, Contract::Ed25519)?;
    let before = party.publisher.subscription(party.id())?;
    assert_eq!(before["state"], "PENDING_CHALLENGE");
    party.receive(world, "path", &handler)?;

    let event = event("path");
    let published = party.publish(&event)?;
    assert_eq!((&published["duplicate"], &published["subscriptions"]), (&json!(false), &json!(1)));
    let delivery = party.wait_for(&event, "APPLICATION_CONFIRMED", SOON)?;
    assert_eq!(delivery["basis"], "http_2xx");
    assert_eq!(delivery["application_tier"], "APPLIED");
    assert_eq!(delivery["application"]["assurance"], "third_party");
    assert_eq!(delivery["application"]["operation_id"], format!("op-{event}"));
    assert_eq!(delivery["attempt"], 1);
    assert_eq!(delivery["payload_digest"], published["payload_digest"]);
    ensure!(delivery["next_attempt_at"].is_null() && delivery["last_failure"].is_null(), "{delivery}");

    let handled = handler.received();
    assert_eq!(handled.len(), 1, "the handler is called once");
    let call = handled.first().context("The handler was called.")?;
    ensure!(call.text().contains(&event) && !call.field("idempotency-key").is_empty(), "{call:?}");

    let (entries, bundle) = party.publisher.evidence(party.id())?;
    check_chain(&bundle)?;
    let story: Vec<&str> = entries.iter().filter_map(|entry| entry["what"].as_str()).collect();
    let expected = [
        "registered",
        "challenge_issued",
        "challenge_judged",
        "generation_state",
        "claimed",
        "settled",
        "receipt",
    ];
    assert_eq!(story, expected);
    let (claimed, settled, receipt) = (&entries[4], &entries[5], &entries[6]);
    assert_eq!(claimed["signature_digest"], delivery["attempts"][0]["signature_digest"]);
    ensure!(
        claimed["signature_input"].as_str().is_some_and(|it| it.contains("tag=\"hookproof-delivery-v1\"")),
        "{claimed}"
    );
    assert_eq!(
        (&settled["state"], &settled["outcome"]["status"]),
        (&json!("ENDPOINT_ACCEPTED"), &json!(200))
    );
    assert_eq!(receipt["state"], "APPLICATION_CONFIRMED");
    assert_eq!(receipt["assurance"], "third_party");
    Ok(())
}

pub(crate) fn an_hmac_subscription_is_confirmed_as_mutual(world: &World) -> Result<()> {
    let handler = Site::start(|_| Answer::status(204))?;
    let endpoint = format!("{}/in/mutual", world.urls().receiver);
    let party = Party::register(world, "Mutual", &endpoint, Contract::Hmac)?;
    party.receive(world, "mutual", &handler)?;
    let event = event("mutual");
    party.publish(&event)?;
    let delivery = party.wait_for(&event, "APPLICATION_CONFIRMED", SOON)?;
    assert_eq!(delivery["application"]["assurance"], "mutual", "never proof to a third party");
    assert_eq!(party.evidence("receipt")?.len(), 1);
    assert_eq!(handler.received().len(), 1);
    Ok(())
}

pub(crate) fn without_a_receipt_contract_the_application_tier_is_unobservable(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Silent", Contract::None, |_| Answer::status(200))?;
    let event = event("silent");
    party.publish(&event)?;
    let delivery = party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!(delivery["application_tier"], "UNOBSERVABLE");
    assert_eq!(subscriber.wait(1, SOON)?.len(), 1);
    Ok(())
}
