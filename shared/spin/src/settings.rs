//! What a component is configured with: Spin variables, whose values may come from the environment, a
//! file or a vault. They have the names that Workers have, in lower case; an empty one is not set.

use bytes::Bytes;
use hookproof_authority::api::stranger;
use hookproof_authority::directory::Directory;
use hookproof_authority::event::Events;
use hookproof_authority::inbox::{Inbox, Sources};
use hookproof_authority::subscription::Authority;
use hookproof_authority::token::Tokens;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointPolicy;
use hookproof_core::id::IdKey;
use hookproof_core::keys::{IssuerKeys, MasterKeys};
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Egress, Journal, Line};
use spin_sdk::variables;

use crate::clock::SpinClock;
use crate::entropy::SpinEntropy;
use crate::journal::StdoutJournal;
use crate::objects::{Objects, Sender, Subscriber};
use crate::resolver::PlatformResolver;
use crate::sql::SpinStore;
use crate::transport::WasiTransport;

async fn optional(name: &str) -> Result<Option<String>, Refusal> {
    match variables::get(name).await {
        Ok(value) => Ok(Some(value).filter(|value| !value.is_empty())),
        Err(variables::Error::Undefined(_)) => Ok(None),
        // A provider's words may quote what it holds.
        Err(_) => Err(Refusal::new(Reason::InternalHost, format!("the variable {name} cannot be read"))),
    }
}

/// A setting or a secret.
pub async fn variable(name: &str) -> Result<String, Refusal> {
    let missing = || Refusal::new(Reason::InternalHost, format!("the variable {name} is not configured"));
    optional(name).await?.ok_or_else(missing)
}

/// SHA-256 of a secret: all that is needed to know it again.
pub async fn digest(name: &str) -> Result<Digest, Refusal> {
    Ok(Digest::of(variable(name).await?.as_bytes()))
}

/// The key that mints and checks ids.
pub async fn id_key() -> Result<IdKey, Refusal> {
    Ok(IdKey::new(variable("id_key").await?.as_bytes()))
}

async fn danger(name: &str) -> Result<Option<String>, Refusal> {
    let Some(value) = optional(name).await? else { return Ok(None) };
    // Only in a development deployment may a setting that starts with `danger_` count.
    match optional("deployment").await? {
        Some(kind) if kind == "development" => Ok(Some(value)),
        _ => Err(Refusal::new(Reason::InternalHost, format!("{name} is set outside development"))),
    }
}

/// What an endpoint may be. `danger_loopback_http = "true"` opens loopback, in development only.
pub async fn endpoint_policy() -> Result<EndpointPolicy, Refusal> {
    let loopback = danger("danger_loopback_http").await?.is_some_and(|value| value == "true");
    Ok(EndpointPolicy { danger_loopback_http: loopback, ..EndpointPolicy::default() })
}

/// The clock. `danger_clock_offset_ms` shifts it, in development only.
pub async fn clock() -> Result<SpinClock, Refusal> {
    let Some(text) = danger("danger_clock_offset_ms").await? else { return Ok(SpinClock::default()) };
    let wrong =
        |_| Refusal::new(Reason::InternalHost, "danger_clock_offset_ms is not a number of milliseconds");
    text.parse().map(|millis| SpinClock::shifted(Span::millis(millis))).map_err(wrong)
}

/// The one way out. `egress_enforced = "true"` says that the operator's `block_networks` is in force.
pub async fn egress() -> Result<Egress<PlatformResolver, WasiTransport>, Refusal> {
    let enforced = optional("egress_enforced").await?.is_some_and(|value| value == "true");
    let policy = endpoint_policy().await?;
    Ok(Egress { policy, resolver: PlatformResolver { enforced }, transport: WasiTransport })
}

/// The sending side's objects.
pub async fn sender(store: SpinStore, clock: SpinClock) -> Result<Objects<Sender>, Refusal> {
    let authority = Authority {
        issuer: variable("issuer").await?,
        receipts_url: variable("receipts_url").await?,
        region: variable("region").await?,
        keys: MasterKeys::parse(&variable("master_keys").await?)?,
        issuer_keys: IssuerKeys::parse(&variable("issuer_keys").await?)?,
        id_key: id_key().await?,
    };
    let sender = Sender { authority, events: Events, directory: Directory, tokens: Tokens };
    Ok(Objects::new(sender, store, clock, SpinEntropy))
}

/// The receiving side's objects.
pub async fn subscriber(store: SpinStore, clock: SpinClock) -> Result<Objects<Subscriber>, Refusal> {
    let sources = Sources { keys: MasterKeys::parse(&variable("master_keys").await?)? };
    Ok(Objects::new(Subscriber { sources, inbox: Inbox }, store, clock, SpinEntropy))
}

/// The answer of a component that is configured wrongly: the log says what, the caller only that.
pub fn misconfigured(refusal: &Refusal) -> http::Response<Bytes> {
    complain("misconfigured", refusal);
    stranger(503, Reason::InternalHost.outside())
}

/// Writes a refusal that nobody waits for to the log.
pub fn complain(event: &str, refusal: &Refusal) {
    let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
    StdoutJournal.record(&Line { event, reason, detail, ..Line::default() });
}
