//! Every route of the API, once. Routing, `405` with `Allow`, scopes, query names and `docs/openapi.json`
//! come from this table and from no other.
//!
//! A new route is a row here, an [`Action`] and its arm in `http.rs`.

use hookproof_authority::token::Scope;
use hookproof_core::Reason;

/// Who may call a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody.
    Public,
    /// The root token only.
    Root,
    /// A tenant's token with this scope; and perhaps a session at the portal.
    Scope(Scope, Portals),
}

/// What a session at the portal may do with a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Portals {
    /// Nothing.
    Never,
    /// Read its own subscription, with the route's scope.
    Reads,
    /// Act on its own subscription.
    Acts,
}

/// What a route does; `http.rs` has one arm for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is described by its row's summary")]
pub enum Action {
    Health,
    Policies,
    OpenApi,
    CreateTenant,
    ReadTenant,
    CreateToken,
    ListTokens,
    RevokeToken,
    Register,
    ListSubscriptions,
    ReadSubscription,
    Change,
    Revoke,
    Pause,
    Suspend,
    Resume,
    Recover,
    Generations,
    RequestChallenge,
    Evidence,
    PortalLink,
    PortalSession,
    Publish,
    ReadEvent,
    ListDeliveries,
    KeyDocument,
    IssuerKeys,
    PutEventType,
    ReadEventType,
    ListEventTypes,
    PutEventTypesPolicy,
    ReadEventTypesPolicy,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// `GET`, `POST`, …
    pub method: &'static str,
    /// The path; a segment in braces stands for one id of that name.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    /// What it does.
    pub action: Action,
    /// Its purpose in a sentence.
    pub summary: &'static str,
    /// The query names it takes; any other is refused.
    pub query: &'static [&'static str],
    /// The schema of its body, where it takes one.
    pub takes: Option<&'static str>,
    /// What it answers, with the schema of each.
    pub answers: &'static [(u16, &'static str)],
    /// Reasons of its own, beside those of every route.
    pub refuses: &'static [Reason],
}

const fn route(
    method: &'static str,
    path: &'static str,
    access: Access,
    action: Action,
    summary: &'static str,
) -> Route {
    Route { method, path, access, action, summary, query: &[], takes: None, answers: &[], refuses: &[] }
}

impl Route {
    const fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    const fn takes(self, schema: &'static str) -> Self {
        Self { takes: Some(schema), ..self }
    }

    const fn answers(self, answers: &'static [(u16, &'static str)]) -> Self {
        Self { answers, ..self }
    }

    const fn refuses(self, refuses: &'static [Reason]) -> Self {
        Self { refuses, ..self }
    }

    /// The ids in `path`, if it is one of this route's.
    fn matches<'p>(&self, path: &'p str) -> Option<Vec<&'p str>> {
        let (mut wanted, mut given) = (self.path.split('/'), path.split('/'));
        let mut ids = Vec::new();
        loop {
            match (wanted.next(), given.next()) {
                (None, None) => return Some(ids),
                (Some(name), Some(id)) if name.starts_with('{') && !id.is_empty() => ids.push(id),
                (Some(name), Some(it)) if name == it => {}
                (Some(_) | None, Some(_)) | (Some(_), None) => return None,
            }
        }
    }
}

/// A path that no row serves under the method asked for.
#[derive(Debug, PartialEq, Eq)]
pub enum Miss {
    /// Not served at all.
    Path,
    /// Served under these methods.
    Method(Vec<&'static str>),
}

/// The row that serves a request, and the ids in its path. Of two rows the first wins.
pub fn find<'p>(method: &str, path: &'p str) -> Result<(&'static Route, Vec<&'p str>), Miss> {
    let mut allowed = Vec::new();
    for row in ROUTES {
        let Some(ids) = row.matches(path) else { continue };
        if row.method == method {
            return Ok((row, ids));
        }
        if !allowed.contains(&row.method) {
            allowed.push(row.method);
        }
    }
    Err(if allowed.is_empty() { Miss::Path } else { Miss::Method(allowed) })
}

const GET: &str = "GET";
const POST: &str = "POST";
const PUT: &str = "PUT";
const DELETE: &str = "DELETE";
const PATCH: &str = "PATCH";

/// The tenant's own tokens only.
const fn own(scope: Scope) -> Access {
    Access::Scope(scope, Portals::Never)
}

/// A session at the portal too, with the scope.
const fn shared(scope: Scope) -> Access {
    Access::Scope(scope, Portals::Reads)
}

const PAGED: &[&str] = &["cursor", "limit"];
const NO_SUBSCRIPTION: &[Reason] = &[Reason::SubscriptionUnknown];
const CHANGES: &[Reason] = &[
    Reason::SubscriptionUnknown,
    Reason::StateForbids,
    Reason::PreconditionFailed,
    Reason::EndpointRefused,
    Reason::KeyWeak,
    Reason::KeyReserved,
    Reason::RecoveryRequired,
    Reason::RecoveryRefused,
    Reason::RegionImmutable,
];

