//! One command's view of its subscription: what was loaded, what evidence it adds, and the one head
//! row that is written when it commits.

use std::str::FromStr;

use hookproof_core::evidence::{ChainScope, Entry};
use hookproof_core::id::{Generation, Scope, SubscriptionId};
use hookproof_core::subscription::GenerationRecord;
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Alarm, Commit, Context, Sql};

use super::evidence::What;
use super::store::{HeadRow, Tables, chain_scope};
use super::{Authority, Reply, Wake};
use crate::idempotency::{Once, Records};
use crate::rows::to_json;

/// After announcing work the timer waits this long before it announces the same work again.
const REPEAT: Span = Span::seconds(60);

/// A generation with the time its next challenge is due.
#[derive(Clone)]
pub(super) struct LoadedGeneration {
    pub(super) record: GenerationRecord,
    pub(super) challenge_due: Option<Timestamp>,
}

pub(super) struct Session<'a, S> {
    pub(super) authority: &'a Authority,
    pub(super) context: &'a Context<'a>,
    pub(super) tables: Tables<'a, S>,
    pub(super) subscription: SubscriptionId,
    pub(super) head: HeadRow,
    /// Newest first.
    pub(super) generations: Vec<LoadedGeneration>,
    changed: bool,
}

impl Authority {
    /// Loads the subscription; one that does not exist is unknown, and nothing is written for it.
    pub(super) async fn open<'a, S: Sql>(
        &'a self,
        context: &'a Context<'a>,
        sql: &'a S,
    ) -> Result<Session<'a, S>, Refusal> {
        let subscription =
            SubscriptionId::from_str(context.key).map_err(|_| Refusal::from(Reason::SubscriptionUnknown))?;
        let tables = Tables { sql, subscription: context.key };
        let head = tables.head().await?.ok_or(Reason::SubscriptionUnknown)?;
        let loaded = |(record, challenge_due)| LoadedGeneration { record, challenge_due };
        let generations = tables.generations().await?.into_iter().map(loaded).collect();
        Ok(Session { authority: self, context, tables, subscription, head, generations, changed: false })
    }
}

