//! The states of a generation and what each of them means.

use serde::{Deserialize, Serialize};

use super::SuspendReason;
use super::flat::Flat;
use crate::time::Timestamp;

/// Where a generation is. In JSON a flat object with its `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
pub enum GenerationState {
    /// Nothing is sent but challenges.
    PendingChallenge {
        /// The suspension it comes back from; none before it was ever active.
        after: Option<SuspendReason>,
    },
    /// Deliveries flow.
    Active {
        /// When the proof was accepted.
        activated_at: Timestamp,
    },
    /// Deliveries flow under the old key while a new one is being proved.
    Rotating {
        /// When the proof of the serving key was accepted.
        activated_at: Timestamp,
    },
    /// Deliveries are planned and held.
    Suspended {
        /// When.
        at: Timestamp,
        /// Why.
        reason: SuspendReason,
    },
    /// A newer generation serves; registered deliveries run out to this one's own endpoint.
    Draining {
        /// Until when.
        until: Timestamp,
    },
    /// Served and done; terminal.
    Closed {
        /// When.
        at: Timestamp,
    },
    /// Revoked; terminal.
    Revoked {
        /// When.
        at: Timestamp,
        /// Until when deliveries that were already registered run out; none: they do not.
        drain_until: Option<Timestamp>,
    },
    /// Past its expiry; terminal.
    Expired {
        /// When.
        at: Timestamp,
        /// As for a revoked one.
        drain_until: Option<Timestamp>,
    },
}

impl GenerationState {
    /// A generation that nobody has proved yet.
    pub const STAGED: Self = Self::PendingChallenge { after: None };

    /// The state's name on the wire and in storage.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PendingChallenge { .. } => "PENDING_CHALLENGE",
            Self::Active { .. } => "ACTIVE",
            Self::Rotating { .. } => "ROTATING",
            Self::Suspended { .. } => "SUSPENDED",
            Self::Draining { .. } => "DRAINING",
            Self::Closed { .. } => "CLOSED",
            Self::Revoked { .. } => "REVOKED",
            Self::Expired { .. } => "EXPIRED",
        }
    }

    /// Whether nothing can ever change it again.
    pub fn is_terminal(&self) -> bool {
        matches!(self, Self::Closed { .. } | Self::Revoked { .. } | Self::Expired { .. })
    }

    /// Whether events are planned under it: it is active, or was and may be again.
    pub fn serves(&self) -> bool {
        match self {
            Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::PendingChallenge { after: Some(_) } => true,
            Self::PendingChallenge { after: None }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => false,
        }
    }

    /// Whether it waits for its first proof.
    pub fn is_staged(&self) -> bool {
        *self == Self::STAGED
    }

    /// Why it is suspended, or was before it asked to come back.
    pub fn suspension(&self) -> Option<SuspendReason> {
        match self {
            Self::Suspended { reason, .. } => Some(*reason),
            Self::PendingChallenge { after } => *after,
            Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => None,
        }
    }

    /// Until when deliveries that are already registered run out under it.
    pub fn drains_until(&self) -> Option<Timestamp> {
        match self {
            Self::Draining { until } => Some(*until),
            Self::Revoked { drain_until, .. } | Self::Expired { drain_until, .. } => *drain_until,
            Self::PendingChallenge { .. }
            | Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::Closed { .. } => None,
        }
    }
}
