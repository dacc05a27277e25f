//! A tenant comes from its token only, a token opens its scopes only, and what is refused leaves nothing.

use crate::parts::{Contract, Party, ask, event, joined};
use crate::world::{SOON, World};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use xtask::api::{Api, expect};
use xtask::journey::{Publisher, text};
use xtask::secrets::Secrets;
use xtask::site::Answer;

/// A further token for a tenant.
fn token(world: &World, tenant: &str, environment: &str, scopes: &[&str]) -> Result<String> {
    let mut asked = json!({ "tenant_id": tenant, "environment": environment });
    if !scopes.is_empty() {
        asked["scopes"] = json!(scopes);
    }
    let answer = expect(world.root()?.post("/v1/tokens", &asked)?, &[201], "Creating a token")?;
    let token = text(&answer, "token")?;
    world.conceal("a token", &token);
    Ok(token)
}

/// The status of a call, after its answer was checked to be a problem with this reason.
fn problem(
    world: &World,
    token: &str,
    (method, path): (&str, &str),
    body: Option<&Value>,
    expected: (u16, &str),
) -> Result<Value> {
    let octets = body.map(|body| body.to_string().into_bytes());
    raw_problem(world, token, (method, path), octets.as_deref(), expected)
}

fn raw_problem(
    world: &World,
    token: &str,
    (method, path): (&str, &str),
    body: Option<&[u8]>,
    (status, reason): (u16, &str),
) -> Result<Value> {
    let url = format!("{}{path}", world.urls().control);
    let (got, kind, text) = ask(method, &url, token, body)?;
    let call = || format!("{method} {path} was answered {got} {kind} {text}");
    let problem: Value = serde_json::from_str(&text).with_context(call)?;
    ensure!(got == status && problem["reason"] == reason, "{}, not {status} {reason}", call());
    ensure!(kind == "application/problem+json" && problem["status"] == status, "{}", call());
    ensure!(problem["type"] == format!("urn:hookproof:problem:{reason}"), "{}", call());
    ensure!(problem["title"].is_string(), "{}", call());
    Ok(problem)
}

/// The routes that name something of a tenant's.
fn routes(party: &Party, event: &str) -> Vec<(&'static str, String, &'static str)> {
    let id = party.id();
    vec![
        ("GET", format!("/v1/subscriptions/{id}"), "subscription.unknown"),
        ("POST", format!("/v1/subscriptions/{id}/challenge"), "subscription.unknown"),
        ("GET", format!("/v1/subscriptions/{id}/evidence"), "subscription.unknown"),
        ("GET", format!("/v1/deliveries?subscription={id}"), "subscription.unknown"),
        ("GET", format!("/v1/deliveries?event={event}"), "event.unknown"),
        ("GET", format!("/v1/events/{event}"), "event.unknown"),
    ]
}

pub(crate) fn another_tenants_ids_do_not_exist(world: &World) -> Result<()> {
    let (party, subscriber) = joined(world, "Owner", Contract::Ed25519, |_| Answer::status(200))?;
    let event = event("owner");
    party.publish(&event)?;
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    let stranger = world.publisher("Stranger")?.token;
    let other_environment = token(world, &party.publisher.tenant, "live", &[])?;
    for token in [&stranger, &other_environment] {
        for (method, path, reason) in routes(&party, &event) {
            let body = (method == "POST").then(|| json!({}));
            let it = problem(world, token, (method, &path), body.as_ref(), (404, reason))?;
            let made_up = path.replace(party.id(), "sub_00000000000000000000000000");
            if made_up != path {
                let never = problem(world, token, (method, &made_up), body.as_ref(), (404, reason))?;
                assert_eq!(it, never, "an existing id of somebody else answers like none");
            }
        }
        let list = Api::new(&world.urls().control, token).get("/v1/subscriptions")?;
        assert_eq!(list, (200, json!({ "items": [], "next": null })));
    }
    // The same event id is another event there, and nobody of the first tenant hears of it.
    let api = Api::new(&world.urls().control, &stranger);
    let other = Publisher { api, tenant: String::new(), token: stranger };
    let published = other.publish(&event, "invoice.paid", &json!({ "not": "the same" }))?;
    assert_eq!((&published["duplicate"], &published["subscriptions"]), (&json!(false), &json!(0)));
    assert_eq!(subscriber.delivered().len(), 1);
    Ok(())
}

