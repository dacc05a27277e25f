//! The addresses of an endpoint's name are remembered with its generation, and what they turn into
//! suspends it in the commit that records the attempt.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use std::net::IpAddr;

use hookproof_authority::subscription::{
    AskAuthority, ChallengeOutcome, Claimed, SettleItem, Standing, Wake,
};
use hookproof_core::Reason;
use hookproof_core::endpoint::{AddressRefusal, EndpointRefusal, Lookup};
use hookproof_core::ledger::Outcome;
use hookproof_core::time::Span;
use serde_json::{Value, json};
use support::ledger::{answered, settlement};
use support::party::ok;
use support::{Party, Setup, World, now};

fn lookup(list: &[&str]) -> Lookup {
    let addresses: Vec<IpAddr> = list.iter().map(|text| text.parse().unwrap()).collect();
    Lookup::of(&addresses)
}

/// A subscription that was activated at these addresses.
fn active_at(list: &[&str]) -> (World, Party) {
    let world = World::new();
    let party = world.register(Setup::default());
    now(world.objects.request_challenge(&party.id)).unwrap();
    let request = world.issue(&party).unwrap();
    let proof = party.answer(&world, &request);
    let judged =
        world.objects.judge_challenge(&party.id, request.challenge_id.clone(), ok(&proof), lookup(list));
    assert_eq!(now(judged), Ok(None));
    (world, party)
}

fn settle(world: &World, party: &Party, claimed: &Claimed, outcome: Outcome, lookup: Lookup) -> Standing {
    let item = SettleItem { lookup, ..settlement(claimed, outcome) };
    now(world.objects.settle(&party.id, vec![item])).unwrap().pop().unwrap()
}

fn deliver(world: &World, party: &Party, event: &str, list: &[&str]) -> Standing {
    let claimed = world.claim(party, event);
    settle(world, party, &claimed, answered(200), lookup(list))
}

fn standing(world: &World, party: &Party) -> (String, String) {
    let view = world.view(party);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&view["state"]), text(&view["generations"][0]["reason"]))
}

fn generation_row(world: &World) -> String {
    format!("{:?}", world.disk.dump()["generation"])
}

#[test]
fn the_proof_begins_the_history_and_the_same_answer_writes_nothing_more() {
    let (world, party) = active_at(&["1.1.1.1", "1.0.0.1"]);
    let begun = generation_row(&world);
    assert!(begun.contains("1.0.0.1"), "{begun}");
    let revision = world.view(&party)["revision"].clone();
    assert_eq!(deliver(&world, &party, "evt-1", &["1.0.0.1", "1.1.1.1"]).state, "ENDPOINT_ACCEPTED");
    assert_eq!(deliver(&world, &party, "evt-2", &["1.1.1.1"]).state, "ENDPOINT_ACCEPTED");
    assert_eq!(generation_row(&world), begun);
    deliver(&world, &party, "evt-3", &["1.1.1.1", "8.8.8.8"]);
    assert!(generation_row(&world).contains("8.8.8.8"));
    assert_eq!(world.view(&party)["revision"], revision, "nothing that is shown has changed");
    assert_eq!(deliver(&world, &party, "evt-4", &["8.8.8.8"]).state, "ENDPOINT_ACCEPTED");
    assert_eq!(standing(&world, &party).0, "ACTIVE");
}

#[test]
fn a_host_that_shows_no_address_suspends_nothing() {
    let (world, party) = active_at(&["1.1.1.1"]);
    deliver(&world, &party, "evt-1", &[]);
    let claimed = world.claim(&party, "evt-2");
    assert_eq!(settle(&world, &party, &claimed, Outcome::NotSent, Lookup::unresolved()).state, "RETRYABLE");
    assert_eq!(standing(&world, &party).0, "ACTIVE");
}

#[test]
fn a_private_answer_buries_the_delivery_suspends_the_generation_and_asks_nobody() {
    for (why, code) in [
        (EndpointRefusal::DnsPrivate(AddressRefusal::V4PrivateUse), "dns_private"),
        (EndpointRefusal::DnsMixed(AddressRefusal::V4PrivateUse), "dns_mixed"),
    ] {
        let (world, party) = active_at(&["1.1.1.1"]);
        let (one, two) = (world.claim(&party, "evt-1"), world.claim(&party, "evt-2"));
        let seq = world.history(&party).len();
        let refused = lookup(&["1.1.1.1", "10.0.0.1"]).refused(why);
        let standing_now = settle(&world, &party, &one, Outcome::Refused, refused.clone());
        assert_eq!(standing_now.state, "DEAD_LETTER");
        assert_eq!(standing(&world, &party), ("SUSPENDED".into(), "dns_private".into()));
        let added = world.history(&party)[seq..].to_vec();
        let kinds: Vec<&Value> = added.iter().map(|entry| &entry["what"]).collect();
        assert_eq!(kinds, ["settled", "generation_state"]);
        assert_eq!(added[0]["lookup"], json!({ "addresses": ["10.0.0.1", "1.1.1.1"], "detail": code }));
        settle(&world, &party, &two, Outcome::Refused, refused);
        assert_eq!(world.history(&party).len(), seq + 3, "suspended once");
        assert_eq!(world.alarm(party.id.as_str()), None, "no challenge is due");
    }
}

