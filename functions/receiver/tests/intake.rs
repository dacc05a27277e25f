//! What comes in: verified, stored once, and only then answered 2xx.

mod support;

use hookproof_core::challenge::{ANSWER_TYPE, Challenge, Nonces, ProbeMap, ProvedKey, Purpose};
use hookproof_core::digest::Digest;
use hookproof_core::id::{ChallengeId, IdKey};
use hookproof_core::signature::{Alg, profile};
use hookproof_core::time::Span;
use hookproof_ports::{Clock, FromRow};
use http::Request;
use support::{Sender, World, json, now};

#[test]
fn a_verified_delivery_is_stored_with_its_bytes_and_then_answered() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let request = sender.delivery("evt-1", "{\"n\":1}", world.clock.now());
    let answer = world.post(&request);
    assert_eq!((answer.status().as_u16(), json(&answer)), (200, serde_json::json!({"accepted": true})));
    assert!(answer.headers().contains_key("request-id"));
    let stored = world.disk.rows("SELECT body FROM inbox_body");
    assert_eq!(stored[0].blob(0).unwrap(), &request.body()[..]);
    assert_eq!(world.queue.messages.len(), 1);
}

#[test]
fn a_tampered_body_answers_400_and_stores_nothing() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let mut request = sender.delivery("evt-1", "{\"n\":1}", world.clock.now());
    *request.body_mut() = String::from_utf8(request.body().to_vec()).unwrap().replace("1}", "2}").into();
    let answer = world.post(&request);
    assert_eq!(answer.status(), 400);
    assert_eq!(
        json(&answer),
        serde_json::json!({"type": "about:blank", "title": "Bad request", "status": 400})
    );
    assert!(world.journal.mentions("digest.mismatch"));
    assert!(world.journal.mentions(&sender.key_id), "the key is named");
    assert!(world.journal.mentions("hookproof-delivery-v1"), "and what was signed");
    let signature = request.headers()["signature"].to_str().unwrap();
    assert!(!world.journal.mentions(&signature[10..50]), "but never the signature");
    assert_eq!(world.queue.messages.len(), 0);
    let inbox = now(world.receiver.objects.next_alarm()).unwrap();
    assert_eq!(inbox, None, "nothing is armed");
    assert!(world.get("/receiver/inbox?source=billing")["items"].as_array().unwrap().is_empty());
}

#[test]
fn the_outside_learns_the_same_from_every_bad_signature() {
    let (sender, stranger) = (Sender::new(1), Sender::new(9));
    let world = World::with(&[&sender]);
    let at = world.clock.now();
    let mut unsigned = sender.delivery("evt-1", "{}", at);
    unsigned.headers_mut().remove("signature");
    let mut bent = sender.delivery("evt-1", "{}", at);
    bent.headers_mut().insert("webhook-attempt", "2".parse().unwrap());
    let mut elsewhere = sender.delivery("evt-1", "{}", at);
    *elsewhere.uri_mut() = "/in/billing?x=1".parse().unwrap();
    let mut another = Sender::new(1);
    another.entry.generation = another.entry.generation.next();
    let another = another.delivery("evt-1", "{}", at);
    let foreign = stranger.delivery("evt-1", "{}", at);
    let answers = [unsigned, bent, elsewhere, another, foreign].map(|request| world.post(&request));
    for answer in &answers {
        assert_eq!((answer.status().as_u16(), answer.body()), (400, answers[0].body()));
    }
}

#[test]
fn the_same_id_with_other_bytes_is_409_and_quarantined() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    assert_eq!(world.post(&sender.delivery("evt-1", "{\"n\":1}", world.clock.now())).status(), 200);
    for _ in 0..2 {
        assert_eq!(world.post(&sender.delivery("evt-1", "{\"n\":2}", world.clock.now())).status(), 409);
    }
    world.drain();
    assert_eq!(world.handled().len(), 1);
    let quarantine = world.get("/receiver/quarantine?source=billing");
    assert_eq!(quarantine["items"][0]["reason"], "event.conflict");
    assert_eq!(quarantine["items"][0]["times"], 2);
    assert_eq!(world.get("/receiver/metrics?source=billing")["conflicts"], 2);
}

#[test]
fn a_replay_inside_the_window_is_a_200_without_a_second_effect() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let request = sender.delivery("evt-1", "{}", world.clock.now());
    assert_eq!(world.post(&request).status(), 200);
    world.drain();
    world.clock.advance(Span::seconds(299));
    let again = world.post(&request);
    assert_eq!((again.status().as_u16(), json(&again)), (200, serde_json::json!({"duplicate": true})));
    world.drain();
    assert_eq!((world.handled().len(), world.receipts().len()), (1, 1));
    assert_eq!(world.get("/receiver/metrics?source=billing")["duplicates"], 1);
}

#[test]
fn outside_the_window_is_400_and_says_so() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let request = sender.delivery("evt-1", "{}", world.clock.now());
    let early = sender.delivery("evt-2", "{}", world.clock.now() + Span::seconds(61));
    assert_eq!(json(&world.post(&early)), serde_json::json!({"error": "timestamp_outside_window"}));
    world.clock.advance(Span::seconds(300));
    let late = world.post(&request);
    let error = serde_json::json!({"error": "timestamp_outside_window"});
    assert_eq!((late.status().as_u16(), json(&late)), (400, error));
    assert_eq!(world.queue.messages.len(), 0);
}

