//! The ways between the states. A transition consumes the state; what is not here is refused.

use super::{GenerationState, SuspendReason};
use crate::challenge::Proved;
use crate::reason::Reason;
use crate::time::Timestamp;

/// Why a state that ended cannot change: the words of each end.
fn ended(state: &GenerationState) -> Reason {
    match state {
        GenerationState::Revoked { .. } => Reason::GenerationRevoked,
        GenerationState::Expired { .. } => Reason::GenerationExpired,
        GenerationState::Closed { .. } => Reason::GenerationStale,
        GenerationState::PendingChallenge { .. }
        | GenerationState::Active { .. }
        | GenerationState::Rotating { .. }
        | GenerationState::Suspended { .. }
        | GenerationState::Draining { .. } => Reason::StateForbids,
    }
}

impl GenerationState {
    /// PENDING_CHALLENGE → ACTIVE, on one proof. A proof of what is ACTIVE keeps it so.
    pub fn activate(self, _proof: Proved, now: Timestamp) -> Result<Self, Reason> {
        match self {
            Self::PendingChallenge { .. } => Ok(Self::Active { activated_at: now }),
            active @ Self::Active { .. } => Ok(active),
            Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => Err(ended(&self)),
        }
    }

    /// ACTIVE → ROTATING: a new key waits to be proved.
    pub fn begin_rotation(self) -> Result<Self, Reason> {
        match self {
            Self::Active { activated_at } => Ok(Self::Rotating { activated_at }),
            rotating @ Self::Rotating { .. } => Ok(rotating),
            Self::PendingChallenge { .. }
            | Self::Suspended { .. }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => Err(ended(&self)),
        }
    }

    /// ROTATING → ACTIVE: the new key was proved, or the rotation was given up or rolled back.
    pub fn end_rotation(self) -> Result<Self, Reason> {
        match self {
            Self::Rotating { activated_at } => Ok(Self::Active { activated_at }),
            active @ Self::Active { .. } => Ok(active),
            Self::PendingChallenge { .. }
            | Self::Suspended { .. }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => Err(ended(&self)),
        }
    }

    /// ACTIVE, ROTATING → SUSPENDED. What is suspended stays so; a graver reason takes the place of a
    /// lighter one.
    pub fn suspend(self, reason: SuspendReason, now: Timestamp) -> Result<Self, Reason> {
        match self {
            Self::Active { .. } | Self::Rotating { .. } => Ok(Self::Suspended { at: now, reason }),
            Self::Suspended { at, reason: earlier } => {
                Ok(Self::Suspended { at, reason: if reason.outranks(earlier) { reason } else { earlier } })
            }
            Self::PendingChallenge { .. }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => Err(ended(&self)),
        }
    }

    /// SUSPENDED → PENDING_CHALLENGE: it is to serve again, if it proves itself. `recovered` says that the
    /// recovery credential was shown. Asking again changes nothing.
    pub fn reactivate(self, recovered: bool) -> Result<Self, Reason> {
        match self {
            Self::Suspended { reason: SuspendReason::OwnerChanged, .. } => Err(Reason::StateForbids),
            Self::Suspended { reason, .. } if reason.needs_recovery() && !recovered => {
                Err(Reason::RecoveryRequired)
            }
            Self::Suspended { reason, .. } => Ok(Self::PendingChallenge { after: Some(reason) }),
            same @ (Self::PendingChallenge { after: Some(_) }
            | Self::Active { .. }
            | Self::Rotating { .. }) => Ok(same),
            Self::PendingChallenge { after: None }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => Err(ended(&self)),
        }
    }

    /// The next generation became active: what served drains until `drain_until`, or is closed where there is
    /// none or where draining would be unsafe.
    pub fn supersede(self, drain_until: Option<Timestamp>, now: Timestamp) -> Result<Self, Reason> {
        let unsafe_to_drain = self.suspension().is_some_and(SuspendReason::forces_quarantine);
        match self {
            Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::PendingChallenge { after: Some(_) } => Ok(match drain_until {
                Some(until) if !unsafe_to_drain => Self::Draining { until },
                Some(_) | None => Self::Closed { at: now },
            }),
            Self::PendingChallenge { after: None }
            | Self::Draining { .. }
            | Self::Closed { .. }
            | Self::Revoked { .. }
            | Self::Expired { .. } => Err(ended(&self)),
        }
    }

    /// Nothing drains any more: its time is over, or its endpoint may not be sent to. DRAINING → CLOSED;
    /// REVOKED and EXPIRED stay what they are.
    pub fn end_drain(self, now: Timestamp) -> Result<Self, Reason> {
        match self {
            Self::Draining { .. } => Ok(Self::Closed { at: now }),
            closed @ Self::Closed { .. } => Ok(closed),
            Self::Revoked { at, .. } => Ok(Self::Revoked { at, drain_until: None }),
            Self::Expired { at, .. } => Ok(Self::Expired { at, drain_until: None }),
            Self::PendingChallenge { .. }
            | Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. } => Err(Reason::StateForbids),
        }
    }

    /// Any non-terminal state → REVOKED. Revoking what is revoked changes nothing.
    ///
    /// `drain_until` lets registered deliveries run out; never where the generation was suspended for a
    /// reason that forbids it.
    pub fn revoke(self, drain_until: Option<Timestamp>, now: Timestamp) -> Result<Self, Reason> {
        match self {
            revoked @ Self::Revoked { .. } => Ok(revoked),
            Self::Closed { .. } | Self::Expired { .. } => Err(ended(&self)),
            Self::PendingChallenge { .. }
            | Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::Draining { .. } => {
                Ok(Self::Revoked { at: now, drain_until: self.may_drain(drain_until) })
            }
        }
    }

    /// Any non-terminal state → EXPIRED. What has expired stays so.
    pub fn expire(self, drain_until: Option<Timestamp>, now: Timestamp) -> Result<Self, Reason> {
        match self {
            expired @ Self::Expired { .. } => Ok(expired),
            Self::Closed { .. } | Self::Revoked { .. } => Err(ended(&self)),
            Self::PendingChallenge { .. }
            | Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::Draining { .. } => {
                Ok(Self::Expired { at: now, drain_until: self.may_drain(drain_until) })
            }
        }
    }

    fn may_drain(&self, until: Option<Timestamp>) -> Option<Timestamp> {
        let forbidden = self.suspension().is_some_and(SuspendReason::forces_quarantine);
        // One that already drains does not get longer.
        let own = self.drains_until();
        until.filter(|_| !forbidden).map(|until| own.map_or(until, |own| own.min(until)))
    }
}
