use super::*;
use crate::digest::Digest;
use crate::id::{DeliveryId, Environment, Generation, IdKey, SubscriptionId, TenantId};
use crate::reason::Reason;
use crate::receipt::ReceiptResult;
use crate::signature::Fields;
use crate::time::{Span, Timestamp};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_800_000_000 + seconds)
}

fn key() -> Key {
    Key {
        source: "hookproof".into(),
        issuer: "https://sender.example".into(),
        tenant: TenantId::mint(&IdKey::new(b"k"), at(0), [1; 10]),
        environment: Environment::Test,
        event_id: "evt-1".parse().unwrap(),
    }
}

fn item() -> Item {
    Item::arrive(key(), Digest::of(b"{}"), "invoice.paid".into(), at(0), at(0))
}

fn done() -> HandlerResult {
    HandlerResult::Done { result: ReceiptResult::Applied, operation_id: None }
}

#[test]
fn completed_is_written_only_by_whoever_holds_the_lease() {
    let taken = item().take("l1".into(), at(0)).unwrap();
    assert_eq!(taken.clone().take("l2".into(), at(1)), None, "one handler at a time");
    let (unchanged, advance) = taken.clone().report("l2", done(), at(1));
    assert_eq!((unchanged, advance), (taken.clone(), Advance::Waiting));
    let (completed, advance) = taken.report("l1", done(), at(1));
    assert_eq!(advance, Advance::Completed);
    let InboxState::Completed { operation_id, .. } = &completed.state else { panic!("{completed:?}") };
    assert_eq!(*operation_id, default_operation_id(&key()), "stable over restarts");
    assert_eq!(completed.take("l3".into(), at(100)), None, "a completed event has no second effect");
}

#[test]
fn a_lost_handler_is_taken_over_after_its_lease() {
    let taken = item().take("l1".into(), at(0)).unwrap();
    let due = taken.due.unwrap();
    assert_eq!(due, at(0) + inbox::HANDLER_LEASE);
    let again = taken.take("l2".into(), due).unwrap();
    assert_eq!(again.report("l1", done(), due).1, Advance::Waiting);
}

#[test]
fn three_failures_in_a_row_end_in_the_receivers_dead_letters() {
    let mut it = item();
    for round in 0..3 {
        let due = it.due.unwrap();
        it = it.take(format!("l{round}"), due).unwrap();
        it = it.report(&format!("l{round}"), HandlerResult::Failed { status: Some(503) }, due).0;
    }
    assert!(matches!(it.state, InboxState::DeadLetter { .. }));
    assert_eq!((it.failures, it.last_status, it.due), (3, Some(503), None));
}

fn owed() -> ItemReceipt {
    let subscription = SubscriptionId::mint(&IdKey::new(b"k"), at(0), [2; 10]);
    let delivery_id = DeliveryId::of(&key().tenant, Environment::Test, &subscription, &key().event_id, at(0));
    ItemReceipt::waiting(Arrival {
        subscription,
        generation: Generation(1),
        delivery_id,
        attempt: 1,
        signature_digest: Digest::of(b"signature"),
    })
}

#[test]
fn a_receipt_is_owed_until_the_sender_answers_for_good() {
    let due = owed().release(at(0));
    assert_eq!(due.due, Some(at(0)));
    let trying = due.begin(at(0));
    assert_eq!(trying.due, Some(at(15)), "a lost worker does not lose it");
    let again = trying.clone().answered(Some(503), at(1));
    assert_eq!((again.state.clone(), again.due), (ReceiptState::Due, Some(at(2))));
    assert_eq!(again.clone().answered(None, at(1)).state, ReceiptState::Due);
    assert_eq!(again.clone().answered(Some(200), at(3)).state, ReceiptState::Confirmed { at: at(3) });
    assert_eq!(again.answered(Some(409), at(3)).state, ReceiptState::Refused { at: at(3), status: 409 });
    let late = at(0) + Span::days(2);
    assert_eq!(trying.answered(None, late).state, ReceiptState::GivenUp { at: late });
}

