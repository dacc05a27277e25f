//! Lists show what there is, page by page; what is read has a revision.

use hookproof_core::token::Token;
use serde_json::{Value, json};

use crate::{Answer, ROOT, Site, event};

/// Every item of a list, three a page.
fn all(site: &Site, token: &str, path: &str) -> Vec<Value> {
    let (mut items, mut cursor) = (Vec::new(), String::new());
    for _ in 0..20 {
        let page = site.get(token, &format!("{path}&limit=3{cursor}"));
        assert_eq!(page.status, 200, "{page:?}");
        let shown = page.body["items"].as_array().unwrap();
        assert!(shown.len() <= 3);
        items.extend(shown.iter().cloned());
        let Some(next) = page.body["next"].as_str() else { return items };
        cursor = format!("&cursor={next}");
    }
    panic!("{path} does not end")
}

#[test]
fn tokens_are_listed_by_tenant_and_environment_with_what_became_of_them() {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let made: Vec<String> = (0..7).map(|_| site.token(&tenant, "test", &["events:write"])).collect();
    site.token(&tenant, "live", &[]);
    let path = format!("/v1/tokens?tenant_id={tenant}&environment=test");
    let listed = all(&site, ROOT, &path);
    let mut ids: Vec<String> = made.iter().map(|token| Token::parse(token).unwrap().id.to_string()).collect();
    ids.sort();
    let shown: Vec<&str> = listed.iter().map(|it| it["token_id"].as_str().unwrap()).collect();
    assert_eq!(shown, ids);
    assert!(listed.iter().all(|it| it["scopes"] == json!(["events:write"]) && it.get("token").is_none()));
    let revoke = format!("/v1/tokens/{}", ids[2]);
    let revoked = site.call(&format!("Bearer {ROOT}"), "DELETE", &revoke, "").body;
    assert_eq!(all(&site, ROOT, &path)[2], revoked);
    assert_eq!(all(&site, ROOT, &path.replace("test", "live")).len(), 1);
}

#[test]
fn a_list_of_tokens_names_its_tenant_and_environment() {
    let site = Site::new();
    let tenant = site.tenant("Acme");
    let ask = |query: &str| site.get(ROOT, &format!("/v1/tokens?{query}"));
    assert_eq!(ask("environment=test").problem(), (400, "body.malformed", "tenant_id"));
    for query in ["", "&environment=prod", "&environment="] {
        let answer = ask(&format!("tenant_id={tenant}{query}"));
        assert_eq!(answer.problem(), (400, "body.malformed", "environment"));
    }
    for id in ["tnt_00000000000000000000000000", "nonsense", ""] {
        let answer = ask(&format!("tenant_id={id}&environment=test"));
        assert_eq!(answer.problem(), (404, "tenant.unknown", "tenant_id"));
    }
}

#[test]
fn a_tenant_reads_as_it_was_made() {
    let site = Site::new();
    let made = site.post(ROOT, "/v1/tenants", &json!({ "name": "Acme" }));
    let read = site.get(ROOT, &format!("/v1/tenants/{}", made.text("tenant_id")));
    assert_eq!((read.status, &read.body), (200, &made.body));
    for id in ["tnt_00000000000000000000000000", "nonsense"] {
        let unknown = site.get(ROOT, &format!("/v1/tenants/{id}"));
        assert_eq!(unknown.problem(), (404, "tenant.unknown", "tenant_id"));
    }
}

#[test]
fn an_events_deliveries_come_page_by_page() {
    let site = Site::new();
    let token = site.publisher();
    let mut ids: Vec<String> = (0..7).map(|_| site.register(&token).text("subscription_id")).collect();
    ids.sort();
    site.post(&token, "/v1/events", &event("evt-1"));
    let (mut planned, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&token, &format!("/v1/deliveries?event=evt-1&limit=3{cursor}"));
        let shown: Vec<String> = serde_json::from_value(page.body["planned"].clone()).unwrap();
        assert!((1..=3).contains(&shown.len()), "{page:?}");
        planned.extend(shown);
        let Some(next) = page.body["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(planned, ids);
    let state = |state: &str| {
        let page = site.get(&token, &format!("/v1/deliveries?event=evt-1&state={state}"));
        page.body["planned"].as_array().unwrap().len()
    };
    assert_eq!((state("PLANNED"), state("DEAD_LETTER")), (7, 0));
}

fn conditional(site: &Site, token: &str, path: &str, tag: &str) -> (u16, String, Answer) {
    let request = ::http::Request::builder()
        .uri(path)
        .header("authorization", format!("Bearer {token}"))
        .header("if-none-match", tag);
    let response = site.send(request.body("".into()).unwrap());
    let tag = response.headers()["etag"].to_str().unwrap().to_owned();
    (response.status().as_u16(), tag, crate::read(&response))
}

#[test]
fn a_subscription_has_a_strong_tag_that_changes_with_it() {
    let site = Site::new();
    let token = site.publisher();
    let registered = site.register(&token);
    let path = format!("/v1/subscriptions/{}", registered.text("subscription_id"));
    let (status, tag, whole) = conditional(&site, &token, &path, "\"0.0\"");
    assert_eq!((status, tag.as_str(), whole.text("state").as_str()), (200, "\"1.1\"", "PENDING_CHALLENGE"));
    for known in ["\"1.1\"", "W/\"1.1\"", "\"0.1\", \"1.1\"", "*"] {
        let (status, again, answer) = conditional(&site, &token, &path, known);
        assert_eq!((status, again.as_str(), answer.body), (304, "\"1.1\"", Value::Null), "{known}");
    }
    assert_eq!(site.post(&token, &format!("{path}/challenge"), &json!({})).status, 202);
    let (status, changed, _) = conditional(&site, &token, &path, &tag);
    assert_eq!((status, changed.as_str()), (200, "\"1.2\""));
}

#[test]
fn the_published_description_is_served_whole() {
    let site = Site::new();
    let served = site.call("", "GET", "/openapi.json", "");
    let written: Value = serde_json::from_str(include_str!("../../../../docs/openapi.json")).unwrap();
    assert_eq!((served.status, served.body), (200, written));
}
