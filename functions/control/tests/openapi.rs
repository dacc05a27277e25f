//! docs/openapi.json says what the table of routes says, with the schemas kept in openapi/parts.json.
//!
//! After a change of either: `UPDATE_DOCS=1 cargo test -p hookproof-control --test openapi`.

#![expect(clippy::disallowed_methods, reason = "a test asks its caller whether to write")]
#![expect(clippy::unwrap_used, clippy::panic, reason = "a part that is missing fails the test")]

use std::collections::{BTreeMap, BTreeSet};

use hookproof_control::routes::{Access, Portals, ROUTES, Route};
use hookproof_core::Reason;
use serde_json::{Map, Value, json};

const PARTS: &str = include_str!("../openapi/parts.json");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// Every reason a route may give, by status.
fn reasons(route: &Route) -> BTreeMap<u16, BTreeSet<&'static str>> {
    let mut all = vec![Reason::BodyMalformed, Reason::InternalHost, Reason::InternalStore];
    match route.access {
        Access::Public => {}
        Access::Root => all.push(Reason::TokenRefused),
        Access::Scope(..) => all.extend([Reason::TokenRefused, Reason::ScopeMissing]),
    }
    if route.method == "POST" {
        all.push(Reason::IdempotencyConflict);
    }
    if route.takes.is_some() {
        all.push(Reason::BodyTooLarge);
    }
    all.extend(route.refuses);
    let mut by_status: BTreeMap<u16, BTreeSet<&str>> = BTreeMap::new();
    for reason in all {
        by_status.entry(reason.http_status()).or_default().insert(reason.code());
    }
    by_status
}

fn parameters(route: &Route) -> Vec<Value> {
    let ids = route.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let mut names: Vec<String> = ids.map(|id| format!("path.{id}")).collect();
    names.extend(route.query.iter().map(|&name| name.to_owned()));
    if route.method == "POST" {
        names.push("Idempotency-Key".to_owned());
    }
    if route.answers.iter().any(|(status, _)| *status == 304) {
        names.push("If-None-Match".to_owned());
    }
    if route.refuses.contains(&Reason::PreconditionFailed) {
        names.push("If-Match".to_owned());
    }
    names.iter().map(|name| reference("parameters", name)).collect()
}

fn responses(route: &Route) -> Value {
    let mut responses = Map::new();
    for (status, schema) in route.answers {
        let mut answer = json!({ "description": words(*status) });
        if !schema.is_empty() {
            let kind = match *schema {
                "IssuerKeys" => "application/http-message-signatures-directory+json",
                _ => "application/json",
            };
            answer["content"] = json!({ kind: { "schema": reference("schemas", schema) } });
        }
        let tagged =
            ["Subscription", "SubscriptionOnce", "SubscriptionChanged", "SignedKeyDocument", "IssuerKeys"];
        if tagged.contains(schema) || *status == 304 {
            answer["headers"] = json!({ "ETag": reference("headers", "ETag") });
        }
        responses.insert(status.to_string(), answer);
    }
    for (status, reasons) in reasons(route) {
        let listed: Vec<&str> = reasons.into_iter().collect();
        let problem = json!({
            "description": listed.join(", "),
            "content": { "application/problem+json": { "schema": reference("schemas", "Problem") } },
        });
        assert!(responses.insert(status.to_string(), problem).is_none(), "{route:?}");
    }
    responses.into()
}

fn words(status: u16) -> &'static str {
    match status {
        200 => "Done",
        201 => "Created",
        202 => "Accepted",
        304 => "Not modified",
        other => panic!("say what {other} means"),
    }
}

fn operation(route: &Route) -> Value {
    let mut operation = json!({
        "operationId": format!("{:?}", route.action),
        "summary": route.summary,
        "responses": responses(route),
    });
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    if let Some(schema) = route.takes {
        let content = json!({ "application/json": { "schema": reference("schemas", schema) } });
        operation["requestBody"] = json!({ "required": schema != "ChallengeRequest", "content": content });
    }
    operation["security"] = match route.access {
        Access::Public => json!([]),
        Access::Root => json!([{ "root": [] }]),
        Access::Scope(scope, portals) => {
            let tenant = json!({ "token": [scope.name()] });
            match portals {
                Portals::Never => json!([tenant]),
                Portals::Reads => json!([tenant, { "portal": [scope.name()] }]),
                Portals::Acts => json!([tenant, { "portal": [] }]),
            }
        }
    };
    operation
}

fn page() -> Value {
    let parts: Value = serde_json::from_str(PARTS).unwrap();
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let methods = paths.entry(route.path).or_insert_with(|| json!({}));
        methods[route.method.to_ascii_lowercase()] = operation(route);
    }
    let bearer =
        |description: &str| json!({ "type": "http", "scheme": "bearer", "description": description });
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Hookproof control",
            "version": env!("CARGO_PKG_VERSION"),
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": parts["schemas"],
            "parameters": parts["parameters"],
            "headers": { "ETag": { "description": "Strong; of a subscription \"<generation>.<revision>\"", "schema": { "type": "string" } } },
            "securitySchemes": {
                "root": bearer("The deployment's root token"),
                "token": bearer("A tenant's token hp_<environment>_…, with the scopes named"),
                "portal": bearer("A session at the portal, for its own subscription"),
            },
        },
    })
}

/// Every `$ref` in a value.
fn references<'v>(value: &'v Value, found: &mut BTreeSet<&'v str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_page_says_what_the_table_says() {
    let page = page();
    if std::env::var("UPDATE_DOCS").as_deref() == Ok("1") {
        let text = serde_json::to_string_pretty(&page).unwrap();
        std::fs::write(PAGE, format!("{text}\n")).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap();
    assert!(
        serde_json::from_str::<Value>(&written).unwrap() == page,
        "docs/openapi.json is out of date; run: UPDATE_DOCS=1 cargo test -p hookproof-control --test openapi"
    );
}

#[test]
fn every_part_that_is_named_is_there_and_every_part_is_named() {
    let page = page();
    let mut named = BTreeSet::new();
    references(&page, &mut named);
    for name in &named {
        assert!(page.pointer(&name[1..]).is_some(), "{name} is not in openapi/parts.json");
    }
    for kind in ["schemas", "parameters", "headers"] {
        for name in page["components"][kind].as_object().unwrap().keys() {
            let path = format!("#/components/{kind}/{name}");
            assert!(named.contains(path.as_str()), "{path} is used by nothing");
        }
    }
}
