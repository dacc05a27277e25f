//! Eligibility: the one place that says whether a generation may be sent to now.

use super::GenerationState;
use crate::id::Generation;
use crate::reason::Reason;
use crate::time::Timestamp;

/// Witness that a delivery's own generation may be sent to, in the transaction that asked.
#[derive(Debug)]
pub struct Admitted {
    generation: Generation,
}

impl Admitted {
    /// The generation that was admitted.
    pub fn generation(&self) -> Generation {
        self.generation
    }
}

/// Why a delivery is not sent now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// Kept as it is; it flows when the same generation is active again.
    Held,
    /// Never to be sent.
    Never(Reason),
}

/// Whether a delivery of `generation`, which is in `state`, may be attempted at `now`.
pub fn admit(generation: Generation, state: &GenerationState, now: Timestamp) -> Result<Admitted, Hold> {
    let drains = state.drains_until().is_some_and(|until| now < until);
    match state {
        GenerationState::Active { .. } | GenerationState::Rotating { .. } => Ok(Admitted { generation }),
        GenerationState::Draining { .. }
        | GenerationState::Revoked { .. }
        | GenerationState::Expired { .. }
            if drains =>
        {
            Ok(Admitted { generation })
        }
        GenerationState::PendingChallenge { .. } | GenerationState::Suspended { .. } => Err(Hold::Held),
        GenerationState::Draining { .. } | GenerationState::Closed { .. } => {
            Err(Hold::Never(Reason::GenerationStale))
        }
        GenerationState::Revoked { .. } => Err(Hold::Never(Reason::GenerationRevoked)),
        GenerationState::Expired { .. } => Err(Hold::Never(Reason::GenerationExpired)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::SuspendReason;

    #[test]
    fn only_a_serving_or_draining_generation_is_admitted() {
        let now = Timestamp::from_unix(100);
        let (earlier, later) = (Timestamp::from_unix(1), Timestamp::from_unix(101));
        let verdict = |state: GenerationState| admit(Generation(3), &state, now).map(|a| a.generation());
        let admitted = [
            GenerationState::Active { activated_at: earlier },
            GenerationState::Rotating { activated_at: earlier },
            GenerationState::Draining { until: later },
            GenerationState::Revoked { at: earlier, drain_until: Some(later) },
            GenerationState::Expired { at: earlier, drain_until: Some(later) },
        ];
        for state in admitted {
            assert_eq!(verdict(state), Ok(Generation(3)));
        }
        for after in [None, Some(SuspendReason::Operator)] {
            assert_eq!(verdict(GenerationState::PendingChallenge { after }), Err(Hold::Held));
        }
        for reason in SuspendReason::ALL {
            assert_eq!(verdict(GenerationState::Suspended { at: earlier, reason }), Err(Hold::Held));
        }
        let never = [
            (GenerationState::Draining { until: now }, Reason::GenerationStale),
            (GenerationState::Closed { at: earlier }, Reason::GenerationStale),
            (GenerationState::Revoked { at: earlier, drain_until: None }, Reason::GenerationRevoked),
            (GenerationState::Revoked { at: earlier, drain_until: Some(now) }, Reason::GenerationRevoked),
            (GenerationState::Expired { at: earlier, drain_until: None }, Reason::GenerationExpired),
            (GenerationState::Expired { at: earlier, drain_until: Some(now) }, Reason::GenerationExpired),
        ];
        for (state, reason) in never {
            assert_eq!(verdict(state), Err(Hold::Never(reason)));
        }
    }
}
