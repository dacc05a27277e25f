//! What every route of the table must keep, so that a new row cannot forget it.

use hookproof_authority::token::Scope;
use hookproof_control::routes::{Access, Action, Portals, ROUTES, Route};
use hookproof_core::id::{TenantId, TokenId};
use hookproof_core::time::Span;
use hookproof_core::token::Token;
use serde_json::{Value, json};

use crate::schema::conforms;
use crate::{Answer, ROOT, Site, event, registration};

/// The ids that a path or query of some tenant may name.
#[derive(Clone, Debug)]
pub(crate) struct Ids {
    pub(crate) tenant: String,
    pub(crate) token: String,
    pub(crate) subscription: String,
    pub(crate) event: String,
    pub(crate) event_type: String,
    pub(crate) code: String,
    pub(crate) recovery: String,
}

impl Ids {
    fn named(&self, name: &str) -> &str {
        match name {
            "tenant_id" => &self.tenant,
            "token_id" => &self.token,
            "subscription_id" | "subscription" => &self.subscription,
            "event_id" | "event" => &self.event,
            "event_type" => &self.event_type,
            other => panic!("teach Ids what {other} stands for"),
        }
    }
}

/// A tenant in `test` with one of everything.
pub(crate) struct Place {
    pub(crate) token: String,
    pub(crate) ids: Ids,
}

impl Place {
    pub(crate) fn new(site: &Site) -> Self {
        let tenant = site.tenant("Acme");
        let token = site.token(&tenant, "test", &[]);
        let registered = site.active(&token);
        let (subscription, recovery) =
            (registered.text("subscription_id"), registered.text("recovery_credential"));
        let event_id = format!("evt-{}", &subscription[20..]);
        assert_eq!(site.post(&token, "/v1/events", &event(&event_id)).status, 202);
        let event_type = format!("{}.made", subscription);
        let version = json!({ "api_version": "1", "schema": {}, "sample": 1, "description": "Made." });
        let path = format!("/v1/event-types/{event_type}");
        let put = site.call(&format!("Bearer {token}"), "PUT", &path, version.to_string());
        assert_eq!(put.status, 201, "{put:?}");
        let spare = Token::parse(&site.token(&tenant, "test", &[])).unwrap().id.to_string();
        let link = site.post(&token, &format!("/v1/subscriptions/{subscription}/portal-link"), &json!({}));
        let code = link.text("url").split_once("#code=").unwrap().1.to_owned();
        let ids = Ids { tenant, token: spare, subscription, event: event_id, event_type, code, recovery };
        Self { token, ids }
    }
}

/// Ids of the right form that this deployment could have minted and never did.
fn nobody(site: &Site) -> Ids {
    let (ids, now) = (&site.world.ids, site.world.now());
    Ids {
        tenant: TenantId::mint(ids, now, [7; 10]).to_string(),
        token: TokenId::mint(ids, now, [7; 10]).to_string(),
        subscription: site.world.mint().to_string(),
        event: "evt-nobody".into(),
        event_type: "nobody.made".into(),
        code: "hpc_test_00000000000000000000000000_0".into(),
        recovery: "hp_recovery_nobody".into(),
    }
}

/// Every path of a route, with ids and queries filled in.
pub(crate) fn paths(route: &Route, ids: &Ids) -> Vec<String> {
    let fill = |segment: &str| match segment.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
        Some(name) => ids.named(name).to_owned(),
        None => segment.to_owned(),
    };
    let path = route.path.split('/').map(fill).collect::<Vec<_>>().join("/");
    let (mut always, mut either) = (Vec::new(), Vec::new());
    for &name in route.query {
        match name {
            "cursor" | "limit" | "state" | "registered" => {}
            "environment" => always.push("environment=test".to_owned()),
            "tenant_id" => always.push(format!("{name}={}", ids.named(name))),
            _ => either.push(format!("{name}={}", ids.named(name))),
        }
    }
    let mut queries: Vec<Vec<String>> = either.iter().map(|one| vec![one.clone()]).collect();
    queries.push(either.clone());
    queries.dedup();
    let with = |query: Vec<String>| [always.clone(), query].concat().join("&");
    queries.into_iter().map(|query| format!("{path}?{}", with(query))).collect()
}

