//! What [`Store`] promises: all or nothing, exact values, and no transaction left open.

use std::future::poll_fn;
use std::task::Poll;

use hookproof_core::{Reason, Refusal};

use super::{Broken, expect};
use crate::sql::{FromRow, Row, Sql, Store, Value};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS contract(id TEXT PRIMARY KEY, n INTEGER, b BLOB) WITHOUT ROWID";

/// Runs the whole suite on `store`, in a table of its own that is empty afterwards. Returns the number
/// of promises checked.
pub async fn store_keeps_its_promises<S: Store>(store: &S) -> Result<u32, Broken> {
    fresh(store).await?;
    commits(store).await?;
    rolls_back(store).await?;
    pending_rolls_back(store).await?;
    compare_and_set(store).await?;
    values_are_exact(store).await?;
    fresh(store).await?;
    Ok(6)
}

async fn fresh<S: Store>(store: &S) -> Result<(), Broken> {
    let emptied = store.transact(async |sql: &S::Tx| {
        sql.query(CREATE, &[]).await?;
        sql.query("DELETE FROM contract", &[]).await
    });
    emptied.await.map(|_| ()).map_err(|fault| Broken(format!("the contract table cannot be made: {fault}")))
}

async fn insert(sql: &impl Sql, id: &str, n: i64) -> Result<Vec<Row>, Refusal> {
    sql.query("INSERT INTO contract(id, n) VALUES(?, ?)", &[id.into(), n.into()]).await
}

async fn count<S: Store>(store: &S) -> Result<i64, Broken> {
    let counted = store.transact(async |sql: &S::Tx| {
        let rows = sql.query("SELECT count(*) FROM contract", &[]).await?;
        rows.first().map_or(Ok(-1), |row| row.integer(0))
    });
    counted.await.map_err(|fault| Broken(format!("count failed: {fault}")))
}

async fn commits<S: Store>(store: &S) -> Result<(), Broken> {
    let written = store.transact(async |sql: &S::Tx| {
        insert(sql, "a", 1).await?;
        insert(sql, "b", 2).await
    });
    expect(written.await.is_ok() && count(store).await? == 2, "Ok commits every statement of the body")
}

async fn rolls_back<S: Store>(store: &S) -> Result<(), Broken> {
    let refused: Result<(), _> = store
        .transact(async |sql: &S::Tx| {
            insert(sql, "c", 3).await?;
            Err(Refusal::new(Reason::GenerationStale, "on purpose"))
        })
        .await;
    expect(refused.is_err_and(|r| r.reason == Reason::GenerationStale), "Err passes through as it is")?;
    expect(count(store).await? == 2, "Err rolls every statement back")?;
    let failed = store
        .transact(async |sql: &S::Tx| {
            insert(sql, "d", 4).await?;
            insert(sql, "a", 5).await
        })
        .await;
    expect(
        failed.is_err_and(|r| r.reason == Reason::InternalStore),
        "a violated constraint is internal.store",
    )?;
    expect(count(store).await? == 2, "a failed statement takes the ones before it along")
}

async fn pending_rolls_back<S: Store>(store: &S) -> Result<(), Broken> {
    let mut polled = false;
    let waiting: Result<(), _> = store
        .transact(async |sql: &S::Tx| {
            insert(sql, "e", 6).await?;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            Ok(())
        })
        .await;
    let reason = waiting.err().map(|refusal| refusal.reason);
    expect(reason == Some(Reason::InternalSqlPending), "awaiting anything but SQL is internal.sql_pending")?;
    expect(count(store).await? == 2, "a pending body is rolled back")
}

async fn compare_and_set<S: Store>(store: &S) -> Result<(), Broken> {
    let statement = "UPDATE contract SET n = n + 1 WHERE id = 'a' AND n = ? RETURNING n";
    let twice = store.transact(async |sql: &S::Tx| {
        let first = sql.query(statement, &[1.into()]).await?;
        let second = sql.query(statement, &[1.into()]).await?;
        Ok((first, second))
    });
    let (first, second) = twice.await.map_err(|fault| Broken(format!("compare-and-set failed: {fault}")))?;
    let won = first.first().and_then(|row| row.integer(0).ok()) == Some(2);
    expect(won && second.is_empty(), "a compare-and-set wins once")
}

async fn values_are_exact<S: Store>(store: &S) -> Result<(), Broken> {
    let row =
        [Value::from("ünïcode\u{1f980}"), Value::Integer(1_796_060_438_120), Value::Blob(vec![0, 1, 255])];
    let read = store
        .transact(async |sql: &S::Tx| {
            sql.query("INSERT INTO contract(id, n, b) VALUES(?, ?, ?)", &row).await?;
            sql.query("INSERT INTO contract(id, n, b) VALUES('nulls', NULL, NULL)", &[]).await?;
            sql.query("SELECT id, n, b FROM contract WHERE b IS NOT NULL OR id = 'nulls' ORDER BY n", &[])
                .await
        })
        .await
        .map_err(|fault| Broken(format!("values failed: {fault}")))?;
    let nulls = Row(vec!["nulls".into(), Value::Null, Value::Null]);
    expect(read == [nulls, Row(row.to_vec())], "text, milliseconds, blobs and NULL come back as they went in")
}
