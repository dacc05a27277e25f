//! A batch is claimed, sent and settled; only the bytes that were signed are ever sent.

use bytes::Bytes;
use hookproof_authority::event::{Answer, AskEvents};
use hookproof_authority::message::{Due, Fresh};
use hookproof_authority::subscription::Wake;
use hookproof_core::digest::Digest;
use hookproof_core::id::{DeliveryId, Environment};
use hookproof_core::receiver::Received;
use hookproof_core::retry::Policy;
use hookproof_core::time::Span;
use hookproof_ports::{Resolution, TransportFailure};

use crate::case::Case;
use crate::support::wire::{Got, reply};
use crate::support::{ENDPOINT, Setup, now};

impl Case {
    /// Moves on to the next alarm and does what it announces.
    fn next(&self) {
        for wake in self.world.next(Span::hours(2)).unwrap() {
            let Wake::Deliveries(subscription) = wake else { panic!("{wake:?}") };
            now(self.dispatch.due(vec![Due { subscription }]));
        }
    }

    pub(crate) fn unanswered(&self, fresh: &Fresh) -> usize {
        let event = &fresh.event;
        now(self.world.objects.event(&event.tenant, event.environment, &event.id)).unwrap().unanswered.len()
    }
}

fn verified(case: &Case, got: &Got) -> (DeliveryId, u32) {
    match case.party.receive(&case.world, &got.fields, &got.body).unwrap() {
        Received::Delivery(it) => (it.delivery_id, it.attempt),
        Received::Challenge { .. } => panic!("a delivery"),
    }
}

#[test]
fn a_fresh_event_is_sent_settled_and_acknowledged() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    let asked = case.world.objects.calls();
    case.run(std::slice::from_ref(&fresh));
    assert_eq!(case.world.objects.calls() - asked, 3, "plan and claim, settle, acknowledge");
    let got = case.endpoint.got();
    assert_eq!((got.len(), got[0].url.as_str()), (1, ENDPOINT));
    assert_eq!(verified(&case, &got[0]), (case.id(&fresh), 1));
    assert_eq!((case.standing(&fresh).0.as_str(), case.unanswered(&fresh)), ("ENDPOINT_ACCEPTED", 0));
    let settled = &case.world.delivery(&case.party, &case.id(&fresh))["attempts"][0]["settled"];
    assert_eq!(settled["assurance"], "PINNED");
    case.run(&[fresh.clone(), fresh]);
    assert_eq!(case.endpoint.got().len(), 1, "a doubled message sends nothing again");
}

#[test]
fn the_journal_names_keys_and_never_a_signature_a_body_or_a_secret() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    case.run(&[fresh]);
    let got = &case.endpoint.got()[0];
    assert!(case.journal.mentions(&case.party.entry().keys[0].key_id));
    assert!(case.journal.mentions("ENDPOINT_ACCEPTED"));
    let signature = got.field("signature").trim_start_matches("hookproof=:").trim_end_matches(':');
    for hidden in [signature, "xxxxxxxxxx", &case.party.secret, &case.party.recovery] {
        assert!(!case.journal.mentions(hidden), "{hidden}");
    }
}

#[test]
fn a_wrong_body_in_a_message_is_never_sent() {
    for wrong in ["", "{}", "{\"id\":\"evt-1\"}"] {
        let case = Case::new(Setup::default());
        let fresh = case.publish("evt-1", 10);
        let body = fresh.body.clone().unwrap();
        case.run(&[Fresh { body: Some(wrong.to_owned()), ..fresh.clone() }]);
        let got = case.endpoint.got();
        assert_eq!((got.len(), &got[0].body), (1, &body), "the event's own bytes go out instead");
        assert_eq!(case.standing(&fresh).0, "ENDPOINT_ACCEPTED");
    }
}

#[test]
fn a_body_beside_its_own_of_another_event_is_not_mixed_up() {
    let case = Case::new(Setup::default());
    let (one, two) = (case.publish("evt-1", 10), case.publish("evt-2", 20));
    let swapped =
        [Fresh { body: two.body.clone(), ..one.clone() }, Fresh { body: one.body.clone(), ..two.clone() }];
    case.run(&swapped);
    for got in case.endpoint.got() {
        let own = if got.field("webhook-id") == "evt-1" { &one } else { &two };
        assert_eq!(Some(&got.body), own.body.as_ref());
        verified(&case, &got);
    }
    assert_eq!(case.endpoint.got().len(), 2);
}

#[test]
fn a_large_body_comes_from_the_event_object() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 100_000);
    assert_eq!(fresh.body, None);
    case.run(std::slice::from_ref(&fresh));
    let got = case.endpoint.got();
    assert_eq!(Digest::of(got[0].body.as_bytes()), fresh.event.payload_digest);
    verified(&case, &got[0]);
}

