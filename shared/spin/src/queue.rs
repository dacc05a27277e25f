//! Queues as rows of the one database: a message is leased while it is worked on, so that one whose
//! worker is lost comes back, and given up after a few leases, because an object's own timer repairs it.

use std::cell::Cell;

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use hookproof_core::Refusal;
use hookproof_core::time::Span;
use hookproof_ports::{Clock, FromRow, Queue, Sql, Store, Value, json, random};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::clock::SpinClock;
use crate::entropy::SpinEntropy;
use crate::sql::{SpinStore, SpinTx};

const SCHEMA: [&str; 3] = [
    "CREATE TABLE IF NOT EXISTS queue(id INTEGER PRIMARY KEY, name TEXT NOT NULL, body TEXT NOT NULL, \
     visible_at INTEGER NOT NULL, tries INTEGER NOT NULL, lease TEXT)",
    "CREATE INDEX IF NOT EXISTS queue_visible ON queue(name, visible_at)",
    "CREATE INDEX IF NOT EXISTS queue_lease ON queue(lease) WHERE lease IS NOT NULL",
];
/// Messages handed over at a time: what goes on the wire side by side.
const BATCH: usize = 6;
/// Batches worked on side by side, so that a slow endpoint holds up only its own.
const LANES: usize = 4;
/// How long a batch may take before its messages are handed to somebody else as well.
const LEASE: Span = Span::seconds(120);
/// Leases after which a message is given up.
const TRIES: i64 = 3;

/// One named queue. Messages travel as JSON text.
pub struct SpinQueue {
    store: SpinStore,
    clock: SpinClock,
    name: &'static str,
    ready: Cell<bool>,
}

/// Messages on lease.
struct Batch {
    bodies: Vec<String>,
    lease: String,
}

/// What one step of [`SpinQueue::drain`] came to.
enum Step {
    Taken(Batch),
    Worked,
}

impl SpinQueue {
    /// The queue `name` in `store`.
    pub fn new(store: SpinStore, clock: SpinClock, name: &'static str) -> Self {
        Self { store, clock, name, ready: Cell::new(false) }
    }

    /// Works off what waits until nothing does, and returns how many messages there were. One that does
    /// not parse can never be understood and is dropped.
    ///
    /// Looking for messages is one of the steps that go on side by side: a transaction that is begun and
    /// then not polled, because somebody waits for another one, would never end.
    pub async fn drain<M: DeserializeOwned>(&self, work: impl AsyncFn(Vec<M>)) -> Result<usize, Refusal> {
        let mut steps = FuturesUnordered::new();
        steps.push(self.step(None, &work));
        let (mut count, mut working, mut looking) = (0, 0, true);
        while let Some(step) = steps.next().await {
            let more = match step? {
                Step::Taken(batch) => {
                    looking = false;
                    let messages = batch.bodies.len();
                    count += messages;
                    if messages > 0 {
                        working += 1;
                        steps.push(self.step(Some(batch), &work));
                    }
                    messages == BATCH
                }
                // A lane is free: what came meanwhile may use it.
                Step::Worked => {
                    working -= 1;
                    true
                }
            };
            if more && !looking && working < LANES {
                looking = true;
                steps.push(self.step(None, &work));
            }
        }
        Ok(count)
    }

    async fn step<M: DeserializeOwned>(
        &self,
        batch: Option<Batch>,
        work: &impl AsyncFn(Vec<M>),
    ) -> Result<Step, Refusal> {
        let Some(batch) = batch else { return self.take().await.map(Step::Taken) };
        let read = |text: &String| json::read("message", text).ok();
        work(batch.bodies.iter().filter_map(read).collect()).await;
        self.done(&batch.lease).await.map(|()| Step::Worked)
    }

    async fn take(&self) -> Result<Batch, Refusal> {
        let lease = random::<16>(&SpinEntropy).iter().map(|octet| format!("{octet:02x}")).collect::<String>();
        let now = self.clock.now();
        let parameters = [
            (now + LEASE).millis().into(),
            lease.as_str().into(),
            self.name.into(),
            now.millis().into(),
            Value::Integer(BATCH as i64),
        ];
        let taken = async |sql: &SpinTx| {
            self.prepare(sql).await?;
            let lease = "UPDATE queue SET visible_at = ?, lease = ?, tries = tries + 1 WHERE id IN \
                (SELECT id FROM queue WHERE name = ? AND visible_at <= ? ORDER BY visible_at, id LIMIT ?) \
                RETURNING body, tries";
            sql.query(lease, &parameters).await
        };
        let mut bodies = Vec::new();
        for row in self.store.transact(taken).await? {
            let given_up = row.integer(1)? > TRIES;
            bodies.push(if given_up { String::new() } else { row.text(0)?.to_owned() });
        }
        self.ready.set(true);
        Ok(Batch { bodies, lease })
    }

    async fn done(&self, lease: &str) -> Result<(), Refusal> {
        let delete =
            async |sql: &SpinTx| sql.query("DELETE FROM queue WHERE lease = ?", &[lease.into()]).await;
        self.store.transact(delete).await.map(drop)
    }

    async fn prepare(&self, sql: &SpinTx) -> Result<(), Refusal> {
        if !self.ready.get() {
            for statement in SCHEMA {
                sql.query(statement, &[]).await?;
            }
        }
        Ok(())
    }
}

impl<M: Serialize> Queue<M> for SpinQueue {
    async fn send(&self, messages: &[M]) -> Result<(), Refusal> {
        if messages.is_empty() {
            return Ok(());
        }
        let texts: Result<Vec<String>, _> =
            messages.iter().map(|message| json::write("message", message)).collect();
        let parameters =
            [self.name.into(), self.clock.now().millis().into(), json::write("message", &texts?)?.into()];
        let sent = async |sql: &SpinTx| {
            self.prepare(sql).await?;
            let insert = "INSERT INTO queue(name, body, visible_at, tries) \
                          SELECT ?1, value, ?2, 0 FROM json_each(?3)";
            sql.query(insert, &parameters).await
        };
        self.store.transact(sent).await?;
        self.ready.set(true);
        Ok(())
    }
}