/// A good body for a route; none where it takes none.
pub(crate) fn body(route: &Route, ids: &Ids) -> Option<Value> {
    Some(match route.takes? {
        "NewTenant" => json!({ "name": "New" }),
        "NewToken" => json!({ "tenant_id": ids.tenant, "environment": "test" }),
        "NewSubscription" => registration(),
        "SubscriptionPatch" => json!({ "endpoint": "https://new.example.com/in" }),
        "Suspension" => json!({ "reason": "operator" }),
        "Recovery" => json!({ "recovery_credential": ids.recovery }),
        "ChallengeRequest" => json!({}),
        "NewEventType" => {
            json!({ "api_version": "2", "schema": true, "sample": null, "description": "Made differently." })
        }
        "EventTypesPolicy" => json!({ "require_catalogue": false }),
        "PortalCode" => json!({ "code": ids.code }),
        "NewEvent" => json!({ "type": "invoice.paid", "api_version": "1", "data": { "n": 1 } }),
        other => panic!("teach this test a body of the schema {other}"),
    })
}

pub(crate) fn text(route: &Route, ids: &Ids) -> String {
    body(route, ids).map_or(String::new(), |body| body.to_string())
}

/// The header that opens a route.
pub(crate) fn bearer(route: &Route, place: &Place) -> String {
    match route.access {
        Access::Public => String::new(),
        Access::Root => format!("Bearer {ROOT}"),
        Access::Scope(..) => format!("Bearer {}", place.token),
    }
}

/// Brings the place to where the route can do what it does.
pub(crate) fn prepare(site: &Site, route: &Route, place: &Place) {
    if route.action == Action::Recover {
        let path = format!("/v1/subscriptions/{}/pause", place.ids.subscription);
        assert_eq!(site.post(&place.token, &path, &json!({})).status, 200);
    }
}

#[test]
fn every_route_answers_as_its_row_says() {
    let site = Site::new();
    for route in ROUTES {
        let place = Place::new(&site);
        prepare(&site, route, &place);
        for path in paths(route, &place.ids) {
            let answer = site.call(&bearer(route, &place), route.method, &path, text(route, &place.ids));
            let said = route.answers.iter().find(|(status, _)| *status == answer.status);
            let (_, schema) = said.unwrap_or_else(|| panic!("{path}: {answer:?}"));
            conforms(schema, &answer.body);
        }
        if let (Some(schema), Some(body)) = (route.takes, body(route, &place.ids)) {
            conforms(schema, &body);
        }
    }
}

#[test]
fn another_tenants_and_another_environments_ids_answer_as_if_they_did_not_exist() {
    let site = Site::new();
    let (place, nobody) = (Place::new(&site), nobody(&site));
    let other_environment = site.token(&place.ids.tenant, "live", &[]);
    let stranger = Place::new(&site).token;
    let before = site.world.disk.dump();
    let mut tried = 0;
    for route in ROUTES.iter().filter(|route| matches!(route.access, Access::Scope(..))) {
        for (real, made_up) in paths(route, &place.ids).iter().zip(paths(route, &nobody)) {
            // A type is a name that any tenant may give to something of its own.
            if *real == made_up || route.action == Action::PutEventType {
                continue;
            }
            for token in [&stranger, &other_environment] {
                let ask = |path: &str| {
                    site.call(&format!("Bearer {token}"), route.method, path, text(route, &place.ids))
                };
                let answer = ask(real);
                assert_eq!(answer.problem().0, 404, "{} {real}", route.method);
                assert_eq!(answer, ask(&made_up), "{} {real}", route.method);
                tried += 1;
            }
        }
    }
    assert!(tried >= 16, "{tried}");
    assert_eq!(site.world.disk.dump(), before);
    // Lists show what is the caller's own.
    for route in
        ROUTES.iter().filter(|route| matches!(route.access, Access::Scope(..)) && !route.path.contains('{'))
    {
        let list = route.query.contains(&"cursor") && !route.query.contains(&"subscription");
        if route.method == "GET" && list {
            let answer = site.get(&other_environment, route.path);
            assert_eq!(answer.body["items"], json!([]), "{}", route.path);
        }
    }
}

