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
    a_failure_changes_nothing(store).await?;
    statements_are_checked(store).await?;
    rows_come_back(store).await?;
    tables_are_part_of_it(store).await?;
    values_are_exact(store).await?;
    hard_values_are_exact(store).await?;
    odd_integers_are_refused(store).await?;
    fresh(store).await?;
    Ok(12)
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

async fn a_failure_changes_nothing<S: Store>(store: &S) -> Result<(), Broken> {
    let caught = store.transact(async |sql: &S::Tx| {
        insert(sql, "f", 1).await?;
        let doubled = sql.query("INSERT INTO contract(id, n) VALUES('g', 1), ('a', 2)", &[]).await;
        insert(sql, "h", 1).await?;
        Ok(doubled.is_err())
    });
    let failed = caught.await.map_err(|fault| Broken(format!("a failure was not to be caught: {fault}")))?;
    // a, b; f and h from around the failure, and no g.
    let kept = failed && count(store).await? == 4;
    expect(kept, "a failed statement changes nothing, and a body that catches it may go on")
}

async fn statements_are_checked<S: Store>(store: &S) -> Result<(), Broken> {
    let secret = "a value that is no one's business";
    for (statement, parameters, what) in [
        ("SELEC 1", vec![], "a syntax error"),
        ("SELECT n FROM no_such_table", vec![], "an unknown table"),
        ("SELECT no_such_column FROM contract", vec![], "an unknown column"),
        ("SELECT ?, ?", vec![Value::from(secret)], "a missing parameter"),
        ("SELECT ?", vec![secret.into(), secret.into()], "a parameter too many"),
        ("SELECT 1", vec![secret.into()], "a parameter for nothing"),
        ("INSERT INTO contract(id) VALUES(?), (?)", vec![secret.into(), secret.into()], "a doubled key"),
    ] {
        let ran = store.transact(async |sql: &S::Tx| sql.query(statement, &parameters).await).await;
        let Some(refusal) = ran.err() else { return Err(Broken(format!("{what} is refused"))) };
        expect(refusal.reason == Reason::InternalStore, &format!("{what} is internal.store"))?;
        expect(!refusal.detail.contains(secret), &format!("{what} is explained without values"))?;
    }
    expect(count(store).await? == 4, "what was refused left the store as it was")
}

async fn rows_come_back<S: Store>(store: &S) -> Result<(), Broken> {
    let read = store.transact(async |sql: &S::Tx| {
        let none = sql.query("SELECT id FROM contract WHERE id = 'nobody'", &[]).await?;
        let untouched = sql.query("UPDATE contract SET n = 0 WHERE id = 'nobody'", &[]).await?;
        let all = sql.query("UPDATE contract SET n = 7 RETURNING id", &[]).await?;
        let computed =
            sql.query("SELECT id AS x, id AS x, n FROM contract ORDER BY id LIMIT ?", &[2.into()]).await?;
        Ok((none, untouched, all, computed))
    });
    let (none, untouched, all, computed) =
        read.await.map_err(|fault| Broken(format!("reading failed: {fault}")))?;
    expect(none.is_empty() && untouched.is_empty(), "no row is an empty answer")?;
    expect(all.len() == 4, "RETURNING gives a row for each row touched")?;
    let row = |id: &str| Row(vec![id.into(), id.into(), 7.into()]);
    expect(computed == [row("a"), row("b")], "columns come in order, two of one name as two")
}

async fn tables_are_part_of_it<S: Store>(store: &S) -> Result<(), Broken> {
    let refused: Result<(), _> = store
        .transact(async |sql: &S::Tx| {
            sql.query("CREATE TABLE contract_gone(id TEXT PRIMARY KEY) WITHOUT ROWID", &[]).await?;
            sql.query("INSERT INTO contract_gone(id) VALUES('a')", &[]).await?;
            Err(Refusal::new(Reason::GenerationStale, "on purpose"))
        })
        .await;
    let read = store.transact(async |sql: &S::Tx| sql.query("SELECT id FROM contract_gone", &[]).await).await;
    let gone = refused.is_err_and(|r| r.reason == Reason::GenerationStale) && read.is_err();
    expect(gone, "a table made by a body that refuses is gone")
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

async fn round_trip<S: Store>(store: &S, id: &str, n: Value, b: Value) -> Result<Row, Refusal> {
    let row = [Value::from(id), n, b];
    let write = "INSERT INTO contract(id, n, b) VALUES(?, ?, ?) \
                 ON CONFLICT(id) DO UPDATE SET n = excluded.n, b = excluded.b RETURNING id, n, b";
    store.transact(async |sql: &S::Tx| sql.query(write, &row).await).await?;
    let read = "SELECT id, n, b FROM contract WHERE id = ?";
    let rows = store.transact(async |sql: &S::Tx| sql.query(read, &row[..1]).await).await?;
    rows.into_iter().next().ok_or_else(|| Refusal::new(Reason::InternalStore, "the row is not there"))
}

async fn hard_values_are_exact<S: Store>(store: &S) -> Result<(), Broken> {
    let large: Vec<u8> = (0..300_000_u32).map(|n| n.to_le_bytes()[0]).collect();
    for (what, n, b) in [
        ("an empty blob is not NULL", Value::Null, Value::Blob(Vec::new())),
        ("an empty text is not NULL", Value::Null, Value::Text(String::new())),
        ("a blob of 300,000 octets", 0.into(), Value::Blob(large)),
        ("a text of 300,000 octets", 0.into(), Value::Text("ü".repeat(150_000))),
        ("text that looks like a number stays text", 0.into(), Value::Text("007".to_owned())),
        ("the largest integer", Value::Integer((1 << 53) - 1), Value::Null),
        ("the smallest integer", Value::Integer(1 - (1 << 53)), Value::Null),
    ] {
        let read = round_trip(store, "hard", n.clone(), b.clone()).await;
        let read = read.map_err(|fault| Broken(format!("{what}: {fault}")))?;
        expect(read == Row(vec!["hard".into(), n, b]), &format!("exact: {what}"))?;
    }
    let nul = "before\u{0}after";
    let read = round_trip(store, nul, Value::Null, nul.into()).await;
    let whole = read.map_or(true, |row| row == Row(vec![nul.into(), Value::Null, nul.into()]));
    expect(whole, "text with a NUL is whole or refused, never cut")
}

async fn odd_integers_are_refused<S: Store>(store: &S) -> Result<(), Broken> {
    for odd in [(1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MIN] {
        let bound = store.transact(async |sql: &S::Tx| insert(sql, "odd", odd).await).await;
        expect(bound.is_err(), "an integer that not every host carries is refused")?;
        let statement = format!("SELECT {odd}");
        let read = store.transact(async |sql: &S::Tx| sql.query(&statement, &[]).await).await;
        expect(read.is_err(), "an integer that not every host carries is not read either")?;
    }
    let real = store.transact(async |sql: &S::Tx| sql.query("SELECT 0.5", &[]).await).await;
    expect(real.is_err(), "a number that is not whole is refused")
}
