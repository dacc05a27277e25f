//! Outside, a receipt is recorded, a duplicate, a contradiction or refused; why it was refused stays in.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

#[path = "../../../shared/authority/tests/support/mod.rs"]
mod support;

use ::http::{Request, Response};
use bytes::Bytes;
use hookproof_authority::subscription::{Claimed, ReceiptRequest};
use hookproof_core::digest::Digest;
use hookproof_core::id::{IdKey, SubscriptionId};
use hookproof_core::receipt::{Receipt, ReceiptResult};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{SigningKey, profile};
use hookproof_native::{Kept, SeededEntropy};
use hookproof_receipt::{MAX_BODY, Receipts};
use serde_json::{Value, json};
use support::ledger::{answered, attempted};
use support::party::{Contract, sign_receipt};
use support::{Party, RECEIPTS, Reach, Setup, World, now};

struct Case {
    world: World,
    party: Party,
    claimed: Claimed,
    journal: Kept,
    receipts: Receipts<Reach, SeededEntropy, Kept>,
}

impl Case {
    fn new(receipt: Contract) -> Self {
        let world = World::new();
        let party = world.active(Setup { receipt, ..Setup::default() });
        let claimed = world.claim(&party, "evt-1");
        world.settle(&party, &claimed, answered(200)).unwrap();
        let journal = Kept::default();
        let (objects, entropy) = (world.objects.clone(), world.entropy.clone());
        let id_key = support::id_key();
        let receipts = Receipts { objects, entropy, journal: journal.clone(), id_key };
        Self { world, party, claimed, journal, receipts }
    }

    fn receipt(&self, operation: &str) -> Receipt {
        self.party.receipt(&self.world, &attempted(&self.claimed), operation, ReceiptResult::Applied)
    }

    fn send(&self, request: &Request<Bytes>) -> Response<Bytes> {
        now(self.receipts.answer(Ok(request.clone())))
    }

    fn bring(&self, receipt: &Receipt) -> (u16, Value) {
        read(&self.send(&post(&self.party.signed(&self.world, receipt))))
    }
}

fn post(request: &ReceiptRequest) -> Request<Bytes> {
    let mut builder = Request::builder().method("POST").uri("/receipts");
    for (name, value) in &request.fields {
        builder = builder.header(name, value);
    }
    builder.body(Bytes::from(request.body.clone())).unwrap()
}

fn read(response: &Response<Bytes>) -> (u16, Value) {
    // A signature is the credential; this route takes no bearer.
    let scheme = response.headers().get("www-authenticate").map(|value| value.to_str().unwrap());
    assert_eq!(scheme, Some("Signature").filter(|_| response.status() == 401));
    (response.status().as_u16(), serde_json::from_slice(response.body()).unwrap())
}

#[test]
fn a_receipt_is_confirmed_then_a_duplicate_then_a_contradiction() {
    for contract in [Contract::Ed25519, Contract::Hmac] {
        let case = Case::new(contract);
        let delivery = case.claimed.delivery_id.as_str();
        let recorded =
            |word| json!({ "receipt": word, "delivery_id": delivery, "state": "APPLICATION_CONFIRMED" });
        let receipt = case.receipt("op-1");
        assert_eq!(case.bring(&receipt), (200, recorded("confirmed")));
        assert_eq!(case.bring(&receipt), (200, recorded("duplicate")));
        let kept = |reason| json!({ "receipt": "quarantined", "reason": reason });
        assert_eq!(case.bring(&case.receipt("op-2")), (409, kept("receipt.second_effect")));
        let other = Receipt { payload_digest: Digest::of(b"x"), ..receipt };
        assert_eq!(case.bring(&other), (409, kept("receipt.conflict")));
    }
}

#[test]
fn every_answer_has_its_own_request_id_and_is_not_cached() {
    let case = Case::new(Contract::Ed25519);
    let request = post(&case.party.signed(&case.world, &case.receipt("op")));
    let ids: Vec<String> = (0..3)
        .map(|_| {
            let answer = case.send(&request);
            assert_eq!(answer.headers()["cache-control"], "no-store");
            answer.headers()["request-id"].to_str().unwrap().to_owned()
        })
        .collect();
    assert!(ids[0].starts_with("req_") && ids[0] != ids[1] && ids[1] != ids[2]);
}

