//! Publishing is idempotent by id and content, and nothing touches what was written.

use crate::parts::{Contract, Party, ask, event, joined};
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use hookproof_core::digest::Digest;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;
use xtask::site::{Answer, Site};

pub(crate) fn the_same_again_is_a_duplicate_and_other_content_a_conflict(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Again", Contract::Ed25519, |_| Answer::status(200))?;
    let event = event("again");
    let publish = |data: &str, version: &str| {
        let body = format!(
            "{{\"id\":\"{event}\",\"type\":\"invoice.paid\",\"api_version\":\"{version}\",\"data\":{data}}}"
        );
        let url = format!("{}/v1/events", world.urls().control);
        let (status, kind, text) = ask("POST", &url, &party.publisher.token, Some(body.as_bytes()))?;
        anyhow::Ok((status, kind, serde_json::from_str::<Value>(&text)?))
    };
    let data = "{\"invoice\":\"in_1\",\"amount\":9900}";
    let (status, _, first) = publish(data, "2026-01")?;
    assert_eq!((status, &first["duplicate"], &first["subscriptions"]), (202, &json!(false), &json!(1)));
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    let (status, _, again) = publish(data, "2026-01")?;
    assert_eq!((status, &again["duplicate"], &again["subscriptions"]), (200, &json!(true), &json!(0)));
    assert_eq!(
        (&again["payload_digest"], &again["accepted_at"]),
        (&first["payload_digest"], &first["accepted_at"])
    );
    for (data, version) in [("{}", "2026-01"), (&*data.replace(':', ": "), "2026-01"), (data, "2026-02")] {
        let (status, kind, problem) = publish(data, version)?;
        assert_eq!((status, kind.as_str()), (409, "application/problem+json"), "{problem}");
        assert_eq!((&problem["reason"], &problem["field"]), (&json!("event.conflict"), &json!("id")));
    }
    sleep(Duration::from_secs(2));
    assert_eq!(subscriber.delivered().len(), 1, "there is no second delivery");
    assert_eq!(party.delivery(&event)?["payload_digest"], first["payload_digest"]);
    assert_eq!(party.evidence("claimed")?.len(), 1);
    Ok(())
}

/// Everything that a careless reader would write differently.
const ODD: &str = "{ \"money\" : 1.10,\n\t\"zero\":-0, \"exp\":1E5, \"tiny\":0.1e-7, \"one\":1.0,\
    \"big\":123456789012345678901234567890, \"raw\":\"é漢字😀\u{2028}\u{7f}\", \"escaped\":\"\\u00e9\\ud83d\\ude00\\/\\u0000\",\
    \"__proto__\":{\"\":[ ]}, \"z\":1,\"a\":null }";

pub(crate) fn every_octet_of_data_arrives_as_it_was_written(world: &World) -> Result<()> {
    let handler = Site::start(|_| Answer::status(200))?;
    let endpoint = format!("{}/in/octets", world.urls().receiver);
    let through = Party::register(world, "Octets", &endpoint, Contract::Ed25519)?;
    through.receive(world, "octets", &handler)?;
    // A string with every kind of octet in it; far more than a message carries, and never cut at a character.
    let large = format!("{{\"large\":\"{}\"}}", "0123456789 é漢😀\\n".repeat(200 * 1024 / 22));
    ensure!(large.len() > 195 * 1024 && large.len() < 256 * 1024, "{} octets", large.len());
    for (name, data) in [("odd", ODD), ("large", &large), ("text", "\"\""), ("null", "null"), ("list", "[ ]")]
    {
        let event = event(&format!("octets_{name}"));
        let body = format!(
            "{{\"data\":{data},\"type\":\"invoice.paid\",\"id\":\"{event}\",\"api_version\":\"2026-01\"}}"
        );
        let url = format!("{}/v1/events", world.urls().control);
        let (status, _, answer) = ask("POST", &url, &through.publisher.token, Some(body.as_bytes()))?;
        ensure!(status == 202, "{name}: {status} {answer}");
        let published: Value = serde_json::from_str(&answer)?;
        let delivery = through.wait_for(&event, "APPLICATION_CONFIRMED", SOON).context(name)?;
        assert_eq!(delivery["payload_digest"], published["payload_digest"], "{name}");
        let calls = handler.received();
        let call =
            calls.iter().find(|call| call.field("webhook-id") == event).context("The handler was called.")?;
        assert_eq!(json!(Digest::of(&call.body)), published["payload_digest"], "{name}");
        ensure!(call.body.ends_with(format!(",\"data\":{data}}}").as_bytes()), "{name}: {}", call.text());
    }
    Ok(())
}