#[test]
fn another_address_lets_the_attempt_stand_suspends_and_is_challenged_at_once() {
    let (world, party) = active_at(&["1.1.1.1"]);
    let (one, two) = (world.claim(&party, "evt-1"), world.claim(&party, "evt-2"));
    let seq = world.history(&party).len();
    let settled = settle(&world, &party, &one, answered(200), lookup(&["8.8.8.8"]));
    assert_eq!(settled.state, "ENDPOINT_ACCEPTED");
    let added = world.history(&party)[seq..].to_vec();
    let told: Vec<(&Value, &Value)> =
        added[1..].iter().map(|entry| (&entry["state"], &entry["reason"])).collect();
    let changed = json!("dns_changed");
    assert_eq!(told, [(&json!("SUSPENDED"), &changed), (&json!("PENDING_CHALLENGE"), &changed)]);
    assert_eq!(standing(&world, &party), ("PENDING_CHALLENGE".into(), "dns_changed".into()));
    assert!(!generation_row(&world).contains("8.8.8.8"), "a stranger is not learned");
    assert_eq!(world.alarm(party.id.as_str()), Some(world.now()), "at once");
    settle(&world, &party, &two, answered(200), lookup(&["8.8.4.4"]));
    assert_eq!(world.history(&party).len(), seq + 4, "suspended once");
}

#[test]
fn a_proof_from_the_new_address_lets_it_serve_there() {
    let (world, party) = active_at(&["1.1.1.1"]);
    deliver(&world, &party, "evt-1", &["8.8.8.8"]);
    let request = world.issue(&party).unwrap();
    let proof = party.answer(&world, &request);
    let judged =
        world.objects.judge_challenge(&party.id, request.challenge_id, ok(&proof), lookup(&["8.8.8.8"]));
    assert_eq!(now(judged), Ok(None));
    assert_eq!(standing(&world, &party).0, "ACTIVE");
    assert_eq!(deliver(&world, &party, "evt-2", &["8.8.8.8"]).state, "ENDPOINT_ACCEPTED");
    assert_eq!(standing(&world, &party).0, "ACTIVE");
}

#[test]
fn a_periodic_challenge_that_finds_a_private_address_suspends() {
    let (world, party) = active_at(&["1.1.1.1"]);
    world.clock.advance(Span::days(31));
    world.fire(&party).unwrap();
    let request = world.issue(&party).unwrap();
    let private = EndpointRefusal::DnsPrivate(AddressRefusal::V4PrivateUse);
    let refused = lookup(&["10.0.0.1"]).refused(private);
    let outcome = ChallengeOutcome::Failed { reason: Reason::EndpointRefused };
    let judged = now(world.objects.judge_challenge(&party.id, request.challenge_id, outcome, refused));
    assert_eq!(judged, Ok(Some(Reason::EndpointRefused)));
    assert_eq!(standing(&world, &party), ("SUSPENDED".into(), "dns_private".into()));
}

#[test]
fn what_is_held_meanwhile_is_not_sent() {
    let (world, party) = active_at(&["1.1.1.1"]);
    let waiting = world.claim(&party, "evt-1");
    settle(&world, &party, &waiting, answered(500), lookup(&["8.8.8.8"]));
    let woken = world.next(Span::minutes(1)).unwrap();
    assert!(!woken.contains(&Wake::Deliveries(party.id.clone())), "{woken:?}");
    world.clock.advance(Span::seconds(10));
    assert!(world.claim_due(&party).is_empty());
}

#[test]
fn an_attempt_that_is_told_twice_is_judged_once() {
    let (world, party) = active_at(&["1.1.1.1"]);
    let claimed = world.claim(&party, "evt-1");
    settle(&world, &party, &claimed, answered(200), lookup(&["1.1.1.1"]));
    let before = world.disk.dump();
    settle(&world, &party, &claimed, answered(200), lookup(&["8.8.8.8"]));
    assert_eq!(world.disk.dump(), before);
}
