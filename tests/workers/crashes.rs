//! What was committed survives whatever happens to the processes.

use crate::parts::{Contract, Party, event, joined};
use crate::world::{SOON, World};
use anyhow::{Result, ensure};
use hookproof_core::receipt::ReceiptResult;
use serde_json::json;
use std::time::Duration;
use xtask::site::{Answer, Site};
use xtask::stack::Host;

/// The lease of one claim, and a little more.
const LEASE: Duration = Duration::from_secs(30);

pub(crate) fn a_worker_killed_between_claim_and_settle_leaves_an_unknown_that_is_retried(
    world: &World,
) -> Result<()> {
    let (party, subscriber) = joined(world, "Killed", Contract::Ed25519, |delivered| {
        let slow = Duration::from_secs(if delivered.attempt == 1 { 8 } else { 0 });
        Answer::status(200).after(slow)
    })?;
    let event = event("killed");
    party.publish(&event)?;
    subscriber.wait(1, SOON)?;
    world.with_stack(|stack| {
        stack.kill(Host::Sender);
        stack.restart(Host::Sender)
    })?;
    let during = party.delivery(&event)?;
    assert_eq!(
        (&during["state"], &during["attempt"]),
        (&json!("DISPATCHING"), &json!(1)),
        "the claim is durable"
    );

    ensure!(!during.to_string().contains("lease"), "Whoever knows a lease can settle: {during}");
    let unknown = party.wait_for(&event, "UNKNOWN_TRANSPORT", LEASE)?;
    assert_eq!(unknown["last_failure"], "transport.worker_lost");
    assert_eq!(unknown["attempt"], 1);
    assert_eq!(unknown["attempts"][0]["settled"]["outcome"]["kind"], "unknown");
    ensure!(unknown["next_attempt_at"].is_string() && unknown["last_status"].is_null(), "{unknown}");

    let accepted = party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!(accepted["delivery_id"], during["delivery_id"]);
    assert_eq!(accepted["attempt"], 2);
    let delivered = subscriber.wait(2, SOON)?;
    assert_eq!(delivered.len(), 2);
    assert_eq!(delivered[0].delivery, delivered[1].delivery);
    assert_eq!(delivered[0].request.body, delivered[1].request.body);
    assert_eq!((delivered[0].attempt, delivered[1].attempt), (1, 2));

    let (claims, settled) = (party.evidence("claimed")?, party.evidence("settled")?);
    assert_eq!((claims.len(), settled.len()), (2, 2), "evidence keeps both attempts");
    assert_eq!(
        (&settled[0]["attempt"], &settled[0]["state"], &settled[0]["reason"]),
        (&json!(1), &json!("UNKNOWN_TRANSPORT"), &json!("transport.worker_lost"))
    );
    assert_eq!((&settled[1]["attempt"], &settled[1]["state"]), (&json!(2), &json!("ENDPOINT_ACCEPTED")));
    Ok(())
}

/// Nobody asks for the delivery meanwhile: the timer alone has to know whose it is.
pub(crate) fn a_timer_does_its_work_although_it_fires_first_after_a_restart(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Overdue", Contract::Ed25519, |delivered| {
        Answer::status(if delivered.attempt == 1 { 500 } else { 200 })
    })?;
    let event = event("overdue");
    party.publish(&event)?;
    party.wait_for(&event, "RETRYABLE", SOON)?;
    world.with_stack(|stack| {
        stack.kill(Host::Sender);
        stack.restart(Host::Sender)
    })?;
    let delivered = subscriber.wait(2, SOON)?;
    assert_eq!((delivered[1].attempt, &delivered[1].delivery), (2, &delivered[0].delivery));
    assert_eq!(party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?["attempt"], 2);
    Ok(())
}

/// Nobody has called the subscription's authority since: the receipt alone has to wake it.
pub(crate) fn a_receipt_is_taken_although_it_comes_first_after_a_restart(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Restarted", Contract::Ed25519, |_| Answer::status(200))?;
    let event = event("restarted");
    party.publish(&event)?;
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    let delivered = subscriber.wait(1, SOON)?;
    world.with_stack(|stack| stack.restart(Host::Sender))?;
    let (status, body) = party.confirm(&delivered[0], "op", ReceiptResult::Applied)?;
    ensure!(status == 200, "The receipt was answered {status}: {body}");
    assert_eq!(party.delivery(&event)?["state"], "APPLICATION_CONFIRMED");
    Ok(())
}

pub(crate) fn everything_survives_a_restart_of_all_hosts(world: &World) -> Result<()> {
    let handler = Site::start(|_| Answer::status(200))?;
    let endpoint = format!("{}/in/restart", world.urls().receiver);
    let party = Party::register(world, "Restart", &endpoint, Contract::Ed25519)?;
    party.receive(world, "restart", &handler)?;
    let before = event("before_restart");
    party.publish(&before)?;
    let confirmed = party.wait_for(&before, "APPLICATION_CONFIRMED", SOON)?;
    let (_, evidence) = party.publisher.evidence(party.id())?;

    world.with_stack(|stack| Host::ALL.into_iter().try_for_each(|host| stack.restart(host)))?;
    assert_eq!(party.publisher.subscription(party.id())?["state"], "ACTIVE");
    assert_eq!(party.delivery(&before)?, confirmed);
    assert_eq!(party.publisher.evidence(party.id())?.1, evidence);
    let again = party.publish(&before)?;
    assert_eq!(again["duplicate"], true, "also what was published is remembered");

    let after = event("after_restart");
    party.publish(&after)?;
    party.wait_for(&after, "APPLICATION_CONFIRMED", SOON)?;
    assert_eq!(handler.received().len(), 2);
    Ok(())
}
