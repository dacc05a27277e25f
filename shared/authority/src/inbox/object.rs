//! One inbox: its commands, its timer, and what it forgets.
//!
//! The timer is set whenever something is to be done and only moved forward by a command; when it fires
//! it is set anew. What is due was announced on a queue, so a timer a little later repairs a lost message.

use hookproof_core::Refusal;
use hookproof_core::receiver::RETENTION;
use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::{Aggregate, Alarm, Commit, Context, Entropy, Sql, Value};

use super::command::{Command, Reply, Wake};
use super::table::{Head, SCHEMA, Table};

/// How long after its announcement what is still due is announced again.
const REPAIR: Span = Span::seconds(30);

/// Rows forgotten in one run of the timer, and the least time between two such runs.
const PRUNE_ROWS: i64 = 200;
const PRUNE_EVERY: Span = Span::hours(1);
const AT_ONCE: Span = Span::seconds(1);

/// The inboxes of a receiver, one object a source.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inbox;

/// One command's view of its inbox.
pub(super) struct Session<'a, S> {
    pub(super) table: Table<'a, S>,
    pub(super) entropy: &'a dyn Entropy,
    pub(super) now: Timestamp,
    pub(super) head: Head,
    /// The totals have changed.
    pub(super) counted: bool,
}

impl Aggregate for Inbox {
    const NAME: &'static str = "inbox";
    const SCHEMA: &'static [&'static str] = SCHEMA;
    type Command = Command;
    type Reply = Reply;
    type Wake = Wake;

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: Command,
    ) -> Result<Commit<Reply>, Refusal> {
        let mut session = Session::open(context, sql).await?;
        let reply = match command {
            Command::Store(delivery) => session.store(&delivery).await?,
            Command::Take { limit } => session.take(limit).await?,
            Command::Report { id, lease, result } => session.report(&id, &lease, result).await?,
            Command::TakeReceipts { limit } => session.take_receipts(limit).await?,
            Command::ReportReceipt { id, subscription, status } => {
                session.report_receipt(&id, &subscription, status).await?
            }
            Command::Abandon { limit } => session.abandon(limit).await?,
            Command::Replay { id } => session.replay(&id).await?,
            query @ (Command::List { .. }
            | Command::ListDeadLetters { .. }
            | Command::ListQuarantine { .. }
            | Command::Show { .. }
            | Command::Metrics) => return session.query(query).await.map(Commit::keep),
        };
        session.finish(reply).await
    }

    async fn wake<S: Sql>(&self, context: &Context<'_>, sql: &S) -> Result<Commit<Vec<Wake>>, Refusal> {
        let mut session = Session::open(context, sql).await?;
        let pruned = session.prune().await?;
        let [events, receipts] = session.table.due().await?;
        let due = |time: Option<Timestamp>| time.is_some_and(|time| time <= context.now);
        let mut reply = Vec::new();
        reply.extend(due(events).then_some(Wake::Handle));
        reply.extend(due(receipts).then_some(Wake::Receipts));
        let next = [session.wanted().await?, pruned].into_iter().flatten().min();
        if session.head.armed != next {
            session.head.armed = next;
            session.table.put_head(&session.head).await?;
        }
        Ok(Commit { reply, alarm: next.map_or(Alarm::Clear, Alarm::At) })
    }
}

impl<'a, S: Sql> Session<'a, S> {
    async fn open(context: &Context<'a>, sql: &'a S) -> Result<Self, Refusal> {
        let table = Table { object: context.key, sql };
        let head = table.head().await?;
        Ok(Self { table, entropy: context.entropy, now: context.now, head, counted: false })
    }

    /// When the timer has to fire next. Something already due was announced by whoever made it so.
    async fn wanted(&self) -> Result<Option<Timestamp>, Refusal> {
        let due = self.table.due().await?.into_iter().flatten().min();
        Ok(due.map(|due| if due <= self.now { self.now + REPAIR } else { due }))
    }

    /// Moves the timer forward if need be: one that fires early finds nothing due and sets itself anew.
    /// One that is a little late is about to fire and is left alone, or a busy inbox would put it off for
    /// ever.
    async fn finish(mut self, reply: Reply) -> Result<Commit<Reply>, Refusal> {
        let armed = self.head.armed.filter(|&armed| armed + REPAIR > self.now);
        let sooner = self.wanted().await?.filter(|&wanted| armed.is_none_or(|armed| wanted < armed));
        if sooner.is_some() {
            self.head.armed = sooner;
        }
        if sooner.is_some() || self.counted {
            self.table.put_head(&self.head).await?;
        }
        Ok(Commit { reply, alarm: sooner.map_or(Alarm::Keep, Alarm::At) })
    }

    /// Forgets what is older than the retention, a bounded number of rows, and says when to go on.
    async fn prune(&mut self) -> Result<Option<Timestamp>, Refusal> {
        let oldest = "SELECT received_at FROM inbox WHERE object = ? AND state = 'completed' \
            ORDER BY received_at LIMIT 1";
        let quarantined = "SELECT min(last_at) FROM inbox_quarantine WHERE object = ?";
        let object = Value::from(self.table.object);
        let before = Value::from((self.now - RETENTION).millis());
        for statement in [
            "DELETE FROM inbox_receipt WHERE object = ? AND id IN (SELECT id FROM inbox WHERE object = ? \
             AND received_at < ? AND state = 'completed' ORDER BY received_at, id LIMIT ?)",
            "DELETE FROM inbox WHERE object = ? AND id IN (SELECT id FROM inbox WHERE object = ? \
             AND received_at < ? AND state = 'completed' ORDER BY received_at, id LIMIT ?)",
            "DELETE FROM inbox_quarantine WHERE object = ? AND (id, digest) IN (SELECT id, digest \
             FROM inbox_quarantine WHERE object = ? AND last_at < ? ORDER BY last_at LIMIT ?)",
        ] {
            let parameters = [object.clone(), before.clone(), PRUNE_ROWS.into()];
            self.table.rows(statement, &parameters).await?;
        }
        let left = [self.table.integer(oldest, &[]).await?, self.table.integer(quarantined, &[]).await?];
        let next = left.into_iter().flatten().min().map(|time| Timestamp::from_millis(time) + RETENTION);
        let more = |next: Timestamp| next < self.now;
        Ok(next.map(|next| if more(next) { self.now + AT_ONCE } else { next.max(self.now + PRUNE_EVERY) }))
    }
}
