//! The wire's vectors through the subscriber's own door, and what the developer is told when they are bent.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of a test may fail like the test")]

use hookproof_verify::{Failure, Message, Onlooker, ReceiptResult, Request, Sender, Subscriber, Timestamp};
use serde_json::{Value, json};

const CHALLENGE: &str = include_str!("../../../tests/vectors/data/wire/challenge.v1.json");
const DELIVERY: &str = include_str!("../../../tests/vectors/data/wire/delivery.v1.json");
const RECEIPT: &str = include_str!("../../../tests/vectors/data/wire/receipt.v1.json");

fn cases(file: &str) -> Vec<Value> {
    serde_json::from_value(serde_json::from_str::<Value>(file).unwrap()["cases"].take()).unwrap()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

fn entry(case: &Value) -> Value {
    let (input, expected) = (&case["input"], &case["expected"]);
    let mut entry = input["scope"].clone();
    let receipts = match (input["subscriber_key"]["seed"].as_str(), input["receipt_alg"].as_str()) {
        (Some(seed), _) => Some(json!({ "alg": "ed25519", "seed": seed })),
        (None, Some(alg)) => Some(json!({ "alg": alg })),
        (None, None) => None,
    };
    if let Some(key) = receipts {
        let url = input["receipts_url"].as_str().unwrap_or("https://receipts.sender.com/receipts");
        entry["receipts"] = json!({ "url": url, "key": key });
    }
    entry["profile"] = input["profile"].clone();
    entry["public_url"] = input["endpoint"].clone();
    entry["secret"] = input["secret"].clone();
    let alg = &input["signing_key"]["alg"];
    entry["keys"] =
        json!([{ "key_id": expected["key_id"], "alg": alg, "public_key": expected["public_key"] }]);
    entry
}

fn subscriber(case: &Value) -> Subscriber {
    Subscriber::from_json(&entry(case).to_string()).unwrap()
}

fn lines(case: &Value) -> Vec<(String, String)> {
    serde_json::from_value(case["expected"]["headers"].clone()).unwrap()
}

fn time(value: &Value, field: &str) -> Timestamp {
    Timestamp::parse(text(value, field)).unwrap()
}

fn ed25519() -> Value {
    cases(DELIVERY).remove(0)
}

/// The vector's delivery with something bent.
fn bent(bend: impl FnOnce(&mut Vec<(String, String)>, &mut Vec<u8>)) -> Failure {
    at(0, bend)
}

fn at(seconds: i64, bend: impl FnOnce(&mut Vec<(String, String)>, &mut Vec<u8>)) -> Failure {
    let case = ed25519();
    let (mut lines, mut body) = (lines(&case), text(&case["expected"], "body").as_bytes().to_vec());
    bend(&mut lines, &mut body);
    let now = Timestamp::from_unix(time(&case["input"], "claimed_at").unix() + seconds);
    subscriber(&case).receive(&Request::new("POST", "/in/billing", lines, &body), now).unwrap_err()
}

#[test]
fn the_wires_deliveries_verify_under_both_algorithms() {
    for case in cases(DELIVERY) {
        let (input, expected) = (&case["input"], &case["expected"]);
        let body = text(expected, "body").as_bytes();
        for target in ["/in/billing", "https://hooks.customer.com/in/billing"] {
            let request = Request::new("POST", target, lines(&case), body);
            let message = subscriber(&case).receive(&request, time(input, "claimed_at")).unwrap();
            let Message::Delivery(delivery) = message else { panic!("no delivery") };
            assert_eq!(delivery.event_id(), text(&input["event"], "id"));
            assert_eq!(delivery.event_type(), text(&input["event"], "type"));
            assert_eq!(delivery.delivery_id(), text(expected, "delivery_id"));
            assert_eq!(u64::from(delivery.attempt()), input["attempt"].as_u64().unwrap());
            assert_eq!(delivery.key_id(), text(expected, "key_id"));
            assert_eq!(delivery.payload_digest(), text(expected, "payload_digest"));
            assert_eq!(delivery.signed_at(), time(input, "claimed_at").unix());
        }
    }
}

#[test]
fn the_wires_challenges_get_the_wires_answers_and_a_decoy_none() {
    for case in cases(CHALLENGE) {
        let (input, expected) = (&case["input"], &case["expected"]);
        let now = time(input, "issued_at");
        let receive = |body: &str| {
            subscriber(&case)
                .receive(&Request::new("POST", "/in/billing", lines(&case), body.as_bytes()), now)
        };
        let Message::Challenge { answer } = receive(text(expected, "body")).unwrap() else {
            panic!("no challenge")
        };
        assert_eq!(String::from_utf8(answer).unwrap(), text(expected, "answer"));
        let refused = receive(text(expected, "decoy_body_for_this_nonce")).unwrap_err();
        assert_eq!(refused.code(), "digest.mismatch");
    }
}

#[test]
fn the_wires_receipts_are_made_from_the_wires_deliveries() {
    let receipts = cases(RECEIPT);
    for (delivered, case) in cases(DELIVERY).iter().zip(&receipts) {
        let (input, expected) = (&case["input"], &case["expected"]);
        let subscriber = subscriber(delivered);
        let body = text(&delivered["expected"], "body").as_bytes();
        let request = Request::new("POST", "/in/billing", lines(delivered), body);
        let now = time(&delivered["input"], "claimed_at");
        let Message::Delivery(delivery) = subscriber.receive(&request, now).unwrap() else {
            panic!("no delivery")
        };
        let it = &input["receipt"];
        let result = serde_json::from_value::<ReceiptResult>(it["result"].clone()).unwrap();
        let made =
            subscriber.receipt(&delivery, result, text(it, "operation_id"), time(it, "issued_at")).unwrap();
        assert_eq!(std::str::from_utf8(made.body()).unwrap(), text(expected, "body"));
        assert_eq!(made.url(), text(input, "receipts_url"));
        let headers: Vec<_> = made.headers().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        assert_eq!(headers, lines(case));
        let refused = subscriber.receipt(&delivery, result, "with blanks", now).unwrap_err();
        assert_eq!(refused.code(), "operation_id.refused");
    }
    assert_eq!(receipts.len(), 2);
}

#[test]
fn a_developer_is_told_why() {
    let code_and = |failure: Failure, words: &str| {
        assert!(failure.to_string().contains(words), "{failure}");
        assert_eq!(failure.wire(), "refused");
        failure.code()
    };
    let nothing = |_: &mut Vec<(String, String)>, _: &mut Vec<u8>| {};
    let set = |name: &'static str, value: &'static str| {
        move |lines: &mut Vec<(String, String)>, _: &mut Vec<u8>| {
            lines.iter_mut().filter(|(n, _)| n == name).for_each(|(_, v)| value.clone_into(v));
        }
    };
    assert_eq!(code_and(bent(|_, body| body.push(b'\n')), "body was re-serialised"), "digest.mismatch");
    assert_eq!(code_and(at(412, nothing), "timestamp 412 s old"), "timestamp.too_old");
    assert_eq!(code_and(at(300, nothing), "timestamp 300 s old"), "timestamp.too_old");
    assert_eq!(code_and(at(-61, nothing), "61 s ahead"), "timestamp.too_new");
    assert_eq!(
        code_and(bent(set("webhook-id", "evt_other")), "a covered header was changed"),
        "signature.wrong"
    );
    assert_eq!(code_and(bent(|lines, _| lines.truncate(7)), "signature-input, signature"), "field.missing");
    assert_eq!(code_and(bent(|lines, _| drop(lines.remove(2))), "webhook-id"), "field.missing");
    let coded = |lines: &mut Vec<_>, _: &mut Vec<u8>| lines.push(("Content-Encoding".into(), "gzip".into()));
    assert_eq!(code_and(bent(coded), "without Content-Encoding"), "content.coded");
    let foreign = bent(|lines, _| {
        let input = &mut lines[7].1;
        *input = input.replace("AkXIZFzonb59ZmGwyKgi3H3BwMi6amevqdKQiLZhdtc", "unknown");
    });
    assert_eq!(code_and(foreign, "unknown is not one of ours"), "key.unknown");
    let shadow = bent(|lines, _| lines[7].1 = lines[7].1.replace("delivery-v1", "shadow-v1"));
    assert_eq!(code_and(shadow, "hookproof-delivery-v1"), "signature.malformed");
}

#[test]
fn another_target_or_method_is_told_from_a_wrong_signature() {
    let case = ed25519();
    let body = text(&case["expected"], "body").as_bytes();
    let now = time(&case["input"], "claimed_at");
    for (method, target, code) in [
        ("POST", "/in/other", "target.mismatch"),
        ("POST", "/in/billing?x=1", "target.mismatch"),
        ("POST", "https://elsewhere.com/in/billing", "target.mismatch"),
        ("POST", "https://hooks.customer.com.evil.com/in/billing", "target.mismatch"),
        ("PUT", "/in/billing", "method.not_post"),
    ] {
        let request = Request::new(method, target, lines(&case), body);
        assert_eq!(subscriber(&case).receive(&request, now).unwrap_err().code(), code, "{method} {target}");
    }
}

#[test]
fn what_was_signed_for_another_generation_is_refused() {
    let case = ed25519();
    let mut entry = entry(&case);
    entry["generation"] = json!(2);
    let subscriber = Subscriber::from_json(&entry.to_string()).unwrap();
    let body = text(&case["expected"], "body").as_bytes();
    let request = Request::new("POST", "/in/billing", lines(&case), body);
    let refused = subscriber.receive(&request, time(&case["input"], "claimed_at")).unwrap_err();
    assert_eq!(refused.code(), "subscription.mismatch");
    assert!(refused.explanation().contains("generation 1; this entry is"), "{refused}");
}

#[test]
fn a_sender_of_the_entry_signs_what_the_subscriber_takes() {
    let case = ed25519();
    let subscriber = subscriber(&case);
    let seed: [u8; 32] = std::array::from_fn(|at| 0x20 + u8::try_from(at).unwrap());
    let sender = Sender::ed25519(&subscriber, seed).unwrap();
    let (body, now) = (text(&case["expected"], "body").as_bytes(), Timestamp::from_unix(1_796_119_400));
    let sent = sender.delivery(body, 2, now).unwrap();
    let request = Request::new("POST", "/in/billing", sent.headers(), sent.body());
    let Message::Delivery(delivery) = subscriber.receive(&request, now).unwrap() else {
        panic!("no delivery")
    };
    assert_eq!((delivery.attempt(), delivery.event_id()), (2, "evt_invoice_1001_paid"));
    assert_eq!(Sender::ed25519(&subscriber, [9; 32]).unwrap_err().code(), "key.unsuitable");
    assert_eq!(Sender::hmac(&subscriber).unwrap_err().code(), "key.unsuitable");
    assert_eq!(sender.delivery(b"{}", 1, now).unwrap_err().code(), "body.malformed");
}

#[test]
fn an_entry_is_refused_by_its_field_and_never_quoted() {
    let good = entry(&ed25519());
    let refused = |change: fn(&mut Value)| {
        let mut entry = good.clone();
        change(&mut entry);
        let failure = Subscriber::from_json(&entry.to_string()).unwrap_err();
        assert_eq!(failure.code(), "entry.malformed");
        assert!(!failure.to_string().contains("ERERERER"), "{failure}");
        failure.to_string()
    };
    assert!(refused(|e| e["secret"] = json!("ERERERER")).contains("the entry's secret"));
    assert!(refused(|e| e["keys"] = json!([])).contains("the entry's keys"));
    assert!(
        refused(|e| drop(e.as_object_mut().unwrap().remove("issuer"))).contains("missing field `issuer`")
    );
    assert!(refused(|e| e["generation"] = e["secret"].clone()).contains("a value of another form at line 1"));
}

#[test]
fn nothing_secret_is_printed() {
    let subscriber = subscriber(&ed25519());
    let shown = format!("{subscriber:?}");
    assert_eq!(shown, "Subscriber(sub_01m8rdk9k0081040g2081037yw, generation 1, redacted)");
}

#[test]
fn an_onlooker_needs_the_public_key_alone() {
    let case = ed25519();
    let (input, expected) = (&case["input"], &case["expected"]);
    let (body, now) = (text(expected, "body").as_bytes(), time(input, "claimed_at"));
    let onlooker = Onlooker::new(text(expected, "public_key"), text(input, "endpoint")).unwrap();
    let seen = onlooker.verify(&Request::new("POST", "/in/billing", lines(&case), body), now).unwrap();
    assert_eq!(seen.event_id, text(&input["event"], "id"));
    assert_eq!(seen.delivery_id, text(expected, "delivery_id"));
    assert_eq!((seen.generation.as_str(), seen.attempt.as_str()), ("1", "1"));

    let code = |onlooker: &Onlooker, target: &str, body: &[u8]| {
        onlooker.verify(&Request::new("POST", target, lines(&case), body), now).unwrap_err().code()
    };
    assert_eq!(code(&onlooker, "/in/billing", b"{}"), "digest.mismatch");
    assert_eq!(code(&onlooker, "/in/other", body), "target.mismatch");
    let elsewhere =
        Onlooker::new(text(expected, "public_key"), "https://hooks.other.com/in/billing").unwrap();
    assert_eq!(code(&elsewhere, "/in/billing", body), "signature.wrong");
    let other =
        Onlooker::new("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", text(input, "endpoint")).unwrap();
    assert_eq!(code(&other, "/in/billing", body), "key.unknown");
    for (key, url, code) in [
        ("AAAA", text(input, "endpoint"), "key.length"),
        ("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", text(input, "endpoint"), "key.weak"),
        (text(expected, "public_key"), "https://HOOKS.customer.com/in", "url.malformed"),
    ] {
        assert_eq!(Onlooker::new(key, url).unwrap_err().code(), code);
    }
}

#[test]
fn a_token_in_the_urls_query_is_not_shown() {
    let case = ed25519();
    let mut entry = entry(&case);
    entry["public_url"] = json!("https://hooks.customer.com/in/billing?token=hush");
    let subscriber = Subscriber::from_json(&entry.to_string()).unwrap();
    let body = text(&case["expected"], "body").as_bytes();
    for (target, code) in [("/in/billing", "target.mismatch"), ("/in/billing?token=hush", "signature.wrong")]
    {
        let request = Request::new("POST", target, lines(&case), body);
        let refused = subscriber.receive(&request, time(&case["input"], "claimed_at")).unwrap_err();
        assert_eq!(refused.code(), code);
        assert!(!refused.to_string().contains("hush"), "{refused}");
    }
}