#[test]
fn a_stranger_cannot_tell_an_existing_subscription_from_a_made_up_one() {
    let case = Case::new(Contract::Ed25519);
    let mute = case.world.active(Setup { receipt: Contract::None, ..Setup::default() });
    let genuine = case.receipt("op");
    let subscription = |id: SubscriptionId| Receipt { subscription_id: id, ..genuine.clone() };
    let made_up = SubscriptionId::mint(&IdKey::new(b"a guess"), case.world.now(), [1; 10]);
    let targets = [
        ("an existing delivery", genuine.clone()),
        ("another attempt", Receipt { attempt: 9, ..genuine.clone() }),
        ("a delivery that never was", Receipt { event_id: "evt-x".parse().unwrap(), ..genuine.clone() }),
        (
            "a generation that never was",
            Receipt { generation: hookproof_core::id::Generation(9), ..genuine.clone() },
        ),
        ("a subscription that never was", subscription(case.world.mint())),
        ("a made-up subscription", subscription(made_up)),
        ("a subscription without receipts", subscription(mute.id.clone())),
    ];
    let forger = SigningKey::ed25519(&Secret::new([9; 32]));
    let mac = SigningKey::hmac(Secret::new([9; 32]));
    let (_, key_id, _) = case.party.entry().receipt_key().unwrap();
    let at = case.world.now().unix();
    let before = case.world.disk.dump();
    for (target, receipt) in &targets {
        let sign =
            |kind, key: &SigningKey, id: &str, at| sign_receipt(receipt, kind, RECEIPTS, (key, id), at);
        let good = sign(&profile::RECEIPT, &forger, &key_id, at);
        let without = |name: &str| {
            let fields = good.fields.iter().filter(|(known, _)| known != name).cloned().collect();
            ReceiptRequest { fields, ..good.clone() }
        };
        let with = |name: &str, value: &str| {
            let mut more = good.clone();
            more.fields.push((name.into(), value.into()));
            more
        };
        let ways = [
            ("forged", good.clone()),
            ("forged, unknown key", sign(&profile::RECEIPT, &forger, "unknown", at)),
            ("forged, other algorithm", sign(&profile::RECEIPT, &mac, &key_id, at)),
            ("forged, expired", sign(&profile::RECEIPT, &forger, &key_id, at - 400)),
            ("forged, early", sign(&profile::RECEIPT, &forger, &key_id, at + 100)),
            ("without a signature", without("signature")),
            ("without its input", without("signature-input")),
            ("without a digest", without("content-digest")),
            ("without a content type", without("content-type")),
            ("with two signatures", with("signature", "hookproof=:AAAA:")),
            ("with a second content type", with("content-type", "text/plain")),
            ("with identity content", with("content-encoding", "identity")),
        ];
        for (way, request) in ways {
            let answer = read(&case.send(&post(&request)));
            let expected = json!({ "type": "about:blank", "title": "Unauthorized", "status": 401 });
            assert_eq!(answer, (401, expected), "{way}, for {target}");
        }
        // Coded content is refused whoever is asked.
        for coding in [&["gzip"][..], &["identity", "gzip"], &["identity", "identity"]] {
            let mut coded = good.clone();
            coded.fields.extend(coding.iter().map(|it| ("content-encoding".into(), (*it).into())));
            assert_eq!(case.send(&post(&coded)).status(), 400, "{coding:?}, for {target}");
        }
    }
    assert_eq!(case.world.disk.dump(), before);
}

#[test]
fn the_reason_stays_in_the_journal() {
    let case = Case::new(Contract::Ed25519);
    let receipt = case.receipt("op");
    let forger = SigningKey::ed25519(&Secret::new([9; 32]));
    let (_, key_id, _) = case.party.entry().receipt_key().unwrap();
    let at = case.world.now().unix();
    let forged = sign_receipt(&receipt, &profile::RECEIPT, RECEIPTS, (&forger, &key_id), at);
    let answer = case.send(&post(&forged));
    assert!(!String::from_utf8_lossy(answer.body()).contains("signature"));
    assert!(case.journal.mentions("signature.wrong"));
    let unbound = Receipt { attempt: 7, ..receipt };
    assert_eq!(case.bring(&unbound).0, 401);
    assert!(case.journal.mentions("receipt.unbound"));
    for hidden in ["hookproof=:", "delivery_signature_digest"] {
        assert!(!case.journal.mentions(hidden));
    }
}