/// The table.
#[rustfmt::skip]
pub static ROUTES: &[Route] = &[
    route(GET, "/openapi.json", Access::Public, Action::OpenApi, "This description")
        .answers(&[(200, "OpenApi")]),
    route(GET, "/v1/health", Access::Public, Action::Health, "Whether this function answers")
        .answers(&[(200, "Health")]),
    route(GET, "/v1/policies", Access::Public, Action::Policies, "The published retry contract")
        .answers(&[(200, "Policies")]),

    route(POST, "/v1/tenants", Access::Root, Action::CreateTenant, "Create a tenant")
        .takes("NewTenant")
        .answers(&[(201, "Tenant")]),
    route(GET, "/v1/tenants/{tenant_id}", Access::Root, Action::ReadTenant, "Read a tenant")
        .answers(&[(200, "Tenant")])
        .refuses(&[Reason::TenantUnknown]),
    route(POST, "/v1/tokens", Access::Root, Action::CreateToken, "Create a token of a tenant")
        .takes("NewToken")
        .answers(&[(201, "TokenOnce")])
        .refuses(&[Reason::TenantUnknown]),
    route(GET, "/v1/tokens", Access::Root, Action::ListTokens, "List a tenant's tokens in one environment")
        .query(&["tenant_id", "environment", "cursor", "limit"])
        .answers(&[(200, "Tokens")])
        .refuses(&[Reason::TenantUnknown]),
    route(DELETE, "/v1/tokens/{token_id}", Access::Root, Action::RevokeToken, "End a token at once")
        .answers(&[(200, "Token")])
        .refuses(&[Reason::TokenUnknown]),

    route(POST, "/v1/subscriptions", own(Scope::SubscriptionsWrite), Action::Register, "Register a subscription")
        .takes("NewSubscription")
        .answers(&[(201, "SubscriptionOnce")])
        .refuses(&[Reason::EndpointRefused, Reason::KeyWeak, Reason::KeyReserved]),
    route(GET, "/v1/subscriptions", own(Scope::SubscriptionsRead), Action::ListSubscriptions, "List subscription ids")
        .query(PAGED)
        .answers(&[(200, "SubscriptionIds")]),
    route(GET, "/v1/subscriptions/{subscription_id}", shared(Scope::SubscriptionsRead), Action::ReadSubscription,
        "Read a subscription")
        .answers(&[(200, "Subscription"), (304, "")])
        .refuses(NO_SUBSCRIPTION),
    route(PATCH, "/v1/subscriptions/{subscription_id}", own(Scope::SubscriptionsWrite), Action::Change,
        "Change a subscription; what it binds stages the next generation")
        .takes("SubscriptionPatch")
        .answers(&[(200, "SubscriptionChanged")])
        .refuses(CHANGES),
    route(DELETE, "/v1/subscriptions/{subscription_id}", own(Scope::SubscriptionsWrite), Action::Revoke,
        "Revoke a subscription")
        .query(&["registered"])
        .answers(&[(200, "Subscription")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::StateForbids, Reason::PreconditionFailed]),
    route(POST, "/v1/subscriptions/{subscription_id}/pause", own(Scope::SubscriptionsWrite), Action::Pause,
        "Hold deliveries until it is resumed")
        .answers(&[(200, "Subscription")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::StateForbids]),
    route(POST, "/v1/subscriptions/{subscription_id}/suspend", own(Scope::SubscriptionsWrite), Action::Suspend,
        "Suspend a subscription for what was found out about its endpoint")
        .takes("Suspension")
        .answers(&[(200, "Subscription")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::StateForbids]),
    route(POST, "/v1/subscriptions/{subscription_id}/resume", own(Scope::SubscriptionsWrite), Action::Resume,
        "Bring a suspended subscription back; it is challenged at once")
        .answers(&[(200, "Subscription")])
        .refuses(&[
            Reason::SubscriptionUnknown,
            Reason::StateForbids,
            Reason::RecoveryRequired,
            Reason::ChallengeBudget,
        ]),
    route(POST, "/v1/subscriptions/{subscription_id}/recover", own(Scope::SubscriptionsWrite), Action::Recover,
        "Bring a subscription back with its recovery credential, under a new secret")
        .takes("Recovery")
        .answers(&[(200, "SubscriptionChanged")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::StateForbids, Reason::RecoveryRefused]),
    route(GET, "/v1/subscriptions/{subscription_id}/generations", shared(Scope::SubscriptionsRead),
        Action::Generations, "List a subscription's generations, newest first")
        .answers(&[(200, "Generations")])
        .refuses(NO_SUBSCRIPTION),
    route(POST, "/v1/subscriptions/{subscription_id}/challenge",
        Access::Scope(Scope::SubscriptionsWrite, Portals::Acts), Action::RequestChallenge,
        "Ask for a challenge of the generations that wait for one")
        .takes("ChallengeRequest")
        .answers(&[(202, "Subscription")])
        .refuses(&[
            Reason::SubscriptionUnknown,
            Reason::StateForbids,
            Reason::RecoveryRequired,
            Reason::KeyChangeUnproved,
            Reason::ChallengeBudget,
        ]),
    route(POST, "/v1/subscriptions/{subscription_id}/portal-link", own(Scope::SubscriptionsWrite), Action::PortalLink,
        "Make a link to the portal for the subscriber")
        .answers(&[(201, "PortalLink")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::StateForbids, Reason::RecoveryRequired]),
    route(GET, "/v1/subscriptions/{subscription_id}/evidence", shared(Scope::DeliveriesRead), Action::Evidence,
        "Export the evidence chain")
        .answers(&[(200, "Evidence")])
        .refuses(NO_SUBSCRIPTION),
    route(POST, "/v1/portal/session", Access::Public, Action::PortalSession,
        "Exchange the code of a portal link for a session")
        .takes("PortalCode")
        .answers(&[(201, "PortalSession")])
        .refuses(&[Reason::TokenRefused]),

    route(PUT, "/v1/event-types/{event_type}", own(Scope::EventsWrite), Action::PutEventType,
        "Publish a version of an event type")
        .takes("NewEventType")
        .answers(&[(201, "EventType"), (200, "EventType")])
        .refuses(&[Reason::EventTypeImmutable, Reason::EventSchemaMismatch, Reason::SchemaRefused, Reason::StateForbids]),
    route(GET, "/v1/event-types/{event_type}", own(Scope::SubscriptionsRead), Action::ReadEventType,
        "Read all versions of an event type")
        .answers(&[(200, "EventTypeVersions")])
        .refuses(&[Reason::EventTypeUnknown]),
    route(GET, "/v1/event-types", own(Scope::SubscriptionsRead), Action::ListEventTypes,
        "List the catalogue, a version each, without schemas and samples")
        .query(PAGED)
        .answers(&[(200, "EventTypes")]),
    route(PUT, "/v1/event-types-policy", own(Scope::EventsWrite), Action::PutEventTypesPolicy,
        "Say whether only events in the catalogue are taken")
        .takes("EventTypesPolicy")
        .answers(&[(200, "EventTypesPolicy")]),
    route(GET, "/v1/event-types-policy", own(Scope::SubscriptionsRead), Action::ReadEventTypesPolicy,
        "Whether only events in the catalogue are taken")
        .answers(&[(200, "EventTypesPolicy")]),

    route(POST, "/v1/events", own(Scope::EventsWrite), Action::Publish, "Publish an event")
        .takes("NewEvent")
        .answers(&[(202, "Published"), (200, "Published")])
        .refuses(&[Reason::EventConflict, Reason::EventSchemaMismatch, Reason::EventTypeRequired]),
    route(GET, "/v1/events/{event_id}", own(Scope::DeliveriesRead), Action::ReadEvent,
        "Read an event and how far its fan-out is")
        .answers(&[(200, "Event")])
        .refuses(&[Reason::EventUnknown]),
    route(GET, "/v1/deliveries", shared(Scope::DeliveriesRead), Action::ListDeliveries,
        "List deliveries of a subscription, of an event, or the one of both")
        .query(&["subscription", "event", "state", "cursor", "limit"])
        .answers(&[(200, "Deliveries")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::EventUnknown]),

    route(GET, "/v1/directory/{subscription_id}", Access::Public, Action::KeyDocument,
        "Read a subscription's signed key document")
        .answers(&[(200, "SignedKeyDocument"), (304, "")])
        .refuses(&[Reason::SubscriptionUnknown, Reason::DirectoryStale]),
    route(GET, "/.well-known/http-message-signatures-directory", Access::Public, Action::IssuerKeys,
        "Read the keys that sign key documents")
        .answers(&[(200, "IssuerKeys"), (304, "")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_finds_its_row_and_its_ids() {
        let (row, ids) = find("POST", "/v1/subscriptions/sub_1/challenge").unwrap();
        assert_eq!((row.action, ids), (Action::RequestChallenge, vec!["sub_1"]));
        assert_eq!(find("GET", "/v1/tokens/tok_1").unwrap_err(), Miss::Method(vec!["DELETE"]));
        assert_eq!(find("PUT", "/v1/subscriptions").unwrap_err(), Miss::Method(vec!["POST", "GET"]));
        for path in ["", "/", "/v1", "/v1/", "v1/health", "/v1/health/", "/v1/events/", "/v1/events/a/b"] {
            assert_eq!(find("GET", path).unwrap_err(), Miss::Path, "{path}");
        }
    }

    #[test]
    fn no_two_rows_serve_the_same() {
        for (index, row) in ROUTES.iter().enumerate() {
            let (found, _) = find(row.method, row.path).unwrap();
            assert!(std::ptr::eq(found, row), "{} {} is hidden by {}", row.method, row.path, found.path);
            assert!(ROUTES.iter().skip(index + 1).all(|other| other.action != row.action), "{row:?}");
        }
    }
}