pub(crate) fn a_token_opens_its_scopes_only(world: &World) -> Result<()> {
    let party = Party::register(world, "Scopes", "http://127.0.0.1:9/hooks", Contract::Ed25519)?;
    let (tenant, id) = (&party.publisher.tenant, party.id());
    let event = json!({ "id": "evt_scopes", "type": "invoice.paid", "api_version": "1", "data": {} });
    let calls = [
        ("subscriptions:read", "GET", format!("/v1/subscriptions/{id}"), None),
        ("subscriptions:read", "GET", "/v1/subscriptions".to_owned(), None),
        ("subscriptions:write", "POST", "/v1/subscriptions".to_owned(), Some(json!({}))),
        ("subscriptions:write", "POST", format!("/v1/subscriptions/{id}/challenge"), Some(json!({}))),
        ("events:write", "POST", "/v1/events".to_owned(), Some(event)),
        ("deliveries:read", "GET", format!("/v1/deliveries?subscription={id}"), None),
        ("deliveries:read", "GET", format!("/v1/subscriptions/{id}/evidence"), None),
        ("deliveries:read", "GET", "/v1/events/evt_scopes".to_owned(), None),
    ];
    let scopes = ["subscriptions:read", "subscriptions:write", "events:write", "deliveries:read"];
    let root = Secrets::open(world.state())?.get("ROOT_TOKEN")?;
    let revision = party.publisher.subscription(id)?["revision"].clone();
    for (scope, method, path, body) in &calls {
        let others: Vec<&str> = scopes.into_iter().filter(|other| other != scope).collect();
        let without = token(world, tenant, "test", &others)?;
        problem(world, &without, (method, path), body.as_ref(), (403, "scope.missing"))?;
        let own = &party.publisher.token;
        let other_secret = format!("{}{}", &own[..own.len() - 1], if own.ends_with('0') { '1' } else { '0' });
        for refused in
            ["", "nonsense", "hp_test_x_y", &root, &other_secret, &own.replace("hp_test", "hp_live")]
        {
            problem(world, refused, (method, path), body.as_ref(), (401, "token.refused"))?;
        }
    }
    for path in ["/v1/tenants", "/v1/tokens"] {
        let body = json!({ "name": "x" });
        for refused in ["", &party.publisher.token] {
            problem(world, refused, ("POST", path), Some(&body), (401, "token.refused"))?;
        }
    }
    assert_eq!(party.publisher.subscription(id)?["revision"], revision, "nothing was changed");
    problem(world, &party.publisher.token, ("GET", "/v1/events/evt_scopes"), None, (404, "event.unknown"))?;
    let (status, _, _) =
        ask("GET", &format!("{}/receiver/metrics?source=path", world.urls().receiver), "", None)?;
    assert_eq!(status, 401, "the receiver's own API");
    Ok(())
}

/// A registration with one field replaced.
fn registration(field: &str, value: Value) -> Value {
    let mut body = json!({
        "endpoint": "https://hooks.example.com/in",
        "topics": ["invoice.*"],
        "owner": { "name": "Billing", "contact": "billing@example.com" },
    });
    body[field] = value;
    body
}

/// An event with one field replaced.
fn draft(field: &str, value: Value) -> Value {
    let mut body = json!({ "id": "evt_refused", "type": "invoice.paid", "api_version": "1", "data": {} });
    body[field] = value;
    body
}

