//! What an endpoint's answer does to a delivery.

use crate::parts::{Contract, event, joined, time};
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use hookproof_core::time::Span;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;
use xtask::site::{Answer, Site};

/// How long after its attempt the next one is due.
fn wait_after(delivery: &Value) -> Result<Span> {
    let settled =
        &delivery["attempts"].as_array().and_then(|list| list.last()).context("No attempt.")?["settled"];
    Ok(time(&delivery["next_attempt_at"])? - time(&settled["at"])?)
}

/// Five seconds, shortened by a tenth at most.
fn is_second_wait(wait: Span) -> bool {
    (Span::millis(4500)..=Span::seconds(5)).contains(&wait)
}

pub(crate) fn a_500_is_retried_with_the_same_delivery_and_bytes_and_another_signature(
    world: &World,
) -> Result<()> {
    let (party, subscriber) = joined(world, "Failing once", Contract::Ed25519, |delivered| {
        Answer::status(if delivered.attempt == 1 { 500 } else { 204 })
    })?;
    let event = event("failing_once");
    party.publish(&event)?;
    let failed = party.wait_for(&event, "RETRYABLE", SOON)?;
    assert_eq!(failed["last_failure"], "endpoint.server_error");
    assert_eq!((&failed["last_status"], &failed["attempt"]), (&json!(500), &json!(1)));
    let wait = wait_after(&failed)?;
    ensure!(is_second_wait(wait), "The next attempt is due after {} ms: {failed}", wait.as_millis());

    let accepted = party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!(accepted["delivery_id"], failed["delivery_id"]);
    assert_eq!((&accepted["attempt"], &accepted["last_status"]), (&json!(2), &json!(204)));
    assert_eq!(accepted["application_tier"], "PENDING", "a 2xx says nothing about the application");
    ensure!(accepted["last_failure"].is_null() && accepted["next_attempt_at"].is_null(), "{accepted}");
    ensure!(
        time(&accepted["attempts"][1]["claimed_at"])? >= time(&failed["next_attempt_at"])?,
        "The second attempt came too early: {accepted}"
    );

    let delivered = subscriber.wait(2, SOON)?;
    let [first, second] = delivered.as_slice() else { anyhow::bail!("{} requests", delivered.len()) };
    assert_eq!(first.delivery, second.delivery);
    assert_eq!(first.request.body, second.request.body);
    assert_eq!((first.attempt, second.attempt), (1, 2));
    for field in ["webhook-id", "webhook-subscription", "webhook-generation", "webhook-delivery"] {
        assert_eq!(first.request.field(field), second.request.field(field), "{field}");
    }
    assert_ne!(first.request.field("signature"), second.request.field("signature"));
    assert_ne!(first.request.field("signature-input"), second.request.field("signature-input"));

    let (claims, settled) = (party.evidence("claimed")?, party.evidence("settled")?);
    assert_eq!((claims.len(), settled.len()), (2, 2));
    assert_eq!(
        (&settled[0]["state"], &settled[0]["reason"]),
        (&json!("RETRYABLE"), &json!("endpoint.server_error"))
    );
    assert_eq!(settled[1]["state"], "ENDPOINT_ACCEPTED");
    assert_eq!(claims[0]["payload_commitment"], claims[1]["payload_commitment"]);
    assert_ne!(claims[0]["signature_digest"], claims[1]["signature_digest"]);
    Ok(())
}

pub(crate) fn a_redirect_is_a_dead_letter_and_its_location_is_never_asked(world: &World) -> Result<()> {
    let elsewhere = Site::start(|_| Answer::status(200))?;
    let location = elsewhere.url("/hooks");
    let (party, subscriber) =
        joined(world, "Moved", Contract::Ed25519, move |_| Answer::status(307).with("location", &location))?;
    let event = event("moved");
    party.publish(&event)?;
    let dead = party.wait_for(&event, "DEAD_LETTER", SOON)?;
    assert_eq!(
        (&dead["reason"], &dead["last_failure"]),
        (&json!("redirect_refused"), &json!("redirect_refused"))
    );
    assert_eq!((&dead["last_status"], &dead["attempt"]), (&json!(307), &json!(1)));
    assert_eq!(dead["owner"]["contact"], "billing@example.com", "a dead letter has an owner");
    ensure!(dead["next_attempt_at"].is_null(), "{dead}");
    let settled = party.evidence("settled")?;
    assert_eq!((settled.len(), &settled[0]["reason"]), (1, &json!("redirect_refused")));
    // Longer than the second wait: nothing comes after.
    sleep(Duration::from_secs(6));
    assert_eq!(subscriber.delivered().len(), 1);
    assert_eq!(elsewhere.received().len(), 0, "the Location was asked");
    Ok(())
}

