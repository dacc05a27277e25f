//! SQLite of a Durable Object, in one `transactionSync`: a savepoint that every refusal, SQL error
//! and pending future rolls back, the timer included.

use std::cell::RefCell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Alarm, Row, Sql, Store, Value};
use js_sys::Promise;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use worker::{SqlStorage, SqlStorageValue, Storage};

use crate::clock::WorkersClock;
use crate::fault;

#[wasm_bindgen]
extern "C" {
    type RawStorage;

    #[wasm_bindgen(structural, method, catch, js_name = transactionSync)]
    fn transaction_sync(
        this: &RawStorage,
        body: &mut dyn FnMut() -> Result<JsValue, JsValue>,
    ) -> Result<JsValue, JsValue>;

    #[wasm_bindgen(structural, method, catch, js_name = setAlarm)]
    fn set_alarm(this: &RawStorage, at: f64) -> Result<Promise, JsValue>;

    #[wasm_bindgen(structural, method, catch, js_name = deleteAlarm)]
    fn delete_alarm(this: &RawStorage) -> Result<Promise, JsValue>;
}

/// An object's storage as a [`Store`].
pub struct DurableStore {
    storage: Storage,
    clock: WorkersClock,
}

/// The statements of one transaction, and the object's timer with them.
pub struct DurableTx {
    sql: SqlStorage,
    raw: RawStorage,
    clock: WorkersClock,
    alarm: RefCell<Option<Promise>>,
}

impl DurableStore {
    /// Wraps an object's storage; `clock` translates timer instants to the host's time.
    pub fn new(storage: Storage, clock: WorkersClock) -> Self {
        Self { storage, clock }
    }
}

impl Store for DurableStore {
    type Tx = DurableTx;

    async fn transact<T>(
        &self,
        body: impl AsyncFnOnce(&DurableTx) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let raw: RawStorage = JsValue::from(self.storage.as_raw()).unchecked_into();
        let tx = DurableTx { sql: self.storage.sql(), raw, clock: self.clock, alarm: RefCell::new(None) };
        let outcome = tx.once(body);
        let alarm = tx.alarm.borrow_mut().take();
        if let (true, Some(promise)) = (outcome.is_ok(), alarm) {
            JsFuture::from(promise).await.map_err(|error| fault::host("the timer", &format!("{error:?}")))?;
        }
        outcome
    }
}

impl DurableTx {
    fn once<T>(&self, body: impl AsyncFnOnce(&Self) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let mut future = pin!(body(self));
        let mut outcome = None;
        let ran = self.raw.transaction_sync(&mut || {
            let polled = future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            let result = match polled {
                Poll::Ready(result) => result,
                Poll::Pending => {
                    let words = "a transaction awaited something that is not SQL";
                    Err(Refusal::new(Reason::InternalSqlPending, words))
                }
            };
            let refused = result.is_err();
            outcome = Some(result);
            // The exception is what makes the platform roll back.
            if refused { Err(JsValue::from_str("rolled back")) } else { Ok(JsValue::UNDEFINED) }
        });
        match (outcome, ran) {
            (Some(Err(refusal)), _) => Err(refusal),
            (Some(Ok(value)), Ok(_)) => Ok(value),
            (_, Err(error)) => Err(fault::store(&format!("{error:?}"))),
            (None, Ok(_)) => Err(fault::store(&"transactionSync did not run its body")),
        }
    }

    /// Sets the object's timer, to be rolled back with everything else.
    pub fn apply(&self, alarm: Alarm) -> Result<(), Refusal> {
        let set = match alarm {
            Alarm::Keep => return Ok(()),
            Alarm::At(at) => self.raw.set_alarm(self.clock.to_host(at).millis() as f64),
            Alarm::Clear => self.raw.delete_alarm(),
        };
        let promise = set.map_err(|error| fault::host("the timer", &format!("{error:?}")))?;
        *self.alarm.borrow_mut() = Some(promise);
        Ok(())
    }
}

impl Sql for DurableTx {
    async fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, Refusal> {
        let bound: Result<Vec<SqlStorageValue>, Refusal> = parameters.iter().map(bind).collect();
        let cursor = self.sql.exec(statement, bound?).map_err(|error| fault::store(&error))?;
        let mut rows = Vec::new();
        for row in cursor.raw() {
            let columns = row.map_err(|error| fault::store(&error))?;
            rows.push(Row(columns.into_iter().map(read).collect::<Result<_, _>>()?));
        }
        Ok(rows)
    }
}

fn bind(value: &Value) -> Result<SqlStorageValue, Refusal> {
    Ok(match value {
        Value::Null => SqlStorageValue::Null,
        // Integers cross as doubles: one that would not come back the same is refused.
        Value::Integer(integer) => {
            SqlStorageValue::try_from_i64(*integer).map_err(|error| fault::store(&error))?
        }
        Value::Text(text) => SqlStorageValue::String(text.clone()),
        Value::Blob(blob) => SqlStorageValue::Blob(blob.clone()),
    })
}

fn read(value: SqlStorageValue) -> Result<Value, Refusal> {
    match value {
        SqlStorageValue::Null => Ok(Value::Null),
        SqlStorageValue::Boolean(truth) => Ok(Value::Integer(truth.into())),
        SqlStorageValue::Integer(integer) => Ok(Value::Integer(integer)),
        // A fraction, or an integer beyond 2^53 that has lost its last digits on the way.
        SqlStorageValue::Float(_) => {
            Err(fault::store(&"a column holds a number that does not cross exactly"))
        }
        SqlStorageValue::String(text) => Ok(Value::Text(text)),
        SqlStorageValue::Blob(blob) => Ok(Value::Blob(blob)),
    }
}
