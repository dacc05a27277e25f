//! Every documented limit of the API, one below it, at it, and one past it.

use serde_json::{Value, json};

use crate::{Answer, Site, event, registration};

/// Three sizes about a limit, and whether each is taken.
fn about(limit: usize) -> [(usize, bool); 3] {
    [(limit - 1, true), (limit, true), (limit + 1, false)]
}

fn register(site: &Site, token: &str, field: &str, value: Value) -> Answer {
    let mut body = registration();
    body[field] = value;
    site.post(token, "/v1/subscriptions", &body)
}

#[test]
fn the_sizes_of_a_registration_are_bounded() {
    let site = Site::new();
    let token = site.publisher();
    let url = |octets: usize| {
        let host = "https://hooks.example.com/";
        json!(format!("{host}{}", "a".repeat(octets - host.len())))
    };
    let policy = |waits: Value, timeout: usize, deadline: usize| json!({ "name": "custom", "waits": waits, "timeout": timeout, "deadline": deadline });
    let hours_72 = 72 * 60 * 60 * 1000;
    type Of<'a> = Box<dyn Fn(usize) -> Value + 'a>;
    let cases: Vec<(&str, &str, usize, Of<'_>)> = vec![
        ("endpoint", "endpoint", 2048, Box::new(url)),
        ("topics", "topics", 100, Box::new(|n| json!(vec!["a.b"; n]))),
        ("accepted_versions", "accepted_versions", 20, Box::new(|n| json!(vec!["1"; n]))),
        ("accepted_versions", "accepted_versions", 32, Box::new(|n| json!(["1".repeat(n)]))),
        ("owner", "owner", 200, Box::new(|n| json!({ "name": "x".repeat(n), "contact": "x" }))),
        ("owner", "owner", 200, Box::new(|n| json!({ "name": "x", "contact": "x".repeat(n) }))),
        ("retry_policy", "retry_policy", 32, Box::new(|n| policy(json!(vec![0; n]), 1_000, 1_000))),
        ("retry_policy", "retry_policy", hours_72, Box::new(|n| policy(json!([n]), 1_000, hours_72))),
        ("retry_policy", "retry_policy", 30_000, Box::new(|n| policy(json!([0]), n, 60_000))),
        ("retry_policy", "retry_policy", hours_72, Box::new(|n| policy(json!([0]), 1_000, n))),
    ];
    for (field, named, limit, of) in cases {
        for (size, fits) in about(limit) {
            let before = site.world.disk.dump();
            let answer = register(&site, &token, field, of(size));
            if fits {
                assert_eq!(answer.status, 201, "{field} {size}: {answer:?}");
            } else {
                assert_eq!(answer.problem().2, named, "{field} {size}");
                assert!([400, 422].contains(&answer.status));
                assert_eq!(site.world.disk.dump(), before);
            }
        }
    }
    // The other ends.
    for (field, value, status) in [
        ("topics", json!([]), 400),
        ("topics", json!(["a.b"]), 201),
        ("accepted_versions", json!([]), 201),
        ("accepted_versions", json!([""]), 400),
        ("owner", json!({ "name": "", "contact": "x" }), 400),
        ("owner", json!({ "name": "x", "contact": "x" }), 201),
        ("retry_policy", policy(json!([]), 1_000, 1_000), 400),
        ("retry_policy", policy(json!([0]), 999, 1_000), 400),
        ("retry_policy", policy(json!([0]), 1_000, 999), 400),
        ("retry_policy", policy(json!([0]), 1_000, 1_000), 201),
    ] {
        assert_eq!(register(&site, &token, field, value.clone()).status, status, "{field} {value}");
    }
}

#[test]
fn the_sizes_of_an_event_are_bounded() {
    let site = Site::new();
    let token = site.publisher();
    type Of = fn(usize) -> String;
    let cases: [(&str, usize, Of); 3] = [
        ("id", 128, |n| "x".repeat(n)),
        ("type", 128, |n| format!("a.{}", "b".repeat(n - 2))),
        ("api_version", 64, |n| "1".repeat(n)),
    ];
    for (field, limit, of) in cases {
        for (size, fits) in about(limit) {
            let mut draft = event(&format!("evt-{field}-{size}"));
            draft[field] = json!(of(size));
            let answer = site.post(&token, "/v1/events", &draft);
            if fits {
                assert_eq!(answer.status, 202, "{field} {size}: {answer:?}");
            } else {
                assert_eq!(answer.problem(), (400, "body.malformed", field), "{size}");
            }
        }
    }
}

#[test]
fn a_body_is_at_most_32_levels_deep_with_no_key_twice_at_any() {
    let site = Site::new();
    let token = site.publisher();
    let post = |body: String| site.call(&format!("Bearer {token}"), "POST", "/v1/subscriptions", body);
    let nested = |levels: usize| {
        let value = format!("{}{}", "[".repeat(levels - 1), "]".repeat(levels - 1));
        registration().to_string().replacen('{', &format!("{{\"retry_policy\":{value},"), 1)
    };
    // What is not too deep is read, and found to be no policy.
    for (levels, field) in [(31, "retry_policy"), (32, "retry_policy"), (33, "body")] {
        assert_eq!(post(nested(levels)).problem(), (400, "body.malformed", field), "{levels}");
    }
    for (from, to) in [
        ("\"name\":\"Billing\"", "\"name\":\"Billing\",\"name\":\"Billing\""),
        ("\"name\":\"Billing\"", "\"name\":\"Billing\",\"n\\u0061me\":\"Billing\""),
        ("\"name\":\"Billing\"", "\"name\":\"Billing\",\"other\":1"),
        (
            "{\"contact\":\"billing@example.com\",\"name\":\"Billing\"}",
            "[\"Billing\",\"billing@example.com\"]",
        ),
    ] {
        let text = registration().to_string();
        let body = text.replace(from, to);
        assert_ne!(body, text);
        assert_eq!(post(body).problem(), (400, "body.malformed", "body"), "{to}");
    }
}

#[test]
fn an_object_is_not_a_list_of_its_values() {
    let site = Site::new();
    let token = site.publisher();
    let id = site.register(&token).text("subscription_id");
    for (field, value, named) in [
        ("owner", json!(["Billing", "billing@example.com"]), "body"),
        ("receipt", json!(["hmac-sha256", null]), "body"),
        ("retry_policy", json!(["custom", [0], 1_000, 1_000]), "retry_policy"),
    ] {
        let answer = register(&site, &token, field, value.clone());
        assert_eq!(answer.problem(), (400, "body.malformed", named), "{field}");
        let path = format!("/v1/subscriptions/{id}");
        let patch = json!({ field: value }).to_string();
        let answer = site.call(&format!("Bearer {token}"), "PATCH", &path, patch);
        assert_eq!(answer.problem(), (400, "body.malformed", named), "PATCH {field}");
    }
    let mut draft = event("evt-1");
    draft["object"] = json!(["order-1", 1]);
    assert_eq!(site.post(&token, "/v1/events", &draft).problem(), (400, "body.malformed", "body"));
}
