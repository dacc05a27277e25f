//! The wire formats of docs/wire, octet for octet: every value there is remade from its inputs, and the
//! receiving side takes what the sending side made.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that does not read as it should fails its test"
)]

use hookproof_core::challenge::{Challenge, Nonces, ProbeMap, ProvedKey, Purpose, Verifier, judge};
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl};
use hookproof_core::envelope::{Draft, Object};
use hookproof_core::id::{DeliveryId, Environment, EventId, Generation, Scope};
use hookproof_core::key_document::{Content, Pin, Signed, tuple};
use hookproof_core::keys::{Credential, IssuerKeys, Purpose as KeyPurpose, derive, key_check};
use hookproof_core::receipt::{Receipt, ReceiptResult, TYPE};
use hookproof_core::receiver::{Intake, Received, Source, receive};
use hookproof_core::secret::Secret;
use hookproof_core::signature::base::signature_base;
use hookproof_core::signature::component::Component;
use hookproof_core::signature::{
    Fields, Message, Profile, SigningKey, VerifyKey, profile, select, sign, thumbprint,
};
use hookproof_core::subscription::GenerationState;
use hookproof_core::time::{Span, Timestamp};
use serde_json::{Value, json};

const CHALLENGE: &str = include_str!("data/wire/challenge.v1.json");
const DELIVERY: &str = include_str!("data/wire/delivery.v1.json");
const KEY_DOCUMENT: &str = include_str!("data/wire/key-document.v1.json");
const RECEIPT: &str = include_str!("data/wire/receipt.v1.json");

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

fn time(value: &Value, field: &str) -> Timestamp {
    Timestamp::parse(text(value, field)).unwrap()
}

fn secret(value: &Value, field: &str) -> Secret {
    Secret::from_base64url(text(value, field)).unwrap()
}

fn hex(octets: &[u8]) -> String {
    octets.iter().map(|octet| format!("{octet:02x}")).collect()
}

fn scope(input: &Value) -> Scope {
    let scope = &input["scope"];
    Scope {
        issuer: text(scope, "issuer").to_owned(),
        tenant: text(scope, "tenant_id").parse().unwrap(),
        environment: Environment::parse(text(scope, "environment")).unwrap(),
        subscription: text(scope, "subscription_id").parse().unwrap(),
        generation: Generation(scope["generation"].as_u64().unwrap()),
    }
}

fn endpoint(input: &Value) -> EndpointUrl {
    EndpointUrl::parse(text(input, "endpoint"), &EndpointPolicy::default()).unwrap()
}

/// The sender's signing key and its id: a pair of ours, or the delivery key of the subscriber secret.
fn sender(input: &Value) -> (SigningKey, String, Option<String>) {
    let key = &input["signing_key"];
    match text(key, "alg") {
        "ed25519" => {
            let pair = SigningKey::ed25519(&secret(key, "seed"));
            let public = pair.public().unwrap();
            (pair, thumbprint(&public), Some(hookproof_core::base64::url(&public)))
        }
        _ => (SigningKey::hmac(derived(input, KeyPurpose::Deliver)), text(key, "key_id").to_owned(), None),
    }
}

fn derived(input: &Value, purpose: KeyPurpose) -> Secret {
    let id = match text(&input["signing_key"], "alg") {
        "ed25519" => sender(input).1,
        _ => text(&input["signing_key"], "key_id").to_owned(),
    };
    derive(&secret(input, "secret"), purpose, &scope(input), &id, text(input, "profile"))
}

/// The subscriber's key for proofs and receipts: its own pair, or one derived from the secret.
fn subscriber(input: &Value, purpose: KeyPurpose) -> (SigningKey, String) {
    match input["subscriber_key"]["seed"].as_str() {
        Some(seed) => {
            let pair = SigningKey::ed25519(&Secret::from_base64url(seed).unwrap());
            let id = thumbprint(&pair.public().unwrap());
            (pair, id)
        }
        None => (SigningKey::hmac(derived(input, purpose)), sender(input).1),
    }
}

fn fields(lines: &[(&str, String)]) -> Fields {
    lines.iter().map(|(name, value)| (*name, value)).collect()
}