#[test]
fn every_route_takes_its_own_scope_and_no_other() {
    let site = Site::new();
    for route in ROUTES {
        let Access::Scope(scope, _) = route.access else { continue };
        let place = Place::new(&site);
        prepare(&site, route, &place);
        let others: Vec<&str> = Scope::ALL.iter().filter(|it| **it != scope).map(|it| it.name()).collect();
        let without = site.token(&place.ids.tenant, "test", &others);
        let with = site.token(&place.ids.tenant, "test", &[scope.name()]);
        let before = site.world.disk.dump();
        for path in paths(route, &place.ids) {
            let ask = |token: &str| {
                site.call(&format!("Bearer {token}"), route.method, &path, text(route, &place.ids))
            };
            let answer = ask(&without);
            assert_eq!(answer.problem(), (403, "scope.missing", ""), "{path}");
            assert!(answer.text("detail").contains(scope.name()));
            assert_eq!(site.world.disk.dump(), before);
        }
        for path in paths(route, &place.ids) {
            let answer = site.call(&format!("Bearer {with}"), route.method, &path, text(route, &place.ids));
            assert!((200..300).contains(&answer.status), "{path}: {answer:?}");
        }
    }
}

#[test]
fn a_route_of_a_token_has_one_answer_for_every_bad_one() {
    let site = Site::new();
    let place = Place::new(&site);
    let expired = {
        let at = site.world.now() + Span::seconds(1);
        let asked = json!({ "tenant_id": place.ids.tenant, "environment": "test", "expires_at": at });
        site.post(ROOT, "/v1/tokens", &asked).text("token")
    };
    site.world.clock.advance(Span::seconds(1));
    let revoked = site.token(&place.ids.tenant, "test", &[]);
    let id = Token::parse(&revoked).unwrap().id;
    site.call(&format!("Bearer {ROOT}"), "DELETE", &format!("/v1/tokens/{id}"), "");
    let mut other_secret = place.token.clone();
    let last = if other_secret.pop() == Some('a') { 'b' } else { 'a' };
    other_secret.push(last);
    let made_up = format!("hp_test_{}_{}", "0".repeat(26), "0".repeat(52));
    let code_as_token = place.ids.code.replacen("hpc_", "hp_", 1);
    let other_environment = place.token.replace("hp_test_", "hp_live_");
    let upper = place.token.to_uppercase();
    let tokens = ["", "x", &expired, &revoked, &other_secret, &made_up, &other_environment, &upper];
    let mut headers: Vec<String> = tokens.iter().map(|token| format!("Bearer {token}")).collect();
    headers.extend([code_as_token, place.ids.code.clone()].map(|token| format!("Bearer {token}")));
    headers.extend(["".into(), format!("Basic {}", place.token), place.token.clone(), "Bearer x y".into()]);
    let before = site.world.disk.dump();
    for route in ROUTES.iter().filter(|route| route.access != Access::Public) {
        let other = if route.access == Access::Root { &place.token } else { ROOT };
        let bad = headers.iter().cloned().chain([format!("Bearer {other}")]);
        let path = &paths(route, &place.ids)[0];
        let answers: Vec<Answer> =
            bad.map(|auth| site.call(&auth, route.method, path, text(route, &place.ids))).collect();
        assert_eq!(answers[0].problem(), (401, "token.refused", ""), "{route:?}");
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{route:?}: {answers:?}");
    }
    assert_eq!(site.world.disk.dump(), before);
}

