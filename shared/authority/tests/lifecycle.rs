//! Generations: staged, superseded, suspended, brought back, revoked, expired; and what a delivery of each
//! may do, in every order in which the parts of a race can commit.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::subscription::{AskAuthority, ChangeRequest, Expected, Planned, Wake};
use hookproof_core::base64;
use hookproof_core::id::Generation;
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::secret::Secret;
use hookproof_core::signature::SigningKey;
use hookproof_core::subscription::{
    Change, Expiry, KeyChange, OldGenerations, Owner, ReceiptContract, SuspendReason,
};
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal};
use support::ledger::{answered, attempted};
use support::{ENDPOINT, Party, Setup, World, now};

const NEW: &str = "https://new.example.com/in";

fn generation_state(world: &World, party: &Party, number: u64) -> String {
    let view = world.view(party);
    let all = view["generations"].as_array().unwrap();
    let it = all.iter().find(|g| g["generation"] == number).unwrap();
    it["state"].as_str().unwrap().to_owned()
}

fn revoke(world: &World, party: &Party, registered: OldGenerations) {
    now(world.objects.revoke(&party.id, None, registered)).unwrap();
}

/// A party whose second generation serves, with a delivery of the first still waiting for its retry.
fn moved(old: OldGenerations) -> (World, Party, Party, hookproof_core::id::DeliveryId) {
    let world = World::new();
    let first = world.active(Setup { old, ..Setup::default() });
    let claimed = world.claim(&first, "evt-old");
    world.settle(&first, &claimed, answered(503)).unwrap();
    let second = world.stage_endpoint(&first, NEW);
    world.clock.advance(Span::seconds(1));
    world.prove(&second);
    (world, first, second, claimed.delivery_id)
}

#[test]
fn a_staged_generation_leaves_the_serving_one_alone_until_it_is_proved() {
    let world = World::new();
    let first = world.active(Setup::default());
    let second = world.stage_endpoint(&first, NEW);
    assert_eq!(generation_state(&world, &first, 1), "ACTIVE");
    assert_eq!(generation_state(&world, &first, 2), "PENDING_CHALLENGE");
    assert_eq!(world.claim(&first, "evt-1").endpoint.as_str(), ENDPOINT);
    world.clock.advance(Span::seconds(1));
    world.prove(&second);
    assert_eq!(generation_state(&world, &first, 1), "DRAINING");
    let claimed = world.claim(&second, "evt-2");
    assert_eq!(claimed.endpoint.as_str(), NEW);
    assert!(second.receive(&world, &claimed.fields, &support::ledger::body("evt-2")).is_ok());
}

#[test]
fn two_changes_add_up_and_the_first_staged_generation_never_serves() {
    let world = World::new();
    let first = world.active(Setup::default());
    let second = world.stage_endpoint(&first, NEW);
    now(world.objects.request_challenge(&first.id)).unwrap();
    let request = world.issue(&second).unwrap();
    let proof = second.answer(&world, &request);
    let topics = Some(vec!["order.*".parse().unwrap()]);
    let third = world.stage(&first, Change { topics, ..Change::default() });
    assert_eq!(world.judge(&second, &request, &proof), Ok(Some(Reason::ChallengeConsumed)));
    assert_eq!(generation_state(&world, &first, 2), "REVOKED");
    world.prove(&third);
    let view = world.view(&first);
    let newest = &view["generations"][0];
    assert_eq!((&newest["generation"], &newest["state"]), (&3.into(), &"ACTIVE".into()));
    assert_eq!((&newest["endpoint"], &newest["topics"][0]), (&NEW.into(), &"order.*".into()));
}

