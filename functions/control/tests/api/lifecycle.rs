//! Changing, pausing, bringing back and revoking over HTTP: what is taken, what is answered.

use serde_json::{Value, json};

use crate::{Answer, Site, subscriber};

struct Case {
    site: Site,
    token: String,
    registered: Answer,
    path: String,
}

impl Case {
    fn new() -> Self {
        let site = Site::new();
        let token = site.publisher();
        let registered = site.active(&token);
        let path = format!("/v1/subscriptions/{}", registered.text("subscription_id"));
        Self { site, token, registered, path }
    }

    fn ask(&self, method: &str, rest: &str, body: &Value) -> Answer {
        let path = format!("{}{rest}", self.path);
        self.site.call(&format!("Bearer {}", self.token), method, &path, body.to_string())
    }

    fn ask_if(&self, method: &str, tag: &str, body: &Value) -> Answer {
        let request = ::http::Request::builder().method(method).uri(&self.path);
        let request = request.header("authorization", format!("Bearer {}", self.token));
        let request = request.header("if-match", tag).body(body.to_string().into()).unwrap();
        crate::read(&self.site.send(request))
    }

    fn tag(&self) -> String {
        let it = self.site.get(&self.token, &self.path);
        format!("\"{}.{}\"", it.body["generation"], it.body["revision"])
    }
}

#[test]
fn a_change_shows_the_new_secret_once_and_says_what_to_do() {
    let case = Case::new();
    let change = json!({ "endpoint": "https://new.example.com/in" });
    let changed = case.ask("PATCH", "", &change);
    assert_eq!((changed.status, &changed.body["staged_generation"]), (200, &2.into()));
    assert_ne!(changed.text("secret"), case.registered.text("secret"));
    assert!(changed.text("next").contains("/challenge"));
    assert_eq!(changed.body["state"], "ACTIVE", "the old generation serves on");
    let again = case.ask("PATCH", "", &change);
    assert_eq!((&again.body["staged_generation"], &again.body["secret"]), (&Value::Null, &Value::Null));
    let listed = case.site.get(&case.token, &format!("{}/generations", case.path));
    let states: Vec<_> =
        listed.body["items"].as_array().unwrap().iter().map(|it| it["state"].clone()).collect();
    assert_eq!(states, ["PENDING_CHALLENGE", "ACTIVE"]);
}

#[test]
fn a_bad_change_names_its_field_and_leaves_nothing() {
    let case = Case::new();
    let before = case.site.world.disk.dump();
    let key = "A".repeat(43);
    for (body, reason, field) in [
        (json!({ "endpoint": "http://new.example.com/" }), "endpoint.refused", "endpoint"),
        (json!({ "endpoint": "https://10.0.0.1/" }), "endpoint.refused", "endpoint"),
        (json!({ "topics": [] }), "body.malformed", "topics"),
        (json!({ "topics": ["Invoice"] }), "body.malformed", "topics[0]"),
        (json!({ "owner": { "name": "", "contact": "x" } }), "body.malformed", "owner"),
        (json!({ "accepted_versions": ["1.2"] }), "body.malformed", "accepted_versions"),
        (json!({ "profile": "none" }), "body.malformed", "profile"),
        (json!({ "receipt": { "alg": "ed25519", "public_key": key } }), "key.weak", "receipt.public_key"),
        (json!({ "retry_policy": "soon" }), "body.malformed", "retry_policy"),
        (json!({ "expires_at": "2000-01-01T00:00:00.000Z" }), "body.malformed", "expires_at"),
        (json!({ "region": "us" }), "region.immutable", "region"),
        (json!({ "tenant_id": "tnt_x" }), "body.malformed", "body"),
    ] {
        let refused = case.ask("PATCH", "", &body);
        assert_eq!((refused.problem().1, refused.problem().2), (reason, field), "{body}");
        assert!(!refused.text("detail").is_empty(), "{body}");
    }
    assert_eq!(case.site.world.disk.dump(), before);
}

