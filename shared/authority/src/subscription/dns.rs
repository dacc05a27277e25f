//! An endpoint whose name answers otherwise than before is not sent to again until somebody has looked:
//! the generation is suspended in the commit that records the attempt.

use hookproof_core::Refusal;
use hookproof_core::endpoint::{Change, Lookup};
use hookproof_core::id::Generation;
use hookproof_core::subscription::{GenerationState, SuspendReason};
use hookproof_ports::Sql;

use super::session::Session;

impl<S: Sql> Session<'_, S> {
    /// Judges the addresses of an attempt under `number`, and remembers those that may be remembered.
    ///
    /// Writes the generation only where something changed: the same answer again costs a row a day.
    pub(super) async fn heed_addresses(
        &mut self,
        number: Generation,
        lookup: &Lookup,
    ) -> Result<(), Refusal> {
        let now = self.now();
        match self.generation(number)?.record.addresses.judge(lookup, now) {
            Change::NotPublic => self.suspend(number, SuspendReason::DnsPrivate).await,
            Change::Disjoint => {
                self.suspend(number, SuspendReason::DnsChanged).await?;
                self.rechallenge_now(number).await
            }
            Change::Unchanged | Change::Widened => {
                let mut generation = self.generation(number)?.clone();
                if generation.record.addresses.learn(lookup, now) {
                    self.save_unseen(generation).await?;
                }
                Ok(())
            }
        }
    }

    /// A generation whose addresses changed is challenged at once; its proof starts from the new ones. One
    /// that is suspended for another reason, or waits already, stays as it is.
    pub(super) async fn rechallenge_now(&mut self, number: Generation) -> Result<(), Refusal> {
        let generation = self.generation(number)?.clone();
        match generation.record.state {
            GenerationState::Suspended { reason: SuspendReason::DnsChanged, .. } => {
                self.reactivate(generation, false).await
            }
            GenerationState::PendingChallenge { .. }
            | GenerationState::Active { .. }
            | GenerationState::Rotating { .. }
            | GenerationState::Suspended { .. }
            | GenerationState::Draining { .. }
            | GenerationState::Closed { .. }
            | GenerationState::Revoked { .. }
            | GenerationState::Expired { .. } => Ok(()),
        }
    }
}
