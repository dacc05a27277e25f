//! `Idempotency-Key`: the same request does it once, another one under the same key does nothing.

use hookproof_control::routes::{Access, ROUTES, Route};
use hookproof_core::time::Span;
use serde_json::{Value, json};

use crate::table::{Place, bearer, body, paths, prepare, text};
use crate::{Answer, ROOT, Site, registration};

fn keyed(site: &Site, auth: &str, path: &str, keys: &[&[u8]], body: &str) -> Answer {
    let mut request = ::http::Request::builder().method("POST").uri(path);
    if !auth.is_empty() {
        request = request.header("authorization", auth);
    }
    for key in keys {
        request = request.header("idempotency-key", *key);
    }
    crate::read(&site.send(request.body(body.to_owned().into()).unwrap()))
}

/// An answer less what is shown once.
fn lasting(answer: &Answer) -> Value {
    let mut body = answer.body.clone();
    let members = body.as_object_mut().unwrap();
    for name in [
        "secret",
        "recovery_credential",
        "token",
        "url",
        "secret_already_shown",
        "duplicate",
        "subscriptions",
    ] {
        members.remove(name);
    }
    body
}

fn posts() -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(|route| route.method == "POST")
}

#[test]
fn every_post_does_once_what_comes_twice_under_one_key() {
    let site = Site::new();
    for route in posts() {
        let place = Place::new(&site);
        prepare(&site, route, &place);
        let path = paths(route, &place.ids).remove(0);
        let (auth, text) = (bearer(route, &place), text(route, &place.ids));
        let first = keyed(&site, &auth, &path, &[b"key-1"], &text);
        assert!((200..300).contains(&first.status), "{path}: {first:?}");
        let before = site.world.disk.dump();
        site.world.clock.advance(Span::minutes(1));
        let again = keyed(&site, &auth, &path, &[b"key-1"], &text);
        assert_eq!(lasting(&again), lasting(&first), "{path}");
        // An event's own answer to a repeat is 200; the others repeat theirs.
        assert!(again.status == first.status || route.path == "/v1/events", "{path}: {again:?}");
        for secret in ["secret", "recovery_credential", "token", "url"] {
            if first.body.get(secret).is_some() {
                assert!(first.body[secret].is_string() && again.body[secret].is_null(), "{path} {secret}");
                assert_eq!(
                    (&first.body["secret_already_shown"], &again.body["secret_already_shown"]),
                    (&json!(false), &json!(true))
                );
            }
        }
        assert_eq!(site.world.disk.dump(), before, "{path}");
        let mut other = body(route, &place.ids).unwrap_or_else(|| json!({}));
        other["unknown-or-other"] = json!(1);
        let other = match route.takes {
            None => other.to_string(),
            // White space makes another body of the same meaning.
            Some(_) => format!("{text} "),
        };
        let refused = keyed(&site, &auth, &path, &[b"key-1"], &other);
        assert_eq!(refused.problem(), (409, "idempotency.conflict", "Idempotency-Key"), "{path}");
        assert_eq!(site.world.disk.dump(), before, "{path}");
    }
}

#[test]
fn a_key_is_one_of_1_to_255_visible_ascii_characters() {
    let site = Site::new();
    let longest = "k".repeat(255);
    let too_long = "k".repeat(256);
    for route in posts() {
        let place = Place::new(&site);
        let path = paths(route, &place.ids).remove(0);
        let (auth, text) = (bearer(route, &place), text(route, &place.ids));
        let before = site.world.disk.dump();
        for keys in
            [&[&b""[..]][..], &[too_long.as_bytes()], &[b"a b"], &[b"\xc3\xa9"], &[b"a", b"a"], &[b"a\tb"]]
        {
            let answer = keyed(&site, &auth, &path, keys, &text);
            assert_eq!(answer.problem(), (400, "body.malformed", "Idempotency-Key"), "{path} {keys:?}");
        }
        assert_eq!(site.world.disk.dump(), before);
        for key in [&longest[..254], &longest, "!", "~"] {
            let place = Place::new(&site);
            prepare(&site, route, &place);
            let path = paths(route, &place.ids).remove(0);
            let (auth, text) = (bearer(route, &place), crate::table::text(route, &place.ids));
            let answer = keyed(&site, &auth, &path, &[key.as_bytes()], &text);
            // Under the root token all places share one memory.
            let taken = route.access == Access::Root && answer.status == 409;
            assert!(taken || (200..300).contains(&answer.status), "{path} {key:.5}: {answer:?}");
        }
    }
}

