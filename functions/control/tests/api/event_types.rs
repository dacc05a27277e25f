//! What a type and version means is fixed when it is published, and an event that claims it is held to it.

use hookproof_core::schema;
use serde_json::{Value, json};

use crate::{Answer, Site, event};

fn version(api_version: &str) -> Value {
    json!({
        "api_version": api_version,
        "schema": {
            "type": "object",
            "properties": { "n": { "type": "integer", "minimum": 1 }, "tags": { "items": { "type": "string" } } },
            "required": ["n"],
            "additionalProperties": false,
        },
        "sample": { "n": 1 },
        "description": "An invoice was paid.",
    })
}

fn put(site: &Site, token: &str, kind: &str, body: &Value) -> Answer {
    site.call(&format!("Bearer {token}"), "PUT", &format!("/v1/event-types/{kind}"), body.to_string())
}

fn changed(mut body: Value, field: &str, value: Value) -> Value {
    body[field] = value;
    body
}

#[test]
fn a_published_schema_never_changes_and_what_is_said_about_it_may() {
    let site = Site::new();
    let token = site.publisher();
    let first = put(&site, &token, "invoice.paid", &version("1"));
    assert_eq!((first.status, &first.body["compatibility"]), (201, &json!("none")));
    site.world.clock.advance(hookproof_core::time::Span::hours(1));
    let again = put(&site, &token, "invoice.paid", &version("1"));
    assert_eq!((again.status, &again.body), (200, &first.body));
    // The same schema in another order and with other white space is the same.
    let text = version("1").to_string().replace("\"type\":\"object\"", "\"type\" : \"object\"");
    let respelled = site.call(&format!("Bearer {token}"), "PUT", "/v1/event-types/invoice.paid", text);
    assert_eq!((respelled.status, &respelled.body), (200, &first.body));
    for field in ["required", "properties", "minimum"] {
        let mut other = version("1");
        other["schema"].as_object_mut().unwrap().remove(field);
        other["schema"]["title"] = json!(field);
        assert_eq!(
            put(&site, &token, "invoice.paid", &other).problem(),
            (409, "event_type.immutable", "schema"),
            "{field}"
        );
    }
    let notes = json!({ "description": "Paid in full.", "sunset_at": "2027-06-01T00:00:00.000Z", "compatibility": "backward",
        "consumer_impact": "none", "rollback_note": "publish 1 again", "sample": { "n": 2 } });
    let mut body = version("1");
    for (name, value) in notes.as_object().unwrap() {
        body[name] = value.clone();
    }
    let changed = put(&site, &token, "invoice.paid", &body);
    assert_eq!((changed.status, &changed.body["published_at"]), (200, &first.body["published_at"]));
    assert_eq!(put(&site, &token, "invoice.paid", &version("2")).status, 201);
    let read = site.get(&token, "/v1/event-types/invoice.paid");
    assert_eq!(read.body["versions"][0], changed.body);
    for (name, value) in notes.as_object().unwrap() {
        assert_eq!(&read.body["versions"][0][name], value);
    }
    assert_eq!(read.body["versions"][1]["api_version"], "2");
    assert_eq!(read.body["versions"][0]["schema"], version("1")["schema"]);
    let list = site.get(&token, "/v1/event-types");
    assert_eq!(list.body["items"].as_array().unwrap().len(), 2);
    assert_eq!((&list.body["items"][0]["schema"], &list.body["next"]), (&json!(null), &json!(null)));
}

#[test]
fn an_event_that_is_not_what_its_version_says_is_refused_by_its_place() {
    let site = Site::new();
    let token = site.publisher();
    put(&site, &token, "invoice.paid", &version("1"));
    let publish = |id: &str, api_version: &str, data: Value| {
        let draft = changed(changed(event(id), "data", data), "api_version", json!(api_version));
        site.post(&token, "/v1/events", &draft)
    };
    let before = site.world.disk.dump();
    for (data, field) in [
        (json!(7), "/data"),
        (json!({}), "/data/n"),
        (json!({ "n": 0 }), "/data/n"),
        (json!({ "n": 1, "tags": ["a", 2] }), "/data/tags/1"),
        (json!({ "n": 1, "a/b": 2 }), "/data/a~1b"),
    ] {
        let answer = publish("evt-1", "1", data.clone());
        assert_eq!(answer.problem(), (400, "event.schema_mismatch", field), "{data}");
        assert!(!answer.text("accepted").is_empty());
    }
    assert_eq!(site.world.disk.dump(), before);
    assert_eq!(publish("evt-1", "1", json!({ "n": 1.0, "tags": [] })).status, 202);
    assert_eq!(publish("evt-2", "2", json!("anything")).status, 202, "another version has no schema");
}

