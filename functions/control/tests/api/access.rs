//! A tenant comes from its token only, and a token opens its own scopes, environment and lifetime only.

use hookproof_authority::token::{Command, Record, Tokens};
use hookproof_core::time::Span;
use hookproof_core::token::Token;
use hookproof_ports::Ask;
use serde_json::{Value, json};

use crate::support::now;
use crate::{ROOT, Site, event, registration};

/// A route with the scope it needs, its body, and the reason for an id of somebody else.
type Route = (&'static str, &'static str, String, Option<Value>, Option<&'static str>);

fn routes(id: &str, event_id: &str) -> Vec<Route> {
    let read = "subscriptions:read";
    let (write, see) = ("subscriptions:write", "deliveries:read");
    let no_subscription = Some("subscription.unknown");
    let no_event = Some("event.unknown");
    vec![
        (read, "GET", "/v1/subscriptions".into(), None, None),
        (read, "GET", format!("/v1/subscriptions/{id}"), None, no_subscription),
        (write, "POST", "/v1/subscriptions".into(), Some(registration()), None),
        (write, "POST", format!("/v1/subscriptions/{id}/challenge"), Some(json!({})), no_subscription),
        (see, "GET", format!("/v1/subscriptions/{id}/evidence"), None, no_subscription),
        ("events:write", "POST", "/v1/events".into(), Some(event("evt-new")), None),
        (see, "GET", format!("/v1/events/{event_id}"), None, no_event),
        (see, "GET", format!("/v1/deliveries?subscription={id}"), None, no_subscription),
        (see, "GET", format!("/v1/deliveries?event={event_id}"), None, no_event),
        (see, "GET", format!("/v1/deliveries?event={event_id}&subscription={id}"), None, no_event),
    ]
}

struct Case {
    site: Site,
    tenant: String,
    token: String,
    routes: Vec<Route>,
}

fn case() -> Case {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let token = site.token(&tenant, "test", &[]);
    let id = site.register(&token).text("subscription_id");
    assert_eq!(site.post(&token, "/v1/events", &event("evt-1")).status, 202);
    Case { site, tenant, token, routes: routes(&id, "evt-1") }
}

fn body(route: &Route) -> String {
    route.3.as_ref().map_or(String::new(), Value::to_string)
}

#[test]
fn every_route_needs_a_good_token_and_has_one_answer_for_every_bad_one() {
    let Case { site, tenant, token, routes } = case();
    let expired = {
        let at = site.world.now() + Span::seconds(1);
        let asked = json!({ "tenant_id": tenant, "environment": "test", "expires_at": at });
        site.post(ROOT, "/v1/tokens", &asked).text("token")
    };
    let revoked = site.token(&tenant, "test", &[]);
    let id = Token::parse(&revoked).unwrap().id;
    let _: Record = now(Ask::<Tokens>::ask(&site.world.objects, id.as_str(), Command::Revoke)).unwrap();
    site.world.clock.advance(Span::seconds(1));
    let last = token.chars().last().unwrap();
    let other_secret = format!("{}{}", &token[..token.len() - 1], if last == 'a' { 'b' } else { 'a' });
    let made_up = format!("hp_test_{}_{}", "0".repeat(26), "0".repeat(52));
    let other_environment = token.replace("hp_test_", "hp_live_");
    let upper = token.to_uppercase();
    let bearers = ["", "x", &expired, &revoked, &other_secret, &made_up, &other_environment, &upper, ROOT];
    let mut headers: Vec<String> = bearers.iter().map(|token| format!("Bearer {token}")).collect();
    headers.extend([String::new(), format!("Basic {token}"), token.clone(), format!("Bearer {token} ")]);
    let before = site.world.disk.dump();
    for route in &routes {
        let mut answers = Vec::new();
        for header in &headers {
            let answer = site.call(header, route.1, &route.2, body(route));
            assert_eq!(answer.problem().0, 401, "{header} on {route:?}");
            answers.push(answer);
        }
        assert!(answers.windows(2).all(|pair| pair[0] == pair[1]), "{route:?}: {answers:?}");
    }
    assert_eq!(site.world.disk.dump(), before);
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
fn every_route_takes_its_own_scope_and_no_other() {
    let Case { site, tenant, routes, .. } = case();
    let scopes = ["subscriptions:read", "subscriptions:write", "events:write", "deliveries:read"];
    let before = site.world.disk.dump();
    for route in &routes {
        let others: Vec<&str> = scopes.into_iter().filter(|scope| *scope != route.0).collect();
        let without = site.token(&tenant, "test", &others);
        let answer = site.call(&format!("Bearer {without}"), route.1, &route.2, body(route));
        assert_eq!(answer.problem(), (403, "scope.missing", ""), "{route:?}");
        assert!(answer.text("detail").contains(route.0));
    }
    let mut after = site.world.disk.dump();
    after.insert("token".into(), before["token"].clone());
    assert_eq!(after, before, "nothing but tokens was written");
    for route in &routes {
        let with = site.token(&tenant, "test", &[route.0]);
        let answer = site.call(&format!("Bearer {with}"), route.1, &route.2, body(route));
        assert!((200..300).contains(&answer.status), "{route:?}: {answer:?}");
    }
}

#[test]
fn another_tenants_ids_answer_as_if_they_did_not_exist() {
    let Case { site, tenant, routes, .. } = case();
    let strangers = [site.publisher(), site.token(&tenant, "live", &[])];
    let before = site.world.disk.dump();
    for token in &strangers {
        for route in routes.iter().filter(|route| route.4.is_some()) {
            let answer = site.call(&format!("Bearer {token}"), route.1, &route.2, body(route));
            assert_eq!(answer.problem(), (404, route.4.unwrap(), ""), "{route:?}");
        }
        assert_eq!(site.get(token, "/v1/subscriptions").body, json!({ "items": [], "next": null }));
    }
    assert_eq!(site.world.disk.dump(), before);
    // A minted id that never was, one of another deployment, and no id at all: the same words.
    let never = site.world.mint().to_string();
    for id in [never.as_str(), "sub_00000000000000000000000000", "nonsense", "tnt_00000000000000000000000000"]
    {
        for (mine, theirs) in routes.iter().zip(crate::access::routes(id, "evt-1")) {
            if mine.4 == Some("subscription.unknown") {
                let real = site.call(&format!("Bearer {}", strangers[0]), mine.1, &mine.2, body(mine));
                let made_up =
                    site.call(&format!("Bearer {}", strangers[0]), theirs.1, &theirs.2, body(&theirs));
                assert_eq!(
                    (real.problem(), &real.body["detail"]),
                    (made_up.problem(), &made_up.body["detail"]),
                    "{theirs:?}"
                );
            }
        }
    }
    assert_eq!(site.world.disk.dump(), before);
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