#[test]
fn the_same_change_again_and_a_change_of_nothing_stage_nothing() {
    let world = World::new();
    let party = world.active(Setup::default());
    let change = Change { endpoint: Some(support::party::url(NEW)), ..Change::default() };
    let ask = |change: &Change| {
        let asked = ChangeRequest { change: change.clone(), ..ChangeRequest::default() };
        now(world.objects.change(&party.id, asked)).unwrap()
    };
    assert_eq!(ask(&change).generation, Some(Generation(2)));
    let before = world.disk.dump();
    let again = ask(&change);
    assert_eq!((again.generation, again.secret), (None, None));
    assert_eq!(ask(&Change::default()).generation, None);
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn what_does_not_bind_is_a_revision_of_every_open_generation() {
    let world = World::new();
    let party = world.active(Setup::default());
    world.stage_endpoint(&party, NEW);
    let revision = world.view(&party)["revision"].as_u64().unwrap();
    let retry = hookproof_core::retry::Policy::preset("internal-bus");
    let change = Change { retry, old_generations: Some(OldGenerations::Quarantine), ..Change::default() };
    let asked = ChangeRequest { change, ..ChangeRequest::default() };
    assert_eq!(now(world.objects.change(&party.id, asked)).unwrap().generation, None);
    let view = world.view(&party);
    assert!(view["revision"].as_u64().unwrap() > revision);
    for generation in view["generations"].as_array().unwrap() {
        assert_eq!(generation["retry_policy"], "internal-bus");
        assert_eq!(generation["old_generations"], "quarantine");
    }
}

#[test]
fn a_change_that_expects_another_revision_does_nothing() {
    let world = World::new();
    let party = world.active(Setup::default());
    let revision = world.view(&party)["revision"].as_u64().unwrap();
    let before = world.disk.dump();
    for (generation, revision) in [(1, revision + 1), (2, revision)] {
        let expected = Some(Expected { generation: Generation(generation), revision });
        let change = Change { endpoint: Some(support::party::url(NEW)), ..Change::default() };
        let asked = ChangeRequest { change, expected, ..ChangeRequest::default() };
        let refused = now(world.objects.change(&party.id, asked)).unwrap_err();
        assert_eq!(refused.reason, Reason::PreconditionFailed);
        let refused = now(world.objects.revoke(&party.id, expected, OldGenerations::Drain)).unwrap_err();
        assert_eq!(refused.reason, Reason::PreconditionFailed);
    }
    assert_eq!(world.disk.dump(), before);
    let expected = Some(Expected { generation: Generation(1), revision });
    assert_eq!(
        now(world.objects.revoke(&party.id, expected, OldGenerations::Drain)).unwrap().state,
        "REVOKED"
    );
}

#[test]
fn under_drain_old_deliveries_run_out_to_the_old_endpoint_and_never_reach_the_new_one() {
    let (world, first, second, old) = moved(OldGenerations::Drain);
    world.clock.advance(Span::seconds(10));
    let claims = world.claim_due(&first);
    let [claimed] = &claims[..] else { panic!("{claims:?}") };
    assert_eq!((&claimed.delivery_id, claimed.endpoint.as_str()), (&old, ENDPOINT));
    assert!(first.receive(&world, &claimed.fields, &support::ledger::body("evt-old")).is_ok());
    assert!(second.receive(&world, &claimed.fields, &support::ledger::body("evt-old")).is_err());
    world.settle(&first, claimed, answered(200)).unwrap();
    let receipt = first.receipt(&world, &attempted(claimed), "op", ReceiptResult::Applied);
    world.confirm(&first, first.signed(&world, &receipt)).unwrap();
    assert_eq!(world.standing(&first, &old).0, "APPLICATION_CONFIRMED");
}

#[test]
fn draining_ends_by_its_timer_and_what_is_left_is_a_dead_letter() {
    let (world, first, _, old) = moved(OldGenerations::Drain);
    while generation_state(&world, &first, 1) == "DRAINING" {
        for wake in world.next(Span::days(1)).unwrap() {
            assert_eq!(wake, Wake::Deliveries(first.id.clone()));
        }
    }
    assert_eq!(generation_state(&world, &first, 1), "CLOSED");
    assert_eq!(world.standing(&first, &old), ("DEAD_LETTER".into(), Some("generation.stale".into())));
}

#[test]
fn under_quarantine_old_deliveries_are_dead_letters_at_once() {
    let (world, first, second, old) = moved(OldGenerations::Quarantine);
    assert_eq!(generation_state(&world, &first, 1), "CLOSED");
    assert_eq!(world.next(Span::ZERO), Some(vec![]));
    assert_eq!(world.standing(&first, &old), ("DEAD_LETTER".into(), Some("generation.stale".into())));
    assert_eq!(world.claim(&second, "evt-new").endpoint.as_str(), NEW);
}

#[test]
fn a_message_from_before_the_change_is_planned_under_the_generation_that_served_then() {
    for (old, expected) in [(OldGenerations::Drain, "claimed"), (OldGenerations::Quarantine, "dead")] {
        let world = World::new();
        let first = world.active(Setup { old, ..Setup::default() });
        world.clock.advance(Span::seconds(1));
        let event = world.event("evt-late");
        let second = world.stage_endpoint(&first, NEW);
        world.clock.advance(Span::seconds(1));
        world.prove(&second);
        match (world.plan(&second, &[event]).pop(), expected) {
            (Some(Planned::Claimed(claimed)), "claimed") => assert_eq!(claimed.endpoint.as_str(), ENDPOINT),
            (Some(Planned::Later { .. }), "dead") => {
                let deliveries = now(world.objects.deliveries(&first.id, None, 10, None)).unwrap();
                let view: serde_json::Value = serde_json::from_str(deliveries.items[0].get()).unwrap();
                assert_eq!((&view["state"], &view["generation"]), (&"DEAD_LETTER".into(), &1.into()));
            }
            (planned, expected) => panic!("{planned:?}, not {expected}"),
        }
    }
}

#[test]
fn a_new_owner_gets_nothing_of_the_old_one() {
    let world = World::new();
    let first = world.active(Setup::default());
    let claimed = world.claim(&first, "evt-old");
    world.settle(&first, &claimed, answered(503)).unwrap();
    let owner = Some(Owner { name: "Other".into(), contact: "other@example.com".into() });
    let second = world.stage(&first, Change { owner, ..Change::default() });
    assert_eq!(world.state(&first), "SUSPENDED", "the old owner's generation stops at once");
    let refused = now(world.objects.resume(&first.id)).unwrap_err();
    assert_eq!(refused.reason, Reason::StateForbids);
    world.clock.advance(Span::seconds(9));
    assert!(world.claim_due(&first).is_empty());
    world.prove(&second);
    assert_eq!(generation_state(&world, &first, 1), "CLOSED", "quarantined in spite of the drain policy");
    world.next(Span::ZERO);
    let (state, reason) = world.standing(&first, &claimed.delivery_id);
    assert_eq!((state.as_str(), reason.as_deref()), ("DEAD_LETTER", Some("generation.stale")));
}

#[test]
fn a_pause_holds_events_and_loses_none() {
    let world = World::new();
    let party = world.active(Setup::default());
    let failed = world.claim(&party, "evt-failed");
    world.settle(&party, &failed, answered(503)).unwrap();
    now(world.objects.suspend(&party.id, SuspendReason::Operator)).unwrap();
    assert_eq!(world.view(&party)["generations"][0]["reason"], "operator");
    let planned = world.plan(&party, &[world.event("evt-held")]);
    assert!(matches!(planned[..], [Planned::Later { .. }]), "{planned:?}");
    world.clock.advance(Span::days(2));
    while world.next(Span::ZERO).is_some() {}
    assert!(world.claim_due(&party).is_empty());

    assert_eq!(now(world.objects.resume(&party.id)).unwrap().state, "PENDING_CHALLENGE");
    assert!(world.claim_due(&party).is_empty(), "nothing is sent before the proof");
    let while_pending = world.plan(&party, &[world.event("evt-pending")]);
    assert!(matches!(while_pending[..], [Planned::Later { .. }]), "{while_pending:?}");
    world.prove(&party);
    let claims = world.claim_due(&party);
    let mut ids: Vec<&str> = claims.iter().map(|claimed| claimed.event.id.as_str()).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["evt-failed", "evt-held", "evt-pending"]);
    for claimed in &claims {
        // Two days of being held did not use up the deadline of 75 minutes.
        world.settle(&party, claimed, answered(503)).unwrap();
        assert_eq!(world.standing(&party, &claimed.delivery_id).0, "RETRYABLE");
    }
}

