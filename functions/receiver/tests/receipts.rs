//! Receipts: owed for each subscription, signed for each try, tried until the sender answers for good.

#![allow(clippy::unwrap_used, reason = "a receipt that does not parse fails the test")]

mod support;

use hookproof_core::receipt::{Receipt, ReceiptResult};
use hookproof_core::receiver::ReceiptKey;
use hookproof_core::signature::{Alg, Message, profile, select};
use hookproof_core::time::Span;
use hookproof_ports::{Clock, TransportFailure};
use support::{Got, RECEIPTS, Sender, World};

fn accepted(sender: &Sender) -> World {
    let world = World::with(&[sender]);
    assert_eq!(world.post(&sender.delivery("evt-1", "{}", world.clock.now())).status(), 200);
    world
}

fn read(got: &Got) -> Receipt {
    Receipt::parse(&got.body).unwrap()
}

#[test]
fn a_receipt_verifies_under_the_subscribers_key_and_names_the_attempt() {
    let mut hmac = Sender::new(2);
    hmac.entry.receipts.as_mut().unwrap().key = ReceiptKey::HmacSha256;
    for (sender, alg) in [(Sender::new(1), Alg::Ed25519), (hmac, Alg::HmacSha256)] {
        let world = World::with(&[&sender]);
        let request = sender.delivery("evt-1", "{}", world.clock.now());
        world.post(&request);
        world.drain();
        let [got] = &world.receipts()[..] else { panic!("one receipt") };
        let message = Message::request("POST", RECEIPTS, &got.fields);
        let candidate = select(&profile::RECEIPT, &message).unwrap();
        let (key, key_id, _) = sender.entry.receipt_key().unwrap();
        assert_eq!((candidate.alg(), candidate.keyid()), (alg, key_id.as_str()));
        candidate.verify(&key.verify_key(), &got.body, world.clock.now().unix()).unwrap();
        let fields = request.headers().iter().map(|(n, v)| (n, v.as_bytes())).collect();
        let message = Message::request("POST", support::PUBLIC_URL, &fields);
        let attempt = select(&profile::DELIVERY, &message).unwrap();
        let receipt = read(got);
        assert_eq!(receipt.delivery_signature_digest, attempt.signature_digest());
        assert_eq!(receipt.payload_digest, hookproof_core::digest::Digest::of(request.body()));
        assert_eq!((receipt.attempt, receipt.result), (1, ReceiptResult::Applied));
        assert_eq!(receipt.tenant, sender.entry.tenant_id);
    }
}

#[test]
fn a_receipt_is_tried_until_the_sender_says_200() {
    let world = accepted(&Sender::new(1));
    for _ in 0..3 {
        world.sender_answers(503);
    }
    world.peers.receipts.borrow_mut().push_back(Err(TransportFailure::Unknown));
    world.drain();
    world.pass(Span::hours(2));
    let receipts = world.receipts();
    assert_eq!(receipts.len(), 5);
    assert!(receipts.iter().all(|got| read(got).operation_id == read(&receipts[0]).operation_id));
    let metrics = world.get("/receiver/metrics?source=billing");
    assert_eq!((&metrics["receipts_confirmed"], &metrics["receipts_due"]), (&1.into(), &0.into()));
    assert_eq!(world.handled().len(), 1);
}

#[test]
fn a_worker_lost_while_sending_does_not_lose_the_receipt() {
    let world = accepted(&Sender::new(1));
    world.handler_answers(200, "");
    world.drain();
    assert_eq!(world.receipts().len(), 1);
    let world = accepted(&Sender::new(1));
    world.queue.messages.take(9).unwrap();
    let wake = |kind| hookproof_receiver::Wakeup { source: support::NAME.into(), kind };
    world.sender_answers(500);
    support::now(world.receiver.wake(&wake(hookproof_receiver::Wake::Handle))).unwrap();
    world.peers.breaks_disk.set(true);
    world.clock.advance(Span::seconds(5));
    let lost = support::now(world.receiver.wake(&wake(hookproof_receiver::Wake::Receipts)));
    assert!(lost.is_err(), "its answer was not recorded");
    world.peers.breaks_disk.set(false);
    world.disk.down.set(false);
    world.pass(Span::minutes(2));
    assert_eq!(world.receipts().len(), 3);
    assert_eq!(world.get("/receiver/metrics?source=billing")["receipts_confirmed"], 1);
}