#[test]
fn a_query_name_that_is_not_taken_or_stands_twice_is_refused_and_named() {
    let site = Site::new();
    let place = Place::new(&site);
    let before = site.world.disk.dump();
    for route in ROUTES {
        for path in paths(route, &place.ids) {
            let ask = |query: &str| {
                let path = format!("{path}&{query}");
                site.call(&bearer(route, &place), route.method, &path, text(route, &place.ids))
            };
            assert_eq!(ask("limt=1").problem(), (400, "body.malformed", "limt"), "{path}");
            assert_eq!(ask("a=%ff").problem(), (400, "body.malformed", "query"), "{path}");
            for &name in route.query {
                let twice = ask(&format!("{name}=1&{name}=1"));
                assert_eq!(twice.problem(), (400, "body.malformed", name), "{path}");
            }
        }
    }
    assert_eq!(site.world.disk.dump(), before);
}

#[test]
fn every_list_has_a_limit_of_one_to_two_hundred_and_a_cursor() {
    let site = Site::new();
    let place = Place::new(&site);
    let lists = ROUTES.iter().filter(|route| route.query.contains(&"cursor"));
    let mut count = 0;
    for route in lists {
        assert!(route.query.contains(&"limit"), "{}", route.path);
        for path in paths(route, &place.ids) {
            let ask =
                |query: &str| site.call(&bearer(route, &place), route.method, &format!("{path}&{query}"), "");
            for limit in ["0", "201", "-1", "+1", "x", "", "1.0", "4294967297"] {
                let refused = ask(&format!("limit={limit}"));
                assert_eq!(refused.problem(), (400, "body.malformed", "limit"), "{path} {limit}");
            }
            for limit in ["1", "2", "199", "200"] {
                let page = ask(&format!("limit={limit}"));
                assert!(page.status == 200 && page.body["items"].is_array(), "{path} {limit}: {page:?}");
                assert!(page.body.as_object().unwrap().contains_key("next"));
            }
            assert_eq!(ask("cursor=x").problem(), (400, "body.malformed", "cursor"), "{path}");
            count += 1;
        }
    }
    assert!(count >= 5);
}

#[test]
fn another_method_is_405_and_names_those_that_are_served() {
    let site = Site::new();
    let place = Place::new(&site);
    for route in ROUTES {
        let path = paths(route, &place.ids).remove(0);
        let path = path.split('?').next().unwrap();
        let request = ::http::Request::builder().method("LOCK").uri(path).body("".into()).unwrap();
        let response = site.send(request);
        let allowed = response.headers()["allow"].to_str().unwrap().to_owned();
        assert_eq!(crate::read(&response).problem(), (405, "method.not_allowed", ""));
        assert!(allowed.split(", ").any(|method| method == route.method), "{allowed} on {path}");
    }
}

#[test]
fn a_portal_session_may_what_its_rows_say_and_for_its_own_subscription() {
    let site = Site::new();
    let place = Place::new(&site);
    let session = site.post("", "/v1/portal/session", &json!({ "code": place.ids.code })).text("token");
    let other = site.register(&place.token).text("subscription_id");
    let foreign = Ids { subscription: other, ..place.ids.clone() };
    let before = site.world.disk.dump();
    let ask = |route: &Route, path: &str| {
        site.call(&format!("Bearer {session}"), route.method, path, text(route, &place.ids))
    };
    for route in ROUTES {
        for (own, foreign) in paths(route, &place.ids).iter().zip(paths(route, &foreign)) {
            match route.access {
                Access::Public => {}
                Access::Root => assert_eq!(ask(route, own).problem(), (401, "token.refused", "")),
                Access::Scope(_, Portals::Never) => {
                    assert_eq!(ask(route, own).problem(), (403, "scope.missing", ""), "{own}");
                }
                Access::Scope(_, Portals::Reads | Portals::Acts) if *own != foreign => {
                    let answer = ask(route, &foreign);
                    assert_eq!(answer.problem(), (404, "subscription.unknown", ""), "{foreign}");
                }
                Access::Scope(_, Portals::Reads | Portals::Acts) => {}
            }
        }
    }
    assert_eq!(site.world.disk.dump(), before);
    for route in ROUTES {
        let Access::Scope(_, Portals::Reads | Portals::Acts) = route.access else { continue };
        for own in paths(route, &place.ids) {
            let answer = ask(route, &own);
            assert!((200..300).contains(&answer.status), "{own}: {answer:?}");
        }
    }
}
