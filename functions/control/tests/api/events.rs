//! An event is durable before its 202, idempotent by id and content, and bounded.

use hookproof_core::digest::Digest;
use hookproof_core::envelope::MAX_BYTES;
use hookproof_core::time::Span;
use serde_json::json;

use crate::{Answer, Site, event};

fn publish(site: &Site, token: &str, text: String) -> Answer {
    site.call(&format!("Bearer {token}"), "POST", "/v1/events", text)
}

#[test]
fn a_published_event_is_202_then_200_and_with_other_content_409() {
    let site = Site::new();
    let token = site.publisher();
    site.register(&token);
    let first = site.post(&token, "/v1/events", &event("evt-1"));
    assert_eq!(
        (first.status, &first.body["duplicate"], &first.body["subscriptions"]),
        (202, &json!(false), &json!(1))
    );
    assert_eq!(site.queue.take(9).unwrap().len(), 1);
    site.world.clock.advance(Span::hours(1));
    let again = site.post(&token, "/v1/events", &event("evt-1"));
    assert_eq!((again.status, &again.body["duplicate"]), (200, &json!(true)));
    for same in ["event_id", "payload_digest", "accepted_at"] {
        assert_eq!(again.body[same], first.body[same], "{same}");
    }
    assert!(site.queue.is_empty());
    let mut other = event("evt-1");
    other["data"] = json!({ "n": 2 });
    assert_eq!(site.post(&token, "/v1/events", &other).problem(), (409, "event.conflict", "id"));
    let read = site.get(&token, "/v1/events/evt-1");
    assert_eq!(read.body["event"]["payload_digest"], first.body["payload_digest"]);
}

#[test]
fn an_event_without_an_id_gets_one_of_its_own() {
    let site = Site::new();
    let token = site.publisher();
    let mut draft = event("x");
    draft.as_object_mut().unwrap().remove("id");
    let ids = [0, 1].map(|_| site.post(&token, "/v1/events", &draft).text("event_id"));
    assert!(ids[0].starts_with("evt_") && ids[0] != ids[1]);
}

#[test]
fn an_id_has_at_most_128_characters_and_one_that_is_no_digit() {
    let site = Site::new();
    let token = site.publisher();
    for (id, fits) in [
        ("x".repeat(127), true),
        ("x".repeat(128), true),
        ("x".repeat(129), false),
        (String::new(), false),
        ("a".into(), true),
        ("1700000000".into(), false),
        ("1700000000x".into(), true),
        ("a.1700000000".into(), false),
        ("a b".into(), false),
        ("a/b".into(), false),
        ("ä".into(), false),
        ("a:b-c_D".into(), true),
    ] {
        let answer = site.post(&token, "/v1/events", &event(&id));
        if fits {
            assert_eq!(answer.status, 202, "{id}");
        } else {
            assert_eq!(answer.problem(), (400, "body.malformed", "id"), "{id}");
        }
    }
}

#[test]
fn an_id_is_found_under_its_percent_encoding_too() {
    let site = Site::new();
    let token = site.publisher();
    site.post(&token, "/v1/events", &event("order-7:paid"));
    for spelled in ["order-7:paid", "order-7%3Apaid", "order-7%3apaid"] {
        assert_eq!(site.get(&token, &format!("/v1/events/{spelled}")).status, 200, "{spelled}");
        assert_eq!(site.get(&token, &format!("/v1/deliveries?event={spelled}")).status, 200, "{spelled}");
    }
    for odd in ["order-7%3", "%ff", "order-7%2Fpaid"] {
        assert_eq!(site.get(&token, &format!("/v1/events/{odd}")).problem().0, 404, "{odd}");
    }
}

#[test]
fn a_frozen_event_has_at_most_256_kib() {
    let site = Site::new();
    let token = site.publisher();
    let length_of = |id: &str| -> usize {
        let read = site.get(&token, &format!("/v1/events/{id}"));
        usize::try_from(read.body["event"]["length"].as_u64().unwrap()).unwrap()
    };
    let draft = |id: &str, octets: usize| {
        let mut draft = event(id);
        draft["data"] = json!("x".repeat(octets));
        draft.to_string()
    };
    publish(&site, &token, draft("evt-0", 0));
    let overhead = length_of("evt-0");
    for (id, length, fits) in
        [("evt-1", MAX_BYTES - 1, true), ("evt-2", MAX_BYTES, true), ("evt-3", MAX_BYTES + 1, false)]
    {
        let answer = publish(&site, &token, draft(id, length - overhead));
        if fits {
            assert_eq!((answer.status, length_of(id)), (202, length));
        } else {
            assert_eq!(answer.problem(), (413, "body.too_large", "data"));
            assert_eq!(site.get(&token, &format!("/v1/events/{id}")).problem().1, "event.unknown");
        }
    }
    let huge = publish(&site, &token, draft("evt-4", MAX_BYTES));
    assert_eq!(huge.problem(), (413, "body.too_large", "data"));
}

