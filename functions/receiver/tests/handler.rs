//! The handler: one at a time, the same key every time, and `completed` only after its effect.

mod support;

use hookproof_core::time::Span;
use hookproof_ports::{Clock, FromRow, TransportFailure};
use hookproof_receiver::{Wake, Wakeup};
use support::{NAME, Sender, World, json, now};

fn accepted() -> (World, Sender) {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    assert_eq!(world.post(&sender.delivery("evt-1", "{\"n\":1}", world.clock.now())).status(), 200);
    (world, sender)
}

fn handle() -> Wakeup {
    Wakeup { source: NAME.into(), kind: Wake::Handle }
}

fn only(world: &World) -> serde_json::Value {
    world.get("/receiver/inbox?source=billing")["items"][0].clone()
}

#[test]
fn the_handler_gets_the_bytes_and_one_identity() {
    let (world, sender) = accepted();
    world.drain();
    let [got] = &world.handled()[..] else { panic!("one request") };
    assert!(got.body.ends_with(b"\"data\":{\"n\":1}}"));
    for (name, value) in [
        ("content-type", "application/json"),
        ("webhook-id", "evt-1"),
        ("hookproof-event-type", "invoice.paid"),
        ("hookproof-attempt", "1"),
        ("hookproof-environment", "live"),
        ("hookproof-tenant", sender.entry.tenant_id.as_str()),
    ] {
        assert_eq!(got.field(name), value);
    }
    assert_eq!(only(&world)["operation_id"], got.field("idempotency-key").as_str());
    assert!(!got.fields.contains("authorization"), "nothing of the sender's own fields is passed on");
}

#[test]
fn a_doubled_queue_message_runs_the_handler_once() {
    let (world, _) = accepted();
    world.lose_messages();
    for _ in 0..3 {
        now(world.receiver.wake(&handle())).unwrap();
    }
    assert_eq!((world.handled().len(), world.receipts().len()), (1, 1));
}

#[test]
fn a_lost_queue_message_is_repaired_by_the_timer() {
    let (world, _) = accepted();
    world.lose_messages();
    world.pass(Span::seconds(29));
    assert_eq!(world.handled().len(), 0);
    world.pass(Span::seconds(2));
    assert_eq!((world.handled().len(), world.receipts().len()), (1, 1));
}

#[test]
fn completed_is_never_written_before_the_effect() {
    let (world, _) = accepted();
    world.handler_answers(503, "");
    world.drain();
    world.pass(Span::seconds(2));
    let seen: Vec<_> = world.handled().into_iter().flat_map(|got| got.states).collect();
    assert_eq!(seen, ["processing", "processing"]);
    assert_eq!(world.disk.states(), ["completed"]);
    assert_eq!(world.receipts()[0].states, ["completed"], "and the receipt comes after it");
}

#[test]
fn an_effect_that_was_not_recorded_is_offered_again_under_the_same_key() {
    let (world, _) = accepted();
    world.peers.breaks_disk.set(true);
    world.drain();
    world.peers.breaks_disk.set(false);
    world.disk.down.set(false);
    assert_eq!(world.disk.states(), ["processing"]);
    assert_eq!(world.receipts().len(), 0);
    world.pass(Span::minutes(2));
    let keys: Vec<_> = world.handled().iter().map(|got| got.field("idempotency-key")).collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    assert_eq!(world.disk.states(), ["completed"]);
}

#[test]
fn three_failures_make_a_dead_letter_that_can_be_replayed() {
    let (world, _) = accepted();
    for _ in 0..3 {
        world.handler_answers(500, "boom");
    }
    world.drain();
    world.pass(Span::minutes(10));
    assert_eq!((world.handled().len(), world.disk.states()), (3, vec!["dead_letter".to_owned()]));
    let letters = world.get("/receiver/dead-letters?source=billing");
    let letter = &letters["items"][0];
    assert_eq!((&letter["reason"], &letter["last_status"]), (&"endpoint.server_error".into(), &500.into()));
    let path = format!("/receiver/dead-letters/billing/{}", letter["id"].as_str().unwrap());
    let detail = world.get(&path);
    assert!(detail["body"]["text"].as_str().unwrap().contains("\"n\":1"));
    let fields = detail["fields"].to_string();
    assert!(fields.contains("signature-input") && fields.contains("webhook-id"));
    for secret in ["of-the-sender", "t0ken", "\"signature\""] {
        assert!(!fields.contains(secret), "{secret} is kept");
    }
    let replayed = world.api("POST", &format!("{path}/replay"), "");
    assert_eq!((replayed.status().as_u16(), &json(&replayed)["state"]), (202, &"pending".into()));
    assert_eq!(world.api("POST", &format!("{path}/replay"), "").status(), 202, "asked twice, replayed once");
    world.drain();
    assert_eq!(world.handled().len(), 4);
    let done = only(&world);
    assert_eq!((&done["state"], &done["replays"]), (&"completed".into(), &1.into()));
    assert_eq!(world.api("POST", &format!("{path}/replay"), "").status(), 409, "nothing left to replay");
}

