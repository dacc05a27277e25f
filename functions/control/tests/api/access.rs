//! A tenant comes from its token only, and a token opens its own scopes, environment and lifetime only.

use hookproof_core::time::Span;
use hookproof_core::token::Token;
use serde_json::json;

use crate::{ROOT, Site, event};

struct Case {
    site: Site,
    tenant: String,
    token: String,
}

fn case() -> Case {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let token = site.token(&tenant, "test", &[]);
    site.register(&token);
    assert_eq!(site.post(&token, "/v1/events", &event("evt-1")).status, 202);
    Case { site, tenant, token }
}

#[test]
fn two_authorization_fields_are_none() {
    let Case { site, token, .. } = case();
    let request = ::http::Request::builder()
        .uri("/v1/subscriptions")
        .header("authorization", format!("Bearer {token}"))
        .header("authorization", format!("Bearer {token}"));
    assert_eq!(site.send(request.body("".into()).unwrap()).status(), 401);
}

#[test]
fn a_token_that_would_have_ended_is_not_made() {
    let Case { site, tenant, .. } = case();
    let before = site.world.disk.dump();
    let make = |at| {
        site.post(
            ROOT,
            "/v1/tokens",
            &json!({ "tenant_id": tenant, "environment": "test", "expires_at": at }),
        )
    };
    for at in [site.world.now() - Span::millis(1), site.world.now()] {
        assert_eq!(make(at).problem(), (400, "body.malformed", "expires_at"));
    }
    assert_eq!(site.world.disk.dump(), before);
    assert_eq!(make(site.world.now() + Span::millis(1)).status, 201);
}

#[test]
fn a_foreign_event_of_the_same_id_is_another_event() {
    let Case { site, .. } = case();
    let stranger = site.publisher();
    let mut other = event("evt-1");
    other["data"] = json!("other");
    let published = site.post(&stranger, "/v1/events", &other);
    assert_eq!((published.status, &published.body["subscriptions"]), (202, &json!(0)));
}

#[test]
fn only_the_root_token_makes_tenants_and_tokens() {
    let Case { site, tenant, token, .. } = case();
    let before = site.world.disk.dump();
    for auth in
        ["", "Bearer ", "Bearer root", "Basic root-token", &format!("Bearer {token}"), "Bearer root-token x"]
    {
        for (path, body) in [
            ("/v1/tenants", json!({ "name": "x" })),
            ("/v1/tokens", json!({ "tenant_id": tenant, "environment": "test" })),
        ] {
            assert_eq!(site.call(auth, "POST", path, body.to_string()).problem(), (401, "token.refused", ""));
        }
        let revoke = format!("/v1/tokens/{}", Token::parse(&token).unwrap().id);
        assert_eq!(site.call(auth, "DELETE", &revoke, "").problem(), (401, "token.refused", ""));
    }
    assert_eq!(site.world.disk.dump(), before);
}

#[test]
fn a_token_is_shown_once_and_stored_as_a_hash() {
    let Case { site, tenant, token, .. } = case();
    let answer = site.post(ROOT, "/v1/tokens", &json!({ "tenant_id": tenant, "environment": "live" }));
    assert_eq!((answer.status, &answer.body["environment"]), (201, &json!("live")));
    assert!(answer.text("token").starts_with("hp_live_"));
    let dump = format!("{:?}", site.world.disk.dump());
    for shown in [token, answer.text("token")] {
        assert!(!dump.contains(shown.rsplit('_').next().unwrap()));
        assert!(!site.journal.mentions(&shown));
    }
    for (tenant, status) in [("tnt_00000000000000000000000000", 404), ("nonsense", 400)] {
        let asked = json!({ "tenant_id": tenant, "environment": "test" });
        assert_eq!(site.post(ROOT, "/v1/tokens", &asked).status, status);
    }
}

#[test]
fn a_token_is_revoked_at_once_and_a_made_up_one_is_unknown() {
    let Case { site, token, .. } = case();
    let root = format!("Bearer {ROOT}");
    let id = Token::parse(&token).unwrap().id;
    let revoke = |id: &str| site.call(&root, "DELETE", &format!("/v1/tokens/{id}"), "");
    assert_eq!(site.get(&token, "/v1/subscriptions").status, 200);
    let answer = revoke(id.as_str());
    assert_eq!((answer.status, &answer.body["revoked_at"]), (200, &json!(site.world.now())));
    assert_eq!(site.get(&token, "/v1/subscriptions").problem(), (401, "token.refused", ""));
    assert_eq!(revoke(id.as_str()), answer, "revoking again changes nothing");
    let before = site.world.disk.dump();
    let never = hookproof_core::id::TokenId::mint(&site.world.ids, site.world.now(), [9; 10]);
    for id in [never.as_str(), "tok_00000000000000000000000000", "nonsense"] {
        assert_eq!(revoke(id).problem(), (404, "token.unknown", ""), "{id}");
    }
    assert_eq!(site.world.disk.dump(), before);
}

#[test]
fn what_is_not_served_says_so() {
    let Case { site, token, .. } = case();
    for (method, path) in [
        ("GET", "/"),
        ("GET", "/v1"),
        ("GET", "/v1/nothing"),
        ("GET", "/v1/events/"),
        ("POST", "/v1/subscriptions/x/y/z"),
        ("DELETE", "/v1/events"),
        ("GET", "/v1/tenants"),
    ] {
        let answer = site.call(&format!("Bearer {token}"), method, path, "");
        assert!([404, 405].contains(&answer.status), "{method} {path}: {answer:?}");
    }
    let health = site.call("", "GET", "/v1/health", "");
    assert_eq!((health.status, &health.body["status"]), (200, &json!("ok")));
}

#[test]
fn a_request_that_could_not_be_read_is_answered_too() {
    let site = Site::new();
    let answer = site.unread(hookproof_core::Reason::BodyTooLarge.into());
    assert_eq!(answer.problem(), (413, "body.too_large", ""));
}
