//! A database that can be told at which statement to fail.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use hookproof_core::{Reason, Refusal};
use hookproof_native::NativeStore;
use hookproof_native::sql::NativeSql;
use hookproof_ports::{Row, Sql, Store, Value};

use super::now;

/// Clones share one database.
#[derive(Clone)]
pub struct Disk {
    store: Rc<NativeStore>,
    statements: Rc<Statements>,
}

/// The statements of a transaction. Each is handed to the store from outside the body that asks for it,
/// so that this type needs no lifetime.
#[derive(Default)]
pub struct Statements {
    asked: RefCell<Option<(String, Vec<Value>)>>,
    answer: RefCell<Option<Result<Vec<Row>, Refusal>>>,
    ran: Cell<u32>,
    fails_at: Cell<Option<u32>>,
}

/// Every row of every table.
pub type Dump = BTreeMap<String, Vec<Row>>;

fn broken() -> Refusal {
    Refusal::new(Reason::InternalStore, "the disk is gone")
}

impl Sql for Statements {
    async fn query(&self, statement: &str, parameters: &[Value]) -> Result<Vec<Row>, Refusal> {
        *self.asked.borrow_mut() = Some((statement.to_owned(), parameters.to_vec()));
        std::future::poll_fn(|_| self.answer.borrow_mut().take().map_or(Poll::Pending, Poll::Ready)).await
    }
}

impl Store for Disk {
    type Tx = Statements;

    async fn transact<T>(
        &self,
        body: impl AsyncFnOnce(&Self::Tx) -> Result<T, Refusal>,
    ) -> Result<T, Refusal> {
        let statements = &*self.statements;
        statements.ran.set(0);
        let driven = async move |sql: &NativeSql| {
            let mut body = pin!(body(statements));
            loop {
                if let Poll::Ready(done) = body.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
                    // A failure of the commit itself.
                    return if statements.fails_now() { Err(broken()) } else { done };
                }
                let asked = statements.asked.borrow_mut().take();
                let (statement, parameters) = asked.ok_or(Reason::InternalSqlPending)?;
                let failed = statements.fails_now();
                let ran = if failed { Err(broken()) } else { sql.query(&statement, &parameters).await };
                *statements.answer.borrow_mut() = Some(ran);
            }
        };
        self.store.transact(driven).await
    }
}

impl Statements {
    fn fails_now(&self) -> bool {
        let number = self.ran.get();
        self.ran.set(number + 1);
        self.fails_at.get() == Some(number)
    }
}

impl Disk {
    pub fn new(store: NativeStore) -> Self {
        Self { store: Rc::new(store), statements: Rc::default() }
    }

    /// Makes statement `number` of each transaction fail, counted from 0; the one after the last is the
    /// commit.
    pub fn fail_at(&self, number: Option<u32>) {
        self.statements.fails_at.set(number);
    }

    /// How many statements the last transaction ran, its commit included.
    pub fn ran(&self) -> u32 {
        self.statements.ran.get()
    }

    pub fn rows(&self, statement: &str) -> Vec<Row> {
        now(self.store.transact(async |sql: &NativeSql| sql.query(statement, &[]).await)).unwrap()
    }

    pub fn dump(&self) -> Dump {
        let names = self.rows("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name");
        let table = |row: &Row| match row.0.first() {
            Some(Value::Text(name)) => (name.clone(), self.rows(&format!("SELECT * FROM {name}"))),
            other => panic!("{other:?} is no name"),
        };
        names.iter().map(table).collect()
    }
}
