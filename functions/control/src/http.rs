//! Routes: a request in, a response out, whatever happens.

use ::http::Response;
use ::http::header::{ALLOW, HeaderValue};
use bytes::Bytes;
use hookproof_authority::api::{json, problem, text, with_request_id};
use hookproof_core::retry::Policy;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue};
use serde_json::json as object;

use crate::access::{Call, Request};
use crate::routes::{Action, Miss, find};
use crate::{Control, Fresh, Objects};

/// `docs/openapi.json` without its white space.
const OPENAPI: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

type Answer = Result<Response<Bytes>, Refusal>;

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    /// Answers a request. `Err` in `read` is a request that could not be read whole.
    pub async fn answer(&self, read: Result<Request, Refusal>) -> Response<Bytes> {
        let response = match read {
            Ok(request) => self.route(&request).await,
            Err(refusal) => self.refuse(&refusal),
        };
        with_request_id(response, &self.entropy)
    }

    fn refuse(&self, refusal: &Refusal) -> Response<Bytes> {
        let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
        self.journal.record(&Line { event: "refused", reason, detail, ..Line::default() });
        problem(refusal)
    }

    async fn route(&self, request: &Request) -> Response<Bytes> {
        let (method, path) = (request.method().as_str(), request.uri().path());
        let missed = |reason| Refusal::new(reason, format!("{method} {path} is not served here"));
        let answered = match find(method, path) {
            Ok((route, ids)) => match self.admit(route, ids, request).await {
                Ok(call) => self.act(&call).await,
                Err(refusal) => Err(refusal),
            },
            Err(Miss::Path) => Err(missed(Reason::RouteUnknown)),
            Err(Miss::Method(allowed)) => {
                let mut answer = self.refuse(&missed(Reason::MethodNotAllowed));
                if let Ok(value) = HeaderValue::from_str(&allowed.join(", ")) {
                    answer.headers_mut().insert(ALLOW, value);
                }
                return answer;
            }
        };
        answered.unwrap_or_else(|refusal| self.refuse(&refusal))
    }

    async fn act(&self, call: &Call<'_>) -> Answer {
        match call.route.action {
            Action::Health => Ok(json(200, &object!({ "status": "ok", "time": self.clock.now() }))),
            Action::Policies => Ok(json(200, &object!({ "retry_policies": presets() }))),
            Action::OpenApi => Ok(text(200, "application/json", OPENAPI)),
            Action::CreateTenant => self.create_tenant(call).await,
            Action::ReadTenant => self.read_tenant(call.id()?).await,
            Action::CreateToken => self.create_token(call).await,
            Action::ListTokens => self.list_tokens(call).await,
            Action::RevokeToken => self.revoke_token(call.id()?).await,
            Action::Register => self.register(call).await,
            Action::ListSubscriptions => self.list_subscriptions(call).await,
            Action::ReadSubscription => self.read_subscription(call).await,
            Action::Change => self.change(call).await,
            Action::Revoke => self.revoke(call).await,
            Action::Pause => self.pause(call).await,
            Action::Suspend => self.suspend(call).await,
            Action::Resume => self.resume(call).await,
            Action::Recover => self.recover(call).await,
            Action::Generations => self.generations(call).await,
            Action::RequestChallenge => self.request_challenge(call).await,
            Action::PortalLink => self.portal_link(call).await,
            Action::PortalSession => self.portal_session(call).await,
            Action::Evidence => self.evidence(call.caller()?, call.id()?).await,
            Action::Publish => self.publish(call).await,
            Action::ReadEvent => self.read_event(call.caller()?, call.id()?).await,
            Action::PutEventType => self.put_event_type(call).await,
            Action::ReadEventType => self.read_event_type(call.caller()?, call.id()?).await,
            Action::ListEventTypes => self.list_event_types(call).await,
            Action::PutEventTypesPolicy => self.put_event_types_policy(call).await,
            Action::ReadEventTypesPolicy => self.read_event_types_policy(call.caller()?).await,
            Action::ListDeliveries => self.list_deliveries(call).await,
            // The key directory stands before the API, with a cache that the API has not.
            Action::KeyDocument | Action::IssuerKeys => Err(Reason::InternalHost.into()),
        }
    }
}

/// The published retry contract.
fn presets() -> Vec<Policy> {
    Policy::PRESETS.iter().filter_map(|name| Policy::preset(name)).collect()
}
