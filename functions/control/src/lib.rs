//! `control`: the admin API.
//!
//! In: HTTP requests bearing a token. Out: JSON, problems (RFC 9457), and queue messages that wake.
//! The key directory is public. A tenant comes from its token only; another tenant's ids answer as if they did not exist.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod access;
mod deliveries;
mod event_types;
mod events;
mod http;
mod key_directory;
mod lifecycle;
mod once;
mod portal;
mod query;
mod revision;
pub mod routes;
mod subscriptions;
mod tenants;
mod terms;
mod tokens;

#[cfg(target_os = "wasi")]
mod spin;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod workers;

pub use key_directory::{KeyDirectory, KnownIssuer};

use hookproof_authority::directory::Directory;
use hookproof_authority::event::Events;
pub(crate) use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::Authority;
use hookproof_authority::token::Tokens;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointPolicy;
use hookproof_core::id::IdKey;
use hookproof_ports::Ask;

/// Largest request body in octets: an event of 256 KiB with room for its JSON around it.
pub const MAX_BODY: usize = 300 * 1024;

/// Every kind of object the API asks.
pub trait Objects: Ask<Authority> + Ask<Directory> + Ask<Events> + Ask<Tokens> {}

impl<T: Ask<Authority> + Ask<Directory> + Ask<Events> + Ask<Tokens>> Objects for T {}

/// The API, over its ports.
pub struct Control<O, Q, C, N, J> {
    /// The objects.
    pub objects: O,
    /// Wakes dispatch for a published event.
    pub fresh: Q,
    /// The clock.
    pub clock: C,
    /// Fresh octets, for ids and tokens.
    pub entropy: N,
    /// Log lines.
    pub journal: J,
    /// What the deployment fixes.
    pub settings: Settings,
}

/// What the deployment fixes.
pub struct Settings {
    /// SHA-256 of the root token.
    pub root_token: Digest,
    /// What an endpoint may be.
    pub policy: EndpointPolicy,
    /// Mints and checks ids.
    pub id_key: IdKey,
}