#[test]
fn a_body_that_is_gone_is_not_sent_and_not_asked_for_without_end() {
    let case = Case::new(Setup::default());
    let event = case.world.event("evt-never-published");
    let fresh = Fresh {
        subscription: case.party.id.clone(),
        event,
        page: 0,
        filter_digests: case.party.matched().filter_digests,
        body: None,
    };
    case.run(std::slice::from_ref(&fresh));
    assert!(case.journal.mentions("event.unknown"));
    let began = case.world.now();
    for _ in 0..50 {
        if case.standing(&fresh).0 == "DEAD_LETTER" {
            break;
        }
        case.next();
    }
    assert_eq!(case.standing(&fresh), ("DEAD_LETTER".into(), Some("deadline.exhausted".into())));
    assert!(case.world.now() - began > Span::minutes(30), "with the waits of the policy between");
    assert!(case.endpoint.got().is_empty());
}

#[test]
fn an_endpoint_that_is_refused_is_a_dead_letter_and_gets_no_byte() {
    for addresses in [vec!["10.0.0.1"], vec!["1.1.1.1", "127.0.0.1"], vec![]] {
        let case = Case::new(Setup::default());
        let fresh = case.publish("evt-1", 10);
        let list = addresses.iter().map(|text| text.parse().unwrap()).collect();
        *case.dns.0.borrow_mut() = Resolution::Addresses(list);
        case.run(std::slice::from_ref(&fresh));
        assert_eq!(case.standing(&fresh), ("DEAD_LETTER".into(), Some("endpoint.refused".into())));
        assert!(case.endpoint.got().is_empty());
    }
}

#[test]
fn not_sent_and_unknown_are_different_facts() {
    for (failure, state, reason) in [
        (TransportFailure::NotSent, "RETRYABLE", "transport.not_sent"),
        (TransportFailure::Unknown, "UNKNOWN_TRANSPORT", "transport.unknown"),
    ] {
        let case = Case::new(Setup::default());
        let fresh = case.publish("evt-1", 10);
        case.endpoint.answers([Err(failure)]);
        case.run(std::slice::from_ref(&fresh));
        let view = case.world.delivery(&case.party, &case.id(&fresh));
        assert_eq!((&view["state"], &view["last_failure"]), (&state.into(), &reason.into()));
        case.next();
        assert_eq!(case.standing(&fresh).0, "ENDPOINT_ACCEPTED");
        let attempts: Vec<(DeliveryId, u32)> = case
            .endpoint
            .got()
            .iter()
            .map(|got| {
                (
                    got.field("webhook-delivery").parse().unwrap(),
                    got.field("webhook-attempt").parse().unwrap(),
                )
            })
            .collect();
        assert_eq!(attempts, [(case.id(&fresh), 1), (case.id(&fresh), 2)]);
        let bodies: Vec<String> = case.endpoint.got().into_iter().map(|got| got.body).collect();
        assert_eq!(bodies[0], bodies[1], "the same bytes");
    }
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    *case.dns.0.borrow_mut() = Resolution::Failed;
    case.run(std::slice::from_ref(&fresh));
    assert_eq!(case.standing(&fresh).0, "RETRYABLE");
    assert!(case.endpoint.got().is_empty());
}

#[test]
fn a_redirect_is_followed_by_nobody_and_a_large_answer_is_no_failure() {
    let case = Case::new(Setup::default());
    let (one, two) = (case.publish("evt-1", 10), case.publish("evt-2", 10));
    case.endpoint.always(|got| match got.field("webhook-id") {
        "evt-1" => Ok(reply(302)),
        _ => Ok(hookproof_ports::Reply { truncated: true, body: Bytes::from(vec![0; 4096]), ..reply(200) }),
    });
    case.run(&[one.clone(), two.clone()]);
    assert_eq!(case.standing(&one), ("DEAD_LETTER".into(), Some("redirect_refused".into())));
    assert_eq!(case.standing(&two).0, "ENDPOINT_ACCEPTED");
    assert_eq!(case.endpoint.got().len(), 2);
}

#[test]
fn an_endpoint_cannot_fill_the_ledger_with_a_field_of_its_answer() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    let wish = Some("9".repeat(10_000));
    case.endpoint.answers([Ok(hookproof_ports::Reply { retry_after: wish, ..reply(503) })]);
    case.run(std::slice::from_ref(&fresh));
    assert_eq!(case.standing(&fresh).0, "RETRYABLE");
    assert!(!format!("{:?}", case.world.disk.dump()).contains("999999999999"));
}