#[test]
fn data_is_kept_octet_for_octet_and_read_strictly() {
    let site = Site::new();
    let token = site.publisher();
    site.register(&token);
    let with = |data: &str| {
        format!(
            "{{\"id\":\"evt-{}\",\"type\":\"invoice.paid\",\"api_version\":\"1\",\"data\":{data}}}",
            Digest::of(data.as_bytes()).to_string().replace("sha-256:", "")
        )
    };
    for data in [
        "{\"a\" : 1.10,\n \"b\":\"\\u00e9\"}",
        "null",
        "[]",
        "1e5",
        "\"\"",
        "{\"a\":{\"a\":1}}",
        "12345678901234567890",
    ] {
        assert_eq!(publish(&site, &token, with(data)).status, 202, "{data}");
        let message = site.queue.take(1).unwrap().pop().unwrap();
        let body = message.body.unwrap();
        assert!(body.ends_with(&format!(",\"data\":{data}}}")), "{body}");
        assert_eq!(Digest::of(body.as_bytes()), message.event.payload_digest);
    }
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(publish(&site, &token, with(&nested(32))).status, 202);
    for data in ["{\"a\":1,\"a\":2}", "{\"a\":{\"b\":1,\"\\u0062\":2}}", "1e999", "\"\\ud800\"", &nested(33)]
    {
        assert_eq!(publish(&site, &token, with(data)).problem(), (400, "body.malformed", "data"), "{data}");
    }
    for data in ["{'a':1}", "NaN", "", "{\"a\":1", "01"] {
        assert_eq!(publish(&site, &token, with(data)).status, 400, "{data}");
    }
}

#[test]
fn the_systems_own_types_cannot_be_published() {
    let site = Site::new();
    let token = site.publisher();
    for kind in [
        "hookproof.delivery.dead_lettered",
        "subscription.challenge.v1",
        "subscription.challenge.answer.v1",
        "delivery.status.v1",
        "applicationReceipt.v1",
        "invoice",
        "Invoice.paid",
        &format!("a.{}", "b".repeat(127)),
    ] {
        let mut draft = event("evt-1");
        draft["type"] = json!(kind);
        assert_eq!(
            site.post(&token, "/v1/events", &draft).problem(),
            (400, "body.malformed", "type"),
            "{kind}"
        );
    }
    for version in ["", " ", "a b", &"1".repeat(65)] {
        let mut draft = event("evt-1");
        draft["api_version"] = json!(version);
        let answer = site.post(&token, "/v1/events", &draft);
        assert_eq!(answer.problem(), (400, "body.malformed", "api_version"));
    }
}

#[test]
fn a_lost_queue_delays_and_the_event_is_accepted_all_the_same() {
    let site = Site::new();
    let token = site.publisher();
    let id = site.register(&token).text("subscription_id");
    site.post(&token, "/v1/events", &event("evt-1"));
    site.queue.take(9).unwrap();
    let read = site.get(&token, "/v1/events/evt-1");
    assert_eq!(read.body["unanswered"], json!([id]));
    let deliveries = site.get(&token, "/v1/deliveries?event=evt-1");
    assert_eq!((&deliveries.body["items"], &deliveries.body["planned"]), (&json!([]), &json!([id])));
    site.world.clock.advance(Span::seconds(60));
    assert_eq!(site.world.ring_events().len(), 1);
}

#[test]
fn a_failed_store_accepts_nothing() {
    let site = Site::new();
    let token = site.publisher();
    site.register(&token);
    let before = site.world.disk.dump();
    for statement in 0..3 {
        site.world.disk.fail_at(Some(statement));
        let answer: Answer = site.post(&token, "/v1/events", &event("evt-1"));
        site.world.disk.fail_at(None);
        assert_eq!(answer.problem(), (503, "internal.store", ""));
        assert_eq!((site.world.disk.dump(), site.queue.len()), (before.clone(), 0));
    }
    assert_eq!(site.post(&token, "/v1/events", &event("evt-1")).status, 202);
}