#[test]
fn another_tenants_event_of_the_same_id_does_not_collide() {
    let (attacker, victim) = (Sender::new(2), Sender::new(1));
    let world = World::with(&[&victim, &attacker]);
    assert_eq!(world.post(&attacker.delivery("evt-1", "{\"evil\":1}", world.clock.now())).status(), 200);
    assert_eq!(world.post(&victim.delivery("evt-1", "{\"good\":1}", world.clock.now())).status(), 200);
    world.drain();
    let handled = world.handled();
    let tenants: Vec<_> = handled.iter().map(|got| got.field("hookproof-tenant")).collect();
    assert_eq!(handled.len(), 2);
    assert_ne!(tenants[0], tenants[1]);
    assert_ne!(handled[0].field("idempotency-key"), handled[1].field("idempotency-key"));
    assert_eq!(world.get("/receiver/metrics?source=billing")["conflicts"], 0);
}

#[test]
fn nothing_is_answered_2xx_that_is_not_durable() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let request = sender.delivery("evt-1", "{}", world.clock.now());
    world.disk.down.set(true);
    let answer = world.post(&request);
    assert_eq!(answer.status(), 503);
    assert!(answer.headers().contains_key("retry-after"));
    assert_eq!(world.queue.messages.len(), 0);
    world.disk.down.set(false);
    assert_eq!(json(&world.post(&request)), serde_json::json!({"accepted": true}), "nothing was left behind");
}

#[test]
fn a_queue_that_is_down_costs_time_and_no_event() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    world.queue.down.set(true);
    assert_eq!(world.post(&sender.delivery("evt-1", "{}", world.clock.now())).status(), 200);
    world.queue.down.set(false);
    world.pass(Span::seconds(31));
    assert_eq!((world.handled().len(), world.disk.states()), (1, vec!["completed".to_owned()]));
}

#[test]
fn an_event_older_than_the_memory_is_quarantined_not_applied() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let accepted = world.clock.now();
    assert_eq!(world.post(&sender.delivery("evt-1", "{}", accepted)).status(), 200);
    world.drain();
    world.pass(Span::days(31));
    assert_eq!(world.disk.count("inbox"), 0, "the row is forgotten");
    assert_eq!(world.disk.count("inbox_receipt"), 0);
    let replay = sender.attempt("evt-1", "{}", accepted, world.clock.now(), 2);
    assert_eq!(world.post(&replay).status(), 409);
    world.drain();
    assert_eq!(world.handled().len(), 1);
    let reason = &world.get("/receiver/quarantine?source=billing")["items"][0]["reason"];
    assert_eq!(reason, "event.too_old");
}

#[test]
fn what_is_not_served_is_told_apart_and_no_more() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let request =
        |method: &str, uri: &str| Request::builder().method(method).uri(uri).body("".into()).unwrap();
    for (method, uri, status) in [
        ("POST", "/in/other", 404),
        ("POST", "/in/No%20Name", 404),
        ("GET", "/in/billing", 405),
        ("POST", "/in/billing", 400),
        ("POST", "/elsewhere", 404),
        ("POST", "/receiver/health", 405),
        ("GET", "/receiver/health", 200),
    ] {
        assert_eq!(world.post(&request(method, uri)).status().as_u16(), status, "{method} {uri}");
    }
    let sized = |size: usize| {
        let mut it = request("POST", "/in/billing");
        *it.body_mut() = vec![b'x'; size].into();
        world.post(&it).status().as_u16()
    };
    assert_eq!((sized(256 * 1024), sized(256 * 1024 + 1)), (400, 413));
}

#[test]
fn a_challenge_is_answered_and_leaves_no_trace() {
    let (sender, stranger) = (Sender::new(1), Sender::new(9));
    let world = World::with(&[&sender]);
    let at = world.clock.now();
    let issue = |from: &Sender| {
        let draft = Challenge {
            id: ChallengeId::mint(&IdKey::new(b"k"), at, [3; 10]),
            purpose: Purpose::Activate,
            scope: from.entry.scope(),
            endpoint_digest: from.entry.endpoint_digest(),
            nonce: String::new(),
            issued_at: at,
            expires_at: at + Span::seconds(300),
            profile: from.entry.profile.clone(),
            key_id: from.key_id.clone(),
            key_commitment: Digest([0; 32]),
            proof_alg: Alg::Ed25519,
            proof_key_id: String::new(),
            body_digest: Digest([0; 32]),
            probe_map: 0,
        };
        let nonces = Nonces { nonce: [4; 32], probe_map: ProbeMap(0x1234_5678) };
        let issued = Challenge::issue(draft, &ProvedKey::Ed25519(&from.key), &nonces);
        let body = String::from_utf8(issued.body).unwrap();
        let fields = from.fields(issued.challenge.id.as_str(), &body);
        (from.signed(&profile::CHALLENGE, fields, body, at), issued.challenge.nonce)
    };
    let (request, nonce) = issue(&sender);
    let answer = world.post(&request);
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"application/json".parse().unwrap())
    );
    let body = json(&answer);
    assert_eq!((&body["type"], &body["probes"]), (&ANSWER_TYPE.into(), &0x1234_5678.into()));
    let mut decoy = request;
    *decoy.body_mut() = Challenge::bend(decoy.body(), &nonce).into();
    assert_eq!(world.post(&decoy).status(), 400, "a decoy gets no proof");
    assert_eq!(world.post(&issue(&stranger).0).status(), 400, "nor does a subscription without an entry");
    assert!(now(world.receiver.objects.next_alarm()).unwrap().is_none());
}
