//! SQLite as Spin offers it: a body either commits whole, in one `BEGIN IMMEDIATE … COMMIT`, or leaves no
//! trace.
//!
//! Requests of one instance run interleaved, so its one connection belongs to one transaction at a time:
//! it is taken out of its place for it, and a transaction that is dropped half-way drops the connection,
//! which rolls back. SQLite admits one writer over all instances and processes; those of one instance
//! stand in line for it among themselves, so that few contend for the file's lock.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Row, Sql, Store, Value, random};
use spin_sdk::sqlite::{Connection, Error, RowResult, Value as SpinValue};
use spin_sdk::time::sleep;

use crate::entropy::SpinEntropy;
use crate::fault;
use crate::turn::Line;

/// What every connection is told first. The journal mode stays with the file, the rest is the connection's.
/// SQLite's own wait for a lock grows to 100 ms a step: it is cut short and begun anew, by [`patiently`].
const SETTINGS: [&str; 3] =
    ["PRAGMA busy_timeout = 20", "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL"];
/// How often a lock is waited for, each time for SQLite's own wait and a pause; then the transaction is
/// refused. About five seconds in all.
const PATIENCE: u32 = 200;
/// The pause, in milliseconds.
const PAUSE: u64 = 4;
/// The largest integer a JavaScript number keeps apart from its neighbours.
const EXACT: u64 = (1 << 53) - 1;

/// The database `default` as a [`Store`]; clones share their connection.
#[derive(Clone, Default)]
pub struct SpinStore(Rc<Shared>);

#[derive(Default)]
struct Shared {
    line: Line,
    connection: RefCell<Option<Connection>>,
}

/// The statements of one transaction.
pub struct SpinTx {
    connection: Connection,
    /// Statements the host is working on.
    running: Cell<u32>,
    /// SQLite may have ended the transaction by itself.
    broken: Cell<bool>,
}

impl Store for SpinStore {
    type Tx = SpinTx;

    async fn transact<T>(&self, body: impl AsyncFnOnce(&SpinTx) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let _turn = self.0.line.turn().await;
        let held = self.0.connection.take();
        let connection = match held {
            Some(connection) => connection,
            None => open().await?,
        };
        patiently(&connection, "BEGIN IMMEDIATE").await?;
        let tx = SpinTx { connection, running: Cell::new(0), broken: Cell::new(false) };
        let outcome = tx.nothing_but_sql(body(&tx)).await;
        if tx.broken.get() {
            // Its connection is dropped with it, and whatever is still open is rolled back.
            let ended = || Refusal::new(Reason::InternalStore, "an earlier failure ended the transaction");
            return Err(outcome.err().unwrap_or_else(ended));
        }
        let end = if outcome.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = run(&tx.connection, end, Vec::new()).await;
        if ended.is_ok() {
            self.0.connection.replace(Some(tx.connection));
        }
        let value = outcome?;
        ended.map(|_| value).map_err(|error| fault::store(&error))
    }
}

impl SpinTx {
    /// Runs `body` while it waits for statements; a body that waits for anything else would hold the one
    /// write lock of the database for as long, so it ends there.
    async fn nothing_but_sql<T>(&self, body: impl Future<Output = Result<T, Refusal>>) -> Result<T, Refusal> {
        let mut body = pin!(body);
        poll_fn(|context| match body.as_mut().poll(context) {
            Poll::Pending if self.running.get() == 0 => {
                let words = "a transaction awaited something that is not SQL";
                Poll::Ready(Err(Refusal::new(Reason::InternalSqlPending, words)))
            }
            polled @ (Poll::Ready(_) | Poll::Pending) => polled,
        })
        .await
    }
}

impl Sql for SpinTx {
    async fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, Refusal> {
        if self.broken.get() {
            return Err(Refusal::new(Reason::InternalStore, "an earlier failure ended the transaction"));
        }
        let bound: Vec<SpinValue> = parameters.iter().map(bind).collect::<Result<_, _>>()?;
        let _running = Running::begin(&self.running);
        match run(&self.connection, statement, bound).await {
            Ok(rows) => rows.into_iter().map(read).collect(),
            Err(error) => {
                self.broken.set(self.broken.get() || !fault::is_of_the_statement(&error));
                Err(fault::store(&error))
            }
        }
    }
}

/// Counts a statement for as long as it is awaited.
struct Running<'a>(&'a Cell<u32>);

impl<'a> Running<'a> {
    fn begin(count: &'a Cell<u32>) -> Self {
        count.set(count.get() + 1);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

async fn open() -> Result<Connection, Refusal> {
    let connection = Connection::open_default().await.map_err(|error| fault::store(&error))?;
    for setting in SETTINGS {
        patiently(&connection, setting).await?;
    }
    Ok(connection)
}

/// Runs a statement to its end: all rows first, then the future that says whether it failed.
async fn run(
    connection: &Connection,
    statement: &str,
    parameters: Vec<SpinValue>,
) -> Result<Vec<RowResult>, Error> {
    connection.execute(statement, parameters).await?.collect().await
}

/// Runs a statement that needs a lock, again and again for a while when another holds it.
async fn patiently(connection: &Connection, statement: &str) -> Result<(), Refusal> {
    let mut waited = 0;
    loop {
        match run(connection, statement, Vec::new()).await {
            Ok(_) => return Ok(()),
            Err(error) if waited < PATIENCE && fault::is_busy(&error) => waited += 1,
            Err(error) => return Err(fault::store(&error)),
        }
        // Spread, so that those who wait do not come back together.
        let [spread] = random::<1>(&SpinEntropy);
        sleep(Duration::from_millis(u64::from(spread) % PAUSE + 1)).await;
    }
}

fn bind(value: &Value) -> Result<SpinValue, Refusal> {
    Ok(match value {
        Value::Null => SpinValue::Null,
        Value::Integer(integer) => SpinValue::Integer(exact(*integer)?),
        Value::Text(text) => SpinValue::Text(text.clone()),
        Value::Blob(blob) => SpinValue::Blob(blob.clone()),
    })
}

fn read(row: RowResult) -> Result<Row, Refusal> {
    let value = |value| {
        Ok(match value {
            SpinValue::Null => Value::Null,
            SpinValue::Integer(integer) => Value::Integer(exact(integer)?),
            SpinValue::Text(text) => Value::Text(text),
            SpinValue::Blob(blob) => Value::Blob(blob),
            SpinValue::Real(_) => return Err(Refusal::new(Reason::InternalStore, "REAL is not used")),
        })
    };
    Ok(Row(row.values.into_iter().map(value).collect::<Result<_, _>>()?))
}

fn exact(integer: i64) -> Result<i64, Refusal> {
    if integer.unsigned_abs() > EXACT {
        return Err(Refusal::new(
            Reason::InternalStore,
            "an integer beyond ±2^53: not every host carries it",
        ));
    }
    Ok(integer)
}