#[test]
fn a_refusal_for_good_ends_the_tries_and_a_new_arrival_begins_them_anew() {
    let sender = Sender::new(1);
    let world = accepted(&sender);
    world.sender_answers(401);
    world.drain();
    world.pass(Span::days(2));
    assert_eq!(world.receipts().len(), 1);
    let accepted = world.clock.now() - Span::days(2);
    let replayed = world.post(&sender.attempt("evt-1", "{}", accepted, world.clock.now(), 2));
    assert_eq!(support::json(&replayed)["duplicate"], true);
    world.drain();
    assert_eq!((world.receipts().len(), world.handled().len()), (2, 1));
    assert_eq!(read(&world.receipts()[1]).attempt, 2);
}

#[test]
fn a_second_subscription_has_no_second_effect_but_a_receipt_of_its_own() {
    let first = Sender::new(1);
    let second = first.second_subscription(2);
    for completed_before in [true, false] {
        let world = World::with(&[&first, &second]);
        world.post(&first.delivery("evt-1", "{}", world.clock.now()));
        if completed_before {
            world.drain();
        }
        let answer = world.post(&second.delivery("evt-1", "{}", world.clock.now()));
        assert_eq!(support::json(&answer)["duplicate"], true);
        world.drain();
        let receipts: Vec<_> = world.receipts().iter().map(read).collect();
        assert_eq!((world.handled().len(), receipts.len()), (1, 2));
        assert_eq!(receipts[0].operation_id, receipts[1].operation_id);
        assert_ne!(receipts[0].subscription_id, receipts[1].subscription_id);
        assert_ne!(receipts[0].delivery_signature_digest, receipts[1].delivery_signature_digest);
    }
}

#[test]
fn each_generation_confirms_under_its_own_key() {
    let old = Sender::new(1);
    let new = old.next_generation(2);
    let world = World::with(&[&new, &old]);
    for (sender, event) in [(&old, "evt-1"), (&new, "evt-2"), (&new, "evt-1")] {
        world.post(&sender.delivery(event, "{}", world.clock.now()));
        world.drain();
        let receipts = world.receipts();
        let receipt = receipts.last().unwrap();
        assert_eq!(read(receipt).generation, sender.entry.generation, "{event}");
        assert!(receipt.field("signature-input").contains(&sender.entry.receipt_key().unwrap().1));
    }
    assert_eq!(
        (world.handled().len(), world.receipts().len()),
        (2, 3),
        "an event that moved on is no second effect"
    );
}

#[test]
fn without_a_contract_no_receipt_is_owed() {
    let mut sender = Sender::new(1);
    sender.entry.receipts = None;
    let world = accepted(&sender);
    world.drain();
    world.pass(Span::days(1));
    assert_eq!((world.handled().len(), world.receipts().len()), (1, 0));
    assert_eq!(world.disk.count("inbox_receipt"), 0);
}

#[test]
fn a_receipt_nobody_takes_is_given_up_after_a_day() {
    let world = accepted(&Sender::new(1));
    for _ in 0..100 {
        world.sender_answers(503);
    }
    world.drain();
    world.pass(Span::days(3));
    let metrics = world.get("/receiver/metrics?source=billing");
    assert_eq!((&metrics["receipts_given_up"], &metrics["receipts_due"]), (&1.into(), &0.into()));
    assert!(world.receipts().len() < 40, "{}", world.receipts().len());
}