pub(crate) fn every_definite_status_has_its_consequence(world: &World) -> Result<()> {
    // The event's id says what the endpoint answers.
    let (party, subscriber) = joined(world, "Definite", Contract::Ed25519, |delivered| {
        let status =
            delivered.event.as_str().rsplit('_').next().and_then(|it| it.parse().ok()).unwrap_or(200);
        let answer = Answer::status(status);
        if status == 429 { answer.with("retry-after", "3600") } else { answer }
    })?;
    let buried = [
        (302, "redirect_refused"),
        (400, "endpoint.bad_request"),
        (401, "endpoint.forbidden"),
        (403, "endpoint.forbidden"),
        (404, "endpoint.not_found"),
        (422, "endpoint.client_error"),
    ];
    for (status, reason) in buried {
        let event = event(&format!("definite_{status}"));
        party.publish(&event)?;
        let dead = party.wait_for(&event, "DEAD_LETTER", SOON)?;
        assert_eq!((&dead["reason"], &dead["last_status"]), (&json!(reason), &json!(status)));
        assert_eq!(dead["attempt"], 1);
    }
    let event_503 = event("definite_503");
    party.publish(&event_503)?;
    let failed = party.wait_for(&event_503, "RETRYABLE", SOON)?;
    assert_eq!(failed["last_failure"], "endpoint.server_error");

    let event_429 = event("definite_429");
    party.publish(&event_429)?;
    let throttled = party.wait_for(&event_429, "RETRYABLE", SOON)?;
    assert_eq!(throttled["last_failure"], "endpoint.throttled");
    let wish = wait_after(&throttled)?;
    let obeyed = (Span::seconds(3598)..=Span::minutes(60)).contains(&wish);
    ensure!(obeyed, "Retry-After is not obeyed: {throttled}");

    let event_410 = event("definite_410");
    party.publish(&event_410)?;
    let gone = party.wait_for(&event_410, "DEAD_LETTER", SOON)?;
    assert_eq!(gone["reason"], "endpoint.gone");
    assert_eq!(party.publisher.subscription(party.id())?["state"], "SUSPENDED", "410 suspends");
    let count = subscriber.delivered().len();
    let held = event("definite_200");
    party.publish(&held)?;
    let held = party.wait_for(&held, "PLANNED", SOON)?;
    assert_eq!(held["attempt"], 0, "while SUSPENDED an event is planned and not sent");
    assert_eq!(subscriber.delivered().len(), count);
    Ok(())
}

pub(crate) fn an_endpoint_that_does_not_answer_in_time_is_unknown_transport(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Slow", Contract::Ed25519, |delivered| {
        let slow = Duration::from_secs(if delivered.attempt == 1 { 12 } else { 0 });
        Answer::status(200).after(slow)
    })?;
    let event = event("slow");
    party.publish(&event)?;
    let unknown = party.wait_for(&event, "UNKNOWN_TRANSPORT", SOON)?;
    assert_eq!(unknown["last_failure"], "transport.unknown");
    ensure!(unknown["last_status"].is_null() && unknown["attempt"] == 1, "{unknown}");
    let wait = wait_after(&unknown)?;
    ensure!(is_second_wait(wait), "The next attempt is due after {} ms: {unknown}", wait.as_millis());
    let accepted = party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!(accepted["attempt"], 2);
    let delivered = subscriber.wait(2, SOON)?;
    assert_eq!(delivered[0].delivery, delivered[1].delivery);
    assert_eq!(delivered[0].request.body, delivered[1].request.body);
    Ok(())
}