#[test]
fn what_cannot_start_within_its_lease_is_given_back_and_not_counted() {
    let case = Case::new(Setup::default());
    let batch: Vec<Fresh> = (0..4).map(|n| case.publish(&format!("evt-{n}"), 10)).collect();
    // Each request takes its whole time, one after the other: after two there is no time for a third.
    case.endpoint.takes.set(Span::seconds(10));
    case.run(&batch);
    let sent = case.endpoint.got().len();
    assert_eq!(sent, 2);
    let released: Vec<&Fresh> = batch.iter().filter(|fresh| case.standing(fresh).0 == "RETRYABLE").collect();
    assert_eq!(released.len(), 2);
    case.endpoint.takes.set(Span::ZERO);
    case.next();
    for fresh in &batch {
        assert_eq!(case.standing(fresh).0, "ENDPOINT_ACCEPTED");
    }
    let again = case.world.delivery(&case.party, &case.id(released[0]));
    assert_eq!(
        (&again["attempt"], &again["attempts"][0]["settled"]["outcome"]["kind"]),
        (&2.into(), &"released".into())
    );
}

#[test]
fn more_than_one_claim_takes_is_sent_by_the_timer() {
    let case = Case::new(Setup::default());
    let batch: Vec<Fresh> = (0..20).map(|n| case.publish(&format!("evt-{n}"), 10)).collect();
    case.run(&batch);
    assert_eq!(case.endpoint.got().len(), 6);
    assert!(batch.iter().all(|fresh| case.unanswered(fresh) == 0), "the authority knows all of them");
    while !case.world.is_idle(&case.party) {
        case.next();
    }
    assert_eq!(case.endpoint.got().len(), 20);
    assert!(batch.iter().all(|fresh| case.standing(fresh).0 == "ENDPOINT_ACCEPTED"));
}

#[test]
fn a_subscription_that_does_not_exist_is_acknowledged_and_gets_nothing() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    let never = Fresh { subscription: case.world.mint(), ..fresh.clone() };
    case.run(&[never, fresh.clone()]);
    assert_eq!((case.endpoint.got().len(), case.unanswered(&fresh)), (1, 0));
}

#[test]
fn an_authority_that_fails_is_not_acknowledged_and_asked_again() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    case.world.disk.fail_at(Some(0));
    case.run(std::slice::from_ref(&fresh));
    case.world.disk.fail_at(None);
    assert_eq!((case.endpoint.got().len(), case.unanswered(&fresh)), (0, 1));
    assert!(case.journal.mentions("internal.store"));
    case.world.clock.advance(Span::seconds(60));
    case.run(&case.world.ring_events());
    assert_eq!((case.standing(&fresh).0.as_str(), case.unanswered(&fresh)), ("ENDPOINT_ACCEPTED", 0));
}

#[test]
fn one_broken_subscription_does_not_hold_up_the_batch() {
    let case = Case::new(Setup { retry: Policy::preset("immediate").unwrap(), ..Setup::default() });
    let other = case.world.active(Setup::default());
    let fresh = case.publish("evt-1", 10);
    let beside = Fresh { subscription: other.id.clone(), ..fresh.clone() };
    let gone = case.party.id.to_string();
    case.endpoint.always(move |got| {
        if got.field("webhook-subscription") == gone {
            Err(TransportFailure::Unknown)
        } else {
            Ok(reply(200))
        }
    });
    case.run(&[fresh.clone(), beside]);
    assert_eq!(case.standing(&fresh).0, "UNKNOWN_TRANSPORT");
    let event = &fresh.event;
    let id = DeliveryId::of(&event.tenant, event.environment, &other.id, &event.id, event.accepted_at);
    assert_eq!(case.world.standing(&other, &id).0, "ENDPOINT_ACCEPTED");
}

#[test]
fn a_lost_settlement_costs_time_and_never_the_delivery() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    // The disk breaks while the request is on the wire.
    let disk = case.world.disk.clone();
    case.endpoint.always(move |_| {
        disk.fail_at(Some(0));
        Ok(reply(200))
    });
    case.run(std::slice::from_ref(&fresh));
    case.world.disk.fail_at(None);
    case.endpoint.always(|_| Ok(reply(200)));
    assert_eq!(case.standing(&fresh).0, "DISPATCHING");
    case.next();
    assert_eq!(case.standing(&fresh).0, "UNKNOWN_TRANSPORT");
    case.next();
    assert_eq!((case.standing(&fresh).0.as_str(), case.endpoint.got().len()), ("ENDPOINT_ACCEPTED", 2));
    let object = hookproof_authority::event::key(&case.world.tenant, Environment::Test, &fresh.event.id);
    let answer =
        Answer { event: fresh.event.id.clone(), page: fresh.page, subscription: case.party.id.clone() };
    now(case.world.objects.answered(&object, vec![answer])).unwrap();
    assert_eq!(case.unanswered(&fresh), 0);
}
