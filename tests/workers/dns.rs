//! Names that answer otherwise than they should: what is private gets no byte, and what changes is suspended.
//!
//! Names of the public DNS are only used where they are refused before a connection is made.

use crate::parts::{Contract, Party, event};
use crate::subscriber::Subscriber;
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;
use xtask::journey::until;
use xtask::site::Answer;

/// An ACTIVE subscription whose endpoint is reached by the name `localhost`, which the resolver knows.
fn joined_by_name(world: &World, name: &str) -> Result<(Party, Subscriber)> {
    world.names().set("localhost", &["127.0.0.1"]);
    let subscriber = Subscriber::start(|_| Answer::status(200))?;
    let endpoint = subscriber.url().replace("127.0.0.1", "localhost");
    let party = Party::register(world, name, &endpoint, Contract::Ed25519)?;
    subscriber.configure(&party.entry)?;
    party.activate()?;
    Ok((party, subscriber))
}

/// The state of the subscription and the reason of its generation.
fn standing(party: &Party) -> Result<(Value, Value)> {
    let view = party.publisher.subscription(party.id())?;
    Ok((view["state"].clone(), view["generations"][0]["reason"].clone()))
}

pub(crate) fn an_endpoint_that_resolves_to_what_is_not_public_is_never_challenged(
    world: &World,
) -> Result<()> {
    let cases: [(&str, &[&str], &str); 4] = [
        ("private.hookproof-stub.com", &["10.0.0.1"], "endpoint.refused"),
        ("mixed.hookproof-stub.com", &["1.1.1.1", "::ffff:127.0.0.1"], "endpoint.refused"),
        ("translated.hookproof-stub.com", &["64:ff9b::a9fe:a9fe"], "endpoint.refused"),
        ("empty.hookproof-stub.com", &[], "transport.not_sent"),
    ];
    for (name, addresses, reason) in cases {
        world.names().set(name, addresses);
        let party = Party::register(world, name, &format!("https://{name}/hooks"), Contract::None)?;
        party.publisher.challenge(party.id())?;
        let failed = until(SOON, || {
            let view = party.publisher.subscription(party.id())?;
            let failure = view["generations"][0]["last_challenge_failure"].clone();
            Ok(Some(failure).filter(Value::is_string))
        })?;
        assert_eq!(failed.context("No try failed.")?, reason, "{name}");
        assert_eq!(party.publisher.subscription(party.id())?["state"], "PENDING_CHALLENGE");
        ensure!(world.names().asked(name) >= 2, "{name} was not asked for in both families.");
    }
    Ok(())
}

pub(crate) fn a_name_that_turns_private_gets_no_byte_and_is_suspended(world: &World) -> Result<()> {
    let (party, subscriber) = joined_by_name(world, "Turning private")?;
    let first = event("turning_first");
    party.publish(&first)?;
    let accepted = party.wait_for(&first, "ENDPOINT_ACCEPTED", SOON)?;
    let settled = &accepted["attempts"][0]["settled"];
    assert_eq!(settled["lookup"], json!({ "addresses": ["127.0.0.1"] }));
    assert_eq!(settled["assurance"], "PREFLIGHT", "fetch looks it up once more");

    world.names().set("localhost", &["10.0.0.1"]);
    let second = event("turning_second");
    party.publish(&second)?;
    let dead = party.wait_for(&second, "DEAD_LETTER", SOON)?;
    assert_eq!((&dead["reason"], &dead["attempt"]), (&json!("endpoint.refused"), &json!(1)));
    let lookup = json!({ "addresses": ["10.0.0.1"], "detail": "dns_private" });
    assert_eq!(dead["attempts"][0]["settled"]["lookup"], lookup);
    assert_eq!(standing(&party)?, (json!("SUSPENDED"), json!("dns_private")));
    let evidence = party.evidence("settled")?;
    assert_eq!(evidence.last().context("Nothing was settled.")?["lookup"], lookup);

    // Back to what it was: nobody has looked yet.
    world.names().set("localhost", &["127.0.0.1"]);
    let third = event("turning_third");
    party.publish(&third)?;
    assert_eq!(party.wait_for(&third, "PLANNED", SOON)?["attempt"], 0);
    sleep(Duration::from_secs(2));
    assert_eq!(subscriber.delivered().len(), 1, "nothing after the first was sent");
    Ok(())
}

pub(crate) fn a_name_that_points_elsewhere_is_suspended_after_the_attempt(world: &World) -> Result<()> {
    let (party, subscriber) = joined_by_name(world, "Pointing elsewhere")?;
    let first = event("elsewhere_first");
    party.publish(&first)?;
    party.wait_for(&first, "ENDPOINT_ACCEPTED", SOON)?;
    // fetch resolves by itself and still finds 127.0.0.1: the gap that PREFLIGHT names.
    world.names().set("localhost", &["127.0.0.2"]);
    let second = event("elsewhere_second");
    party.publish(&second)?;
    let accepted = party.wait_for(&second, "ENDPOINT_ACCEPTED", SOON)?;
    assert_eq!(accepted["attempts"][0]["settled"]["lookup"], json!({ "addresses": ["127.0.0.2"] }));
    let (state, reason) = standing(&party)?;
    ensure!(state != "ACTIVE", "A changed name is still sent to: {reason}");
    world.names().set("localhost", &["127.0.0.1"]);
    assert_eq!(subscriber.delivered().len(), 2);
    Ok(())
}
