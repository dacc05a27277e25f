//! The host resolves while it connects and shows no address.

use hookproof_ports::{Resolution, Resolver};

/// Says that the platform resolves by itself: `PREFLIGHT`, or `HOST_ENFORCED` where the operator has
/// declared that `block_networks` of `runtime-config.toml` is in force.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlatformResolver {
    /// The host filters what it resolves by its operator's list.
    pub enforced: bool,
}

impl Resolver for PlatformResolver {
    async fn resolve(&self, _host: &str) -> Resolution {
        if self.enforced { Resolution::ByEnforcingPlatform } else { Resolution::ByPlatform }
    }
}