#[test]
fn resuming_does_not_bring_forward_what_waits_for_its_own_retry() {
    let world = World::new();
    let party = world.active(Setup::default());
    let claimed = world.claim(&party, "evt-1");
    world.settle(&party, &claimed, answered(503)).unwrap();
    let due = world.delivery(&party, &claimed.delivery_id)["next_attempt_at"].clone();
    now(world.objects.suspend(&party.id, SuspendReason::Operator)).unwrap();
    now(world.objects.resume(&party.id)).unwrap();
    world.prove(&party);
    assert_eq!(world.delivery(&party, &claimed.delivery_id)["next_attempt_at"], due);
}

#[test]
fn after_a_compromise_only_the_recovery_credential_leads_on() {
    let world = World::new();
    let first = world.active(Setup::default());
    let second = world.stage_endpoint(&first, NEW);
    now(world.objects.request_challenge(&first.id)).unwrap();
    let request = world.issue(&second).unwrap();
    let proof = second.answer(&world, &request);
    let other = ReceiptContract::HmacSha256;
    now(world.objects.suspend(&first.id, SuspendReason::Compromised)).unwrap();

    assert_eq!(world.judge(&second, &request, &proof), Ok(Some(Reason::ChallengeConsumed)));
    assert_eq!(generation_state(&world, &first, 2), "REVOKED", "the staged generation dies with it");
    let change = Change { receipt: Some(other), ..Change::default() };
    let asked = ChangeRequest { change, ..ChangeRequest::default() };
    let required =
        |result: Result<(), Refusal>| assert_eq!(result.unwrap_err().reason, Reason::RecoveryRequired);
    required(now(world.objects.change(&first.id, asked)).map(|_| ()));
    required(now(world.objects.resume(&first.id)).map(|_| ()));
    required(now(world.objects.request_challenge(&first.id)).map(|_| ()));
    for wrong in ["", "hp_recovery_AAAA", &second.secret] {
        let refused = now(world.objects.recover(&first.id, wrong.to_owned())).unwrap_err();
        assert_eq!(refused.reason, Reason::RecoveryRefused);
    }

    let recovered = now(world.objects.recover(&first.id, first.recovery.clone())).unwrap();
    assert_ne!(recovered.secret.as_deref(), Some(first.secret.as_str()), "a new secret");
    let used = now(world.objects.recover(&first.id, first.recovery.clone())).unwrap_err();
    assert_eq!(used.reason, Reason::StateForbids);
    let again = Party::changed(&first, &recovered);
    assert_ne!(again.recovery, first.recovery, "and a new recovery credential");
    world.prove(&again);
    let claimed = world.claim(&again, "evt-1");
    assert_eq!(claimed.endpoint.as_str(), ENDPOINT);
    assert!(first.receive(&world, &claimed.fields, &support::ledger::body("evt-1")).is_err(), "new key");
    assert!(again.receive(&world, &claimed.fields, &support::ledger::body("evt-1")).is_ok());
}