/// Signs, and shows the base beside the two field values.
fn signed(
    kind: &Profile<'_>,
    url: &str,
    lines: &[(&str, String)],
    window: (i64, i64),
    key: (&SigningKey, &str),
) -> Value {
    let lines = fields(lines);
    let message = Message::request("POST", url, &lines);
    let headers = sign(kind, &message, window.0, window.1, key.1, key.0).unwrap();
    let components: Vec<_> = kind.components.iter().map(|name| Component::plain(name).unwrap()).collect();
    let params = headers.signature_input.strip_prefix("hookproof=").unwrap();
    json!({
        "signature_base": signature_base(&components, params, &message).unwrap(),
        "signature_input": headers.signature_input,
        "signature": headers.signature,
        "signature_digest": headers.signature_digest().to_string(),
    })
}

fn headers(lines: &[(&str, String)], made: &Value) -> Value {
    let mut all: Vec<Value> = lines.iter().map(|(name, value)| json!([name, value])).collect();
    all.push(json!(["signature-input", made["signature_input"]]));
    all.push(json!(["signature", made["signature"]]));
    Value::Array(all)
}

/// The receiving side's configuration for these inputs.
fn source(input: &Value) -> Source {
    let (_, key_id, public_key) = sender(input);
    let scope = &input["scope"];
    let receipts = match (input["subscriber_key"]["seed"].as_str(), input["receipt_alg"].as_str()) {
        (Some(seed), _) => json!({ "url": input["receipts_url"], "key": { "alg": "ed25519", "seed": seed } }),
        (None, Some(alg)) => json!({ "url": input["receipts_url"], "key": { "alg": alg } }),
        (None, None) => Value::Null,
    };
    let mut entry = json!({
        "issuer": scope["issuer"],
        "tenant_id": scope["tenant_id"],
        "environment": scope["environment"],
        "subscription_id": scope["subscription_id"],
        "generation": scope["generation"],
        "profile": input["profile"],
        "public_url": endpoint(input).as_str(),
        "keys": [{ "key_id": key_id, "alg": input["signing_key"]["alg"], "public_key": public_key }],
        "secret": input["secret"],
    });
    if !receipts.is_null() {
        entry["receipts"] = receipts;
    }
    let source = json!({ "handler": { "url": "https://app.customer.com/" }, "entries": [entry] });
    let source: Source = serde_json::from_value(source).unwrap();
    source.check().unwrap();
    source
}

