//! The JSON of a [`GenerationState`]: one flat object, which costs a WebAssembly module far less than a
//! tagged enum.

use serde::{Deserialize, Serialize};

use super::{GenerationState, SuspendReason};
use crate::time::Timestamp;

#[derive(Serialize, Deserialize)]
pub(super) struct Flat {
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
            GenerationState::PendingChallenge { after } => {
                Self { reason: after, ..bare(Name::PendingChallenge) }
            }
            GenerationState::Active { activated_at } => {
                Self { activated_at: Some(activated_at), ..bare(Name::Active) }
            }
            GenerationState::Rotating { activated_at } => {
                Self { activated_at: Some(activated_at), ..bare(Name::Rotating) }
            }
            GenerationState::Suspended { at, reason } => {
                Self { at: Some(at), reason: Some(reason), ..bare(Name::Suspended) }
            }
            GenerationState::Draining { until } => Self { until: Some(until), ..bare(Name::Draining) },
            GenerationState::Closed { at } => Self { at: Some(at), ..bare(Name::Closed) },
            GenerationState::Revoked { at, drain_until } => {
                Self { at: Some(at), until: drain_until, ..bare(Name::Revoked) }
            }
            GenerationState::Expired { at, drain_until } => {
                Self { at: Some(at), until: drain_until, ..bare(Name::Expired) }
            }
        }
    }
}

impl TryFrom<Flat> for GenerationState {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        let since = flat.activated_at.ok_or("this state has an activation time");
        let at = flat.at.ok_or("this state has a time");
        let drain_until = flat.until;
        Ok(match flat.state {
            Name::PendingChallenge => Self::PendingChallenge { after: flat.reason },
            Name::Active => Self::Active { activated_at: since? },
            Name::Rotating => Self::Rotating { activated_at: since? },
            Name::Suspended => {
                Self::Suspended { at: at?, reason: flat.reason.ok_or("this state has a reason")? }
            }
            Name::Draining => Self::Draining { until: flat.until.ok_or("this state has an end")? },
            Name::Closed => Self::Closed { at: at? },
            Name::Revoked => Self::Revoked { at: at?, drain_until },
            Name::Expired => Self::Expired { at: at?, drain_until },
        })
    }
}
