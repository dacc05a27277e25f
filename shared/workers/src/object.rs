//! A Durable Object's shell: a command in, one transaction, a reply out; a timer likewise.

use std::cell::{Cell, OnceCell};

use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Alarm, Clock, Context, Journal, Line, Sql, Store};
use worker::{Env, Request, Response, State};

use crate::clock::WorkersClock;
use crate::entropy::WorkersEntropy;
use crate::journal::ConsoleJournal;
use crate::settings;
use crate::sql::{DurableStore, DurableTx};

/// Wait after a timer's run that failed.
const AGAIN: Span = Span::seconds(30);

/// What one object needs between its events.
pub struct ObjectHost {
    store: DurableStore,
    clock: WorkersClock,
    name: OnceCell<String>,
    prepared: Cell<bool>,
}

impl ObjectHost {
    /// Wraps the object that `state` belongs to.
    pub fn new(state: &State, env: &Env) -> Self {
        // A clock that is configured wrongly stops every command below, with its reason.
        let clock = settings::clock(env).unwrap_or_default();
        let store = DurableStore::new(state.storage(), clock);
        let name = state.id().name().map(OnceCell::from).unwrap_or_default();
        Self { store, clock, name, prepared: Cell::new(false) }
    }

    /// The object's storage, for suites that run against it.
    pub fn store(&self) -> &DurableStore {
        &self.store
    }

    /// The name the object was reached by.
    pub fn key(&self) -> Result<&str, Refusal> {
        self.name
            .get()
            .map(String::as_str)
            .ok_or_else(|| Refusal::new(Reason::InternalHost, "the object has no name"))
    }

    /// Answers a command: `{"ok": …}` or `{"refused": …}`, always 200, so that only a lost call is an error.
    ///
    /// An object that another local process reaches is called by id and has no name; the caller's path says
    /// it. The key leads every row, so a wrong one finds nothing.
    pub async fn serve<A: Aggregate>(
        &self,
        aggregate: Result<A, Refusal>,
        mut request: Request,
    ) -> worker::Result<Response> {
        self.name.get_or_init(|| request.path().trim_start_matches('/').to_owned());
        let text = request.text().await?;
        let reply = match aggregate {
            Ok(aggregate) => self.command(&aggregate, &text).await,
            Err(refusal) => Err(refusal),
        };
        let body = match reply {
            Ok(reply) => format!("{{\"ok\":{reply}}}"),
            Err(refusal) => {
                format!("{{\"refused\":{}}}", serde_json::to_string(&refusal).unwrap_or_default())
            }
        };
        Response::ok(body)
    }

    async fn command<A: Aggregate>(&self, aggregate: &A, text: &str) -> Result<String, Refusal> {
        let unread =
            |error| Refusal::new(Reason::InternalCorrupt, format!("a command does not parse: {error}"));
        let command: A::Command = serde_json::from_str(text).map_err(unread)?;
        let context = Context { key: self.key()?, now: self.clock.now(), entropy: &WorkersEntropy };
        let reply = self.store.transact(async |tx: &DurableTx| {
            self.prepare::<A>(tx).await?;
            let commit = aggregate.handle(&context, tx, command).await?;
            tx.apply(commit.alarm)?;
            Ok(commit.reply)
        });
        let reply = reply.await?;
        self.prepared.set(true);
        serde_json::to_string(&reply).map_err(|_| Reason::InternalCorrupt.into())
    }

    /// Runs the timer and returns what it asks for.
    pub async fn wake<A: Aggregate>(&self, aggregate: &A) -> Result<Vec<A::Wake>, Refusal> {
        let context = Context { key: self.key()?, now: self.clock.now(), entropy: &WorkersEntropy };
        let wakes = self.store.transact(async |tx: &DurableTx| {
            self.prepare::<A>(tx).await?;
            let commit = aggregate.wake(&context, tx).await?;
            tx.apply(commit.alarm)?;
            Ok(commit.reply)
        });
        wakes.await
    }

    /// Ends a timer's run. It never fails towards the platform, which would drop the timer after a few
    /// tries: a fault is logged and the timer set again.
    pub async fn rung(&self, outcome: Result<(), Refusal>) -> worker::Result<Response> {
        if let Err(refusal) = outcome {
            let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
            ConsoleJournal.record(&Line {
                event: "timer failed",
                subscription: self.name.get().map(String::as_str),
                reason,
                detail,
                ..Line::default()
            });
            let again = Alarm::At(self.clock.now() + AGAIN);
            let armed = self.store.transact(async |tx: &DurableTx| tx.apply(again)).await;
            if let Err(refusal) = armed {
                // Nothing is left but the platform's own repetition.
                return Err(worker::Error::RustError(refusal.to_string()));
            }
        }
        Response::empty()
    }

    /// Creates the tables in the transaction that first needs them: a refused command leaves nothing.
    async fn prepare<A: Aggregate>(&self, sql: &impl Sql) -> Result<(), Refusal> {
        if !self.prepared.get() {
            for statement in A::SCHEMA {
                sql.query(statement, &[]).await?;
            }
        }
        Ok(())
    }
}
