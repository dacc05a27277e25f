//! What came of an attempt moves a delivery exactly as the table says.

mod support;

use hookproof_authority::subscription::{AskAuthority, Claimed, Planned, Wake};
use hookproof_core::Reason;
use hookproof_core::ledger::Outcome;
use hookproof_core::retry::Policy;
use hookproof_core::time::Span;
use serde_json::Value;
use support::ledger::{answered, attempted, settlement};
use support::{Party, Setup, World, now};

fn claimed() -> (World, Party, Claimed) {
    let world = World::new();
    let party = world.active(Setup::default());
    let claimed = world.claim(&party, "evt-1");
    (world, party, claimed)
}

#[test]
fn each_outcome_has_its_row_in_the_table() {
    let table: [(Outcome, &str, Option<Reason>, Option<i64>); 17] = [
        (answered(200), "ENDPOINT_ACCEPTED", None, None),
        (answered(204), "ENDPOINT_ACCEPTED", None, None),
        (answered(301), "DEAD_LETTER", Some(Reason::RedirectRefused), None),
        (answered(308), "DEAD_LETTER", Some(Reason::RedirectRefused), None),
        (answered(400), "DEAD_LETTER", Some(Reason::EndpointBadRequest), None),
        (answered(401), "DEAD_LETTER", Some(Reason::EndpointForbidden), None),
        (answered(403), "DEAD_LETTER", Some(Reason::EndpointForbidden), None),
        (answered(404), "DEAD_LETTER", Some(Reason::EndpointNotFound), None),
        (answered(410), "DEAD_LETTER", Some(Reason::EndpointGone), None),
        (answered(422), "DEAD_LETTER", Some(Reason::EndpointClientError), None),
        (Outcome::Refused, "DEAD_LETTER", Some(Reason::EndpointRefused), None),
        (answered(429), "RETRYABLE", Some(Reason::EndpointThrottled), Some(5_000)),
        (answered(500), "RETRYABLE", Some(Reason::EndpointServerError), Some(5_000)),
        (answered(599), "RETRYABLE", Some(Reason::EndpointServerError), Some(5_000)),
        (Outcome::NotSent, "RETRYABLE", Some(Reason::TransportNotSent), Some(5_000)),
        (Outcome::Unknown, "UNKNOWN_TRANSPORT", Some(Reason::TransportUnknown), Some(5_000)),
        (answered(199), "UNKNOWN_TRANSPORT", Some(Reason::TransportUnknown), Some(5_000)),
    ];
    for (outcome, state, reason, wait) in table {
        let (world, party, claimed) = claimed();
        world.clock.advance(Span::seconds(1));
        let standing = world.settle(&party, &claimed, outcome.clone()).unwrap();
        assert_eq!((standing.state.as_str(), standing.reason), (state, reason), "{outcome:?}");
        let view = world.delivery(&party, &claimed.delivery_id);
        assert_eq!(view["owner"]["contact"], "billing@example.com");
        assert_eq!(view["last_failure"].as_str(), reason.map(Reason::code), "{outcome:?}");
        let alarm = world.alarm(party.id.as_str());
        match wait {
            // Jitter only shortens, by a tenth at most.
            Some(wait) => {
                let left = (alarm.unwrap() - world.now()).as_millis();
                assert!((wait * 9 / 10..=wait).contains(&left), "{outcome:?}: {left}");
                assert_eq!(view["next_attempt_at"], alarm.unwrap().to_string());
            }
            None => assert!(world.is_idle(&party) && view["next_attempt_at"].is_null(), "{outcome:?}"),
        }
        let settled = &view["attempts"][0]["settled"];
        assert_eq!((settled["late"].as_bool(), &settled["at"]), (None, &world.now().to_string().into()));
    }
}

#[test]
fn an_attempt_given_back_unsent_does_not_count() {
    let (world, party, first) = claimed();
    let standing = world.settle(&party, &first, Outcome::Released).unwrap();
    assert_eq!((standing.state.as_str(), standing.reason), ("RETRYABLE", None));
    assert!(world.claim_due(&party).is_empty(), "what cannot be sent now does not spin");
    assert_eq!(world.next(Span::seconds(5)), Some(vec![Wake::Deliveries(party.id.clone())]));
    let again = world.claim_due(&party).pop().unwrap();
    assert_eq!((again.attempt, &again.delivery_id), (2, &first.delivery_id));
    // All six attempts of the policy are still there.
    let mut claimed = again;
    for failed in 1..=6 {
        let state = world.settle(&party, &claimed, answered(500)).unwrap().state;
        assert_eq!(state, if failed == 6 { "DEAD_LETTER" } else { "RETRYABLE" });
        if failed < 6 {
            assert!(world.next(Span::hours(1)).is_some());
            claimed = world.claim_due(&party).pop().unwrap();
        }
    }
    assert_eq!(claimed.attempt, 7);
}