#[test]
fn a_handler_lost_three_times_counts_as_three_failures() {
    let mut it = item();
    for round in 0..2 {
        it = it.take(format!("l{round}"), at(round * 100)).unwrap();
    }
    let taken = it.take("l2".into(), at(200)).unwrap();
    assert_eq!(taken.failures, 2);
    assert_eq!(taken.clone().lapse(at(201)), taken, "not before its lease ends");
    let dead = taken.lapse(at(300));
    assert_eq!(dead.state, InboxState::DeadLetter { at: at(300), reason: Reason::TransportUnknown });
    assert_eq!(dead.take("l3".into(), at(400)), None);
}

#[test]
fn only_a_dead_letter_is_replayed_and_its_failures_count_anew() {
    assert_eq!(item().replay(at(0)), Err(Reason::StateForbids));
    let dead = item().abandon(at(0));
    assert_eq!(dead.state, InboxState::DeadLetter { at: at(0), reason: Reason::SourceUnknown });
    let again = dead.replay(at(9)).unwrap();
    assert_eq!((again.failures, again.replays, again.replayed_at), (0, 1, Some(at(9))));
    assert_eq!(again.clone().replay(at(10)), Ok(again.clone()), "asked again, nothing more happens");
    let done = again.take("l".into(), at(10)).unwrap().report("l", done(), at(11)).0;
    assert_eq!(done.latency(), Some(Span::seconds(11)));
    assert_eq!(done.replay(at(12)), Err(Reason::StateForbids));
}

#[test]
fn a_new_arrival_revives_a_receipt_that_failed_and_no_other() {
    let arrival =
        |generation, attempt| Arrival { generation: Generation(generation), attempt, ..owed().arrival };
    let confirmed = owed().release(at(0)).answered(Some(200), at(1));
    assert_eq!(confirmed.clone().again(arrival(1, 2)), confirmed);
    let refused = owed().release(at(0)).answered(Some(401), at(1));
    assert_eq!(refused.again(arrival(1, 2)), ItemReceipt::waiting(arrival(1, 2)));
    assert_eq!(confirmed.clone().again(arrival(2, 1)), ItemReceipt::waiting(arrival(2, 1)));
    assert_eq!(owed().again(arrival(0, 1)), owed(), "an older generation changes nothing");
}

#[test]
fn an_inbox_id_is_the_senders_and_the_events() {
    let other = Key { environment: Environment::Live, ..key() };
    assert_ne!(key().id(), other.id());
    assert!(key().id().ends_with(".evt-1"));
}

#[test]
fn the_memory_ends_a_little_before_the_row_does() {
    let accepted = at(0);
    assert!(!is_too_old(accepted, accepted + RETENTION - Span::hours(1)));
    assert!(is_too_old(accepted, accepted + RETENTION - Span::minutes(59)));
}

#[test]
fn percentiles_are_of_the_nearest_rank() {
    assert_eq!(Latency::of(Vec::new()), Latency::default());
    let of = Latency::of((1..=200).rev().collect());
    assert_eq!((of.count, of.p50_ms, of.p95_ms, of.p99_ms), (200, 100, 190, 198));
    assert!(!of.over_limit && Latency::of(vec![180_001]).over_limit);
}

#[test]
fn no_credential_is_kept() {
    let fields: Fields = [
        ("Authorization", "a"),
        ("Cookie", "b"),
        ("X-Shop-Token", "c"),
        ("X-Api-Key", "d"),
        ("Signature", "e"),
        ("Webhook-Signature", "f"),
        ("Signature-Input", "g"),
        ("Webhook-Id", "h"),
    ]
    .into_iter()
    .collect();
    let names: Vec<_> = kept_fields(&fields).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["signature-input", "webhook-id"]);
}

#[test]
fn a_source_name_fits_a_path() {
    for good in ["a", "billing-2", "0_x"] {
        assert!(SourceName::parse(good).is_some(), "{good}");
    }
    for bad in ["", "-a", "A", "a.b", "a/b", "ä", &"a".repeat(65)] {
        assert!(SourceName::parse(bad).is_none(), "{bad}");
    }
}