/// What the receiving side makes of the request.
fn received(input: &Value, made: &Value, body: &str, now: Timestamp) -> Received {
    let lines: Fields = made["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line[0].as_str().unwrap(), line[1].as_str().unwrap()))
        .collect();
    let endpoint = endpoint(input);
    let intake = Intake {
        method: "POST",
        path_and_query: endpoint.path_and_query(),
        fields: &lines,
        body: body.as_bytes(),
    };
    receive(&source(input), &intake, now).unwrap()
}

fn challenge(input: &Value) -> Value {
    let (key, key_id, public_key) = sender(input);
    let (proof_key, proof_key_id) = subscriber(input, KeyPurpose::Challenge);
    let issued_at = time(input, "issued_at");
    let draft = Challenge {
        id: text(input, "challenge_id").parse().unwrap(),
        purpose: Purpose::Activate,
        scope: scope(input),
        endpoint_digest: endpoint(input).digest(),
        nonce: String::new(),
        issued_at,
        expires_at: time(input, "expires_at"),
        profile: text(input, "profile").to_owned(),
        key_id: key_id.clone(),
        key_commitment: Digest([0; 32]),
        proof_alg: proof_key.alg(),
        proof_key_id: proof_key_id.clone(),
        body_digest: Digest([0; 32]),
        probe_map: 0,
    };
    let nonces = Nonces {
        nonce: hookproof_core::base64::array_from_url(text(input, "nonce")).unwrap(),
        probe_map: ProbeMap(u32::try_from(input["probe_map"].as_u64().unwrap()).unwrap()),
    };
    let deliver = derived(input, KeyPurpose::Deliver);
    let proved = if public_key.is_some() { ProvedKey::Ed25519(&key) } else { ProvedKey::Hmac(&deliver) };
    let issued = Challenge::issue(draft, &proved, &nonces);
    let record = issued.challenge;
    let body = String::from_utf8(issued.body).unwrap();
    let lines = [
        ("content-type", "application/json".to_owned()),
        ("content-digest", record.body_digest.content_digest()),
        ("webhook-id", record.id.to_string()),
        ("webhook-subscription", record.scope.subscription.to_string()),
        ("webhook-generation", record.scope.generation.to_string()),
    ];
    let window = (issued_at.unix(), record.expires_at.unix());
    let mut made = signed(&profile::CHALLENGE, endpoint(input).as_str(), &lines, window, (&key, &key_id));
    made["headers"] = headers(&lines, &made);
    let now = issued_at + Span::seconds(1);
    let Received::Challenge { answer } = received(input, &made, &body, now) else { panic!("no challenge") };
    let verifier = Verifier { key: &proof_key.verify_key(), key_id: &proof_key_id };
    judge(&record, &answer, &verifier, now).unwrap();
    made["key_id"] = json!(key_id);
    made["public_key"] = json!(public_key);
    made["endpoint_digest"] = json!(record.endpoint_digest.to_string());
    made["key_commitment"] = json!(record.key_commitment.to_string());
    made["proof_key_id"] = json!(proof_key_id);
    made["body_digest"] = json!(record.body_digest.to_string());
    made["decoy_body_for_this_nonce"] =
        json!(String::from_utf8(Challenge::bend(body.as_bytes(), &record.nonce)).unwrap());
    made["body"] = json!(body);
    made["proof_input_hex"] = json!(hex(&record.proof_input()));
    made["answer"] = json!(String::from_utf8(answer).unwrap());
    made
}

fn delivery(input: &Value) -> Value {
    let (key, key_id, public_key) = sender(input);
    let scope = scope(input);
    let event: EventId = text(&input["event"], "id").parse().unwrap();
    let draft = Draft {
        id: event.clone(),
        kind: text(&input["event"], "type").parse().unwrap(),
        created: input["event"]["created"].as_str().map(|text| Timestamp::parse(text).unwrap()),
        api_version: text(&input["event"], "api_version").to_owned(),
        object: serde_json::from_value::<Option<Object>>(input["event"]["object"].clone()).unwrap(),
        resource_url: input["event"]["resource_url"].as_str().map(str::to_owned),
        data: text(&input["event"], "data").to_owned(),
    };
    let accepted_at = time(input, "accepted_at");
    let sealed = draft.seal(accepted_at).unwrap();
    let body = String::from_utf8(sealed.bytes).unwrap();
    let id = DeliveryId::of(&scope.tenant, scope.environment, &scope.subscription, &event, accepted_at);
    let lines = [
        ("content-type", "application/json".to_owned()),
        ("content-digest", sealed.digest.content_digest()),
        ("webhook-id", event.to_string()),
        ("webhook-subscription", scope.subscription.to_string()),
        ("webhook-generation", scope.generation.to_string()),
        ("webhook-delivery", id.to_string()),
        ("webhook-attempt", input["attempt"].to_string()),
    ];
    let created = time(input, "claimed_at").unix();
    let window = (created, created + 300);
    let mut made = signed(&profile::DELIVERY, endpoint(input).as_str(), &lines, window, (&key, &key_id));
    made["headers"] = headers(&lines, &made);
    let Received::Delivery(taken) = received(input, &made, &body, time(input, "claimed_at")) else {
        panic!("no delivery")
    };
    assert_eq!((taken.head.id, taken.digest, &taken.delivery_id), (event, sealed.digest, &id));
    assert_eq!(taken.authentic.signature_digest().to_string(), text(&made, "signature_digest"));
    made["key_id"] = json!(key_id);
    made["public_key"] = json!(public_key);
    if public_key.is_none() {
        made["delivery_key"] = json!(derived(input, KeyPurpose::Deliver).show_once());
        made["key_check"] = json!(Digest(key_check(&derived(input, KeyPurpose::Deliver))).to_string());
    }
    made["request_digest"] = json!(draft.request_digest().to_string());
    made["payload_digest"] = json!(sealed.digest.to_string());
    made["delivery_id"] = json!(id.to_string());
    made["body"] = json!(body);
    made
}

fn receipt(input: &Value) -> Value {
    let (key, key_id) = subscriber(input, KeyPurpose::Receipt);
    let scope = scope(input);
    let it = &input["receipt"];
    let receipt = Receipt {
        r#type: TYPE.to_owned(),
        issuer: scope.issuer,
        tenant: scope.tenant,
        environment: scope.environment,
        subscription_id: scope.subscription,
        generation: scope.generation,
        event_id: text(it, "event_id").parse().unwrap(),
        delivery_id: text(it, "delivery_id").parse().unwrap(),
        attempt: u32::try_from(it["attempt"].as_u64().unwrap()).unwrap(),
        delivery_signature_digest: Digest::parse(text(it, "delivery_signature_digest")).unwrap(),
        payload_digest: Digest::parse(text(it, "payload_digest")).unwrap(),
        operation_id: text(it, "operation_id").to_owned(),
        result: serde_json::from_value::<ReceiptResult>(it["result"].clone()).unwrap(),
        receipt_key_generation: it["receipt_key_generation"].as_u64().unwrap(),
        issued_at: time(it, "issued_at"),
    };
    let body = receipt.to_bytes();
    let lines = [
        ("content-digest", Digest::of(&body).content_digest()),
        ("content-type", "application/json".to_owned()),
    ];
    let created = receipt.issued_at.unix();
    let url = text(input, "receipts_url");
    let mut made = signed(&profile::RECEIPT, url, &lines, (created, created + 300), (&key, &key_id));
    made["headers"] = headers(&lines, &made);
    verify_receipt(url, &made, &body, &key.verify_key(), created);
    assert_eq!(Receipt::parse(&body).unwrap(), receipt);
    made["key_id"] = json!(key_id);
    made["body"] = json!(String::from_utf8(body).unwrap());
    made
}

fn verify_receipt(url: &str, made: &Value, body: &[u8], key: &VerifyKey, now: i64) {
    let lines: Fields = made["headers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|line| (line[0].as_str().unwrap(), line[1].as_str().unwrap()))
        .collect();
    let message = Message::request("POST", url, &lines);
    select(&profile::RECEIPT, &message).unwrap().verify(key, body, now).unwrap();
}

fn key_document(input: &Value) -> Value {
    let issuer = text(input, "issuer");
    let keys = IssuerKeys::parse(&format!("1:{}", text(input, "issuer_seed"))).unwrap();
    let subscription = text(input, "subscription_id").parse().unwrap();
    let generation = Generation(input["generation"].as_u64().unwrap());
    let state = GenerationState::Active { activated_at: Timestamp::from_unix(0) };
    let credentials = input["credentials"].as_array().unwrap().iter();
    let credentials: Vec<Credential> =
        credentials.map(|it| serde_json::from_value(it.clone()).unwrap()).collect();
    let of = |it| (generation, &state, it);
    let issued_at = time(input, "issued_at");
    let content = Content::new(generation, credentials.iter().map(of), issued_at);
    let sequence = input["sequence"].as_u64().unwrap();
    let document = content.document(issuer, &subscription, sequence, issued_at);
    let Signed { document: text, key_id, signature } = keys.sign(&document).unwrap();
    let (pinned, signed) = (keys.public().unwrap(), tuple(issuer, &subscription, &key_id, &text));
    let answer = Signed { document: text.clone(), key_id: key_id.clone(), signature: signature.clone() };
    let answer = answer.to_text().unwrap();
    let pin = Pin { issuer, subscription_id: &subscription, keys: &pinned, last_sequence: sequence };
    assert_eq!(pin.verify(&answer, issued_at).unwrap(), document);
    json!({
        "issuer_key_id": key_id,
        "issuer_public_key": pinned[0].public_key,
        "document": text,
        "signed_hex": hex(signed.as_ref()),
        "signature": signature,
        "etag": format!("\"{}\"", hookproof_core::base64::url(&Digest::of(answer.as_bytes()).0)),
        "answer": answer,
    })
}

/// Every case of a file, remade.
fn check(file: &str, make: fn(&Value) -> Value) {
    let data: Value = serde_json::from_str(file).unwrap();
    let cases = data["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 2, "one case for each algorithm");
    for case in cases {
        let made = make(&case["input"]);
        let expected = case["expected"].as_object().unwrap();
        for (name, value) in expected {
            assert_eq!(made[name], *value, "{}: {name}", case["name"]);
        }
        assert_eq!(made.as_object().unwrap().len(), expected.len(), "{}", case["name"]);
    }
}

#[test]
fn a_challenge_and_its_answer_are_these_octets() {
    check(CHALLENGE, challenge);
}

#[test]
fn a_delivery_is_these_octets() {
    check(DELIVERY, delivery);
}

#[test]
fn a_receipt_is_these_octets() {
    check(RECEIPT, receipt);
}

#[test]
fn a_key_document_is_these_octets() {
    check(KEY_DOCUMENT, key_document);
}
