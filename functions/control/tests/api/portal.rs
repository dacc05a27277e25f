//! A portal link opens one subscription, once, for an hour, and dies with whatever it rests on.

use hookproof_core::id::TokenId;
use hookproof_core::time::Span;
use hookproof_core::token::Token;
use serde_json::{Value, json};

use crate::{Answer, ROOT, Site};

struct Case {
    site: Site,
    tenant: String,
    token: String,
    id: String,
}

impl Case {
    fn new() -> Self {
        let site = Site::new();
        let tenant = site.tenant("Acme");
        let token = site.token(&tenant, "test", &[]);
        let id = site.register(&token).text("subscription_id");
        Self { site, tenant, token, id }
    }

    fn link(&self, token: &str) -> Answer {
        self.site.post(token, &format!("/v1/subscriptions/{}/portal-link", self.id), &json!({}))
    }

    fn code(&self, token: &str) -> String {
        let url = self.link(token).text("url");
        let (portal, code) = url.split_once("#code=").unwrap();
        assert_eq!(portal, format!("{}/portal", crate::support::ISSUER));
        code.to_owned()
    }

    fn exchange(&self, code: &str) -> Answer {
        self.site.call("", "POST", "/v1/portal/session", json!({ "code": code }).to_string())
    }

    fn shows(&self, session: &str) -> u16 {
        self.site.get(session, &format!("/v1/subscriptions/{}", self.id)).status
    }

    fn revoke(&self, token: &str) {
        let path = format!("/v1/tokens/{}", Token::parse(token).unwrap().id);
        assert_eq!(self.site.call(&format!("Bearer {ROOT}"), "DELETE", &path, "").status, 200);
    }
}

#[test]
fn a_code_is_good_once_within_ten_minutes() {
    let case = Case::new();
    let code = case.code(&case.token);
    assert_eq!(case.shows(&code), 401);
    case.site.world.clock.advance(Span::millis(599_999));
    let session = case.exchange(&code);
    assert_eq!((session.status, session.text("subscription_id")), (201, case.id.clone()));
    assert_eq!(session.body["scopes"], json!(["subscriptions:read", "deliveries:read"]));
    assert_eq!(case.exchange(&code).problem(), (401, "token.refused", "code"));
    let late = case.code(&case.token);
    case.site.world.clock.advance(Span::minutes(10));
    let refused = case.exchange(&late);
    assert_eq!(refused.problem(), (401, "token.refused", "code"));
    let never = Token::mint(
        hookproof_core::id::Environment::Test,
        TokenId::mint(&case.site.world.ids, case.site.world.now(), [3; 10]),
        &[0; 32],
    );
    let never = never.show_once().replacen("hp_", "hpc_", 1);
    let mut wrong = case.code(&case.token);
    let last = if wrong.pop() == Some('0') { 'g' } else { '0' };
    wrong.push(last);
    for bad in ["", "x", &never, &wrong, &case.token, &session.text("token")] {
        assert_eq!(case.exchange(bad), refused, "{bad}");
    }
}

#[test]
fn a_session_lasts_an_hour() {
    let case = Case::new();
    let session = case.exchange(&case.code(&case.token)).text("token");
    case.site.world.clock.advance(Span::millis(3_599_999));
    assert_eq!(case.shows(&session), 200);
    case.site.world.clock.advance(Span::millis(1));
    assert_eq!(case.shows(&session), 401);
}

#[test]
fn a_session_dies_with_the_token_that_made_its_link() {
    let case = Case::new();
    let maker = case.site.token(&case.tenant, "test", &[]);
    let session = case.exchange(&case.code(&maker)).text("token");
    let unopened = case.code(&maker);
    assert_eq!(case.shows(&session), 200);
    case.revoke(&maker);
    assert_eq!(case.shows(&session), 401);
    assert_eq!(case.exchange(&unopened).problem(), (401, "token.refused", "code"));
}

#[test]
fn a_session_can_be_ended_by_itself() {
    let case = Case::new();
    let session = case.exchange(&case.code(&case.token)).text("token");
    case.revoke(&session);
    assert_eq!((case.shows(&session), case.shows(&case.token)), (401, 200));
}

