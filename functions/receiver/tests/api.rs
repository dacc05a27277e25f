//! The operator's API: its own token, strict bodies, no secret that comes back out.

mod support;

use bytes::Bytes;
use hookproof_core::time::Span;
use hookproof_ports::{Clock, FromRow};
use http::Request;
use support::{HANDLER, Sender, World, json};

#[test]
fn every_token_but_the_right_one_gets_the_same_401() {
    let world = World::with(&[&Sender::new(1)]);
    let ask = |token: Option<&str>, uri: &str| {
        let mut request = Request::builder().uri(uri);
        if let Some(token) = token {
            request = request.header("authorization", token);
        }
        world.post(&request.body(Bytes::new()).unwrap())
    };
    let path = "/receiver/sources/billing";
    let none = ask(None, path);
    assert_eq!(
        (none.status().as_u16(), &none.headers()["www-authenticate"]),
        (401, &"Bearer".parse().unwrap())
    );
    for (token, uri) in [
        ("Bearer wrong", path),
        ("Basic receiver-token", path),
        ("receiver-token", path),
        ("Bearer wrong", "/receiver/no-such-path"),
        ("Bearer wrong", "/receiver/sources/other"),
    ] {
        let answer = ask(Some(token), uri);
        assert_eq!((answer.status().as_u16(), answer.body()), (401, none.body()), "{token} {uri}");
    }
    assert_eq!(ask(Some("Bearer receiver-token"), path).status(), 200);
}

#[test]
fn without_a_configured_token_nobody_is_admitted() {
    let mut world = World::with(&[&Sender::new(1)]);
    world.receiver.settings.admin_token = None;
    assert_eq!(world.api("GET", "/receiver/sources/billing", "").status(), 401);
}

#[test]
fn a_source_comes_back_without_its_secrets_and_rests_sealed() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    let shown = world.api("GET", "/receiver/sources/billing", "");
    let text = String::from_utf8(shown.body().to_vec()).unwrap();
    let seed = serde_json::to_value(&sender.entry).unwrap()["receipts"]["key"]["seed"].clone();
    for secret in [sender.entry.secret.as_str(), seed.as_str().unwrap()] {
        assert!(!text.contains(secret));
    }
    let entry = &json(&shown)["entries"][0];
    assert_eq!(entry["subscription_id"], sender.entry.subscription_id.as_str());
    assert_eq!(entry["receipts"]["alg"], "ed25519");
    let rows = world.disk.rows("SELECT sealed FROM source");
    let sealed = rows[0].blob(0).unwrap();
    let found = |needle: &str| sealed.windows(needle.len()).any(|window| window == needle.as_bytes());
    assert!(!found(&sender.entry.secret) && !found("sender.example.com"));
}

#[test]
fn a_source_that_cannot_work_is_refused_with_what_would() {
    let sender = Sender::new(1);
    let world = World::new();
    let put = |body: String| world.api("PUT", "/receiver/sources/billing", body);
    let entry = serde_json::to_value(&sender.entry).unwrap();
    let source = |handler: &str, entries: serde_json::Value| {
        serde_json::json!({"handler": {"url": handler}, "entries": entries}).to_string()
    };
    let mut keyless = entry.clone();
    keyless["keys"] = serde_json::json!([]);
    let mut elsewhere = entry.clone();
    elsewhere["public_url"] = "https://hooks.example.com/in/other".into();
    let mut inside = entry.clone();
    inside["receipts"]["url"] = "https://10.0.0.1/receipts".into();
    for (body, status, field) in [
        ("{".to_owned(), 400, "body"),
        ("{\"handler\":1,\"handler\":2}".to_owned(), 400, "body"),
        (source(HANDLER, serde_json::json!([])), 400, "entries"),
        (source(HANDLER, serde_json::json!([keyless])), 400, "entries[0].keys"),
        (source(HANDLER, serde_json::json!([entry, entry])), 400, "entries"),
        (source("http://app.example.com/", serde_json::json!([entry])), 422, "handler.url"),
        (source("https://localhost/", serde_json::json!([entry])), 422, "handler.url"),
        (source(HANDLER, serde_json::json!([elsewhere])), 400, "entries[0].public_url"),
        (source(HANDLER, serde_json::json!([inside])), 422, "entries[0].receipts.url"),
    ] {
        let answer = put(body.clone());
        let problem = json(&answer);
        assert_eq!(
            (answer.status().as_u16(), &problem["field"]),
            (status, &field.into()),
            "{body} {problem}"
        );
        assert!(problem["accepted"].is_string());
        assert!(problem["type"].as_str().unwrap().ends_with(problem["reason"].as_str().unwrap()));
        assert!(!problem.to_string().contains(&sender.entry.secret));
    }
    let name = world.api("PUT", "/receiver/sources/Bad.Name", source(HANDLER, serde_json::json!([entry])));
    assert_eq!((name.status().as_u16(), &json(&name)["field"]), (400, &"source".into()));
    assert_eq!(world.disk.count("sqlite_master WHERE name = 'inbox'"), 0, "nothing was touched");
}

