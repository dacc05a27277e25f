//! What is written wrongly is refused by the field, and nothing is stored.

use serde_json::{Value, json};

use crate::{ROOT, Site, event, registration};

fn changed(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

#[test]
fn the_first_field_of_a_registration_that_does_not_fit_is_named() {
    let site = Site::new();
    let token = site.publisher();
    let before = site.world.disk.dump();
    let policy = |name: &str, waits: Value, timeout: i64, deadline: i64| json!({ "name": name, "waits": waits, "timeout": timeout, "deadline": deadline });
    let owner = |name: &str, contact: &str| json!({ "name": name, "contact": contact });
    let spaces = format!("{}x", " ".repeat(1000));
    for (field, value, expected) in [
        ("endpoint", json!("http://hooks.example.com/"), (422, "endpoint.refused", "endpoint")),
        ("endpoint", json!("https://127.0.0.1/"), (422, "endpoint.refused", "endpoint")),
        ("endpoint", json!("https://user@example.com/"), (422, "endpoint.refused", "endpoint")),
        ("endpoint", json!("https://example.com:8443/"), (422, "endpoint.refused", "endpoint")),
        ("endpoint", json!(""), (422, "endpoint.refused", "endpoint")),
        ("endpoint", json!(7), (400, "body.malformed", "body")),
        ("topics", json!([]), (400, "body.malformed", "topics")),
        ("topics", json!(["invoice.paid", "Invoice"]), (400, "body.malformed", "topics[1]")),
        ("topics", json!(vec!["a.b"; 101]), (400, "body.malformed", "topics")),
        ("topics", json!("invoice.*"), (400, "body.malformed", "body")),
        ("owner", owner("", "b@example.com"), (400, "body.malformed", "owner")),
        ("owner", owner("Billing", "  "), (400, "body.malformed", "owner")),
        ("owner", owner(&"x".repeat(201), "b@example.com"), (400, "body.malformed", "owner")),
        ("owner", owner(&spaces, "b@example.com"), (400, "body.malformed", "owner")),
        ("owner", json!({ "name": "x" }), (400, "body.malformed", "body")),
        ("accepted_versions", json!(["1.2"]), (400, "body.malformed", "accepted_versions")),
        ("accepted_versions", json!([""]), (400, "body.malformed", "accepted_versions")),
        ("accepted_versions", json!(vec!["1"; 21]), (400, "body.malformed", "accepted_versions")),
        ("profile", json!("standard-webhooks.v2"), (400, "body.malformed", "profile")),
        ("signing", json!("rsa"), (400, "body.malformed", "body")),
        ("receipt", json!({ "alg": "ed25519" }), (400, "body.malformed", "body")),
        ("receipt", json!({ "alg": "ed25519", "public_key": "AA" }), (422, "key.weak", "receipt.public_key")),
        ("retry_policy", json!("soon"), (400, "body.malformed", "retry_policy")),
        ("retry_policy", json!(7), (400, "body.malformed", "retry_policy")),
        ("retry_policy", policy("custom", json!([]), 1_000, 1_000), (400, "body.malformed", "retry_policy")),
        (
            "retry_policy",
            policy("custom", json!([-1]), 1_000, 1_000),
            (400, "body.malformed", "retry_policy"),
        ),
        ("retry_policy", policy("custom", json!([0]), 999, 1_000), (400, "body.malformed", "retry_policy")),
        (
            "retry_policy",
            policy("custom", json!([0]), 30_001, 60_000),
            (400, "body.malformed", "retry_policy"),
        ),
        ("retry_policy", policy("custom", json!([0]), 1_000, 999), (400, "body.malformed", "retry_policy")),
        (
            "retry_policy",
            policy("custom", json!(vec![0; 33]), 1_000, 1_000),
            (400, "body.malformed", "retry_policy"),
        ),
        (
            "retry_policy",
            policy("custom", json!([0]), 1_000, 259_200_001),
            (400, "body.malformed", "retry_policy"),
        ),
        // A policy of one's own does not pass for a published one, nor carry a text of any length.
        (
            "retry_policy",
            policy("standard", json!([0]), 1_000, 1_000),
            (400, "body.malformed", "retry_policy"),
        ),
        (
            "retry_policy",
            policy(&"x".repeat(1000), json!([0]), 1_000, 1_000),
            (400, "body.malformed", "retry_policy"),
        ),
        ("old_generations", json!("forget"), (400, "body.malformed", "body")),
        ("secret", json!("mine"), (400, "body.malformed", "body")),
        ("tenant_id", json!("tnt_x"), (400, "body.malformed", "body")),
    ] {
        let answer = site.post(&token, "/v1/subscriptions", &changed(registration(), field, value.clone()));
        assert_eq!(answer.problem(), expected, "{field}: {value:.80}");
        assert!(answer.body["accepted"].is_string() && answer.body["detail"].is_string(), "{answer:?}");
    }
    assert_eq!(site.world.disk.dump(), before);
}

#[test]
fn what_just_fits_is_taken() {
    let site = Site::new();
    let token = site.publisher();
    let longest = "é".repeat(200);
    for (field, value) in [
        ("topics", json!(vec!["a.b"; 100])),
        ("topics", json!(["*"])),
        ("owner", json!({ "name": longest, "contact": "x" })),
        ("accepted_versions", json!(vec!["1"; 20])),
        ("signing", json!("hmac-sha256")),
        ("receipt", json!({ "alg": "hmac-sha256" })),
        ("retry_policy", json!("internal-bus")),
        (
            "retry_policy",
            json!({ "name": "custom", "waits": vec![0; 32], "timeout": 30_000, "deadline": 259_200_000 }),
        ),
        ("old_generations", json!("quarantine")),
    ] {
        let answer = site.post(&token, "/v1/subscriptions", &changed(registration(), field, value));
        assert_eq!(answer.status, 201, "{field}: {answer:?}");
    }
}

#[test]
fn a_registration_shows_its_secrets_and_reading_it_shows_none() {
    let site = Site::new();
    let token = site.publisher();
    let answer = site.register(&token);
    let (secret, recovery) = (answer.text("secret"), answer.text("recovery_credential"));
    assert_eq!(
        (&answer.body["state"], &answer.body["secret_already_shown"]),
        (&json!("PENDING_CHALLENGE"), &json!(false))
    );
    let id = answer.text("subscription_id");
    for path in ["", "/evidence"] {
        let read = site.get(&token, &format!("/v1/subscriptions/{id}{path}"));
        assert_eq!(read.status, 200);
        for hidden in [&secret, &recovery] {
            assert!(!read.body.to_string().contains(hidden.as_str()));
            assert!(!site.journal.mentions(hidden));
        }
    }
}

/// The routes that take a body, with a good one each.
fn bodies() -> [(&'static str, bool, Value); 4] {
    [
        ("/v1/tenants", true, json!({ "name": "x" })),
        ("/v1/tokens", true, json!({ "tenant_id": "tnt_00000000000000000000000000", "environment": "test" })),
        ("/v1/subscriptions", false, registration()),
        ("/v1/events", false, event("evt-1")),
    ]
}

#[test]
fn only_one_strict_json_object_is_read() {
    let site = Site::new();
    let token = site.publisher();
    let before = site.world.disk.dump();
    for (path, root, good) in bodies() {
        let text = good.to_string();
        let values: Vec<&Value> = good.as_object().unwrap().values().collect();
        let (first, value) = good.as_object().unwrap().iter().next().unwrap();
        let escaped = format!("\\u{:04x}{}", first.as_bytes()[0], &first[1..]);
        for bad in [
            String::new(),
            "null".into(),
            "[]".into(),
            "\"x\"".into(),
            // The values in order and without their names.
            json!(values).to_string(),
            text[..text.len() - 1].to_owned(),
            format!("{text}x"),
            format!("{text}{text}"),
            text.replacen('{', &format!("{{\"{first}\":{value},"), 1),
            text.replacen('{', &format!("{{\"{escaped}\":{value},"), 1),
            text.replacen('{', "{\"unknown\":1,", 1),
            text.replace('"', "'"),
            format!("\u{feff}{text}"),
        ] {
            let bearer = if root { ROOT } else { &token };
            let answer = site.call(&format!("Bearer {bearer}"), "POST", path, bad.clone());
            assert_eq!(answer.problem(), (400, "body.malformed", "body"), "{path} {bad:.120}");
        }
        let bearer = if root { ROOT } else { &token };
        let binary = [text.as_bytes(), b"\xff"].concat();
        assert_eq!(site.call(&format!("Bearer {bearer}"), "POST", path, binary).status, 400);
    }
    assert_eq!(site.world.disk.dump(), before);
}

#[test]
fn a_list_of_positional_values_is_no_tenant() {
    let site = Site::new();
    let answer = site.call(&format!("Bearer {ROOT}"), "POST", "/v1/tenants", "[\"Acme\"]");
    assert_eq!(answer.problem(), (400, "body.malformed", "body"));
}

#[test]
fn a_tenants_name_has_one_to_a_hundred_characters() {
    let site = Site::new();
    for (name, status) in
        [(String::new(), 400), ("é".into(), 201), ("é".repeat(100), 201), ("é".repeat(101), 400)]
    {
        assert_eq!(site.post(ROOT, "/v1/tenants", &json!({ "name": name })).status, status, "{name}");
    }
}

#[test]
fn a_refusal_repeats_no_value() {
    let site = Site::new();
    let token = site.publisher();
    let secret = "hush-hush-hush";
    for body in [
        changed(registration(), "signing", json!(secret)),
        changed(registration(), "owner", json!(secret)),
        changed(registration(), "topics", json!(secret)),
        changed(event("evt-1"), "created", json!(secret)),
        changed(event("evt-1"), "object", json!(secret)),
        changed(event("evt-1"), "type", json!([secret])),
    ] {
        let path = if body["endpoint"].is_string() { "/v1/subscriptions" } else { "/v1/events" };
        let answer = site.post(&token, path, &body);
        assert_eq!(answer.status, 400, "{body}");
        assert!(!answer.body.to_string().contains(secret) && !site.journal.mentions(secret), "{answer:?}");
    }
}
