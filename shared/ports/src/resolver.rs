//! Names to addresses, for the policy to judge.

use std::net::IpAddr;

/// What is known of a name before a connection is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Every address of the answer; the transport dials one of these and no other.
    Addresses(Vec<IpAddr>),
    /// The platform resolves while connecting and does not say what it found.
    ByPlatform,
    /// The platform resolves, filters by its operator's list and then connects.
    ByEnforcingPlatform,
    /// The name does not resolve.
    Failed,
}

/// Resolves an endpoint's host, once for each attempt.
pub trait Resolver {
    /// The addresses of `host`.
    async fn resolve(&self, host: &str) -> Resolution;
}
