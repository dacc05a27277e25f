//! Ledger queries read the truth, page by page.

use hookproof_authority::subscription::AskAuthority;
use hookproof_authority::subscription::PlanItem;
use hookproof_core::id::SubscriptionId;
use serde_json::{Value, json};

use crate::support::now;
use crate::{Site, event};

/// Publishes events and plans each with the subscription's authority.
fn planned(site: &Site, token: &str, count: usize) {
    for n in 0..count {
        site.post(token, "/v1/events", &event(&format!("evt-{n}")));
    }
    for fresh in site.queue.take(usize::MAX).unwrap() {
        let items = vec![PlanItem { event: fresh.event, filter_digests: fresh.filter_digests }];
        now(site.world.objects.plan_and_claim(&fresh.subscription, items)).unwrap();
    }
}

/// Registers and activates through the flow's own objects.
fn active(site: &Site, token: &str) -> String {
    use crate::support::party::url;
    use hookproof_core::receiver::{Entry, EntryKey, Handler, Intake, Received, Source, receive};
    use hookproof_core::signature::Fields;
    let view = site.register(token).body;
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let id: SubscriptionId = text(&view["subscription_id"]).parse().unwrap();
    assert_eq!(site.post(token, &format!("/v1/subscriptions/{id}/challenge"), &json!({})).status, 202);
    let request = now(site.world.objects.issue_challenge(&id)).unwrap().unwrap();
    let key = &view["generations"][0]["keys"][0];
    let entry = Entry {
        issuer: text(&view["issuer"]),
        tenant_id: text(&view["tenant_id"]).parse().unwrap(),
        environment: hookproof_core::id::Environment::Test,
        subscription_id: id.clone(),
        generation: hookproof_core::id::Generation::FIRST,
        profile: text(&view["generations"][0]["profile"]),
        public_url: url("https://hooks.example.com/in"),
        keys: vec![EntryKey {
            key_id: text(&key["key_id"]),
            alg: hookproof_core::signature::Alg::Ed25519,
            public_key: Some(text(&key["public_key"])),
        }],
        secret: text(&view["secret"]),
        receipts: None,
    };
    let source = Source { handler: Handler { url: url("https://app.example.com/") }, entries: vec![entry] };
    let fields: Fields = request.fields.iter().map(|(name, value)| (name, value)).collect();
    let intake =
        Intake { method: "POST", path_and_query: "/in", fields: &fields, body: request.body.as_bytes() };
    let Ok(Received::Challenge { answer }) = receive(&source, &intake, site.world.now()) else {
        panic!("no challenge")
    };
    let answer = crate::support::party::ok(&String::from_utf8(answer).unwrap());
    let judged = now(site.world.objects.judge_challenge(
        &id,
        request.challenge_id.clone(),
        answer,
        Default::default(),
    ));
    assert_eq!(judged, Ok(None));
    id.to_string()
}

#[test]
fn deliveries_come_newest_first_page_by_page_each_once() {
    let site = Site::new();
    let token = site.publisher();
    let id = active(&site, &token);
    planned(&site, &token, 7);
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = site.get(&token, &format!("/v1/deliveries?subscription={id}&limit=3{cursor}"));
        assert_eq!(page.status, 200, "{page:?}");
        let items = page.body["items"].as_array().unwrap();
        seen.extend(items.iter().map(|item| item["delivery_id"].as_str().unwrap().to_owned()));
        let Some(next) = page.body["next"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    let mut sorted = seen.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    sorted.dedup();
    assert_eq!((seen.len(), &seen), (7, &sorted));
    for (state, expected) in [("PLANNED", 7), ("DISPATCHING", 0)] {
        let page = site.get(&token, &format!("/v1/deliveries?subscription={id}&state={state}"));
        assert_eq!(page.body["items"].as_array().unwrap().len(), expected, "{state}");
    }
}

#[test]
fn one_event_is_shown_by_subscription() {
    let site = Site::new();
    let token = site.publisher();
    let (one, two) = (active(&site, &token), active(&site, &token));
    planned(&site, &token, 1);
    let all = site.get(&token, "/v1/deliveries?event=evt-0");
    assert_eq!(all.body["items"].as_array().unwrap().len(), 2);
    for id in [&one, &two] {
        let own = site.get(&token, &format!("/v1/deliveries?event=evt-0&subscription={id}"));
        let items = own.body["items"].as_array().unwrap();
        assert_eq!((items.len(), &items[0]["subscription_id"]), (1, &json!(id)));
    }
}

#[test]
fn a_registration_that_failed_half_way_hides_nobody_elses_deliveries() {
    let site = Site::new();
    let token = site.publisher();
    let id = active(&site, &token);
    // The listing commits and the registration after it does not.
    site.world.disk.fail_at(Some(5));
    let failed = site.post(&token, "/v1/subscriptions", &crate::registration());
    site.world.disk.fail_at(None);
    assert_eq!(failed.problem().0, 503);
    assert_eq!(site.post(&token, "/v1/events", &event("evt-0")).body["subscriptions"], 2);
    for fresh in site.queue.take(9).unwrap().into_iter().filter(|fresh| fresh.subscription.as_str() == id) {
        let items = vec![PlanItem { event: fresh.event, filter_digests: fresh.filter_digests }];
        now(site.world.objects.plan_and_claim(&fresh.subscription, items)).unwrap();
    }
    let shown = site.get(&token, "/v1/deliveries?event=evt-0");
    assert_eq!((shown.status, shown.body["items"][0]["subscription_id"].as_str()), (200, Some(id.as_str())));
}

#[test]
fn a_query_that_cannot_be_read_names_its_field() {
    let site = Site::new();
    let token = site.publisher();
    let id = site.register(&token).text("subscription_id");
    for (query, field) in [
        ("", "subscription"),
        ("state=PLANNED", "subscription"),
        (&format!("subscription={id}&limit=x"), "limit"),
        (&format!("subscription={id}&limit=-1"), "limit"),
        (&format!("subscription={id}&limit=0"), "limit"),
        (&format!("subscription={id}&limit=201"), "limit"),
        (&format!("subscription={id}&state=planned"), "state"),
        (&format!("subscription={id}&limit=4294967296"), "limit"),
        (&format!("subscription={id}&cursor=x"), "cursor"),
        (&format!("subscription={id}&cursor={id}"), "cursor"),
    ] {
        let answer = site.get(&token, &format!("/v1/deliveries?{query}"));
        assert_eq!(answer.problem(), (400, "body.malformed", field), "{query}");
    }
    let broken = site.get(&token, "/v1/deliveries?subscription=%ff");
    assert_eq!(broken.problem().0, 400);
    let cursor = site.get(&token, "/v1/subscriptions?cursor=x");
    assert_eq!(cursor.problem(), (400, "body.malformed", "cursor"));
}

#[test]
fn subscriptions_are_listed_page_by_page() {
    let site = Site::new();
    let token = site.publisher();
    let mut expected: Vec<String> = (0..101).map(|_| site.register(&token).text("subscription_id")).collect();
    expected.sort();
    let first = site.get(&token, "/v1/subscriptions");
    let next = first.text("next");
    let second = site.get(&token, &format!("/v1/subscriptions?cursor={next}"));
    let ids = |answer: &crate::Answer| -> Vec<String> {
        serde_json::from_value(answer.body["items"].clone()).unwrap()
    };
    assert_eq!((ids(&first).len(), ids(&second).len(), &second.body["next"]), (100, 1, &Value::Null));
    assert_eq!([ids(&first), ids(&second)].concat(), expected);
}
