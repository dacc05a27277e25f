//! An event is accepted once, its bytes frozen, and everybody is asked until they have answered.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::directory::Matched;
use hookproof_authority::event::{Accepted, Answer, AskEvents, Events, key};
use hookproof_authority::message::{Fresh, INLINE_LIMIT};
use hookproof_core::digest::Digest;
use hookproof_core::envelope::{Draft, MAX_BYTES};
use hookproof_core::id::{Environment, SubscriptionId};
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::Ask;
use support::{World, now};

fn draft(id: &str, data: &str) -> Draft {
    Draft {
        id: id.parse().unwrap(),
        kind: "invoice.paid".parse().unwrap(),
        created: None,
        api_version: "1".into(),
        object: None,
        resource_url: None,
        data: data.into(),
    }
}

fn publish(world: &World, draft: Draft, asked: &[SubscriptionId]) -> Result<Accepted, Refusal> {
    let matched = |id: &SubscriptionId| Matched { subscription_id: id.clone(), filter_digests: Vec::new() };
    let asked = asked.iter().map(matched).collect();
    now(world.objects.publish(&world.tenant, Environment::Test, draft, asked))
}

fn ids(world: &World, count: usize) -> Vec<SubscriptionId> {
    let mut ids: Vec<_> = (0..count).map(|_| world.mint()).collect();
    ids.sort();
    ids
}

fn answer(world: &World, messages: &[Fresh]) {
    let answers = messages.iter().map(|it| Answer {
        event: it.event.id.clone(),
        page: it.page,
        subscription: it.subscription.clone(),
    });
    let object = key(&world.tenant, Environment::Test, &messages[0].event.id);
    now(world.objects.answered(&object, answers.collect())).unwrap();
}

fn unanswered(world: &World, event: &str) -> Vec<SubscriptionId> {
    let event = event.parse().unwrap();
    let mut left = now(world.objects.event(&world.tenant, Environment::Test, &event)).unwrap().unanswered;
    left.sort();
    left
}

