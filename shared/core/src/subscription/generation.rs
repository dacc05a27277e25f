//! The states of a generation. A transition consumes the state; what is not in the table is refused.

use serde::{Deserialize, Serialize};

use super::Terms;
use crate::challenge::Proved;
use crate::id::Generation;
use crate::reason::Reason;
use crate::time::Timestamp;

/// Why a generation is SUSPENDED.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspendReason {
    /// Key compromised.
    Compromised,
    /// The endpoint answered 410.
    EndpointGone,
    /// Asked for by an operator; also pause.
    Operator,
}

/// Where a generation is. In JSON a flat object with its `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
pub enum GenerationState {
    /// Nothing is sent but challenges.
    PendingChallenge,
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
        /// Since when it had served; one that never did plans nothing.
        since: Timestamp,
    },
    /// A newer generation serves; registered deliveries run out.
    Draining {
        /// Until when.
        until: Timestamp,
    },
    /// Served and done.
    Closed {
        /// When.
        at: Timestamp,
    },
    /// Revoked; terminal.
    Revoked {
        /// When.
        at: Timestamp,
    },
    /// Past its expiry; terminal.
    Expired {
        /// When.
        at: Timestamp,
    },
}

/// The JSON of a [`GenerationState`].
#[derive(Serialize, Deserialize)]
struct Flat {
    state: Name,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    activated_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<SuspendReason>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum Name {
    PendingChallenge,
    Active,
    Rotating,
    Suspended,
    Draining,
    Closed,
    Revoked,
    Expired,
}

impl From<GenerationState> for Flat {
    fn from(state: GenerationState) -> Self {
        let bare = |state| Self { state, activated_at: None, at: None, until: None, reason: None };
        match state {
            GenerationState::PendingChallenge => bare(Name::PendingChallenge),
            GenerationState::Active { activated_at } => {
                Self { activated_at: Some(activated_at), ..bare(Name::Active) }
            }
            GenerationState::Rotating { activated_at } => {
                Self { activated_at: Some(activated_at), ..bare(Name::Rotating) }
            }
            GenerationState::Suspended { at, reason, since } => Self {
                at: Some(at),
                reason: Some(reason),
                activated_at: Some(since),
                ..bare(Name::Suspended)
            },
            GenerationState::Draining { until } => Self { until: Some(until), ..bare(Name::Draining) },
            GenerationState::Closed { at } => Self { at: Some(at), ..bare(Name::Closed) },
            GenerationState::Revoked { at } => Self { at: Some(at), ..bare(Name::Revoked) },
            GenerationState::Expired { at } => Self { at: Some(at), ..bare(Name::Expired) },
        }
    }
}

impl TryFrom<Flat> for GenerationState {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let since = flat.activated_at.ok_or("this state has an activation time");
        let at = flat.at.ok_or("this state has a time");
        Ok(match flat.state {
            Name::PendingChallenge => Self::PendingChallenge,
            Name::Active => Self::Active { activated_at: since? },
            Name::Rotating => Self::Rotating { activated_at: since? },
            Name::Suspended => Self::Suspended {
                at: at?,
                reason: flat.reason.ok_or("this state has a reason")?,
                since: since?,
            },
            Name::Draining => Self::Draining { until: flat.until.ok_or("this state has an end")? },
            Name::Closed => Self::Closed { at: at? },
            Name::Revoked => Self::Revoked { at: at? },
            Name::Expired => Self::Expired { at: at? },
        })
    }
}

impl GenerationState {
    /// The state's name on the wire and in storage.
    pub fn name(&self) -> &'static str {
        match self {
            Self::PendingChallenge => "PENDING_CHALLENGE",
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

    /// PENDING_CHALLENGE → ACTIVE, on one proof.
    pub fn activate(self, _proof: Proved, now: Timestamp) -> Result<Self, Reason> {
        match self {
            Self::PendingChallenge => Ok(Self::Active { activated_at: now }),
            Self::Active { .. } | Self::Rotating { .. } => Err(Reason::ChallengeConsumed),
            Self::Suspended { .. } | Self::Draining { .. } => Err(Reason::StateForbids),
            Self::Closed { .. } | Self::Revoked { .. } | Self::Expired { .. } => {
                Err(Reason::GenerationRevoked)
            }
        }
    }

    /// ACTIVE, ROTATING → SUSPENDED. Suspending what is suspended changes nothing.
    pub fn suspend(self, reason: SuspendReason, now: Timestamp) -> Result<Self, Reason> {
        match self {
            Self::Active { activated_at: since } | Self::Rotating { activated_at: since } => {
                Ok(Self::Suspended { at: now, reason, since })
            }
            suspended @ Self::Suspended { .. } => Ok(suspended),
            Self::PendingChallenge | Self::Draining { .. } => Err(Reason::StateForbids),
            Self::Closed { .. } | Self::Revoked { .. } | Self::Expired { .. } => {
                Err(Reason::GenerationRevoked)
            }
        }
    }

    /// Any non-terminal state → REVOKED. Revoking what is revoked changes nothing.
    pub fn revoke(self, now: Timestamp) -> Result<Self, Reason> {
        match self {
            revoked @ Self::Revoked { .. } => Ok(revoked),
            Self::Closed { .. } | Self::Expired { .. } => Err(Reason::StateForbids),
            Self::PendingChallenge
            | Self::Active { .. }
            | Self::Rotating { .. }
            | Self::Suspended { .. }
            | Self::Draining { .. } => Ok(Self::Revoked { at: now }),
        }
    }
}

/// A generation as the authority keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GenerationRecord {
    /// Which.
    pub generation: Generation,
    /// Where it is.
    pub state: GenerationState,
    /// What it binds.
    pub terms: Terms,
    /// When it was made.
    pub created_at: Timestamp,
    /// Challenges sent since the last request for one.
    pub challenge_tries: u32,
    /// Why the last challenge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_challenge_failure: Option<Reason>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at() -> Timestamp {
        Timestamp::from_unix(1)
    }

    #[test]
    fn terminal_states_never_change() {
        for state in [GenerationState::Closed { at: at() }, GenerationState::Expired { at: at() }] {
            assert!(state.is_terminal());
            assert!(state.clone().suspend(SuspendReason::Operator, at()).is_err());
            assert!(state.revoke(at()).is_err());
        }
        let revoked = GenerationState::Revoked { at: at() };
        assert_eq!(revoked.clone().revoke(Timestamp::from_unix(9)), Ok(revoked));
    }

    #[test]
    fn a_generation_that_never_served_cannot_be_suspended() {
        assert_eq!(
            GenerationState::PendingChallenge.suspend(SuspendReason::Operator, at()),
            Err(Reason::StateForbids)
        );
    }
}