#[test]
fn a_retry_after_is_obeyed_and_clamped_to_the_deadline() {
    for (wish, at_least, at_most) in
        [("60", 60, 60), ("1", 4, 5), ("99999999999", 4489, 4490), ("soon", 4, 5)]
    {
        let (world, party, claimed) = claimed();
        let outcome = Outcome::Answered { status: 503, retry_after: Some(wish.into()) };
        world.settle(&party, &claimed, outcome).unwrap();
        let left = world.alarm(party.id.as_str()).unwrap() - world.now();
        assert!((Span::seconds(at_least)..=Span::seconds(at_most)).contains(&left), "{wish}: {left:?}");
    }
}

#[test]
fn a_410_suspends_its_generation_in_the_same_commit_and_holds_what_comes() {
    let (world, party, claimed) = claimed();
    let seq = world.history(&party).len();
    world.settle(&party, &claimed, answered(410)).unwrap();
    let view = world.view(&party);
    assert_eq!(
        (&view["state"], &view["generations"][0]["reason"]),
        (&"SUSPENDED".into(), &"endpoint_gone".into())
    );
    let added: Vec<Value> = world.history(&party)[seq..].iter().map(|entry| entry["what"].clone()).collect();
    assert_eq!(added, ["settled", "generation_state"]);

    world.clock.advance(Span::seconds(10));
    let event = world.event("evt-held");
    let planned = world.plan(&party, std::slice::from_ref(&event));
    assert!(matches!(&planned[..], [Planned::Later { .. }]), "{planned:?}");
    let deliveries = now(world.objects.deliveries(&party.id, None, 10, Some("PLANNED".into()))).unwrap();
    let held: Value = serde_json::from_str(deliveries.items[0].get()).unwrap();
    assert_eq!((&held["event_id"], &held["attempt"]), (&"evt-held".into(), &0.into()));
    assert!(world.claim_due(&party).is_empty());

    let limit = event.accepted_at + Span::days(7);
    assert_eq!(world.alarm(party.id.as_str()), Some(limit));
    assert_eq!(world.next(Span::days(7)), Some(vec![]));
    let id = serde_json::from_value(held["delivery_id"].clone()).unwrap();
    assert_eq!(world.standing(&party, &id), ("DEAD_LETTER".into(), Some("hold.limit".into())));
    assert_eq!(world.delivery(&party, &id)["attempt"], 0);
    assert!(world.is_idle(&party));
}

#[test]
fn what_was_waiting_when_its_generation_was_suspended_is_held_too() {
    let (world, party, gone) = claimed();
    let waiting = world.claim(&party, "evt-2");
    let on_the_wire = world.claim(&party, "evt-3");
    world.settle(&party, &waiting, answered(500)).unwrap();
    world.settle(&party, &gone, answered(410)).unwrap();
    // What is on the wire may settle.
    assert_eq!(world.settle(&party, &on_the_wire, answered(200)).unwrap().state, "ENDPOINT_ACCEPTED");
    assert_eq!(world.next(Span::seconds(5)), Some(vec![]), "the timer announces nothing that is held");
    assert!(world.claim_due(&party).is_empty());
    assert_eq!(world.standing(&party, &waiting.delivery_id), ("RETRYABLE".into(), None));
    assert_eq!(world.delivery(&party, &waiting.delivery_id)["attempt"], 1);
}

#[test]
fn a_lease_that_runs_out_is_unknown_and_the_same_delivery_is_sent_again() {
    let (world, party, lost) = claimed();
    assert_eq!(world.alarm(party.id.as_str()), Some(lost.lease_until));
    assert_eq!(world.next(Span::minutes(2)), Some(vec![]));
    let view = world.delivery(&party, &lost.delivery_id);
    assert_eq!(
        (&view["state"], &view["last_failure"]),
        (&"UNKNOWN_TRANSPORT".into(), &"transport.worker_lost".into())
    );
    assert_eq!(world.next(Span::seconds(5)), Some(vec![Wake::Deliveries(party.id.clone())]));
    let again = world.claim_due(&party).pop().unwrap();
    assert_eq!((&again.delivery_id, &again.event, again.attempt), (&lost.delivery_id, &lost.event, 2));
    assert_ne!(again.lease_token, lost.lease_token);
    assert_ne!(attempted(&again).signature_digest, attempted(&lost).signature_digest, "signed afresh");
}

