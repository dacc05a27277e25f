//! What a Worker is configured with, read from its bindings with words that say what is missing.

use hookproof_core::endpoint::EndpointPolicy;
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Egress, Journal, Line};
use worker::{Env, Response};

use crate::clock::WorkersClock;
use crate::journal::ConsoleJournal;
use crate::resolver::{self, DohResolver};
use crate::transport::FetchTransport;

/// A plain setting.
pub fn variable(env: &Env, name: &str) -> Result<String, Refusal> {
    let missing = |_| Refusal::new(Reason::InternalHost, format!("the variable {name} is not configured"));
    env.var(name).map(|value| value.to_string()).map_err(missing)
}

/// A secret.
pub fn secret(env: &Env, name: &str) -> Result<String, Refusal> {
    let missing = |_| Refusal::new(Reason::InternalHost, format!("the secret {name} is not configured"));
    env.secret(name).map(|value| value.to_string()).map_err(missing)
}

/// Whether this is a development deployment; only there may a setting that starts with `DANGER_` count.
fn development(env: &Env) -> bool {
    variable(env, "DEPLOYMENT").is_ok_and(|kind| kind == "development")
}

fn danger(env: &Env, name: &str) -> Result<Option<String>, Refusal> {
    match variable(env, name) {
        Ok(value) if development(env) => Ok(Some(value)),
        Ok(_) => Err(Refusal::new(Reason::InternalHost, format!("{name} is set outside development"))),
        Err(_) => Ok(None),
    }
}

/// What an endpoint may be. `DANGER_LOOPBACK_HTTP = "true"` opens loopback, in development only.
pub fn endpoint_policy(env: &Env) -> Result<EndpointPolicy, Refusal> {
    let loopback = danger(env, "DANGER_LOOPBACK_HTTP")?.is_some_and(|value| value == "true");
    Ok(EndpointPolicy { danger_loopback_http: loopback, ..EndpointPolicy::default() })
}

/// The one way out. `DOH_URL` names the resolver that is asked before each request.
pub fn egress(env: &Env) -> Result<Egress<DohResolver, FetchTransport>, Refusal> {
    let policy = endpoint_policy(env)?;
    let url = variable(env, "DOH_URL").unwrap_or_else(|_| resolver::DEFAULT.to_owned());
    let words = "DOH_URL is not an https URL like https://cloudflare-dns.com/dns-query";
    let resolver =
        DohResolver::new(&url, &policy).ok_or_else(|| Refusal::new(Reason::InternalHost, words))?;
    Ok(Egress { policy, resolver, transport: FetchTransport })
}

/// The clock. `DANGER_CLOCK_OFFSET_MS` shifts it, in development only.
pub fn clock(env: &Env) -> Result<WorkersClock, Refusal> {
    let Some(text) = danger(env, "DANGER_CLOCK_OFFSET_MS")? else { return Ok(WorkersClock::default()) };
    let wrong =
        |_| Refusal::new(Reason::InternalHost, "DANGER_CLOCK_OFFSET_MS is not a number of milliseconds");
    text.parse().map(|millis| WorkersClock::shifted(Span::millis(millis))).map_err(wrong)
}

/// Says in the log what is configured wrongly.
pub fn complain(refusal: &Refusal) {
    let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
    ConsoleJournal.record(&Line { event: "misconfigured", reason, detail, ..Line::default() });
}

/// The answer of a Worker that is configured wrongly: the log says what, the caller only that.
pub fn misconfigured(refusal: &Refusal) -> worker::Result<Response> {
    complain(refusal);
    Response::error("Unavailable", 503)
}