#[test]
fn what_was_accepted_before_its_schema_stays_accepted() {
    let site = Site::new();
    let token = site.publisher();
    let odd = changed(event("evt-1"), "data", json!("odd"));
    assert_eq!(site.post(&token, "/v1/events", &odd).status, 202);
    put(&site, &token, "invoice.paid", &version("1"));
    let again = site.post(&token, "/v1/events", &odd);
    assert_eq!((again.status, &again.body["duplicate"]), (200, &json!(true)));
    let other = changed(event("evt-1"), "data", json!("odder"));
    assert_eq!(site.post(&token, "/v1/events", &other).problem(), (409, "event.conflict", "id"));
    assert_eq!(
        site.post(&token, "/v1/events", &changed(odd, "id", json!("evt-2"))).problem(),
        (400, "event.schema_mismatch", "/data")
    );
}

#[test]
fn an_environment_may_require_the_catalogue() {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let (test, live) = (site.token(&tenant, "test", &[]), site.token(&tenant, "live", &[]));
    let policy = |token: &str, body: &str| {
        site.call(&format!("Bearer {token}"), "PUT", "/v1/event-types-policy", body.to_owned())
    };
    assert_eq!(site.get(&test, "/v1/event-types-policy").body, json!({ "require_catalogue": false }));
    assert_eq!(policy(&test, "{\"require_catalogue\":true}").body, json!({ "require_catalogue": true }));
    for bad in ["{}", "{\"require_catalogue\":1}", "{\"require_catalogue\":true,\"more\":1}", "true"] {
        assert_eq!(policy(&test, bad).problem(), (400, "body.malformed", "body"), "{bad}");
    }
    assert_eq!(
        site.post(&test, "/v1/events", &event("evt-1")).problem(),
        (422, "event_type.required", "type")
    );
    assert_eq!(site.post(&live, "/v1/events", &event("evt-1")).status, 202, "the other environment does not");
    put(&site, &test, "invoice.paid", &version("2"));
    assert_eq!(site.post(&test, "/v1/events", &event("evt-1")).problem().1, "event_type.required");
    put(&site, &test, "invoice.paid", &version("1"));
    assert_eq!(site.post(&test, "/v1/events", &event("evt-1")).status, 202);
    assert_eq!(site.get(&live, "/v1/event-types").body["items"], json!([]));
    policy(&test, "{\"require_catalogue\":false}");
    assert_eq!(site.post(&test, "/v1/events", &changed(event("evt-2"), "type", json!("a.b"))).status, 202);
}

#[test]
fn what_does_not_fit_the_catalogue_is_refused_by_its_field() {
    let site = Site::new();
    let token = site.publisher();
    let before = site.world.disk.dump();
    let deep = format!("{}{}", "[".repeat(33), "]".repeat(33));
    let deep: Value = serde_json::from_str(&deep).unwrap();
    for (field, value, expected) in [
        ("api_version", json!("a b"), (400, "body.malformed", "api_version")),
        ("api_version", json!("x".repeat(65)), (400, "body.malformed", "api_version")),
        ("schema", json!({ "pattern": "^a" }), (422, "schema.refused", "/schema/pattern")),
        (
            "schema",
            json!({ "properties": { "a": { "$ref": "https://x.example/" } } }),
            (422, "schema.refused", "/schema/properties/a/$ref"),
        ),
        ("schema", json!({ "not": { "$ref": "#" } }), (422, "schema.refused", "/schema")),
        ("schema", json!({ "title": "x".repeat(schema::MAX_BYTES) }), (422, "schema.refused", "/schema")),
        ("schema", json!({ "title": "x".repeat(2 * schema::MAX_BYTES) }), (413, "body.too_large", "schema")),
        ("schema", json!({ "const": deep }), (400, "body.malformed", "schema")),
        ("sample", json!({ "n": 0 }), (400, "event.schema_mismatch", "/sample/n")),
        ("sample", json!("x".repeat(40_000)), (413, "body.too_large", "sample")),
        ("description", json!(" "), (400, "body.malformed", "description")),
        ("description", json!("é".repeat(2_001)), (400, "body.malformed", "description")),
        ("consumer_impact", json!(""), (400, "body.malformed", "consumer_impact")),
        ("rollback_note", json!("é".repeat(2_001)), (400, "body.malformed", "rollback_note")),
        ("compatibility", json!("sideways"), (400, "body.malformed", "body")),
        ("sunset_at", json!("soon"), (400, "body.malformed", "body")),
        ("owner", json!("x"), (400, "body.malformed", "body")),
    ] {
        let answer = put(&site, &token, "invoice.paid", &changed(version("1"), field, value.clone()));
        assert_eq!(answer.problem(), expected, "{field}: {value:.60}");
        assert!(answer.body["accepted"].is_string(), "{answer:?}");
    }
    for kind in
        ["hookproof.delivery.dead_lettered", "delivery.status.v1", "applicationReceipt.v1", "invoice", "%ff"]
    {
        assert_eq!(
            put(&site, &token, kind, &version("1")).problem(),
            (400, "body.malformed", "type"),
            "{kind}"
        );
        assert_eq!(site.get(&token, &format!("/v1/event-types/{kind}")).problem().1, "event_type.unknown");
    }
    let twice = version("1").to_string().replace("\"minimum\":1", "\"minimum\":1,\"minimum\":2");
    let answer = site.call(&format!("Bearer {token}"), "PUT", "/v1/event-types/invoice.paid", twice);
    assert_eq!(answer.problem(), (400, "body.malformed", "schema"));
    assert_eq!(site.world.disk.dump(), before);
    assert_eq!(site.get(&token, "/v1/event-types/invoice.paid").problem(), (404, "event_type.unknown", ""));
    let longest = changed(version("1"), "description", json!("é".repeat(2_000)));
    assert_eq!(put(&site, &token, "invoice.paid", &longest).status, 201);
}

