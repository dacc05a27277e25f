//! The whole answer of the DNS, asked anew each time, for the policy to judge; a host that says itself
//! where it is gets asked for nowhere.
//!
//! The servers are the system's (`/etc/resolv.conf`); its search domains, its hosts file and any cache are
//! left out: each would let something else than the public DNS say what a name means.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolveHosts, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::system_conf::read_system_conf;
use hookproof_core::endpoint::LOOKUP_LIMIT;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Resolution, Resolver, spelled_out};
use tokio::time::timeout;

/// Asks the system's name servers; IPv4 addresses stand first in the answer.
#[derive(Clone)]
pub struct SystemResolver(TokioResolver);

impl SystemResolver {
    /// Reads which servers to ask.
    pub fn new() -> Result<Self, Refusal> {
        let (config, _) = read_system_conf().map_err(|fault| unusable(&fault))?;
        Self::asking(config)
    }

    fn asking(config: ResolverConfig) -> Result<Self, Refusal> {
        let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
        let options = builder.options_mut();
        options.cache_size = 0;
        options.use_hosts_file = ResolveHosts::Never;
        options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
        options.timeout = Duration::from_secs(1);
        builder.build().map(Self).map_err(|fault| unusable(&fault))
    }
}

impl Resolver for SystemResolver {
    async fn resolve(&self, host: &str) -> Resolution {
        if let Some(addresses) = spelled_out(host) {
            return Resolution::Addresses(addresses);
        }
        let limit = Duration::from_millis(u64::try_from(LOOKUP_LIMIT.as_millis()).unwrap_or(0));
        // The root's dot: no search domain is ever appended.
        match timeout(limit, self.0.lookup_ip(format!("{host}."))).await {
            Ok(Ok(found)) => answer(found.iter().collect()),
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

    /// Knows `host` too, be it this machine's own name.
    #[must_use]
    pub fn with(mut self, host: impl Into<String>, addresses: impl IntoIterator<Item = IpAddr>) -> Self {
        self.0.insert(host.into(), addresses.into_iter().collect());
        self
    }
}

impl Resolver for FixedResolver {
    async fn resolve(&self, host: &str) -> Resolution {
        match self.0.get(host).cloned().or_else(|| spelled_out(host)) {
            Some(addresses) => answer(addresses),
            None => Resolution::Failed,
        }
    }
}

fn answer(addresses: Vec<IpAddr>) -> Resolution {
    if addresses.is_empty() { Resolution::Failed } else { Resolution::Addresses(addresses) }
}

fn unusable(fault: &dyn std::error::Error) -> Refusal {
    Refusal::new(Reason::InternalHost, format!("names cannot be looked up: {fault}"))
}

#[cfg(test)]
mod tests;