#[test]
fn a_late_settle_moves_only_by_a_complete_2xx_of_an_unclaimed_attempt() {
    let lose = || {
        let (world, party, lost) = claimed();
        world.next(Span::minutes(2)).unwrap();
        world.clock.advance(Span::seconds(1));
        (world, party, lost)
    };
    for outcome in
        [answered(500), answered(404), answered(410), Outcome::NotSent, Outcome::Unknown, Outcome::Refused]
    {
        let (world, party, lost) = lose();
        let standing = world.settle(&party, &lost, outcome.clone()).unwrap();
        assert_eq!((standing.state.as_str(), world.state(&party).as_str()), ("UNKNOWN_TRANSPORT", "ACTIVE"));
        let settled = &world.delivery(&party, &lost.delivery_id)["attempts"][0]["settled"];
        assert_eq!(
            (&settled["late"], serde_json::from_value(settled["outcome"].clone()).ok()),
            (&true.into(), Some(outcome))
        );
    }
    let (world, party, lost) = lose();
    assert_eq!(world.settle(&party, &lost, answered(202)).unwrap().state, "ENDPOINT_ACCEPTED");
    assert!(world.is_idle(&party));
    assert_eq!(world.delivery(&party, &lost.delivery_id)["basis"], "http_2xx");

    let (world, party, lost) = lose();
    world.next(Span::seconds(5)).unwrap();
    let again = world.claim_due(&party).pop().unwrap();
    assert_eq!(world.settle(&party, &lost, answered(200)).unwrap().state, "DISPATCHING");
    assert_eq!(world.settle(&party, &again, answered(404)).unwrap().state, "DEAD_LETTER");
    assert_eq!(world.settle(&party, &lost, answered(200)).unwrap().state, "DEAD_LETTER", "settled twice");
}

#[test]
fn a_settle_without_the_attempts_own_lease_changes_nothing() {
    let (world, party, claimed) = claimed();
    let other = world.claim(&party, "evt-2");
    let before = world.disk.dump();
    for wrong in [
        Claimed { lease_token: "guess".into(), ..claimed.clone() },
        Claimed { lease_token: other.lease_token.clone(), ..claimed.clone() },
        Claimed { attempt: 2, ..claimed.clone() },
    ] {
        assert_eq!(world.settle(&party, &wrong, answered(200)).unwrap_err(), Reason::LeaseStale);
        assert_eq!(world.disk.dump(), before);
    }
    world.settle(&party, &claimed, answered(500)).unwrap();
    let before = world.disk.dump();
    world.settle(&party, &claimed, answered(200)).unwrap();
    assert_eq!(world.disk.dump(), before, "settling twice changes nothing");
}

#[test]
fn a_batch_is_settled_whole_and_in_order() {
    let (world, party, one) = claimed();
    let two = world.claim(&party, "evt-2");
    let items = vec![settlement(&two, answered(503)), settlement(&one, answered(200))];
    let standings = now(world.objects.settle(&party.id, items)).unwrap();
    let states: Vec<&str> = standings.iter().map(|it| it.state.as_str()).collect();
    assert_eq!(states, ["RETRYABLE", "ENDPOINT_ACCEPTED"]);
    assert_eq!(standings[1].delivery_id, one.delivery_id);
}

#[test]
fn the_deadline_of_a_round_ends_it_before_its_attempts_do() {
    let retry = Policy {
        name: "custom".into(),
        waits: vec![Span::ZERO; 30],
        timeout: Span::seconds(10),
        deadline: Span::seconds(25),
    };
    let world = World::new();
    let party = world.active(Setup { retry, ..Setup::default() });
    let mut claimed = world.claim(&party, "evt-1");
    let began = world.now();
    loop {
        world.clock.advance(Span::seconds(10));
        let state = world.settle(&party, &claimed, Outcome::Unknown).unwrap().state;
        if state == "DEAD_LETTER" {
            break;
        }
        world.next(Span::seconds(10)).unwrap();
        claimed = world.claim_due(&party).pop().unwrap();
        assert!(world.now() + Span::seconds(10) <= began + Span::seconds(25), "an attempt fits before it");
    }
    let reason = world.standing(&party, &claimed.delivery_id).1;
    assert_eq!((claimed.attempt, reason.as_deref()), (2, Some("deadline.exhausted")));
}