#[test]
fn a_revocation_that_has_committed_is_final() {
    for registered in [OldGenerations::Quarantine, OldGenerations::Drain] {
        let drains = registered == OldGenerations::Drain;
        let world = World::new();
        let party = world.active(Setup::default());
        let in_flight = world.claim(&party, "evt-flying");
        let failed = world.claim(&party, "evt-failed");
        world.settle(&party, &failed, answered(503)).unwrap();
        let unplanned = world.event("evt-unplanned");
        world.clock.advance(Span::seconds(1));
        revoke(&world, &party, registered);
        assert_eq!(world.state(&party), "REVOKED");
        assert_eq!(world.view(&party)["generation"], 2, "the number is raised and never used");

        // Nothing is added, not even from before.
        let late = world.plan(&party, &[unplanned, world.event("evt-new")]);
        assert!(late.iter().all(|planned| matches!(planned, Planned::NotWanted { .. })), "{late:?}");
        // The one on the wire may settle; what came of it is recorded and a failure is not tried again.
        world.settle(&party, &in_flight, answered(503)).unwrap();
        world.clock.advance(Span::seconds(10));
        while world.next(Span::ZERO).is_some_and(|wakes| wakes.is_empty()) {}
        let claims = world.claim_due(&party);
        for it in [&in_flight, &failed] {
            let (state, reason) = world.standing(&party, &it.delivery_id);
            if drains {
                assert_eq!(state, "DISPATCHING");
            } else {
                assert_eq!((state.as_str(), reason.as_deref()), ("DEAD_LETTER", Some("generation.revoked")));
            }
        }
        assert_eq!(claims.len(), if drains { 2 } else { 0 });
        assert!(claims.iter().all(|claimed| claimed.endpoint.as_str() == ENDPOINT));
        let before = world.disk.dump();
        revoke(&world, &party, registered);
        assert_eq!(world.disk.dump(), before, "revoking again changes nothing");
        for refused in [
            now(world.objects.resume(&party.id)).map(|_| ()),
            now(world.objects.suspend(&party.id, SuspendReason::Operator)).map(|_| ()),
            now(world.objects.request_challenge(&party.id)).map(|_| ()),
            now(world.objects.change(
                &party.id,
                ChangeRequest {
                    change: Change { endpoint: Some(support::party::url(NEW)), ..Change::default() },
                    ..ChangeRequest::default()
                },
            ))
            .map(|_| ()),
        ] {
            assert_eq!(refused.unwrap_err().reason, Reason::StateForbids);
        }
    }
}

