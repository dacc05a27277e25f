//! A generation: what it binds, the state it is in, and when it served. Its number is never used again.

mod flat;
mod key_change;
mod state;
mod suspend;
mod transition;

#[cfg(test)]
mod tests;

pub use key_change::KeyChange;
pub use state::GenerationState;
pub use suspend::SuspendReason;

use serde::{Deserialize, Serialize};

use super::Terms;
use crate::challenge::Purpose;
use crate::endpoint::History;
use crate::id::Generation;
use crate::reason::Reason;
use crate::time::Timestamp;

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
    /// Since when events are planned under it; one that was never ACTIVE plans nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_from: Option<Timestamp>,
    /// Until when: another generation took over, or it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served_until: Option<Timestamp>,
    /// Challenges sent since the last request for one.
    pub challenge_tries: u32,
    /// Why the last challenge failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_challenge_failure: Option<Reason>,
    /// It puts another subscriber key in the place of the serving generation's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_change: Option<KeyChange>,
    /// The addresses its endpoint has had.
    #[serde(default, skip_serializing_if = "History::is_empty")]
    pub addresses: History,
}

impl GenerationRecord {
    /// A new generation that nobody has proved yet.
    pub fn staged(generation: Generation, terms: Terms, now: Timestamp) -> Self {
        Self {
            generation,
            state: GenerationState::STAGED,
            terms,
            created_at: now,
            served_from: None,
            served_until: None,
            challenge_tries: 0,
            last_challenge_failure: None,
            key_change: None,
            addresses: History::default(),
        }
    }

    /// Whether an event accepted at `at` belongs to it: it was active then, or suspended after having been.
    pub fn served_at(&self, at: Timestamp) -> bool {
        self.served_from.is_some_and(|from| from <= at) && self.served_until.is_none_or(|until| at < until)
    }

    /// Moves to `state` and keeps the serving interval true: it begins with the first activation and ends
    /// when nothing can be planned any more, and no suspension in between moves either end.
    pub fn move_to(&mut self, state: GenerationState, now: Timestamp) {
        if matches!(state, GenerationState::Active { .. }) {
            self.served_from.get_or_insert(now);
        }
        if !state.serves() && self.served_from.is_some() {
            self.served_until.get_or_insert(now);
        }
        self.state = state;
    }

    /// What a challenge of it would prove now; none where it takes none.
    pub fn challenge_purpose(&self) -> Option<Purpose> {
        if self.key_change.as_ref().is_some_and(|change| !change.approved) {
            return None;
        }
        match &self.state {
            GenerationState::PendingChallenge { after: Some(reason) } if reason.needs_recovery() => {
                Some(Purpose::Recover)
            }
            GenerationState::PendingChallenge { .. } => Some(Purpose::Activate),
            GenerationState::Active { .. } => Some(Purpose::Recheck),
            GenerationState::Rotating { .. }
            | GenerationState::Suspended { .. }
            | GenerationState::Draining { .. }
            | GenerationState::Closed { .. }
            | GenerationState::Revoked { .. }
            | GenerationState::Expired { .. } => None,
        }
    }
}
