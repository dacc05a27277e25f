//! What [`NativeStore`] keeps beyond the contract of all stores.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Waker};

use hookproof_core::{Reason, Refusal};
use hookproof_native::NativeStore;
use hookproof_ports::{FromRow as _, Row, Sql as _, Store as _, Value};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS t(id TEXT PRIMARY KEY) WITHOUT ROWID";

async fn run(store: &NativeStore, statement: &str) -> Result<Vec<Row>, Refusal> {
    store.transact(async |sql: &_| sql.query(statement, &[]).await).await
}

async fn table() -> NativeStore {
    let store = NativeStore::in_memory().unwrap();
    run(&store, CREATE).await.unwrap();
    store
}

async fn count(store: &NativeStore) -> i64 {
    run(store, "SELECT count(*) FROM t").await.unwrap()[0].integer(0).unwrap()
}

#[tokio::test]
async fn a_file_is_logged_ahead_synced_fully_and_outlives_its_connection() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookproof.db");
    let store = NativeStore::open(&path).unwrap();
    for (pragma, value) in [
        ("PRAGMA journal_mode", Value::from("wal")),
        ("PRAGMA synchronous", Value::Integer(2)),
        ("PRAGMA foreign_keys", Value::Integer(0)),
        ("PRAGMA busy_timeout", Value::Integer(5000)),
    ] {
        assert_eq!(run(&store, pragma).await.unwrap(), [Row(vec![value])], "{pragma}");
    }
    run(&store, CREATE).await.unwrap();
    run(&store, "INSERT INTO t(id) VALUES('a')").await.unwrap();
    let beside = NativeStore::open(&path).unwrap();
    assert_eq!(count(&beside).await, 1);
    drop((store, beside));
    assert_eq!(count(&NativeStore::open(&path).unwrap()).await, 1);
    assert!(NativeStore::open(directory.path()).is_err_and(|r| r.reason == Reason::InternalStore));
}

#[tokio::test]
async fn a_transaction_inside_a_transaction_is_refused_and_the_outer_one_goes_on() {
    let store = table().await;
    let outer = store.transact(async |sql: &_| {
        sql.query("INSERT INTO t(id) VALUES('outer')", &[]).await?;
        Ok(run(&store, "INSERT INTO t(id) VALUES('inner')").await)
    });
    assert!(outer.await.unwrap().is_err_and(|refusal| refusal.reason == Reason::InternalStore));
    assert_eq!(run(&store, "SELECT id FROM t").await.unwrap(), [Row(vec!["outer".into()])]);
}

#[tokio::test]
async fn a_panic_leaves_no_transaction_open() {
    let store = table().await;
    let poll = || {
        let body = async |sql: &_| -> Result<(), Refusal> {
            hookproof_native::sql::NativeSql::query(sql, "INSERT INTO t(id) VALUES('a')", &[]).await?;
            panic!("on purpose")
        };
        std::pin::pin!(store.transact(body)).poll(&mut Context::from_waker(Waker::noop()))
    };
    assert!(catch_unwind(AssertUnwindSafe(poll)).is_err());
    assert_eq!(count(&store).await, 0);
}

#[tokio::test]
async fn after_sqlite_rolled_back_by_itself_nothing_more_is_written() {
    let store = table().await;
    run(&store, "INSERT INTO t(id) VALUES('a')").await.unwrap();
    for carries_on in [true, false] {
        let ended = store.transact(async |sql: &_| {
            sql.query("INSERT INTO t(id) VALUES('before')", &[]).await?;
            let failed = sql.query("INSERT OR ROLLBACK INTO t(id) VALUES('a')", &[]).await;
            assert!(failed.is_err());
            if carries_on {
                let after = sql.query("INSERT INTO t(id) VALUES('after')", &[]).await;
                assert!(after.is_err_and(|refusal| refusal.reason == Reason::InternalStore));
            }
            Ok(())
        });
        assert!(ended.await.is_err_and(|refusal| refusal.reason == Reason::InternalStore));
        assert_eq!(count(&store).await, 1);
    }
}

#[tokio::test]
async fn a_body_that_ends_its_own_transaction_is_refused() {
    let store = table().await;
    let ended = store.transact(async |sql: &_| sql.query("COMMIT", &[]).await).await;
    assert!(ended.is_err_and(|refusal| refusal.reason == Reason::InternalStore));
    assert_eq!(count(&store).await, 0);
}

#[tokio::test]
async fn two_statements_in_one_are_refused_and_neither_runs() {
    let store = table().await;
    let both = run(&store, "INSERT INTO t(id) VALUES('a'); INSERT INTO t(id) VALUES('b')").await;
    assert_eq!(both.unwrap_err(), Refusal::new(Reason::InternalStore, "more than one statement"));
    assert_eq!(count(&store).await, 0);
}

#[tokio::test]
async fn a_statement_kept_prepared_sees_a_table_that_has_changed() {
    let store = table().await;
    run(&store, "INSERT INTO t(id) VALUES('a')").await.unwrap();
    assert_eq!(run(&store, "SELECT * FROM t").await.unwrap()[0].0.len(), 1);
    run(&store, "ALTER TABLE t ADD COLUMN n INTEGER").await.unwrap();
    assert_eq!(run(&store, "SELECT * FROM t").await.unwrap()[0], Row(vec!["a".into(), Value::Null]));
}
