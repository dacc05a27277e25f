//! `spin:sqlite`, as Spin's own does it: each connection is one of rusqlite with its defaults, statements
//! run on a thread of their own, and a failure shows in the future behind the rows only.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ToSql, params_from_iter};
use wasmtime::component::{Accessor, FutureReader, Resource, StreamReader};

use crate::bindings::spin::sqlite::sqlite::{
    Error, Host, HostConnection, HostConnectionWithStore, QueryResult, RowResult, Value,
};
use crate::state::{Offered, State};

/// An open connection.
pub struct Connection(Arc<Mutex<rusqlite::Connection>>);

fn io(error: &rusqlite::Error) -> Error {
    Error::Io(error.to_string())
}

fn open(path: &Path) -> Result<Connection, Error> {
    let connection = rusqlite::Connection::open(path).map_err(|error| io(&error))?;
    Ok(Connection(Arc::new(Mutex::new(connection))))
}

struct Parameter(Value);

impl ToSql for Parameter {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match &self.0 {
            Value::Null => ValueRef::Null,
            Value::Integer(integer) => ValueRef::Integer(*integer),
            Value::Real(real) => ValueRef::Real(*real),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(blob) => ValueRef::Blob(blob),
        }))
    }
}

fn read(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<RowResult> {
    let value = |column| {
        Ok(match row.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(integer) => Value::Integer(integer),
            ValueRef::Real(real) => Value::Real(real),
            ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
            ValueRef::Blob(blob) => Value::Blob(blob.to_vec()),
        })
    };
    Ok(RowResult { values: (0..columns).map(value).collect::<rusqlite::Result<_>>()? })
}

/// What a statement gave before it ended, and how it ended.
struct Ran {
    columns: Vec<String>,
    rows: Vec<RowResult>,
    end: Result<(), Error>,
}

fn run(connection: &Mutex<rusqlite::Connection>, statement: &str, parameters: Vec<Value>) -> Ran {
    let mut ran = Ran { columns: Vec::new(), rows: Vec::new(), end: Ok(()) };
    let connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
    ran.end = fill(&mut ran, &connection, statement, parameters).map_err(|error| io(&error));
    ran
}

fn fill(
    ran: &mut Ran,
    connection: &rusqlite::Connection,
    statement: &str,
    parameters: Vec<Value>,
) -> rusqlite::Result<()> {
    let mut prepared = connection.prepare_cached(statement)?;
    ran.columns = prepared.column_names().map(str::to_owned).collect();
    let mut rows = prepared.query(params_from_iter(parameters.into_iter().map(Parameter)))?;
    while let Some(row) = rows.next()? {
        ran.rows.push(read(row, ran.columns.len())?);
    }
    Ok(())
}

const NOT_OFFERED: &str = "this host offers the asynchronous functions only";

impl Host for State {}

impl HostConnection for State {
    fn open(&mut self, _: String) -> wasmtime::Result<Result<Resource<Connection>, Error>> {
        Ok(Err(Error::Io(NOT_OFFERED.to_owned())))
    }

    fn execute(
        &mut self,
        _: Resource<Connection>,
        _: String,
        _: Vec<Value>,
    ) -> wasmtime::Result<Result<QueryResult, Error>> {
        Ok(Err(Error::Io(NOT_OFFERED.to_owned())))
    }

    fn last_insert_rowid(&mut self, _: Resource<Connection>) -> wasmtime::Result<i64> {
        Err(wasmtime::format_err!("{NOT_OFFERED}"))
    }

    fn changes(&mut self, _: Resource<Connection>) -> wasmtime::Result<u64> {
        Err(wasmtime::format_err!("{NOT_OFFERED}"))
    }

    fn drop(&mut self, connection: Resource<Connection>) -> wasmtime::Result<()> {
        self.table.delete(connection)?;
        Ok(())
    }
}

type Rows = (Vec<String>, StreamReader<RowResult>, FutureReader<Result<(), Error>>);

impl<T> HostConnectionWithStore<T> for Offered {
    async fn open_async(
        accessor: &Accessor<T, Self>,
        database: String,
    ) -> wasmtime::Result<Result<Resource<Connection>, Error>> {
        let part = accessor.with(|mut access| access.get().part.clone());
        if !part.databases.contains(&database) {
            return Ok(Err(Error::AccessDenied));
        }
        let opened = tokio::task::spawn_blocking(move || open(&part.database)).await?;
        match opened {
            Ok(connection) => Ok(Ok(accessor.with(|mut access| access.get().table.push(connection))?)),
            Err(error) => Ok(Err(error)),
        }
    }

    async fn execute_async(
        accessor: &Accessor<T, Self>,
        connection: Resource<Connection>,
        statement: String,
        parameters: Vec<Value>,
    ) -> wasmtime::Result<Result<Rows, Error>> {
        let shared = accessor
            .with(|mut access| access.get().table.get(&connection).map(|held| Arc::clone(&held.0)))?;
        let Ran { columns, rows, end } =
            tokio::task::spawn_blocking(move || run(&shared, &statement, parameters)).await?;
        accessor.with(|mut access| {
            let rows = StreamReader::new(&mut access, rows)?;
            let end = FutureReader::new(&mut access, async move { Ok::<_, wasmtime::Error>(end) })?;
            Ok(Ok((columns, rows, end)))
        })
    }

    async fn last_insert_rowid_async(
        _: &Accessor<T, Self>,
        _: Resource<Connection>,
    ) -> wasmtime::Result<i64> {
        Err(wasmtime::format_err!("not used"))
    }

    async fn changes_async(_: &Accessor<T, Self>, _: Resource<Connection>) -> wasmtime::Result<u64> {
        Err(wasmtime::format_err!("not used"))
    }
}