/// Writes the shown generation's state as another flow would.
fn become_state(case: &Case, generation: u64, state: &str) {
    let text = case.site.world.disk.rows("SELECT record FROM generation");
    let hookproof_ports::Value::Text(record) = &text[0].0[0] else { panic!("{text:?}") };
    let mut record: Value = serde_json::from_str(record).unwrap();
    record["generation"] = json!(generation);
    record["state"] = match state {
        "PENDING_CHALLENGE" => json!({ "state": state }),
        _ => json!({ "state": state, "at": case.site.world.now() }),
    };
    case.site
        .world
        .disk
        .rows(&format!("UPDATE generation SET record = '{record}', generation = {generation}"));
    case.site.world.disk.rows(&format!("UPDATE credential SET generation = {generation}"));
}

#[test]
fn a_session_dies_with_its_generation_and_with_its_subscription() {
    for (generation, state) in [(2, "PENDING_CHALLENGE"), (1, "REVOKED"), (1, "EXPIRED")] {
        let case = Case::new();
        let session = case.exchange(&case.code(&case.token)).text("token");
        let unopened = case.code(&case.token);
        become_state(&case, generation, state);
        assert_eq!(case.shows(&case.token), 200);
        assert_eq!(case.shows(&session), 401, "{state}");
        assert_eq!(case.exchange(&unopened).problem(), (401, "token.refused", "code"), "{state}");
        let again = case.link(&case.token);
        if generation == 1 {
            assert_eq!(again.problem(), (409, "state.forbids", ""), "{state}");
        } else {
            assert_eq!(again.status, 201);
        }
    }
}

#[test]
fn no_link_is_made_while_only_the_recovery_credential_leads_on() {
    let case = Case::new();
    let text = case.site.world.disk.rows("SELECT record FROM generation");
    let hookproof_ports::Value::Text(record) = &text[0].0[0] else { panic!("{text:?}") };
    let mut record: Value = serde_json::from_str(record).unwrap();
    for (reason, status) in [("compromised", 409), ("ownership_changed", 409), ("operator", 201)] {
        let at = case.site.world.now();
        record["state"] = json!({ "state": "SUSPENDED", "at": at, "since": at, "reason": reason });
        case.site.world.disk.rows(&format!("UPDATE generation SET record = '{record}'"));
        let link = case.link(&case.token);
        assert_eq!(link.status, status, "{reason}: {link:?}");
        if status == 409 {
            assert_eq!(link.problem().1, "recovery.required");
        }
    }
}

#[test]
fn a_link_gives_no_more_than_its_maker_has() {
    let case = Case::new();
    let writer = case.site.token(&case.tenant, "test", &["subscriptions:write"]);
    let session = case.exchange(&case.code(&writer)).text("token");
    assert_eq!(case.shows(&session), 403);
    let reader = case.site.token(&case.tenant, "test", &["subscriptions:read", "deliveries:read"]);
    assert_eq!(case.link(&reader).problem(), (403, "scope.missing", ""));
}

#[test]
fn a_session_learns_nothing_of_events_that_were_for_others() {
    let case = Case::new();
    let session = case.exchange(&case.code(&case.token)).text("token");
    let mut other = crate::event("evt-other");
    other["type"] = json!("order.paid");
    case.site.post(&case.token, "/v1/events", &other);
    case.site.post(&case.token, "/v1/events", &crate::event("evt-own"));
    let of = |event: &str| case.site.get(&session, &format!("/v1/deliveries?event={event}"));
    assert_eq!(of("evt-own").body["planned"], json!([case.id]));
    assert_eq!(of("evt-other"), of("evt-never"));
    assert_eq!(of("evt-other").problem().1, "event.unknown");
    assert_eq!(case.site.get(&session, "/v1/deliveries").body["items"], json!([]));
}

#[test]
fn neither_code_nor_session_is_stored_or_logged() {
    let case = Case::new();
    let code = case.code(&case.token);
    let session = case.exchange(&code).text("token");
    let dump = format!("{:?}", case.site.world.disk.dump());
    for secret in [code, session] {
        assert!(!dump.contains(secret.rsplit('_').next().unwrap()));
        assert!(!case.site.journal.mentions(&secret));
    }
}
