//! The evidence of a subscription holds every change in order, and shows when one was removed or changed.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_core::digest::Digest;
use hookproof_core::evidence::{ChainScope, Head, verify};
use hookproof_core::ledger::Outcome;
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::time::Span;
use serde_json::Value;
use support::ledger::{answered, attempted};
use support::{Party, Setup, World};

fn lived() -> (World, Party) {
    let world = World::new();
    let party = world.active(Setup::default());
    let one = world.claim(&party, "evt-1");
    let two = world.claim(&party, "evt-2");
    world.settle(&party, &two, answered(500)).unwrap();
    world.settle(&party, &one, answered(200)).unwrap();
    let receipt = party.receipt(&world, &attempted(&one), "op", ReceiptResult::Applied);
    world.confirm(&party, party.signed(&world, &receipt)).unwrap();
    let second = party.receipt(&world, &attempted(&one), "op-2", ReceiptResult::Applied);
    world.confirm(&party, party.signed(&world, &second)).unwrap();
    world.next(Span::seconds(5)).unwrap();
    let again = world.claim_due(&party).pop().unwrap();
    world.settle(&party, &again, Outcome::Unknown).unwrap();
    let gone = world.claim(&party, "evt-3");
    world.settle(&party, &gone, answered(410)).unwrap();
    (world, party)
}

fn read(bundle: &Value) -> (ChainScope, Head, Vec<String>) {
    let part = |name: &str| bundle[name].clone();
    (
        serde_json::from_value(part("scope")).unwrap(),
        serde_json::from_value(part("head")).unwrap(),
        serde_json::from_value(part("entries")).unwrap(),
    )
}

fn holds(scope: &ChainScope, entries: &[String], head: &Head) -> bool {
    verify(scope, entries.iter().map(String::as_bytes), head)
}

#[test]
fn every_change_is_an_entry_in_commit_order() {
    let (world, party) = lived();
    let history = world.history(&party);
    let what: Vec<&str> = history.iter().map(|entry| entry["what"].as_str().unwrap()).collect();
    let expected = [
        "registered",
        "challenge_issued",
        "challenge_judged",
        "generation_state",
        "claimed",
        "claimed",
        "settled",
        "settled",
        "receipt",
        "receipt_conflict",
        "claimed",
        "settled",
        "claimed",
        "settled",
        "generation_state",
    ];
    assert_eq!(what, expected);
    let seqs: Vec<u64> = history.iter().map(|entry| entry["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=expected.len() as u64).collect::<Vec<_>>());
}

#[test]
fn an_entry_removed_changed_added_or_moved_is_noticed() {
    let (world, party) = lived();
    let (scope, head, entries) = read(&world.bundle(&party));
    assert!(holds(&scope, &entries, &head));
    assert_eq!(head.seq, entries.len() as u64);
    for at in 0..entries.len() {
        let mut removed = entries.clone();
        removed.remove(at);
        assert!(!holds(&scope, &removed, &head), "without {at}");
        let mut changed = entries.clone();
        let bent = changed[at].replacen("2027", "2028", 1);
        assert_ne!(bent, changed[at]);
        changed[at] = bent;
        assert!(!holds(&scope, &changed, &head), "with {at} changed");
        let mut doubled = entries.clone();
        doubled.insert(at, entries[at].clone());
        assert!(!holds(&scope, &doubled, &head), "with {at} twice");
        if at > 0 {
            let mut moved = entries.clone();
            moved.swap(at, at - 1);
            assert!(!holds(&scope, &moved, &head), "with {at} moved");
        }
    }
    let other = world.register(Setup::default());
    let (foreign, ..) = read(&world.bundle(&other));
    assert!(!holds(&foreign, &entries, &head), "under another subscription");
    assert!(!holds(&scope, &entries, &Head { epoch: head.epoch + 1, ..head }), "in another epoch");
}

#[test]
fn an_earlier_head_is_a_prefix_of_the_later_chain() {
    let world = World::new();
    let party = world.active(Setup::default());
    let (scope, early, _) = read(&world.bundle(&party));
    world.claim(&party, "evt-1");
    let (_, late, entries) = read(&world.bundle(&party));
    let held = usize::try_from(early.seq).unwrap();
    assert!(holds(&scope, &entries[..held], &early) && holds(&scope, &entries, &late));
}

#[test]
fn no_entry_holds_a_payload_digest_that_could_be_guessed_against() {
    let (world, party) = lived();
    let bundle = world.bundle(&party).to_string();
    for id in ["evt-1", "evt-2", "evt-3"] {
        let digest = Digest::of(support::ledger::body(id).as_bytes());
        assert!(!bundle.contains(&digest.to_string()), "{id}");
    }
}

#[test]
fn a_claim_and_its_settlement_join_on_delivery_and_attempt() {
    let (world, party) = lived();
    let history = world.history(&party);
    let of = |what: &str| {
        let mut pairs: Vec<(String, u64)> = history
            .iter()
            .filter(|entry| entry["what"] == what)
            .map(|entry| (entry["delivery_id"].to_string(), entry["attempt"].as_u64().unwrap()))
            .collect();
        pairs.sort();
        pairs
    };
    assert_eq!(of("claimed"), of("settled"));
}
