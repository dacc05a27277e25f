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
    match state {
        GenerationState::Active { .. } | GenerationState::Rotating { .. } => Ok(Admitted { generation }),
        GenerationState::Draining { until } if now < *until => Ok(Admitted { generation }),
        GenerationState::PendingChallenge | GenerationState::Suspended { .. } => Err(Hold::Held),
        GenerationState::Draining { .. } | GenerationState::Closed { .. } => {
            Err(Hold::Never(Reason::GenerationStale))
        }
        GenerationState::Revoked { .. } => Err(Hold::Never(Reason::GenerationRevoked)),
        GenerationState::Expired { .. } => Err(Hold::Never(Reason::GenerationNotServing)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::SuspendReason;

    #[test]
    fn only_a_serving_generation_is_admitted() {
        let now = Timestamp::from_unix(100);
        let verdict = |state: GenerationState| admit(Generation(3), &state, now).map(|a| a.generation());
        let earlier = Timestamp::from_unix(1);
        assert_eq!(verdict(GenerationState::Active { activated_at: earlier }), Ok(Generation(3)));
        assert_eq!(verdict(GenerationState::Rotating { activated_at: earlier }), Ok(Generation(3)));
        assert_eq!(
            verdict(GenerationState::Draining { until: Timestamp::from_unix(101) }),
            Ok(Generation(3))
        );
        assert_eq!(
            verdict(GenerationState::Draining { until: now }),
            Err(Hold::Never(Reason::GenerationStale))
        );
        assert_eq!(verdict(GenerationState::PendingChallenge), Err(Hold::Held));
        let suspended =
            GenerationState::Suspended { at: now, reason: SuspendReason::Operator, since: earlier };
        assert_eq!(verdict(suspended), Err(Hold::Held));
        assert_eq!(
            verdict(GenerationState::Revoked { at: now }),
            Err(Hold::Never(Reason::GenerationRevoked))
        );
    }
}