#[test]
fn before_any_attempt_its_maker_hears_of_a_conflict() {
    let case = Case::new(Contract::Ed25519);
    let early = Receipt {
        event_id: "evt-never".parse().unwrap(),
        delivery_id: "dlv_00000000000000000000000000".parse().unwrap(),
        attempt: 0,
        ..case.receipt("op")
    };
    let answer = case.bring(&early);
    assert_eq!(answer, (409, json!({ "type": "about:blank", "title": "Conflict", "status": 409 })));
}

#[test]
fn what_is_no_receipt_is_a_bad_request_and_asks_nobody() {
    let case = Case::new(Contract::Ed25519);
    let genuine = case.party.signed(&case.world, &case.receipt("op"));
    let asked = case.world.objects.calls();
    let large = format!("{{\"x\":\"{}\"}}", "x".repeat(MAX_BODY));
    for body in [
        "",
        "[]",
        "{}",
        "null",
        &genuine.body[..genuine.body.len() - 1],
        &format!("{} ", genuine.body).repeat(2),
        &genuine.body.replacen('{', "{\"extra\":1,", 1),
        &genuine.body.replacen('{', "{\"attempt\":1,", 1),
        &genuine.body.replace("applicationReceipt.v1", "applicationReceipt.v2"),
        &genuine.body.replace("\"applied\"", "\"done\""),
        &genuine.body.replace("\"op\"", "\"\""),
        &genuine.body.replace("\"op\"", &format!("\"{}\"", "o".repeat(257))),
        &genuine.body.replace("\"op\"", "\"a b\""),
        &large,
    ] {
        let request = post(&ReceiptRequest { body: body.to_owned(), ..genuine.clone() });
        assert_eq!(read(&case.send(&request)).0, 400, "{body:.80}");
    }
    let binary = Request::builder().method("POST").uri("/receipts").body(Bytes::from_static(b"\xff{}"));
    assert_eq!(case.send(&binary.unwrap()).status(), 400);
    assert_eq!(case.world.objects.calls(), asked);
}

#[test]
fn made_up_ids_wake_no_object() {
    let case = Case::new(Contract::Ed25519);
    let asked = case.world.objects.calls();
    let id = SubscriptionId::mint(&IdKey::new(b"a guess"), case.world.now(), [1; 10]);
    let receipt = Receipt { subscription_id: id, ..case.receipt("op") };
    assert_eq!((case.bring(&receipt).0, case.world.objects.calls()), (401, asked));
}

#[test]
fn a_store_that_is_down_is_unavailable_and_says_when_to_come_back() {
    let case = Case::new(Contract::Ed25519);
    let request = post(&case.party.signed(&case.world, &case.receipt("op")));
    case.world.disk.fail_at(Some(0));
    let answer = case.send(&request);
    case.world.disk.fail_at(None);
    assert_eq!((answer.status().as_u16(), &answer.headers()["retry-after"]), (503, &"5".parse().unwrap()));
    assert_eq!(case.send(&request).status(), 200);
}

#[test]
fn other_paths_and_methods_are_not_served() {
    let case = Case::new(Contract::Ed25519);
    for (method, path, status) in [
        ("GET", "/health", 200),
        ("GET", "/receipts", 405),
        ("PUT", "/receipts", 405),
        ("POST", "/health", 405),
        ("POST", "/", 404),
        ("POST", "/receipts/", 404),
        ("GET", "/v1/subscriptions", 404),
    ] {
        let request = Request::builder().method(method).uri(path).body(Bytes::new()).unwrap();
        assert_eq!(case.send(&request).status(), status, "{method} {path}");
    }
    let unread = now(case.receipts.answer(Err(hookproof_core::Reason::BodyTooLarge.into())));
    assert_eq!(unread.status(), 413);
}
