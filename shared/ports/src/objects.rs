//! Objects in process: a command, what it wrote and its alarm commit together or not at all, and nothing
//! reaches an object that would not survive the JSON it travels in on Workers.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

use hookproof_core::Refusal;
use hookproof_core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::ask::{Aggregate, Alarm, Ask, Commit, Context};
use crate::clock::Clock;
use crate::entropy::Entropy;
use crate::json;
use crate::sql::{FromRow, Row, Sql, Store};

const ALARMS: [&str; 2] = [
    "CREATE TABLE IF NOT EXISTS alarm(aggregate TEXT, key TEXT, due INTEGER NOT NULL, \
     PRIMARY KEY(aggregate, key)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS alarm_due ON alarm(due)",
];

/// All objects of a deployment in one database, the store `S`. `D` holds each aggregate and shows it by
/// `AsRef`.
pub struct Objects<D, S> {
    deployment: D,
    store: S,
    clock: Box<dyn Clock>,
    entropy: Box<dyn Entropy>,
    ready: RefCell<BTreeSet<&'static str>>,
}

impl<D, S: Store> Objects<D, S> {
    /// The objects of `deployment` in `store`; tables are created when an aggregate is first reached.
    pub fn new(
        deployment: D,
        store: S,
        clock: impl Clock + 'static,
        entropy: impl Entropy + 'static,
    ) -> Self {
        let (clock, entropy) = (Box::new(clock), Box::new(entropy));
        Self { deployment, store, clock, entropy, ready: RefCell::default() }
    }

    /// The aggregates.
    pub fn deployment(&self) -> &D {
        &self.deployment
    }

    /// The database, for a look from outside.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The keys of the objects whose alarm is due at `now`, the earliest first. `now` is to come from the
    /// clock these objects have: [`Objects::fire`] asks it again.
    pub async fn due<A: Aggregate>(&self, now: Timestamp) -> Result<Vec<String>, Refusal> {
        self.prepare::<A>().await?;
        let statement = "SELECT key FROM alarm WHERE due <= ? AND aggregate = ? ORDER BY due, key";
        let parameters = [now.millis().into(), A::NAME.into()];
        let rows = self.store.transact(async |sql: &S::Tx| sql.query(statement, &parameters).await).await?;
        rows.iter().map(|row| row.text(0).map(str::to_owned)).collect()
    }

    /// The earliest alarm of any object, due or not: until then a driver may sleep.
    pub async fn next_alarm(&self) -> Result<Option<Timestamp>, Refusal> {
        let earliest = async |sql: &S::Tx| {
            for statement in ALARMS {
                sql.query(statement, &[]).await?;
            }
            sql.query("SELECT min(due) FROM alarm", &[]).await
        };
        let rows = self.store.transact(earliest).await?;
        let due = rows.first().map_or(Ok(None), |row| row.optional_integer(0))?;
        Ok(due.map(Timestamp::from_millis))
    }

    /// Clears the alarm of the object `key` and runs what it was set for, in one transaction. Nothing
    /// happens unless it is due: another driver was first, or a command has put it off. On a refusal the
    /// alarm is still set, so that it fires again.
    pub async fn fire<A: Aggregate>(&self, key: &str) -> Result<Vec<A::Wake>, Refusal>
    where
        D: AsRef<A>,
    {
        self.prepare::<A>().await?;
        let aggregate = self.deployment.as_ref();
        let context = self.context(key);
        let now = context.now.millis().into();
        let woken = async |sql: &S::Tx| {
            let clear = "DELETE FROM alarm WHERE aggregate = ? AND key = ? AND due <= ? RETURNING due";
            if sql.query(clear, &[A::NAME.into(), key.into(), now]).await?.is_empty() {
                return Ok(Vec::new());
            }
            let Commit { reply, alarm } = aggregate.wake(&context, sql).await?;
            set_alarm::<A>(sql, key, alarm).await?;
            reply.iter().map(|wake| json::write("wake", wake)).collect()
        };
        let texts: Vec<String> = self.store.transact(woken).await?;
        texts.iter().map(|text| json::read("wake", text)).collect()
    }

    fn context<'a>(&'a self, key: &'a str) -> Context<'a> {
        Context { key, now: self.clock.now(), entropy: &*self.entropy }
    }

    async fn prepare<A: Aggregate>(&self) -> Result<(), Refusal> {
        if self.ready.borrow().contains(A::NAME) {
            return Ok(());
        }
        let created = async |sql: &S::Tx| {
            for statement in ALARMS.iter().chain(A::SCHEMA) {
                sql.query(statement, &[]).await?;
            }
            Ok(())
        };
        self.store.transact(created).await?;
        self.ready.borrow_mut().insert(A::NAME);
        Ok(())
    }
}

impl<A: Aggregate, D: AsRef<A>, S: Store> Ask<A> for Objects<D, S> {
    async fn ask<R: DeserializeOwned>(&self, key: &str, command: A::Command) -> Result<R, Refusal> {
        self.prepare::<A>().await?;
        let command = carried("command", &command)?;
        let aggregate = self.deployment.as_ref();
        let context = self.context(key);
        let handled = async |sql: &S::Tx| {
            let Commit { reply, alarm } = aggregate.handle(&context, sql, command).await?;
            set_alarm::<A>(sql, key, alarm).await?;
            json::write("reply", &reply)
        };
        let text = self.store.transact(handled).await?;
        json::read("reply", &text)
    }
}

fn carried<T: Serialize + DeserializeOwned>(kind: &str, value: &T) -> Result<T, Refusal> {
    json::read(kind, &json::write(kind, value)?)
}

async fn set_alarm<A: Aggregate>(sql: &impl Sql, key: &str, alarm: Alarm) -> Result<Vec<Row>, Refusal> {
    match alarm {
        Alarm::Keep => Ok(Vec::new()),
        Alarm::At(due) => {
            let statement = "INSERT INTO alarm(aggregate, key, due) VALUES(?, ?, ?) \
                             ON CONFLICT(aggregate, key) DO UPDATE SET due = excluded.due";
            sql.query(statement, &[A::NAME.into(), key.into(), due.millis().into()]).await
        }
        Alarm::Clear => {
            let statement = "DELETE FROM alarm WHERE aggregate = ? AND key = ?";
            sql.query(statement, &[A::NAME.into(), key.into()]).await
        }
    }
}

impl<D, S: fmt::Debug> fmt::Debug for Objects<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Objects")
            .field("store", &self.store)
            .field("ready", &self.ready)
            .finish_non_exhaustive()
    }
}
