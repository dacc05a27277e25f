use super::*;
use crate::digest::Digest;
use crate::id::{DeliveryId, Environment, Generation, IdKey, SubscriptionId, TenantId};
use crate::receipt::ReceiptResult;
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