impl<S: Sql> Session<'_, S> {
    pub(super) fn now(&self) -> Timestamp {
        self.context.now
    }

    pub(super) fn chain_scope(&self) -> ChainScope {
        chain_scope(&self.authority.issuer, &self.head.record, &self.subscription)
    }

    pub(super) fn scope(&self, generation: Generation) -> Scope {
        Scope {
            issuer: self.authority.issuer.clone(),
            tenant: self.head.record.tenant.clone(),
            environment: self.head.record.environment,
            subscription: self.subscription.clone(),
            generation,
        }
    }

    /// The generation that serves, else the newest: what the subscription's own state shows.
    pub(super) fn shown(&self) -> Result<&LoadedGeneration, Refusal> {
        self.serving().or_else(|| self.generations.first()).ok_or_else(|| Reason::InternalCorrupt.into())
    }

    /// The generation that serves, or would if it were not suspended.
    pub(super) fn serving(&self) -> Option<&LoadedGeneration> {
        self.generations.iter().find(|g| g.record.state.serves())
    }

    /// The generation that waits for its first proof.
    pub(super) fn staged(&self) -> Option<&LoadedGeneration> {
        self.generations.iter().find(|g| g.record.state.is_staged())
    }

    pub(super) fn generation(&self, generation: Generation) -> Result<&LoadedGeneration, Refusal> {
        let found = self.generations.iter().find(|g| g.record.generation == generation);
        found.ok_or_else(|| Reason::InternalCorrupt.into())
    }

    /// Replaces a generation, or adds one that is newer than all, in memory and in its table.
    pub(super) async fn save_generation(&mut self, changed: LoadedGeneration) -> Result<(), Refusal> {
        self.tables.put_generation(&changed.record, changed.challenge_due).await?;
        let number = changed.record.generation;
        match self.generations.iter_mut().find(|g| g.record.generation == number) {
            Some(slot) => *slot = changed,
            None => self.generations.insert(0, changed),
        }
        self.head.record.revision += 1;
        self.changed = true;
        Ok(())
    }

    /// Whether a request comes for the first time, which is remembered with what it does.
    pub(super) async fn first(&self, once: &Once) -> Result<bool, Refusal> {
        let records = Records { sql: self.tables.sql, object: self.tables.subscription, now: self.now() };
        if records.find::<()>(once).await?.is_some() {
            return Ok(false);
        }
        records.keep(once, &()).await.map(|()| true)
    }

    /// Replaces a generation where nothing changed that is shown: the revision stays.
    pub(super) async fn save_unseen(&mut self, changed: LoadedGeneration) -> Result<(), Refusal> {
        self.save_generation(changed).await?;
        self.head.record.revision -= 1;
        Ok(())
    }

    /// Notes that something that moves the timer was written.
    pub(super) fn touch(&mut self) {
        self.changed = true;
    }

    /// Chains an entry and returns its line, for a log that is stored with something else.
    pub(super) fn chain(&mut self, what: What) -> Result<String, Refusal> {
        let entry = Entry { seq: self.head.chain.seq + 1, at: self.now(), what };
        let line = to_json(&entry)?;
        self.head.chain = self.head.chain.append(&self.chain_scope(), line.as_bytes());
        self.changed = true;
        Ok(line)
    }

    /// Chains an entry and stores it in a row of its own.
    pub(super) async fn record(&mut self, what: What) -> Result<(), Refusal> {
        let line = self.chain(what)?;
        self.tables.put_evidence(self.head.chain.seq, &line).await
    }

    /// Ends a command: the timer follows what is due, and the head row is written once.
    pub(super) async fn commit(self, reply: Reply) -> Result<Commit<Reply>, Refusal> {
        let due = if self.changed { self.next_due(None).await? } else { self.head.alarm };
        self.finish(reply, due).await
    }

    /// Ends a wake-up: what was just announced is announced again after [`REPEAT`], unless something else is
    /// due before.
    pub(super) async fn commit_woken(self, wakes: Vec<Wake>) -> Result<Commit<Vec<Wake>>, Refusal> {
        let now = self.now();
        let due = if wakes.is_empty() {
            self.next_due(None).await?
        } else {
            let again = now + REPEAT;
            Some(self.next_due(Some(now)).await?.map_or(again, |due| due.min(again)))
        };
        // The timer has fired: it is set again even where the time did not change.
        let mut woken = self;
        woken.head.alarm = None;
        woken.changed = true;
        woken.finish(wakes, due).await
    }

    /// The earliest time at which something is to be done; with `after`, the earliest later than that.
    async fn next_due(&self, after: Option<Timestamp>) -> Result<Option<Timestamp>, Refusal> {
        let open = self.generations.iter().any(|g| !g.record.state.is_terminal());
        let expiry = self.head.record.expires_at.filter(|_| open);
        let challenges = self.generations.iter().filter_map(|g| g.challenge_due);
        let drains = self.generations.iter().filter_map(|g| g.record.state.drains_until());
        let deliveries = self.tables.next_delivery(after).await?;
        let all = challenges.chain(drains).chain(expiry).chain(deliveries);
        Ok(all.filter(|&due| after.is_none_or(|after| due > after)).min())
    }

    async fn finish<R>(mut self, reply: R, due: Option<Timestamp>) -> Result<Commit<R>, Refusal> {
        let alarm = match (self.head.alarm, due) {
            (before, after) if before == after => Alarm::Keep,
            (_, Some(at)) => Alarm::At(at),
            (_, None) => Alarm::Clear,
        };
        self.head.alarm = due;
        if self.changed {
            self.tables.put_head(&self.head).await?;
        }
        Ok(Commit { reply, alarm })
    }
}