#[test]
fn the_same_event_again_is_a_duplicate_and_another_under_its_id_a_conflict() {
    let world = World::new();
    let asked = ids(&world, 3);
    let first = publish(&world, draft("evt-1", "{\"a\":1}"), &asked).unwrap();
    assert_eq!((first.duplicate, first.messages.len()), (false, 3));
    let before = world.disk.dump();
    world.clock.advance(Span::hours(1));
    let again = publish(&world, draft("evt-1", "{\"a\":1}"), &ids(&world, 9)).unwrap();
    assert_eq!((again.duplicate, again.messages.len(), &again.event), (true, 0, &first.event));
    for other in [
        draft("evt-1", "{\"a\":2}"),
        draft("evt-1", "{\"a\": 1}"),
        Draft { api_version: "2".into(), ..draft("evt-1", "{\"a\":1}") },
        Draft { kind: "invoice.sent".parse().unwrap(), ..draft("evt-1", "{\"a\":1}") },
        Draft { created: Some(world.now()), ..draft("evt-1", "{\"a\":1}") },
        Draft { resource_url: Some("https://example.com/1".into()), ..draft("evt-1", "{\"a\":1}") },
    ] {
        let refused = publish(&world, other, &asked).unwrap_err();
        assert_eq!((refused.reason, refused.field.as_deref()), (Reason::EventConflict, Some("id")));
    }
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn one_id_is_another_event_in_the_other_environment() {
    let world = World::new();
    publish(&world, draft("evt-1", "1"), &[]).unwrap();
    let live = now(world.objects.publish(&world.tenant, Environment::Live, draft("evt-1", "2"), vec![]));
    assert!(!live.unwrap().duplicate);
    let bytes = |environment| {
        now(world.objects.bytes(&world.tenant, environment, &"evt-1".parse().unwrap())).unwrap()
    };
    assert_ne!(bytes(Environment::Test), bytes(Environment::Live));
}

#[test]
fn the_bytes_are_frozen_and_small_ones_travel_along() {
    let world = World::new();
    let envelope = |data: usize| format!("\"{}\"", "x".repeat(data));
    let overhead = {
        let accepted = publish(&world, draft("evt-0", "\"\""), &[]).unwrap();
        usize::try_from(accepted.event.length).unwrap()
    };
    for (id, length, inline) in [
        ("evt-1", INLINE_LIMIT - 1, true),
        ("evt-2", INLINE_LIMIT, true),
        ("evt-3", INLINE_LIMIT + 1, false),
        ("evt-4", MAX_BYTES - 1, false),
        ("evt-5", MAX_BYTES, false),
    ] {
        let accepted = publish(&world, draft(id, &envelope(length - overhead)), &ids(&world, 1)).unwrap();
        let event = &accepted.event;
        assert_eq!(event.length, length as u64);
        let bytes = now(world.objects.bytes(&world.tenant, Environment::Test, &event.id)).unwrap();
        assert_eq!(Digest::of(bytes.as_bytes()), event.payload_digest);
        let body = accepted.messages[0].body.as_ref();
        assert_eq!(body.is_some(), inline, "{id}");
        assert!(body.is_none_or(|body| *body == bytes));
    }
    let before = world.disk.dump();
    let refused = publish(&world, draft("evt-6", &envelope(MAX_BYTES + 1 - overhead)), &[]).unwrap_err();
    assert_eq!((refused.reason, refused.field.as_deref()), (Reason::BodyTooLarge, Some("data")));
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn an_unknown_event_is_answered_unknown_writes_nothing_and_arms_nothing() {
    let world = World::new();
    let before = world.disk.dump();
    let event = "evt-never".parse().unwrap();
    let (tenant, test) = (&world.tenant, Environment::Test);
    assert_eq!(now(world.objects.event(tenant, test, &event)).unwrap_err().reason, Reason::EventUnknown);
    assert_eq!(now(world.objects.bytes(tenant, test, &event)).unwrap_err().reason, Reason::EventUnknown);
    let answers = vec![Answer { event: event.clone(), page: 0, subscription: world.mint() }];
    now(world.objects.answered(&key(tenant, test, &event), answers)).unwrap();
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn what_is_lost_is_sent_again_after_a_minute_five_and_then_hourly() {
    let world = World::new();
    let asked = ids(&world, 3);
    let sent = publish(&world, draft("evt-1", "{}"), &asked).unwrap().messages;
    let object = key(&world.tenant, Environment::Test, &"evt-1".parse().unwrap());
    let mut left = 3;
    for wait in [Span::seconds(60), Span::minutes(5), Span::hours(1), Span::hours(1)] {
        let due = world.now() + wait;
        assert_eq!(world.alarm(&object), Some(due));
        world.clock.advance_to(due + Span::millis(-1));
        assert!(world.ring_events().is_empty());
        world.clock.advance_to(due);
        let again = world.ring_events();
        assert_eq!(again, sent[3 - left..], "exactly who has not answered");
        if left > 1 {
            answer(&world, &again[..1]);
            left -= 1;
        }
    }
    assert_eq!(unanswered(&world, "evt-1"), asked[2..]);
    answer(&world, &sent[2..]);
    assert_eq!(world.alarm(&object), None);
    assert!(unanswered(&world, "evt-1").is_empty());
    let before = world.disk.dump();
    answer(&world, &sent);
    assert_eq!(world.disk.dump(), before, "answering again changes nothing");
}

#[test]
fn answers_are_noted_bit_by_bit_across_pages() {
    let world = World::new();
    let asked = ids(&world, 250);
    let sent = publish(&world, draft("evt-1", "{}"), &asked).unwrap().messages;
    let pages: Vec<u32> = sent.iter().map(|it| it.page).collect();
    assert_eq!((sent.len(), pages[99], pages[100], pages[199], pages[249]), (250, 0, 1, 1, 2));
    // Every third, then an answer under the wrong page, then those of nobody's.
    let third: Vec<Fresh> = sent.iter().step_by(3).cloned().collect();
    answer(&world, &third);
    let left: Vec<_> =
        asked.iter().enumerate().filter(|(at, _)| at % 3 != 0).map(|(_, id)| id.clone()).collect();
    assert_eq!(unanswered(&world, "evt-1"), left);
    let before = world.disk.dump();
    answer(&world, &[Fresh { page: 2, ..sent[1].clone() }, Fresh { page: 7, ..sent[1].clone() }]);
    answer(&world, &[Fresh { subscription: world.mint(), ..sent[1].clone() }]);
    assert_eq!(world.disk.dump(), before);

    world.clock.advance(Span::seconds(60));
    let again: Vec<SubscriptionId> = world.ring_events().into_iter().map(|it| it.subscription).collect();
    assert_eq!(again, left);
    answer(&world, &sent[..200]);
    let object = key(&world.tenant, Environment::Test, &"evt-1".parse().unwrap());
    assert!(world.alarm(&object).is_some());
    answer(&world, &sent[200..]);
    assert_eq!((unanswered(&world, "evt-1"), world.alarm(&object)), (vec![], None));
}

#[test]
fn nobody_to_ask_arms_nothing() {
    let world = World::new();
    publish(&world, draft("evt-1", "{}"), &[]).unwrap();
    assert_eq!(world.alarm(&key(&world.tenant, Environment::Test, &"evt-1".parse().unwrap())), None);
}

#[test]
fn a_reply_carries_nothing_that_was_not_asked_for() {
    let world = World::new();
    publish(&world, draft("evt-1", "{}"), &ids(&world, 2)).unwrap();
    let object = key(&world.tenant, Environment::Test, &"evt-1".parse().unwrap());
    let describe = hookproof_authority::event::Command::Describe { event: "evt-1".parse().unwrap() };
    let view: serde_json::Value = now(Ask::<Events>::ask(&world.objects, &object, describe)).unwrap();
    let mut names: Vec<&str> = view.as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["asked", "event", "unanswered"]);
}
