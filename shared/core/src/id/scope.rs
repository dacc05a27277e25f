//! What everything of a generation is bound to.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Environment, SubscriptionId, TenantId};
use crate::tuple::Tuple;

/// A subscription's generation; starts at 1 and only rises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Generation(pub u64);

impl Generation {
    /// The first generation of a subscription.
    pub const FIRST: Self = Self(1);

    /// The generation after this one.
    #[must_use]
    pub fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

impl fmt::Display for Generation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What every proof, key and evidence entry of a generation is bound to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scope {
    /// The deployment's configured origin.
    pub issuer: String,
    /// The tenant.
    pub tenant: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The subscription.
    pub subscription: SubscriptionId,
    /// Its generation.
    pub generation: Generation,
}

impl Scope {
    /// `LP(issuer) LP(tenant) LP(environment) LP(subscription) U64(generation)`.
    pub fn encode(&self) -> Vec<u8> {
        Tuple::default()
            .field(&self.issuer)
            .field(self.tenant.as_str())
            .field(self.environment.as_str())
            .field(self.subscription.as_str())
            .u64(self.generation.0)
            .into_bytes()
    }
}
