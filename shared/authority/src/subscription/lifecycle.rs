//! A generation's life beyond its challenge: suspended, brought back, superseded, revoked, expired. Each is
//! one commit with everything that follows from it, so that a claim sees all of it or nothing.

use hookproof_core::id::Generation;
use hookproof_core::keys::CredentialState;
use hookproof_core::subscription::{GenerationState, OldGenerations, SuspendReason};
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::Sql;
use serde::{Deserialize, Serialize};

use super::command::Described;
use super::evidence::What;
use super::session::{LoadedGeneration, Session};
use super::store::Waiting;

/// Longest time a message may be late and still find its delivery draining.
const QUEUE_DELAY: Span = Span::minutes(10);

/// What the caller believes the subscription to be at; a change that finds it elsewhere does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expected {
    /// The generation shown.
    pub generation: Generation,
    /// The revision.
    pub revision: u64,
}

impl<S: Sql> Session<'_, S> {
    /// Compare-and-set: refuses when the subscription has moved on.
    pub(super) fn expect(&self, expected: Option<Expected>) -> Result<(), Refusal> {
        let Some(expected) = expected else { return Ok(()) };
        let found =
            Expected { generation: self.shown()?.record.generation, revision: self.head.record.revision };
        if found == expected {
            return Ok(());
        }
        let words = format!(
            "the subscription is at generation {}, revision {}, not at generation {}, revision {}",
            found.generation, found.revision, expected.generation, expected.revision
        );
        Err(Refusal::new(Reason::PreconditionFailed, words))
    }

    /// Whether only the recovery credential leads on from here.
    pub(super) fn refuse_before_recovery(&self) -> Result<(), Refusal> {
        let suspension = self.serving().and_then(|g| match &g.record.state {
            GenerationState::Suspended { reason, .. } => Some(*reason),
            GenerationState::PendingChallenge { .. }
            | GenerationState::Active { .. }
            | GenerationState::Rotating { .. }
            | GenerationState::Draining { .. }
            | GenerationState::Closed { .. }
            | GenerationState::Revoked { .. }
            | GenerationState::Expired { .. } => None,
        });
        match suspension.filter(|reason| reason.needs_recovery()) {
            None => Ok(()),
            Some(reason) => {
                let words = format!(
                    "the subscription is suspended ({}); only POST …/recover with the recovery credential leads on",
                    reason.name()
                );
                Err(Refusal::new(Reason::RecoveryRequired, words))
            }
        }
    }

    /// Suspends what serves, at an operator's wish or because of what they found.
    pub(super) async fn suspend_serving(&mut self, reason: SuspendReason) -> Result<Described, Refusal> {
        let Some(serving) = self.serving() else {
            let words = format!("a {} subscription cannot be suspended", self.shown()?.record.state.name());
            return Err(Refusal::new(Reason::StateForbids, words));
        };
        let (number, returning) = (
            serving.record.generation,
            matches!(serving.record.state, GenerationState::PendingChallenge { .. }),
        );
        if returning {
            let words = "it waits for its challenge already: nothing is sent until that is answered";
            return Err(Refusal::new(Reason::StateForbids, words));
        }
        self.suspend(number, reason).await?;
        self.describe().await
    }

    /// Suspends a generation where its state allows it; one that drains ends draining. Evidence says so.
    pub(super) async fn suspend(&mut self, number: Generation, reason: SuspendReason) -> Result<(), Refusal> {
        let generation = self.generation(number)?.clone();
        if generation.record.state.drains_until().is_some() {
            return self.end_drain(generation).await;
        }
        let Ok(suspended) = generation.record.state.clone().suspend(reason, self.now()) else {
            return Ok(());
        };
        if suspended == generation.record.state {
            return Ok(());
        }
        let mut generation = generation;
        generation.challenge_due = None;
        self.move_generation(generation, suspended).await?;
        if reason.needs_recovery() {
            self.discard_staged().await?;
        }
        Ok(())
    }

    /// A suspended generation asks to serve again: it is challenged at once.
    pub(super) async fn resume(&mut self) -> Result<Described, Refusal> {
        let Some(serving) = self.serving().cloned() else {
            let words = format!("a {} subscription cannot be resumed", self.shown()?.record.state.name());
            return Err(Refusal::new(Reason::StateForbids, words));
        };
        self.reactivate(serving, false).await?;
        self.describe().await
    }

    /// SUSPENDED → PENDING_CHALLENGE with a challenge due at once; what is not suspended stays as it is.
    pub(super) async fn reactivate(
        &mut self,
        mut generation: LoadedGeneration,
        recovered: bool,
    ) -> Result<(), Refusal> {
        let before = generation.record.state.clone();
        let next = match before.clone().reactivate(recovered) {
            Ok(next) => next,
            Err(reason) => {
                self.refuse_before_recovery()?;
                let words =
                    "this generation's owner is no longer the subscription's; only the next one can serve";
                return Err(Refusal::new(reason, words));
            }
        };
        if next == before {
            return Ok(());
        }
        generation.record.challenge_tries = 0;
        generation.record.last_challenge_failure = None;
        generation.challenge_due = Some(self.now());
        self.move_generation(generation, next).await
    }

    /// Revokes the subscription: every generation ends, the number is raised, nothing is signed any more.
    pub(super) async fn revoke(
        &mut self,
        expected: Option<Expected>,
        registered: OldGenerations,
    ) -> Result<Described, Refusal> {
        let shown = self.shown()?;
        if matches!(shown.record.state, GenerationState::Revoked { .. }) {
            return self.describe().await;
        }
        if shown.record.state.is_terminal() {
            let words = format!("a {} subscription cannot be revoked", shown.record.state.name());
            return Err(Refusal::new(Reason::StateForbids, words));
        }
        self.expect(expected)?;
        self.head.record.last_generation = Generation(self.head.record.last_generation.0 + 1);
        let now = self.now();
        self.end_all(registered, |state, until| state.revoke(until, now)).await?;
        self.describe().await
    }

    /// Past `expires_at` everything that has not ended does.
    pub(super) async fn expire(&mut self) -> Result<(), Refusal> {
        let now = self.now();
        if self.head.record.expires_at.is_none_or(|at| now < at) {
            return Ok(());
        }
        let policy = self.shown()?.record.terms.old_generations;
        self.end_all(policy, |state, until| state.expire(until, now)).await
    }

    async fn end_all(
        &mut self,
        registered: OldGenerations,
        end: impl Fn(GenerationState, Option<Timestamp>) -> Result<GenerationState, Reason>,
    ) -> Result<(), Refusal> {
        let open: Vec<_> =
            self.generations.iter().filter(|g| !g.record.state.is_terminal()).cloned().collect();
        for mut generation in open {
            let until = self.drain_until(&generation, registered);
            let next = end(generation.record.state.clone(), until)?;
            generation.challenge_due = None;
            self.move_generation(generation, next).await?;
        }
        Ok(())
    }

    /// Ends the draining of generations whose time is over.
    pub(super) async fn end_drains(&mut self) -> Result<(), Refusal> {
        let now = self.now();
        let over = |g: &&LoadedGeneration| g.record.state.drains_until().is_some_and(|until| until <= now);
        let over: Vec<_> = self.generations.iter().filter(over).cloned().collect();
        for generation in over {
            self.end_drain(generation).await?;
        }
        Ok(())
    }

    async fn end_drain(&mut self, generation: LoadedGeneration) -> Result<(), Refusal> {
        let next = generation.record.state.clone().end_drain(self.now())?;
        self.move_generation(generation, next).await
    }

    /// Generation `number` has become active: whatever served before it drains or closes.
    pub(super) async fn supersede(&mut self, number: Generation) -> Result<(), Refusal> {
        let older: Vec<_> = self
            .generations
            .iter()
            .filter(|g| g.record.generation != number && g.record.state.serves())
            .cloned()
            .collect();
        for mut generation in older {
            let until = self.drain_until(&generation, generation.record.terms.old_generations);
            let next = generation.record.state.clone().supersede(until, self.now())?;
            generation.challenge_due = None;
            self.move_generation(generation, next).await?;
        }
        Ok(())
    }

    /// The staged generation, if there is one, will never serve.
    pub(super) async fn discard_staged(&mut self) -> Result<(), Refusal> {
        let Some(mut staged) = self.staged().cloned() else { return Ok(()) };
        let next = staged.record.state.clone().revoke(None, self.now())?;
        staged.challenge_due = None;
        self.move_generation(staged, next).await
    }

    fn drain_until(&self, generation: &LoadedGeneration, policy: OldGenerations) -> Option<Timestamp> {
        match policy {
            OldGenerations::Drain => Some(self.now() + generation.record.terms.retry.deadline + QUEUE_DELAY),
            OldGenerations::Quarantine => None,
        }
    }

    /// Moves a generation on, with what follows: evidence, its deliveries, its challenge and its keys.
    pub(super) async fn move_generation(
        &mut self,
        mut generation: LoadedGeneration,
        next: GenerationState,
    ) -> Result<(), Refusal> {
        let (number, now) = (generation.record.generation, self.now());
        let changes_name = generation.record.state.name() != next.name();
        generation.record.move_to(next, now);
        let state = generation.record.state.clone();
        self.save_generation(generation).await?;
        if changes_name {
            let reason = state.suspension();
            self.record(What::GenerationState { generation: number, state: state.name().to_owned(), reason })
                .await?;
        }
        match &state {
            // Held deliveries flow again.
            GenerationState::Active { .. } | GenerationState::Draining { .. } => {
                self.tables.hurry(number, Waiting::Held, now).await
            }
            GenerationState::PendingChallenge { .. } | GenerationState::Rotating { .. } => Ok(()),
            GenerationState::Suspended { .. } => self.tables.withdraw_challenge(number).await,
            GenerationState::Closed { .. }
            | GenerationState::Revoked { .. }
            | GenerationState::Expired { .. } => {
                self.tables.withdraw_challenge(number).await?;
                let waiting = if state.drains_until().is_some() { Waiting::Held } else { Waiting::All };
                // What waits is buried by the timer, which is due at once.
                self.tables.hurry(number, waiting, now).await?;
                self.retire_keys(number, state.drains_until().is_some()).await
            }
        }
    }

    /// The keys of an ended generation: while it drains they sign on; afterwards receipts that are on their
    /// way still verify for a while; those of one that never served prove nothing any more.
    async fn retire_keys(&mut self, number: Generation, drains: bool) -> Result<(), Refusal> {
        if drains {
            return Ok(());
        }
        let record = &self.generation(number)?.record;
        let overlap = record.served_from.map(|_| self.now() + record.terms.retry.deadline + QUEUE_DELAY);
        for mut row in self.tables.credentials(number).await? {
            let credential = &mut row.credential;
            match (credential.state, overlap) {
                (CredentialState::Active, Some(until)) => {
                    credential.state = CredentialState::VerifyOnly;
                    credential.verify_until = Some(until);
                }
                (CredentialState::NotBefore, _) | (CredentialState::Active, None) => {
                    credential.state = CredentialState::Revoked;
                }
                (CredentialState::VerifyOnly | CredentialState::Revoked, _) => continue,
            }
            self.tables.put_credential(number, &row).await?;
        }
        Ok(())
    }
}
