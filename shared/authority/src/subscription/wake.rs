//! The timer: what ran out moves on, what is due is announced. Losing an announcement costs a minute,
//! never the work.

use hookproof_core::Refusal;
use hookproof_core::challenge::TRIES;
use hookproof_core::ledger::State;
use hookproof_core::subscription::{Hold, admit};
use hookproof_core::{Reason, time::Timestamp};
use hookproof_ports::Sql;

use super::evidence::What;
use super::session::{LoadedGeneration, Session};
use super::{Wake, store::DeliveryRow};

/// Most deliveries one wake-up looks at; the rest are due again at once.
const SCAN: u32 = 200;

impl<S: Sql> Session<'_, S> {
    /// Runs the timer.
    pub(super) async fn wake(&mut self) -> Result<Vec<Wake>, Refusal> {
        let mut wakes = Vec::new();
        self.expire().await?;
        self.end_drains().await?;
        if self.wake_deliveries().await? {
            wakes.push(Wake::Deliveries(self.subscription.clone()));
        }
        if self.wake_challenges().await? {
            wakes.push(Wake::Challenge(self.subscription.clone()));
        }
        Ok(wakes)
    }

    async fn wake_deliveries(&mut self) -> Result<bool, Refusal> {
        let now = self.now();
        let mut claimable = false;
        for row in self.tables.due_deliveries(now, SCAN).await? {
            let row = self.step_over(row).await?;
            if !row.delivery.is_claimable(now) {
                continue;
            }
            match self.hold_back(&row, now)? {
                Some(Hold::Held) => {
                    let delivery = row.delivery.clone().hold(now);
                    self.put_moved(DeliveryRow { delivery, ..row }).await?;
                }
                Some(Hold::Never(reason)) => {
                    let delivery = row.delivery.clone().dead_letter(reason, now)?;
                    self.put_moved(DeliveryRow { delivery, ..row }).await?;
                }
                None => claimable = true,
            }
        }
        Ok(claimable)
    }

    fn hold_back(&self, row: &DeliveryRow, now: Timestamp) -> Result<Option<Hold>, Refusal> {
        debug_assert!(!matches!(row.delivery.state, State::Dispatching { .. }));
        let generation = self.generation(row.delivery.generation)?;
        Ok(admit(row.delivery.generation, &generation.record.state, now).err())
    }

    /// Announces challenges that are due; one whose answer never came has failed.
    async fn wake_challenges(&mut self) -> Result<bool, Refusal> {
        let now = self.now();
        let mut announced = false;
        let due: Vec<LoadedGeneration> = self
            .generations
            .iter()
            .filter(|g| g.challenge_due.is_some_and(|due| due <= now))
            .cloned()
            .collect();
        for mut generation in due {
            let number = generation.record.generation;
            if let Some(lost) = self.tables.challenge(number).await? {
                self.tables.consume_challenge(&lost.id).await?;
                let reason = Some(Reason::ChallengeNoAnswer);
                self.record(What::ChallengeJudged { challenge_id: lost.id, generation: number, reason })
                    .await?;
                generation.challenge_due = None;
                self.not_proved(generation, Reason::ChallengeNoAnswer).await?;
                continue;
            }
            let takes_one = generation.record.challenge_purpose().is_some();
            if takes_one && generation.record.challenge_tries < TRIES {
                announced = true;
            } else {
                generation.challenge_due = None;
                self.save_generation(generation).await?;
            }
        }
        Ok(announced)
    }
}
