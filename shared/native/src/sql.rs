//! One SQLite connection on which a body either commits whole, in one `BEGIN IMMEDIATE … COMMIT`, or
//! leaves no trace.

use std::path::Path;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Row, Sql, Store, Value};
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, Error, ToSql};

/// Statements kept prepared; more than all aggregates together have.
const PREPARED: usize = 512;
/// How long another process may hold the write lock before a transaction is refused.
const BUSY: Duration = Duration::from_secs(5);
/// The largest integer a JavaScript number keeps apart from its neighbours.
const EXACT: u64 = (1 << 53) - 1;

/// A database in a file or in memory. Single-threaded: share it with `Rc`.
#[derive(Debug)]
pub struct NativeStore(NativeSql);

/// The statements of [`NativeStore`], inside a transaction.
#[derive(Debug)]
pub struct NativeSql(Connection);

impl NativeStore {
    /// Opens or creates the database at `path`. Several processes may open the same one.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, Refusal> {
        Self::with(Connection::open(path))
    }

    /// A database that is gone when this value is.
    pub fn in_memory() -> Result<Self, Refusal> {
        Self::with(Connection::open_in_memory())
    }

    fn with(opened: Result<Connection, Error>) -> Result<Self, Refusal> {
        let connection = opened.map_err(|fault| refusal(&fault))?;
        prepare(&connection).map_err(|fault| refusal(&fault))?;
        Ok(Self(NativeSql(connection)))
    }
}

fn prepare(connection: &Connection) -> Result<(), Error> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    // The answer is the mode in force: a database in memory has no log of its own.
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    connection.pragma_update(None, "foreign_keys", false)
}

impl Store for NativeStore {
    type Tx = NativeSql;

    async fn transact<T>(
        &self,
        body: impl AsyncFnOnce(&Self::Tx) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let open = Open::begin(&self.0.0)?;
        // In its own scope: a body that waits is dropped before what it wrote is rolled back.
        let polled = {
            let future = std::pin::pin!(body(&self.0));
            future.poll(&mut Context::from_waker(Waker::noop()))
        };
        match polled {
            Poll::Ready(Ok(value)) => open.commit().map(|()| value),
            Poll::Ready(Err(refusal)) => Err(refusal),
            Poll::Pending => Err(Refusal::new(
                Reason::InternalSqlPending,
                "a transaction awaited something that is not a statement",
            )),
        }
    }
}

/// An open transaction: rolled back when dropped, so that a panic leaves none open either.
struct Open<'a>(&'a Connection);

impl<'a> Open<'a> {
    fn begin(connection: &'a Connection) -> Result<Self, Refusal> {
        if !connection.is_autocommit() {
            return Err(Refusal::new(Reason::InternalStore, "a transaction inside a transaction"));
        }
        run(connection, "BEGIN IMMEDIATE")?;
        Ok(Self(connection))
    }

    fn commit(self) -> Result<(), Refusal> {
        still_open(self.0)?;
        run(self.0, "COMMIT")
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if !self.0.is_autocommit() {
            // The only failure is that SQLite has rolled back by itself meanwhile.
            let _ = run(self.0, "ROLLBACK");
        }
    }
}

/// SQLite ends the transaction by itself when the disk is full or fails. A body that carries on after
/// that error must not write outside of one.
fn still_open(connection: &Connection) -> Result<(), Refusal> {
    if connection.is_autocommit() {
        return Err(Refusal::new(
            Reason::InternalStore,
            "the transaction was rolled back by an earlier failure",
        ));
    }
    Ok(())
}

fn run(connection: &Connection, statement: &str) -> Result<(), Refusal> {
    let ran = connection.prepare_cached(statement).and_then(|mut prepared| prepared.execute([]));
    ran.map(|_| ()).map_err(|fault| refusal(&fault))
}

impl Sql for NativeSql {
    async fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, Refusal> {
        still_open(&self.0)?;
        let mut prepared = self.0.prepare_cached(statement).map_err(|fault| refusal(&fault))?;
        let wanted = prepared.parameter_count();
        if wanted != parameters.len() {
            let detail = format!("the statement takes {wanted} parameters, {} given", parameters.len());
            return Err(Refusal::new(Reason::InternalStore, detail));
        }
        for (index, value) in parameters.iter().enumerate() {
            let bound = prepared.raw_bind_parameter(index + 1, Parameter(exact(value)?));
            bound.map_err(|fault| refusal(&fault))?;
        }
        rows(&mut prepared)
    }
}

fn rows(prepared: &mut CachedStatement<'_>) -> Result<Vec<Row>, Refusal> {
    let mut found = prepared.raw_query();
    let mut out = Vec::new();
    while let Some(row) = found.next().map_err(|fault| refusal(&fault))? {
        // Asked of the row: stepping prepares the statement anew after the schema has changed.
        let columns = row.as_ref().column_count();
        let cell = |column| read(column, row.get_ref(column).map_err(|fault| refusal(&fault))?);
        out.push(Row((0..columns).map(cell).collect::<Result<_, _>>()?));
    }
    Ok(out)
}

struct Parameter<'a>(&'a Value);

impl ToSql for Parameter<'_> {
    fn to_sql(&self) -> Result<ToSqlOutput<'_>, Error> {
        Ok(ToSqlOutput::Borrowed(match self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(integer) => ValueRef::Integer(*integer),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(blob) => ValueRef::Blob(blob),
        }))
    }
}

fn exact(value: &Value) -> Result<&Value, Refusal> {
    match value {
        Value::Integer(integer) if integer.unsigned_abs() > EXACT => {
            Err(Refusal::new(Reason::InternalStore, "an integer beyond ±2^53: not every host carries it"))
        }
        Value::Null | Value::Integer(_) | Value::Text(_) | Value::Blob(_) => Ok(value),
    }
}

fn read(column: usize, found: ValueRef<'_>) -> Result<Value, Refusal> {
    let unfit = |what| Refusal::new(Reason::InternalStore, format!("column {column}: {what}"));
    match found {
        ValueRef::Null => Ok(Value::Null),
        ValueRef::Integer(integer) if integer.unsigned_abs() > EXACT => Err(unfit("an integer beyond ±2^53")),
        ValueRef::Integer(integer) => Ok(Value::Integer(integer)),
        ValueRef::Text(text) => {
            String::from_utf8(text.to_vec()).map(Value::Text).map_err(|_| unfit("TEXT that is not UTF-8"))
        }
        ValueRef::Blob(blob) => Ok(Value::Blob(blob.to_vec())),
        ValueRef::Real(_) => Err(unfit("REAL is not used")),
    }
}

/// SQLite's own words, which name tables and columns; never the statement or a value.
fn refusal(fault: &Error) -> Refusal {
    let words = if let Error::SqlInputError { error, msg, .. } = fault {
        format!("{msg} ({})", error.extended_code)
    } else if let Error::SqliteFailure(code, words) = fault {
        let words = words.as_deref().unwrap_or("SQLite failed");
        format!("{words} ({})", code.extended_code)
    } else if matches!(fault, Error::MultipleStatement) {
        "more than one statement".to_owned()
    } else {
        "the database library refused".to_owned()
    };
    Refusal::new(Reason::InternalStore, words)
}
