//! A receipt counts once, only under its key, only for what was received; a contradiction is kept apart.

use crate::parts::{Contract, Party, event, joined};
use crate::subscriber::{Delivered, receipt, send, signed};
use crate::world::{SOON, World, now};
use anyhow::{Context, Result, ensure};
use hookproof_core::digest::Digest;
use hookproof_core::id::{DeliveryId, IdKey, SubscriptionId};
use hookproof_core::receipt::{Receipt, ReceiptResult};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{SigningKey, profile};
use serde_json::{Value, json};
use xtask::api::Api;
use xtask::journey::text;
use xtask::secrets::Secrets;
use xtask::site::Answer;

/// A party whose event was accepted, and what it received.
fn accepted(world: &World, name: &str, contract: Contract) -> Result<(Party, String, Delivered)> {
    let (party, subscriber) = joined(world, name, contract, |_| Answer::status(200))?;
    let event = event(&name.to_lowercase());
    party.publish(&event)?;
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    let delivered = subscriber.wait(1, SOON)?.into_iter().next().context("It arrived.")?;
    Ok((party, event, delivered))
}

pub(crate) fn a_receipt_counts_once_and_a_contradiction_is_kept_apart(world: &World) -> Result<()> {
    let (party, event, delivered) = accepted(world, "Receipts", Contract::Ed25519)?;
    let (status, body) = party.confirm(&delivered, "op-1", ReceiptResult::Applied)?;
    assert_eq!((status, &body["receipt"]), (200, &json!("confirmed")));
    assert_eq!(body["state"], "APPLICATION_CONFIRMED");
    let confirmed = party.delivery(&event)?;
    assert_eq!(
        (&confirmed["state"], &confirmed["basis"]),
        (&json!("APPLICATION_CONFIRMED"), &json!("http_2xx"))
    );

    let (status, body) = party.confirm(&delivered, "op-1", ReceiptResult::Applied)?;
    assert_eq!((status, &body["receipt"]), (200, &json!("duplicate")));

    let (status, body) = party.confirm(&delivered, "op-2", ReceiptResult::Applied)?;
    assert_eq!(
        (status, &body),
        (409, &json!({ "receipt": "quarantined", "reason": "receipt.second_effect" }))
    );
    let (status, body) = party.confirm(&delivered, "op-1", ReceiptResult::Rejected)?;
    assert_eq!((status, &body["reason"]), (409, &json!("receipt.conflict")), "another result");
    let other_bytes = Delivered { payload_digest: Digest::of(b"other"), ..delivered };
    let (status, body) = party.confirm(&other_bytes, "op-1", ReceiptResult::Applied)?;
    assert_eq!((status, &body["reason"]), (409, &json!("receipt.conflict")), "another payload");

    assert_eq!(party.delivery(&event)?, confirmed, "nothing is overwritten");
    assert_eq!(party.evidence("receipt")?.len(), 1);
    let conflicts = party.evidence("receipt_conflict")?;
    let reasons: Vec<&Value> = conflicts.iter().map(|entry| &entry["reason"]).collect();
    assert_eq!(reasons, ["receipt.second_effect", "receipt.conflict", "receipt.conflict"]);
    Ok(())
}

/// Receipts that name an existing delivery, one that never was, and subscriptions that never were.
fn targets(world: &World, genuine: &Receipt) -> Result<Vec<(&'static str, Receipt)>> {
    let other_event = "evt_never".parse().map_err(|fault| anyhow::anyhow!("{fault}"))?;
    let (tenant, environment) = (&genuine.tenant, genuine.environment);
    let delivery_id = DeliveryId::of(tenant, environment, &genuine.subscription_id, &other_event, now());
    let id_key = IdKey::new(Secrets::open(world.state())?.get("ID_KEY")?.as_bytes());
    let minted = SubscriptionId::mint(&id_key, now(), [7; 10]);
    let made_up = SubscriptionId::mint(&IdKey::new(b"guess"), now(), [7; 10]);
    Ok(vec![
        ("an existing delivery", genuine.clone()),
        ("a delivery that never was", Receipt { delivery_id, event_id: other_event, ..genuine.clone() }),
        ("a subscription that never was", Receipt { subscription_id: minted, ..genuine.clone() }),
        ("a made-up subscription", Receipt { subscription_id: made_up, ..genuine.clone() }),
        ("another attempt", Receipt { attempt: 2, ..genuine.clone() }),
    ])
}