#[test]
fn a_success_on_the_wire_still_counts_after_a_revocation() {
    let world = World::new();
    let party = world.active(Setup::default());
    let claimed = world.claim(&party, "evt-1");
    revoke(&world, &party, OldGenerations::Quarantine);
    world.settle(&party, &claimed, answered(200)).unwrap();
    assert_eq!(world.standing(&party, &claimed.delivery_id).0, "ENDPOINT_ACCEPTED");
    let receipt = party.receipt(&world, &attempted(&claimed), "op", ReceiptResult::Applied);
    world.confirm(&party, party.signed(&world, &receipt)).unwrap();
    assert_eq!(world.standing(&party, &claimed.delivery_id).0, "APPLICATION_CONFIRMED");
}

#[test]
fn a_lost_worker_is_not_replaced_after_a_revocation() {
    let world = World::new();
    let party = world.active(Setup::default());
    let claimed = world.claim(&party, "evt-1");
    revoke(&world, &party, OldGenerations::Quarantine);
    while world.next(Span::hours(1)).is_some() {}
    let view = world.delivery(&party, &claimed.delivery_id);
    assert_eq!((&view["state"], &view["reason"]), (&"DEAD_LETTER".into(), &"generation.revoked".into()));
    assert_eq!(view["last_failure"], "transport.worker_lost", "and what happened to it is still told");
}

#[test]
fn a_proof_after_the_revocation_activates_nothing() {
    let world = World::new();
    let party = world.register(Setup::default());
    now(world.objects.request_challenge(&party.id)).unwrap();
    let request = world.issue(&party).unwrap();
    revoke(&world, &party, OldGenerations::Drain);
    let proof = party.answer(&world, &request);
    assert_eq!(world.judge(&party, &request, &proof), Ok(Some(Reason::ChallengeConsumed)));
    assert_eq!(world.state(&party), "REVOKED");
}

#[test]
fn a_subscription_expires_by_its_timer() {
    for old in [OldGenerations::Drain, OldGenerations::Quarantine] {
        let world = World::new();
        let expires_at = Some(world.now() + Span::hours(1));
        let party = world.active(Setup { old, expires_at, ..Setup::default() });
        world.clock.advance(Span::minutes(59));
        let claimed = world.claim(&party, "evt-1");
        world.settle(&party, &claimed, answered(503)).unwrap();
        while world.state(&party) == "ACTIVE" {
            let wakes = world.next(Span::hours(1)).unwrap();
            if wakes.contains(&Wake::Deliveries(party.id.clone())) {
                for claimed in world.claim_due(&party) {
                    world.settle(&party, &claimed, answered(503)).unwrap();
                }
            }
        }
        assert_eq!((world.state(&party).as_str(), Some(world.now())), ("EXPIRED", expires_at));
        let planned = world.plan(&party, &[world.event("evt-2")]);
        assert!(matches!(&planned[..], [Planned::NotWanted { .. }]), "{planned:?}");
        while world.next(Span::ZERO).is_some_and(|wakes| wakes.is_empty()) {}
        let (state, reason) = world.standing(&party, &claimed.delivery_id);
        match old {
            OldGenerations::Drain => assert_eq!(state, "RETRYABLE"),
            OldGenerations::Quarantine => {
                assert_eq!((state.as_str(), reason.as_deref()), ("DEAD_LETTER", Some("generation.expired")));
            }
        }
    }
}

#[test]
fn an_end_can_be_moved_but_not_into_the_past() {
    let world = World::new();
    let party = world.active(Setup::default());
    let ask = |at| {
        let change = Change { expiry: Some(Expiry { at }), ..Change::default() };
        now(world.objects.change(&party.id, ChangeRequest { change, ..ChangeRequest::default() }))
    };
    assert_eq!(ask(Some(world.now())).unwrap_err().field.as_deref(), Some("expires_at"));
    ask(Some(world.now() + Span::hours(1))).unwrap();
    assert_eq!(world.alarm(party.id.as_str()), Some(world.now() + Span::hours(1)));
    ask(None).unwrap();
    assert_eq!(world.alarm(party.id.as_str()), Some(world.now() + Span::days(30)));
    assert!(world.view(&party)["expires_at"].is_null());
}

#[test]
fn what_serves_proves_itself_again_every_thirty_days() {
    let world = World::new();
    let party = world.active(Setup::default());
    assert_eq!(world.next(Span::days(29)), None);
    assert_eq!(world.next(Span::days(30)), Some(vec![Wake::Challenge(party.id.clone())]));
    let request = world.issue(&party).unwrap();
    assert_eq!(world.judge(&party, &request, &party.answer(&world, &request)), Ok(None));
    assert_eq!(world.state(&party), "ACTIVE");
    let purposes: Vec<_> =
        world.history(&party).iter().filter_map(|e| e["purpose"].as_str().map(str::to_owned)).collect();
    assert_eq!(purposes, ["activate", "recheck"]);
    assert_eq!(world.alarm(party.id.as_str()), Some(world.now() + Span::days(30)));
}