pub(crate) fn bad_input_names_its_field_and_stores_nothing(world: &World) -> Result<()> {
    let publisher = world.publisher("Careless")?;
    let test_key = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
    let zero = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let large = "x".repeat(256 * 1024);
    let subscriptions = [
        (registration("endpoint", json!("http://10.0.0.1/in")), 422, "endpoint.refused", "endpoint"),
        (
            registration("endpoint", json!("https://user:pass@example.com/")),
            422,
            "endpoint.refused",
            "endpoint",
        ),
        (registration("endpoint", json!("https://192.168.1.1/")), 422, "endpoint.refused", "endpoint"),
        (registration("endpoint", json!("nonsense")), 422, "endpoint.refused", "endpoint"),
        (registration("topics", json!([])), 400, "body.malformed", "topics"),
        (registration("topics", json!(["Invoice!"])), 400, "body.malformed", "topics[0]"),
        (registration("owner", json!({ "name": "", "contact": "x" })), 400, "body.malformed", "owner"),
        (registration("profile", json!("none")), 400, "body.malformed", "profile"),
        (registration("retry_policy", json!("soon")), 400, "body.malformed", "retry_policy"),
        (registration("accepted_versions", json!(["1.2"])), 400, "body.malformed", "accepted_versions"),
        (
            registration("receipt", json!({ "alg": "ed25519", "public_key": zero })),
            422,
            "key.weak",
            "receipt.public_key",
        ),
        (
            registration("receipt", json!({ "alg": "ed25519", "public_key": test_key })),
            422,
            "key.reserved",
            "receipt.public_key",
        ),
        (registration("secret", json!("mine")), 400, "body.malformed", "body"),
        (json!([]), 400, "body.malformed", "body"),
    ];
    let events = [
        (draft("id", json!("1700000000")), 400, "body.malformed", "id"),
        (draft("id", json!("a.1700000000")), 400, "body.malformed", "id"),
        (draft("id", json!("x".repeat(129))), 400, "body.malformed", "id"),
        (draft("type", json!("hookproof.made_up")), 400, "body.malformed", "type"),
        (draft("type", json!("subscription.challenge.v1")), 400, "body.malformed", "type"),
        (draft("api_version", json!("")), 400, "body.malformed", "api_version"),
        (draft("data", json!(large)), 413, "body.too_large", "data"),
        (draft("tenant_id", json!("ten_x")), 400, "body.malformed", "body"),
        (json!({ "id": "evt_refused" }), 400, "body.malformed", "body"),
    ];
    for (path, cases) in [("/v1/subscriptions", &subscriptions[..]), ("/v1/events", &events[..])] {
        for (body, status, reason, field) in cases {
            let it = problem(world, &publisher.token, ("POST", path), Some(body), (*status, reason))?;
            ensure!(it["field"] == *field, "{path}: {it} names another field than {field}");
            ensure!(it["accepted"].is_string() && it["detail"].is_string(), "{path}: {it}");
        }
    }
    let nested = format!("{{\"a\":{}{}}}", "[".repeat(40), "]".repeat(40));
    for data in ["{\"a\":1,\"a\":2}", "{\"a\":\"\\ud800\"}", &nested, "1e999", "{'a':1}", "{\"a\":1}}"] {
        let body = format!(
            "{{\"id\":\"evt_refused\",\"type\":\"invoice.paid\",\"api_version\":\"1\",\"data\":{data}}}"
        );
        let call = ("POST", "/v1/events");
        raw_problem(world, &publisher.token, call, Some(body.as_bytes()), (400, "body.malformed"))
            .with_context(|| data.to_owned())?;
    }
    let huge = vec![b' '; 301 * 1024];
    raw_problem(world, &publisher.token, ("POST", "/v1/events"), Some(&huge), (413, "body.too_large"))?;
    problem(world, &publisher.token, ("GET", "/v1/events/evt_refused"), None, (404, "event.unknown"))?;
    problem(world, &publisher.token, ("GET", "/v1/nothing"), None, (404, "route.unknown"))?;
    problem(world, &publisher.token, ("GET", "/v1/deliveries"), None, (400, "body.malformed"))?;
    let list = publisher.api.get("/v1/subscriptions")?;
    assert_eq!(list, (200, json!({ "items": [], "next": null })), "nothing is stored");
    let root = world.root()?;
    for body in [json!({ "name": "" }), json!({ "name": "x".repeat(101) }), json!({})] {
        assert_eq!(root.post("/v1/tenants", &body)?.0, 400);
    }
    for tenant in ["ten_00000000000000000000000000", "nonsense"] {
        let (status, it) = root.post("/v1/tokens", &json!({ "tenant_id": tenant, "environment": "test" }))?;
        ensure!(status == 404 || status == 400, "{status} {it}");
    }
    Ok(())
}