#[test]
fn what_does_not_bind_shows_no_secret() {
    let case = Case::new();
    for body in [
        json!({}),
        json!({ "retry_policy": "internal-bus" }),
        json!({ "old_generations": "quarantine" }),
        json!({ "expires_at": "2099-01-01T00:00:00Z" }),
        json!({ "expires_at": null }),
    ] {
        let changed = case.ask("PATCH", "", &body);
        assert_eq!((changed.status, &changed.body["secret"]), (200, &Value::Null), "{body}: {changed:?}");
    }
    let it = case.site.get(&case.token, &case.path);
    assert_eq!(it.body["generations"][0]["retry_policy"], "internal-bus");
    assert!(it.body["expires_at"].is_null());
}

#[test]
fn a_change_meant_for_another_revision_is_refused() {
    let case = Case::new();
    let tag = case.tag();
    let change = json!({ "retry_policy": "internal-bus" });
    assert_eq!(case.ask_if("PATCH", "\"1.999\"", &change).problem().0, 412);
    assert_eq!(case.ask_if("PATCH", &tag, &change).status, 200);
    assert_eq!(case.ask_if("PATCH", &tag, &json!({ "old_generations": "quarantine" })).problem().0, 412);
    assert_eq!(case.ask_if("DELETE", &tag, &json!({})).problem().0, 412);
    assert_eq!(case.ask_if("DELETE", &case.tag(), &json!({})).text("state"), "REVOKED");
}

#[test]
fn a_pause_and_a_resume_lead_through_a_challenge() {
    let case = Case::new();
    assert_eq!(case.ask("POST", "/pause", &json!({})).text("state"), "SUSPENDED");
    assert_eq!(case.ask("POST", "/pause", &json!({})).text("state"), "SUSPENDED");
    assert_eq!(case.ask("POST", "/resume", &json!({})).text("state"), "PENDING_CHALLENGE");
    case.site.world.prove(&subscriber(&case.registered));
    assert_eq!(case.ask("POST", "/resume", &json!({})).text("state"), "ACTIVE");
}

#[test]
fn what_the_system_finds_out_is_not_told_to_it() {
    let case = Case::new();
    for reason in ["compromised", "dns_private", "endpoint_gone"] {
        let refused = case.ask("POST", "/suspend", &json!({ "reason": reason }));
        assert_eq!(refused.problem(), (400, "body.malformed", "reason"), "{reason}");
    }
    for body in [json!({}), json!({ "reason": "bored" })] {
        assert_eq!(case.ask("POST", "/suspend", &body).problem().0, 400);
    }
    let suspended = case.ask("POST", "/suspend", &json!({ "reason": "ownership_changed" }));
    assert_eq!(suspended.text("state"), "SUSPENDED");
    for (method, rest, body) in [
        ("POST", "/resume", json!({})),
        ("POST", "/challenge", json!({})),
        ("POST", "/portal-link", json!({})),
        ("PATCH", "", json!({ "endpoint": "https://new.example.com/in" })),
    ] {
        let refused = case.ask(method, rest, &body);
        assert_eq!(refused.problem(), (409, "recovery.required", ""), "{method} {rest}");
    }
    assert_eq!(case.ask("POST", "/recover", &json!({ "recovery_credential": "x" })).problem().0, 403);
    let credential = case.registered.text("recovery_credential");
    let recovered = case.ask("POST", "/recover", &json!({ "recovery_credential": credential }));
    assert_eq!(recovered.text("state"), "PENDING_CHALLENGE");
    assert_ne!(recovered.text("secret"), case.registered.text("secret"));
    assert_ne!(recovered.text("recovery_credential"), credential);
}