#[test]
fn every_url_of_a_source_passes_the_same_gate() {
    let sender = Sender::new(1);
    let world = World::new();
    let good = serde_json::json!({"handler": {"url": HANDLER}, "entries": [sender.entry]});
    let places = [
        ("/handler/url", "handler.url", "/"),
        ("/entries/0/public_url", "entries[0].public_url", "/in/billing"),
        ("/entries/0/receipts/url", "entries[0].receipts.url", "/receipts"),
    ];
    for (pointer, field, path) in places {
        for (origin, status) in [
            ("", 400),
            ("hooks.example.com", 400),
            ("ftp://hooks.example.com", 400),
            ("https://user:swordfish@hooks.example.com", 400),
            ("https://HOOKS.example.com", 400),
            ("http://hooks.example.com", 422),
            ("http://127.0.0.1:8787", 422),
            ("https://localhost", 422),
            ("https://10.0.0.1", 422),
            ("https://[::ffff:a00:1]", 400),
            ("https://[fd00::1]", 422),
            ("https://app.svc", 422),
            ("https://control.spin.internal", 422),
            ("https://hooks.example.com:8444", 422),
        ] {
            let mut source = good.clone();
            *source.pointer_mut(pointer).unwrap() = format!("{origin}{path}").into();
            let answer = world.api("PUT", "/receiver/sources/billing", source.to_string());
            let problem = json(&answer);
            let told = (answer.status().as_u16(), &problem["field"]);
            assert_eq!(told, (status, &field.into()), "{origin} {problem}");
            assert!(problem["accepted"].as_str().unwrap().contains("https"), "{problem}");
            assert!(!problem.to_string().contains("swordfish"));
        }
        let mut source = good.clone();
        *source.pointer_mut(pointer).unwrap() = format!("https://hooks.example.com{path}#x").into();
        let answer = world.api("PUT", "/receiver/sources/billing", source.to_string());
        assert_eq!((answer.status().as_u16(), &json(&answer)["field"]), (400, &field.into()));
    }
    assert_eq!(world.disk.count("sqlite_master WHERE name = 'inbox'"), 0, "nothing was touched");
    assert_eq!(world.api("PUT", "/receiver/sources/billing", good.to_string()).status(), 201);
}

#[test]
fn what_is_not_served_is_404_and_other_methods_405() {
    let world = World::with(&[&Sender::new(1)]);
    for (method, path, status, reason) in [
        ("GET", "/receiver/sources/other", 404, "source.unknown"),
        ("DELETE", "/receiver/sources/other", 404, "source.unknown"),
        ("GET", "/receiver/metrics?source=other", 404, "source.unknown"),
        ("GET", "/receiver/inbox/billing/none", 404, "event.unknown"),
        ("POST", "/receiver/inbox/billing/none/replay", 404, "event.unknown"),
        ("GET", "/receiver/nothing", 404, "route.unknown"),
        ("GET", "/receiver/sources", 404, "route.unknown"),
        ("POST", "/receiver/sources/billing", 405, "method.not_allowed"),
        ("GET", "/receiver/inbox/billing/none/replay", 405, "method.not_allowed"),
        ("GET", "/receiver/inbox", 400, "body.malformed"),
        ("GET", "/receiver/inbox?source=billing&state=done", 400, "body.malformed"),
        ("GET", "/receiver/inbox?source=billing&limit=0", 400, "body.malformed"),
        ("GET", "/receiver/inbox?source=billing&limit=201", 400, "body.malformed"),
        ("GET", "/receiver/inbox?source=billing&cursor=x", 400, "body.malformed"),
        ("GET", "/receiver/inbox?source=billing&source=billing", 400, "body.malformed"),
        ("GET", "/receiver/metrics?source=billing&state=pending", 400, "body.malformed"),
    ] {
        let answer = world.api(method, path, "");
        let problem = json(&answer);
        assert_eq!(
            (answer.status().as_u16(), &problem["reason"]),
            (status, &reason.into()),
            "{method} {path}"
        );
        assert_eq!(answer.headers().contains_key("allow"), status == 405);
    }
}

#[test]
fn pages_are_complete_and_disjoint() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    for n in 0..7 {
        world.post(&sender.delivery(&format!("evt-{n}"), "{}", world.clock.now()));
        world.clock.advance(Span::millis(n % 2));
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.get(&format!("/receiver/inbox?source=billing&limit=3{cursor}"));
        seen.extend(page["items"].as_array().unwrap().iter().map(|item| item["event_id"].to_string()));
        let Some(next) = page["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let mut all = seen.clone();
    all.sort();
    all.dedup();
    assert_eq!((seen.len(), all.len(), seen[0].as_str()), (7, 7, "\"evt-6\""));
    let pending = world.get("/receiver/inbox?source=billing&state=pending");
    assert_eq!(pending["items"].as_array().unwrap().len(), 7);
    let done = world.get("/receiver/inbox?source=billing&state=completed");
    assert_eq!((&done["items"], &done["next"]), (&serde_json::json!([]), &serde_json::Value::Null));
}

#[test]
fn latency_is_measured_from_the_signed_time() {
    let sender = Sender::new(1);
    let world = World::with(&[&sender]);
    for n in 0..4 {
        let signed = world.clock.now() - Span::seconds(n * 10);
        world.post(&sender.delivery(&format!("evt-{n}"), "{}", signed));
    }
    world.drain();
    let metrics = world.get("/receiver/metrics?source=billing");
    assert_eq!(metrics["completed"], 4);
    let expected = serde_json::json!(
        {"count": 4, "p50_ms": 10_000, "p95_ms": 30_000, "p99_ms": 30_000, "over_limit": false}
    );
    assert_eq!(metrics["completion"], expected);
}
