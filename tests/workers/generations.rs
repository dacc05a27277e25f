//! A subscription that moves: two generations serve their own endpoints, and a revocation in the middle of a
//! send is final.

use crate::parts::{Contract, Party, ask, event, joined};
use crate::subscriber::Subscriber;
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use hookproof_core::Reason;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;
use xtask::journey::{text, until};
use xtask::site::Answer;

/// Calls a route of the subscription; its answer must be a 200.
fn change(world: &World, party: &Party, method: &str, rest: &str, body: &Value) -> Result<Value> {
    let url = format!("{}/v1/subscriptions/{}{rest}", world.urls().control, party.id());
    let octets = body.to_string();
    let (status, _, answer) = ask(method, &url, &party.publisher.token, Some(octets.as_bytes()))?;
    ensure!(status == 200, "{method} {rest} was answered {status} {answer}");
    Ok(serde_json::from_str(&answer)?)
}

/// What the receiver of the newest generation has to know.
fn staged_entry(world: &World, party: &Party, changed: &Value) -> Result<Value> {
    let staged = &changed["generations"][0];
    ensure!(staged["generation"] == changed["staged_generation"], "{changed}");
    let secret = text(changed, "secret")?;
    world.conceal("the next generation's secret", &secret);
    let mut entry = party.entry.clone();
    entry["generation"] = staged["generation"].clone();
    entry["public_url"] = staged["endpoint"].clone();
    entry["secret"] = secret.into();
    let keys = staged["keys"].as_array().context("A generation has keys.")?;
    let key =
        |key: &Value| json!({ "key_id": key["key_id"], "alg": key["alg"], "public_key": key["public_key"] });
    entry["keys"] = keys.iter().map(key).collect();
    Ok(entry)
}

fn states(party: &Party) -> Result<Vec<Value>> {
    let view = party.publisher.subscription(party.id())?;
    let generations = view["generations"].as_array().context("A subscription has generations.")?;
    Ok(generations.iter().map(|generation| generation["state"].clone()).collect())
}

fn ids(subscriber: &Subscriber) -> Vec<String> {
    subscriber.delivered().iter().map(|it| it.event.to_string()).collect()
}

pub(crate) fn each_generation_is_sent_to_its_own_endpoint(world: &World) -> Result<()> {
    let (party, old) = joined(world, "Moving", Contract::Ed25519, |it| {
        Answer::status(if it.attempt == 1 { 503 } else { 200 })
    })?;
    let (waiting, fresh) = (event("moving_old"), event("moving_new"));
    party.publish(&waiting)?;
    party.wait_for(&waiting, "RETRYABLE", SOON)?;

    let new = Subscriber::start(|_| Answer::status(200))?;
    let changed = change(world, &party, "PATCH", "", &json!({ "endpoint": new.url() }))?;
    new.configure(&staged_entry(world, &party, &changed)?)?;
    assert_eq!(
        states(&party)?,
        ["PENDING_CHALLENGE", "ACTIVE"],
        "the old one serves until the new is proved"
    );
    party.publisher.challenge(party.id())?;
    let moved = until(SOON, || Ok(Some(states(&party)?).filter(|it| *it == ["ACTIVE", "DRAINING"])))?;
    moved.with_context(|| format!("It did not move: {:?}", states(&party)))?;

    party.publish(&fresh)?;
    party.wait_for(&fresh, "ENDPOINT_ACCEPTED", SOON)?;
    party.wait_for(&waiting, "ENDPOINT_ACCEPTED", Duration::from_secs(60))?;
    assert_eq!(ids(&old), [waiting.clone(), waiting.clone()], "what was registered runs out where it began");
    assert_eq!(ids(&new), std::slice::from_ref(&fresh), "the new endpoint hears of nothing older");
    // The decoy of its one challenge, and nothing else.
    for subscriber in [&old, &new] {
        assert_eq!(subscriber.refused(), [Reason::DigestMismatch], "each verified whatever it got");
    }
    assert_eq!(party.delivery(&waiting)?["generation"], 1);
    assert_eq!(party.delivery(&fresh)?["generation"], 2);
    Ok(())
}

pub(crate) fn a_revocation_in_the_middle_of_a_send_is_final(world: &World) -> Result<()> {
    // Known only after the registration, and needed while an attempt is on the wire.
    let revocation: Arc<Mutex<Option<(String, String)>>> = Arc::default();
    let wanted = Arc::clone(&revocation);
    let (party, subscriber) = joined(world, "Revoked", Contract::Ed25519, move |_| {
        let known = wanted.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        let revoked = known.map(|(url, token)| ask("DELETE", &url, &token, None));
        match revoked {
            Some(Ok((200, _, _))) => Answer::status(503),
            // Shows as an acceptance, which the fact does not expect.
            Some(Ok(_) | Err(_)) | None => Answer::status(200),
        }
    })?;
    let url = format!("{}/v1/subscriptions/{}", world.urls().control, party.id());
    *revocation.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
        Some((url, party.publisher.token.clone()));
    let (flying, late) = (event("revoked_flying"), event("revoked_late"));
    party.publish(&flying)?;
    let buried = party.wait_for(&flying, "DEAD_LETTER", SOON)?;
    assert_eq!((&buried["reason"], &buried["attempt"]), (&"generation.revoked".into(), &1.into()));
    assert_eq!(buried["last_status"], 503, "and what came of the one on the wire is told");
    let published = party.publish(&late)?;
    assert_eq!(published["duplicate"], false);
    sleep(Duration::from_secs(8));
    assert_eq!(ids(&subscriber), [flying], "longer than its retry would have taken");
    ensure!(party.publisher.delivery(party.id(), &late)?.is_none(), "Nothing is planned any more.");
    let view = party.publisher.subscription(party.id())?;
    assert_eq!((&view["state"], &view["generation"]), (&"REVOKED".into(), &2.into()));
    Ok(())
}

pub(crate) fn a_pause_holds_what_comes_and_a_resume_lets_it_flow_after_a_challenge(
    world: &World,
) -> Result<()> {
    let (party, subscriber) = joined(world, "Paused", Contract::Ed25519, |_| Answer::status(200))?;
    let paused = change(world, &party, "POST", "/pause", &json!({}))?;
    assert_eq!(
        (&paused["state"], &paused["generations"][0]["reason"]),
        (&"SUSPENDED".into(), &"operator".into())
    );
    let held = event("paused");
    party.publish(&held)?;
    party.wait_for(&held, "PLANNED", SOON)?;
    sleep(Duration::from_secs(3));
    ensure!(subscriber.delivered().is_empty(), "Nothing is sent while it is paused.");
    change(world, &party, "POST", "/resume", &json!({}))?;
    party.wait_for(&held, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!((ids(&subscriber), subscriber.challenges()), (vec![held], 2));
    Ok(())
}