pub(crate) fn a_receipt_without_the_key_changes_nothing_and_learns_nothing(world: &World) -> Result<()> {
    let (party, event, delivered) = accepted(world, "Stranger", Contract::Ed25519)?;
    let (silent, _, silent_delivered) = accepted(world, "Mute", Contract::None)?;
    let (key, key_id) = party.receipt_key()?;
    let forger = SigningKey::ed25519(&Secret::new([9; 32]));
    let url = text(&party.subscription.registered, "receipts_url")?;
    let genuine = receipt(&party.as_entry()?, &delivered, "op", ReceiptResult::Applied);
    let unbound = receipt(&silent.as_entry()?, &silent_delivered, "op", ReceiptResult::Applied);
    let before = (party.delivery(&event)?, party.publisher.evidence(party.id())?);

    let mut targets = targets(world, &genuine)?;
    targets.push(("a subscription without receipts", unbound));
    let mut seen: Vec<(&str, &str, u16, Value)> = Vec::new();
    for (target, it) in &targets {
        let mut add = |how, (status, body)| seen.push((how, target, status, body));
        add("forged", send(&url, it, &forger, &key_id, 0)?);
        add("forged, unknown key", send(&url, it, &forger, "somebody-elses-key", 0)?);
        add("forged, expired", send(&url, it, &forger, &key_id, 400)?);
        let body = it.to_bytes();
        let fields = [("content-type".to_owned(), "application/json".to_owned())];
        add("unsigned", Api::new(&url, "").post_raw("", &fields, &body)?);
        // The tag of another kind of message.
        let lines = signed(&profile::RECEIPT, &url, &[], &body, (&key_id, &forger), 0)?;
        let retagged: Vec<_> = lines
            .into_iter()
            .map(|(name, value)| (name, value.replace("hookproof-receipt-v1", "hookproof-delivery-v1")))
            .collect();
        add("tagged otherwise", Api::new(&url, "").post_raw("", &retagged, &body)?);
    }
    let odd: Vec<String> = seen
        .iter()
        .filter(|(_, _, status, body)| *status != 401 || *body != seen[0].3)
        .map(|(how, target, status, body)| format!("{how}, for {target}: {status} {body}"))
        .collect();
    ensure!(odd.is_empty(), "A stranger can tell these apart from 401 {}:\n{}", seen[0].3, odd.join("\n"));

    // Also the right key is good for nothing but what it received.
    for (what, it) in
        targets.iter().filter(|(what, _)| what.contains("subscription") || what.contains("attempt"))
    {
        let (status, body) = send(&url, it, &key, &key_id, 0)?;
        ensure!(status == 401, "{what}, under the key of another: {status} {body}");
    }
    let guessed = Receipt { delivery_signature_digest: Digest::of(b"guess"), ..genuine.clone() };
    assert_eq!(send(&url, &guessed, &key, &key_id, 0)?.0, 401, "the signature of the attempt is not known");
    let stale = send(&url, &genuine, &key, &key_id, 400)?;
    ensure!((400..=401).contains(&stale.0), "an expired receipt: {stale:?}");
    let after = (party.delivery(&event)?, party.publisher.evidence(party.id())?);
    assert_eq!(after, before, "nothing has changed");
    assert_eq!(before.0["application_tier"], "PENDING");

    assert_eq!(send(&url, &genuine, &key, &key_id, 0)?.0, 200, "the genuine one still counts");
    Ok(())
}

pub(crate) fn a_rejection_is_never_a_confirmation(world: &World) -> Result<()> {
    let (party, event, delivered) = accepted(world, "Rejecting", Contract::Ed25519)?;
    let (status, body) = party.confirm(&delivered, "op-1", ReceiptResult::Rejected)?;
    assert_eq!((status, &body["state"]), (200, &json!("ENDPOINT_ACCEPTED")));
    let delivery = party.delivery(&event)?;
    assert_eq!(
        (&delivery["state"], &delivery["application_tier"]),
        (&json!("ENDPOINT_ACCEPTED"), &json!("REJECTED"))
    );
    let (status, body) = party.confirm(&delivered, "op-1", ReceiptResult::Applied)?;
    assert_eq!(
        (status, &body["reason"]),
        (409, &json!("receipt.conflict")),
        "no change of mind without a replay"
    );
    assert_eq!(party.delivery(&event)?, delivery);
    Ok(())
}