#[test]
fn a_revocation_says_what_becomes_of_what_is_registered() {
    let case = Case::new();
    assert_eq!(
        case.ask("DELETE", "?registered=keep", &json!({})).problem(),
        (400, "body.malformed", "registered")
    );
    let revoked = case.ask("DELETE", "?registered=drain", &json!({}));
    assert_eq!((revoked.status, revoked.text("state").as_str()), (200, "REVOKED"));
    assert!(revoked.body["generations"][0]["until"].is_string());
    assert_eq!(case.ask("DELETE", "", &json!({})).status, 200, "again is the same");
    for (method, rest, body) in [
        ("POST", "/pause", json!({})),
        ("POST", "/resume", json!({})),
        ("POST", "/challenge", json!({})),
        ("PATCH", "", json!({ "endpoint": "https://new.example.com/in" })),
    ] {
        assert_eq!(case.ask(method, rest, &body).problem().1, "state.forbids", "{method} {rest}");
    }
}

#[test]
fn a_filter_is_changed_by_a_generation_of_its_own_and_both_are_listed() {
    let case = Case::new();
    let filter = json!({ "data": { "n": [2] } });
    let refused = case.ask("PATCH", "", &json!({ "filter": { "data": { "n": 2 } } }));
    assert_eq!(refused.problem(), (400, "body.malformed", "/filter/data/n"));
    let changed = case.ask("PATCH", "", &json!({ "filter": filter }));
    assert_eq!((changed.status, &changed.body["staged_generation"]), (200, &2.into()));
    let generations = &changed.body["generations"];
    assert_eq!((&generations[0]["filter"], generations[1].get("filter")), (&filter, None));
    let digests = |id: &str, n: u32| {
        let mut draft = crate::event(id);
        draft["data"] = json!({ "n": n });
        assert_eq!(case.site.post(&case.token, "/v1/events", &draft).status, 202);
        case.site.queue.take(9).unwrap().pop().unwrap().filter_digests.len()
    };
    assert_eq!((digests("evt-1", 1), digests("evt-2", 2)), (1, 2), "before it can become active");
    // Taken back: another generation is staged in its place, and soon nobody asks for the filter any more.
    let back = case.ask("PATCH", "", &json!({ "filter": null, "topics": ["invoice.paid"] }));
    assert_eq!(back.status, 200, "{back:?}");
    assert_eq!(digests("evt-3", 2), 3, "what was listed of late stays");
    case.site.world.clock.advance(hookproof_core::time::Span::hours(1));
    assert_eq!(case.site.get(&case.token, &case.path).status, 200);
    assert_eq!(digests("evt-4", 2), 2, "reading the subscription narrows");
}

#[test]
fn challenges_are_rationed_by_tenant_and_by_domain() {
    let site = Site::new();
    let registered = |token: &str, host: &str| {
        let mut asked = crate::registration();
        asked["endpoint"] = json!(format!("https://{host}/in"));
        let answer = site.post(token, "/v1/subscriptions", &asked);
        format!("/v1/subscriptions/{}/challenge", answer.text("subscription_id"))
    };
    let ask = |token: &str, path: &str| site.post(token, path, &json!({}));
    let first = site.publisher();
    for n in 0..30 {
        let path = registered(&first, &format!("h{n}.example.com"));
        assert_eq!(ask(&first, &path).status, 202, "{n}");
    }
    let (path, other) = (registered(&first, "last.example.com"), site.publisher());
    assert_eq!(ask(&first, &path).problem(), (429, "challenge.budget", ""));
    let others = registered(&other, "www.example.com");
    assert_eq!(ask(&other, &others).problem().0, 429, "the domain's ration is everybody's");
    let elsewhere = registered(&other, "hooks.example.net");
    assert_eq!(ask(&other, &elsewhere).status, 202);
    let left = (0..120).take_while(|n| {
        let path = registered(&first, &format!("hooks.example{n}.net"));
        ask(&first, &path).status == 202
    });
    assert_eq!(left.count(), 89, "31 of the tenant's 120 were used before");
    site.world.clock.advance(hookproof_core::time::Span::hours(1));
    assert_eq!(ask(&first, &path).status, 202);
}