#[test]
fn every_answer_means_one_thing() {
    for (status, body, state, result) in [
        (200, "", "completed", "applied"),
        (204, "", "completed", "applied"),
        (200, "{\"ignored\":\"not ours\"}", "completed", "ignored"),
        (422, "{\"operation_id\":\"op\"}", "completed", "rejected"),
        (429, "", "pending", ""),
        (302, "", "pending", ""),
        (404, "", "pending", ""),
        (500, "{\"ignored\":\"x\"}", "pending", ""),
    ] {
        let (world, _) = accepted();
        world.handler_answers(status, body);
        world.drain();
        let item = only(&world);
        let got = (item["state"].as_str().unwrap(), item["result"].as_str().unwrap_or_default());
        assert_eq!(got, (state, result), "{status} {body}");
    }
}

#[test]
fn the_handlers_own_operation_id_is_kept_where_a_receipt_can_carry_it() {
    for (said, kept) in [("inv_1", true), ("with space", false), ("", false)] {
        let (world, _) = accepted();
        world.handler_answers(200, &format!("{{\"operation_id\":\"{said}\"}}"));
        world.drain();
        let operation = only(&world)["operation_id"].as_str().unwrap().to_owned();
        assert_eq!(operation == said, kept, "{operation}");
        assert!(kept || operation.starts_with("op_"));
    }
}

#[test]
fn a_handler_that_never_answers_ends_in_the_dead_letters() {
    let (world, _) = accepted();
    for _ in 0..3 {
        world.peers.handler.borrow_mut().push_back(Err(TransportFailure::Unknown));
    }
    world.drain();
    world.pass(Span::minutes(10));
    let item = only(&world);
    assert_eq!((&item["state"], &item["reason"]), (&"dead_letter".into(), &"transport.unknown".into()));
}

#[test]
fn an_event_that_takes_its_worker_along_is_not_taken_for_ever() {
    let (world, _) = accepted();
    world.peers.breaks_disk.set(true);
    for _ in 0..5 {
        world.drain();
        world.disk.down.set(false);
        world.clock.advance(Span::seconds(41));
        now(world.receiver.announce(NAME, &[Wake::Handle])).unwrap();
    }
    assert_eq!((world.handled().len(), world.disk.states()), (3, vec!["dead_letter".to_owned()]));
}

#[test]
fn six_at_a_time_and_the_rest_is_announced() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    for n in 0..8 {
        world.post(&sender.delivery(&format!("evt-{n}"), "{}", world.clock.now()));
    }
    world.lose_messages();
    now(world.receiver.wake(&handle())).unwrap();
    assert_eq!(world.handled().len(), 6);
    world.drain();
    assert_eq!((world.handled().len(), world.receipts().len()), (8, 8));
}

#[test]
fn events_of_a_source_that_is_gone_rest_in_the_dead_letters() {
    let (world, sender) = accepted();
    assert_eq!(world.api("DELETE", "/receiver/sources/billing", "").status(), 204);
    world.drain();
    assert_eq!(world.disk.states(), ["dead_letter"]);
    world.pass(Span::days(1));
    assert_eq!(world.handled().len(), 0);
    assert!(now(world.receiver.objects.next_alarm()).unwrap().is_none(), "and no timer runs for them");
    assert_eq!(world.api("GET", "/receiver/inbox?source=billing", "").status(), 404);
    let source = serde_json::json!({"handler": {"url": support::HANDLER}, "entries": [sender.entry]});
    world.api("PUT", "/receiver/sources/billing", source.to_string());
    assert_eq!(only(&world)["reason"], "source.unknown", "they are there when it comes back");
}

#[test]
fn a_completed_event_keeps_its_digest_and_not_its_bytes() {
    let (world, _) = accepted();
    world.drain();
    assert_eq!((world.disk.count("inbox"), world.disk.count("inbox_body")), (1, 0));
    let row = world.disk.rows("SELECT record FROM inbox");
    assert!(row[0].text(0).unwrap().contains("sha-256:"));
}
