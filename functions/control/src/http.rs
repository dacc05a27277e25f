//! Routes: a request in, a response out, whatever happens.

use ::http::{Method, Response};
use bytes::Bytes;
use hookproof_authority::api::{json, problem, with_request_id};
use hookproof_authority::token::Scope;
use hookproof_core::retry::Policy;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue};
use serde_json::json as object;

use crate::access::Request;
use crate::{Control, Fresh, Objects};

type Answer = Result<Response<Bytes>, Refusal>;

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    /// Answers a request. `Err` in `read` is a request that could not be read whole.
    pub async fn answer(&self, read: Result<Request, Refusal>) -> Response<Bytes> {
        let answered = match read {
            Ok(request) => self.route(&request).await,
            Err(refusal) => Err(refusal),
        };
        let response = answered.unwrap_or_else(|refusal| {
            let detail = Some(refusal.detail.as_str());
            self.journal.record(&Line {
                event: "refused",
                reason: Some(refusal.reason),
                detail,
                ..Line::default()
            });
            problem(&refusal)
        });
        with_request_id(response, &self.entropy)
    }

    async fn route(&self, request: &Request) -> Answer {
        let segments: Vec<&str> = request.uri().path().trim_start_matches('/').split('/').collect();
        let headers = request.headers();
        match (request.method(), segments.as_slice()) {
            (&Method::GET, ["v1", "health"]) => {
                Ok(json(200, &object!({ "status": "ok", "time": self.clock.now() })))
            }
            (&Method::GET, ["v1", "policies"]) => Ok(json(200, &object!({ "retry_policies": presets() }))),
            (&Method::POST, ["v1", "tenants"]) => {
                self.root(headers)?;
                self.create_tenant(request).await
            }
            (&Method::POST, ["v1", "tokens"]) => {
                self.root(headers)?;
                self.create_token(request).await
            }
            (&Method::POST, ["v1", "subscriptions"]) => {
                self.register(&self.caller(headers, Scope::SubscriptionsWrite).await?, request).await
            }
            (&Method::GET, ["v1", "subscriptions"]) => {
                self.list_subscriptions(&self.caller(headers, Scope::SubscriptionsRead).await?, request).await
            }
            (&Method::GET, ["v1", "subscriptions", id]) => {
                self.read_subscription(&self.caller(headers, Scope::SubscriptionsRead).await?, id).await
            }
            (&Method::POST, ["v1", "subscriptions", id, "challenge"]) => {
                self.request_challenge(&self.caller(headers, Scope::SubscriptionsWrite).await?, id).await
            }
            (&Method::GET, ["v1", "subscriptions", id, "evidence"]) => {
                self.evidence(&self.caller(headers, Scope::DeliveriesRead).await?, id).await
            }
            (&Method::POST, ["v1", "events"]) => {
                self.publish(&self.caller(headers, Scope::EventsWrite).await?, request).await
            }
            (&Method::GET, ["v1", "events", id]) => {
                self.read_event(&self.caller(headers, Scope::DeliveriesRead).await?, id).await
            }
            (&Method::GET, ["v1", "deliveries"]) => {
                self.list_deliveries(&self.caller(headers, Scope::DeliveriesRead).await?, request).await
            }
            (&Method::DELETE, ["v1", "tokens", id]) => {
                self.root(headers)?;
                self.revoke_token(id).await
            }
            (method, path) => {
                let words = format!("{method} {} is not served here", request.uri().path());
                let reason = if is_served(path) { Reason::MethodNotAllowed } else { Reason::RouteUnknown };
                Err(Refusal::new(reason, words))
            }
        }
    }
}

/// Whether a path is served under another method.
fn is_served(path: &[&str]) -> bool {
    let collection = ["health", "policies", "tenants", "tokens", "subscriptions", "events", "deliveries"];
    match path {
        ["v1", name] => collection.contains(name),
        ["v1", "subscriptions" | "events" | "tokens", _] => true,
        ["v1", "subscriptions", _, name] => ["challenge", "evidence"].contains(name),
        _ => false,
    }
}

/// The published retry contract.
fn presets() -> Vec<Policy> {
    Policy::PRESETS.iter().filter_map(|name| Policy::preset(name)).collect()
}
