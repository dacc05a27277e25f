//! Evidence: what happened to a subscription, in commit order, each entry chained to the one before.
//!
//! The chain shows that nothing was removed or changed up to a head somebody holds. It says nothing
//! about whether an endpoint truly answered what we recorded, or whether an effect took place.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::{Environment, SubscriptionId, TenantId};
use crate::time::Timestamp;
use crate::tuple::Tuple;

/// Whose chain it is: the scope without a generation, since the chain outlives them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainScope {
    /// The deployment's origin.
    pub issuer: String,
    /// The tenant.
    pub tenant: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The subscription.
    pub subscription: SubscriptionId,
}

/// Where a chain stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Rises when a store was restored from a copy.
    pub epoch: u32,
    /// Number of the newest entry; 0 when there is none.
    pub seq: u64,
    /// Its hash; all zero when there is none.
    pub hash: Digest,
}

impl Head {
    /// A chain without entries.
    pub const EMPTY: Self = Self { epoch: 1, seq: 0, hash: Digest([0; 32]) };

    /// The head after `entry`, whose stored bytes are hashed as they are.
    #[must_use]
    pub fn append(&self, scope: &ChainScope, entry: &[u8]) -> Self {
        let hash = Tuple::new("hookproof-evidence-v1")
            .field(&scope.issuer)
            .field(scope.tenant.as_str())
            .field(scope.environment.as_str())
            .field(scope.subscription.as_str())
            .u32(self.epoch)
            .u64(self.seq + 1)
            .field(self.hash.0)
            .field(entry)
            .sha256();
        Self { epoch: self.epoch, seq: self.seq + 1, hash: Digest(hash) }
    }
}

/// One entry as stored. `what` is the machine's own record of the change. Written, and read only as bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry<T> {
    /// Its number in the chain.
    pub seq: u64,
    /// When it was committed, by our clock.
    pub at: Timestamp,
    /// What changed.
    #[serde(flatten)]
    pub what: T,
}

/// Recomputes a chain over stored entry bytes and says whether it ends at `head`.
pub fn verify<'a>(scope: &ChainScope, entries: impl IntoIterator<Item = &'a [u8]>, head: &Head) -> bool {
    let start = Head { epoch: head.epoch, ..Head::EMPTY };
    entries.into_iter().fold(start, |at, entry| at.append(scope, entry)) == *head
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::IdKey;

    fn scope() -> ChainScope {
        let (key, now) = (IdKey::new(b"k"), Timestamp::from_unix(1));
        ChainScope {
            issuer: "https://hooks.example".into(),
            tenant: TenantId::mint(&key, now, [1; 10]),
            environment: Environment::Test,
            subscription: SubscriptionId::mint(&key, now, [2; 10]),
        }
    }

    #[test]
    fn a_removed_changed_or_moved_entry_breaks_the_chain() {
        let entries: [&[u8]; 3] = [b"a", b"b", b"c"];
        let head = entries.iter().fold(Head::EMPTY, |h, e| h.append(&scope(), e));
        assert_eq!(head.seq, 3);
        assert!(verify(&scope(), entries, &head));
        for bad in [vec![&b"a"[..], b"c"], vec![b"a", b"x", b"c"], vec![b"b", b"a", b"c"], vec![b"a", b"b"]] {
            assert!(!verify(&scope(), bad, &head));
        }
    }
}