#[test]
fn a_key_is_remembered_for_a_day_by_tenant_environment_and_route() {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let [test, live] = ["test", "live"].map(|it| format!("Bearer {}", site.token(&tenant, it, &[])));
    let other = format!("Bearer {}", site.publisher());
    let body = registration().to_string();
    let register = |auth: &str| {
        let answer = keyed(&site, auth, "/v1/subscriptions", &[b"k"], &body);
        assert_eq!(answer.status, 201);
        answer.text("subscription_id")
    };
    let first = register(&test);
    assert!(register(&live) != first && register(&other) != first);
    let event = json!({ "type": "invoice.paid", "api_version": "1", "data": 1 }).to_string();
    assert_eq!(keyed(&site, &test, "/v1/events", &[b"k"], &event).status, 202, "another route");
    site.world.clock.advance(Span::millis(86_399_999));
    assert_eq!(register(&test), first);
    site.world.clock.advance(Span::millis(1));
    assert_ne!(register(&test), first);
}

#[test]
fn without_a_key_each_request_makes_its_own() {
    let site = Site::new();
    let token = site.publisher();
    assert_ne!(site.register(&token).text("subscription_id"), site.register(&token).text("subscription_id"));
    assert!(site.world.disk.rows("SELECT key FROM idempotency").is_empty());
}

#[test]
fn an_events_own_id_decides_and_a_key_gives_one_to_an_event_without() {
    let site = Site::new();
    let auth = format!("Bearer {}", site.publisher());
    let publish = |event: &Value| keyed(&site, &auth, "/v1/events", &[b"k"], &event.to_string());
    let (one, two) = (crate::event("evt-1"), crate::event("evt-2"));
    assert_eq!((publish(&one).status, publish(&two).status, publish(&one).status), (202, 202, 200));
    let mut bare = one;
    bare.as_object_mut().unwrap().remove("id");
    let (first, again) = (publish(&bare), publish(&bare));
    assert_eq!((first.status, again.status), (202, 200));
    assert_eq!(first.body["event_id"], again.body["event_id"]);
    bare["data"] = json!(2);
    assert_eq!(publish(&bare).problem().1, "idempotency.conflict");
}

#[test]
fn a_request_that_failed_half_way_is_finished_by_its_repeat() {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let auth = format!("Bearer {}", site.token(&tenant, "test", &[]));
    let root = format!("Bearer {ROOT}");
    let token = json!({ "tenant_id": tenant, "environment": "test" }).to_string();
    for (auth, path, body) in [
        (&root, "/v1/tenants", json!({ "name": "Half" }).to_string()),
        (&root, "/v1/tokens", token),
        (&auth, "/v1/subscriptions", registration().to_string()),
    ] {
        let mut failures = 0;
        for statement in 0..60 {
            let key = format!("{path}-{statement}");
            site.world.disk.fail_at(Some(statement));
            let failed = keyed(&site, auth, path, &[key.as_bytes()], &body);
            site.world.disk.fail_at(None);
            if failed.status == 201 {
                break;
            }
            assert_eq!(failed.problem().0, 503, "{path} at {statement}");
            failures += 1;
            let done = keyed(&site, auth, path, &[key.as_bytes()], &body);
            let again = keyed(&site, auth, path, &[key.as_bytes()], &body);
            assert_eq!((done.status, lasting(&done)), (201, lasting(&again)), "{path} at {statement}");
        }
        assert!((3..60).contains(&failures), "{path}: {failures}");
    }
}
