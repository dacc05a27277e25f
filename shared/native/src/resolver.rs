//! The whole answer of the system's resolver, for the policy to judge; a literal is its own answer.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use hookproof_ports::{Resolution, Resolver};
use tokio::net::lookup_host;
use tokio::time::timeout;

/// How long a lookup may take before the name counts as unresolved.
const PATIENCE: Duration = Duration::from_secs(5);

/// `getaddrinfo`, in its order, which puts what this machine can reach first.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemResolver;

impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> Resolution {
        if let Some(address) = literal(host) {
            return Resolution::Addresses(vec![address]);
        }
        match timeout(PATIENCE, lookup_host((host, 0))).await {
            Ok(Ok(found)) => answer(found.map(|socket| socket.ip()).collect()),
            Ok(Err(_)) | Err(_) => Resolution::Failed,
        }
    }
}

/// For tests: the names it was given and no other.
#[derive(Clone, Debug, Default)]
pub struct FixedResolver(BTreeMap<String, Vec<IpAddr>>);

impl FixedResolver {
    /// Knows no name.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows `host` too.
    #[must_use]
    pub fn with(mut self, host: impl Into<String>, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.0.insert(host.into(), addresses.into_iter().collect());
        self
    }
}

impl Resolver for FixedResolver {
    async fn resolve(&self, host: &str) -> Resolution {
        match literal(host) {
            Some(address) => Resolution::Addresses(vec![address]),
            None => answer(self.0.get(host).cloned().unwrap_or_default()),
        }
    }
}

/// The host of a URL as an address; IPv6 stands in brackets there.
fn literal(host: &str) -> Option<IpAddr> {
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inside {
        Some(inside) => inside.parse().ok().map(IpAddr::V6),
        None => host.parse().ok().map(IpAddr::V4),
    }
}

fn answer(addresses: Vec<IpAddr>) -> Resolution {
    if addresses.is_empty() { Resolution::Failed } else { Resolution::Addresses(addresses) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(list: &[&str]) -> Resolution {
        Resolution::Addresses(list.iter().map(|text| text.parse().unwrap()).collect())
    }

    #[tokio::test]
    async fn a_literal_is_not_looked_up() {
        for (host, address) in [("192.0.2.1", "192.0.2.1"), ("[2001:db8::1]", "2001:db8::1")] {
            assert_eq!(SystemResolver.resolve(host).await, addresses(&[address]));
            assert_eq!(FixedResolver::new().resolve(host).await, addresses(&[address]));
        }
    }

    #[tokio::test]
    async fn the_whole_answer_is_given() {
        let list = ["192.0.2.1".parse().unwrap(), "10.0.0.1".parse().unwrap()];
        let resolver = FixedResolver::new().with("a.example", list);
        assert_eq!(resolver.resolve("a.example").await, addresses(&["192.0.2.1", "10.0.0.1"]));
        assert_eq!(resolver.resolve("b.example").await, Resolution::Failed);
        assert_eq!(FixedResolver::new().with("c.example", []).resolve("c.example").await, Resolution::Failed);
    }

    #[tokio::test]
    async fn this_machine_is_found_and_an_impossible_name_is_not() {
        let Resolution::Addresses(found) = SystemResolver.resolve("localhost").await else { panic!() };
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback));
        assert_eq!(SystemResolver.resolve("no such name.invalid").await, Resolution::Failed);
    }
}
