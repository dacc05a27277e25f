//! SQLite, as every host offers it, and the one transaction a command runs in.

use hookproof_core::Refusal;

/// A value in SQLite's own types. Booleans are integers; identifiers beyond 2^53 are text.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// NULL.
    Null,
    /// INTEGER, within ±2^53 so that every host carries it exactly.
    Integer(i64),
    /// TEXT.
    Text(String),
    /// BLOB.
    Blob(Vec<u8>),
}

/// One result row, in column order.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<Value>);

/// Statements inside a transaction. Its futures are ready when first polled: nothing else is awaited
/// while a transaction is open.
pub trait Sql {
    /// Runs one statement and returns its rows. `?` marks are filled in order.
    async fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, Refusal>;
}

/// A database that runs a body in one transaction.
pub trait Store {
    /// Its statements.
    type Tx: Sql;

    /// Runs `body` once. `Ok` commits everything it wrote, `Err` or a pending future rolls all of it back.
    async fn transact<T>(
        &self,
        body: impl AsyncFnOnce(&Self::Tx) -> Result<T, Refusal>,
    ) -> Result<T, Refusal>;
}

/// Reads typed columns.
pub trait FromRow {
    /// The text in `column`.
    fn text(&self, column: usize) -> Result<&str, Refusal>;
    /// The integer in `column`.
    fn integer(&self, column: usize) -> Result<i64, Refusal>;
    /// The integer in `column`, or none where it is NULL.
    fn optional_integer(&self, column: usize) -> Result<Option<i64>, Refusal>;
    /// The blob in `column`.
    fn blob(&self, column: usize) -> Result<&[u8], Refusal>;
}

impl FromRow for Row {
    fn text(&self, column: usize) -> Result<&str, Refusal> {
        match self.0.get(column) {
            Some(Value::Text(text)) => Ok(text),
            other => Err(mistyped(column, "TEXT", other)),
        }
    }

    fn integer(&self, column: usize) -> Result<i64, Refusal> {
        match self.0.get(column) {
            Some(Value::Integer(integer)) => Ok(*integer),
            other => Err(mistyped(column, "INTEGER", other)),
        }
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>, Refusal> {
        match self.0.get(column) {
            Some(Value::Null) => Ok(None),
            Some(Value::Integer(integer)) => Ok(Some(*integer)),
            other => Err(mistyped(column, "INTEGER or NULL", other)),
        }
    }

    fn blob(&self, column: usize) -> Result<&[u8], Refusal> {
        match self.0.get(column) {
            Some(Value::Blob(blob)) => Ok(blob),
            other => Err(mistyped(column, "BLOB", other)),
        }
    }
}

fn mistyped(column: usize, wanted: &str, found: Option<&Value>) -> Refusal {
    let found = match found {
        None => "no such column",
        Some(Value::Null) => "NULL",
        Some(Value::Integer(_)) => "INTEGER",
        Some(Value::Text(_)) => "TEXT",
        Some(Value::Blob(_)) => "BLOB",
    };
    Refusal::new(
        hookproof_core::Reason::InternalCorrupt,
        format!("column {column}: {wanted} expected, {found} found"),
    )
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value {
    fn from(integer: i64) -> Self {
        Self::Integer(integer)
    }
}

impl From<Vec<u8>> for Value {
    fn from(blob: Vec<u8>) -> Self {
        Self::Blob(blob)
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}