#[test]
fn a_type_has_at_most_50_versions_and_the_list_has_pages() {
    let site = Site::new();
    let token = site.publisher();
    for kind in ["a.b", "a.c", "a.d"] {
        for n in 1..=50 {
            assert_eq!(put(&site, &token, kind, &version(&format!("{n}"))).status, 201);
        }
    }
    assert_eq!(put(&site, &token, "a.b", &version("51")).problem(), (409, "state.forbids", "api_version"));
    assert_eq!(put(&site, &token, "a.b", &version("50")).status, 200, "a known one is not one more");
    let first = site.get(&token, "/v1/event-types").body;
    let cursor = first["next"].as_str().unwrap();
    let second = site.get(&token, &format!("/v1/event-types?cursor={cursor}")).body;
    let count = |page: &Value| page["items"].as_array().unwrap().len();
    assert_eq!((count(&first), count(&second), &second["next"]), (100, 50, &json!(null)));
    assert_eq!(second["items"][0]["type"], "a.d");
    assert_eq!(site.get(&token, "/v1/event-types?cursor=x").problem(), (400, "body.malformed", "cursor"));
}

#[test]
fn a_filter_is_judged_at_registration_and_prefilters_publications() {
    let site = Site::new();
    let token = site.publisher();
    let filter = |filter: Value| changed(crate::registration(), "filter", filter);
    for (bad, field) in [
        (json!({}), "/filter"),
        (json!({ "n": [1] }), "/filter/n"),
        (json!({ "data": { "n": 1 } }), "/filter/data/n"),
        (json!({ "data": { "n": [{ "like": "x" }] } }), "/filter/data/n/0/like"),
    ] {
        let answer = site.post(&token, "/v1/subscriptions", &filter(bad));
        assert_eq!(answer.problem(), (400, "body.malformed", field));
        assert!(answer.body["accepted"].is_string());
    }
    let pattern =
        json!({ "data": { "n": [{ "numeric": [">=", 5] }] }, "object": { "id": [{ "prefix": "in_" }] } });
    let answer = site.post(&token, "/v1/subscriptions", &filter(pattern.clone()));
    assert_eq!((answer.status, &answer.body["generations"][0]["filter"]), (201, &pattern));
    let publish = |id: &str, n: i64, object: &str| {
        let draft = changed(changed(event(id), "data", json!({ "n": n })), "object", json!({ "id": object }));
        site.post(&token, "/v1/events", &draft).body["subscriptions"].clone()
    };
    assert_eq!(
        (publish("evt-1", 4, "in_1"), publish("evt-2", 5, "in_1"), publish("evt-3", 5, "cu_1")),
        (json!(0), json!(1), json!(0))
    );
    let messages = site.queue.take(9).unwrap();
    assert_eq!((messages.len(), messages[0].filter_digests.len()), (1, 1));
    assert_eq!(site.post(&token, "/v1/subscriptions", &filter(Value::Null)).status, 201, "null is none");
}