#[test]
fn an_endpoint_that_fails_its_periodic_challenge_three_times_is_suspended() {
    let world = World::new();
    let party = world.active(Setup::default());
    world.next(Span::days(30)).unwrap();
    for tries in 1..=3 {
        assert_eq!(world.state(&party), "ACTIVE", "an outage of minutes suspends nobody");
        let request = world.issue(&party).unwrap();
        assert_eq!(world.judge(&party, &request, "{}"), Ok(Some(Reason::ChallengeAnswerMalformed)));
        if tries < 3 {
            assert_eq!(world.alarm(party.id.as_str()), Some(world.now() + Span::hours(1)));
            world.next(Span::hours(1)).unwrap();
        }
    }
    assert_eq!(world.state(&party), "SUSPENDED");
    assert_eq!(world.view(&party)["generations"][0]["reason"], "recheck_failed");
    now(world.objects.resume(&party.id)).unwrap();
    world.prove(&party);
    assert_eq!(world.state(&party), "ACTIVE");
}

#[test]
fn the_subscribers_key_gives_way_only_with_its_own_consent_or_the_recovery_credential() {
    let world = World::new();
    let first = world.active(Setup::default());
    let key = |seed| SigningKey::ed25519(&Secret::new([seed; 32]));
    let public = |seed| base64::url(&key(seed).public().unwrap());
    let change = |receipt| Change { receipt: Some(receipt), ..Change::default() };
    let ed25519 = || ReceiptContract::Ed25519 { public_key: public(9) };

    let staged = world.stage(&first, change(ed25519()));
    let unproved = now(world.objects.request_challenge(&first.id)).unwrap_err();
    assert_eq!(
        (unproved.reason, unproved.field.as_deref()),
        (Reason::KeyChangeUnproved, Some("key_change_signature"))
    );
    let view = world.view(&first);
    let asked: KeyChange = serde_json::from_value(view["generations"][0]["key_change"].clone()).unwrap();
    let input = asked.input(&staged.entry().scope()).unwrap();
    let by_the_new_key = base64::url(&key(9).sign(&input));
    let refused = now(world.objects.consent_and_challenge(&first.id, by_the_new_key)).unwrap_err();
    assert_eq!(refused.reason, Reason::KeyChangeUnproved);
    let by_the_old_key = base64::url(&key(42).sign(&input));
    now(world.objects.consent_and_challenge(&first.id, by_the_old_key)).unwrap();
    let request = world.issue(&staged).unwrap();
    assert_eq!(request.challenge_id, asked.challenge_id, "the challenge that was consented to");

    let gives_up = ChangeRequest { change: change(ReceiptContract::None), ..ChangeRequest::default() };
    let refused = now(world.objects.change(&first.id, gives_up.clone())).unwrap_err();
    assert_eq!(refused.reason, Reason::RecoveryRequired);
    let recovery_credential = Some(first.recovery.clone());
    let changed =
        now(world.objects.change(&first.id, ChangeRequest { recovery_credential, ..gives_up })).unwrap();
    assert!(changed.recovery_credential.is_some() && changed.generation == Some(Generation(3)));
    now(world.objects.request_challenge(&first.id)).unwrap();
}

#[test]
fn a_key_of_ours_is_never_the_subscribers() {
    let world = World::new();
    let party = world.active(Setup::default());
    let view = world.view(&party);
    let own = [&view["issuer_key"]["public_key"], &view["generations"][0]["keys"][0]["public_key"]];
    let before = world.disk.dump();
    for key in own {
        let public_key = key.as_str().unwrap().to_owned();
        let receipt = Some(ReceiptContract::Ed25519 { public_key });
        let change = Change { receipt, ..Change::default() };
        let recovery_credential = Some(party.recovery.clone());
        let asked = ChangeRequest { change, recovery_credential, ..ChangeRequest::default() };
        let refused = now(world.objects.change(&party.id, asked)).unwrap_err();
        assert_eq!(
            (refused.reason, refused.field.as_deref()),
            (Reason::KeyReserved, Some("receipt.public_key"))
        );
    }
    assert_eq!(world.disk.dump(), before);
}
