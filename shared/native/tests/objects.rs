//! What [`Objects`] keeps beyond the contract of all hosts.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

use std::cell::Cell;

use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_native::{NativeStore, Objects, SeededEntropy, TestClock};
use hookproof_ports::contract::{Counted, Counter, CounterCommand};
use hookproof_ports::{Aggregate, Alarm, Ask, Commit, Context, FromRow as _, Sql, Store as _};
use serde::{Deserialize, Serialize};

/// Writes, arms its alarm and carries a number, which JSON may not.
#[derive(Default)]
struct Fussy {
    refuses: Cell<bool>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Number(f64);

impl Aggregate for Fussy {
    const NAME: &'static str = "fussy";
    const SCHEMA: &'static [&'static str] = &["CREATE TABLE IF NOT EXISTS fussy(n INTEGER)"];
    type Command = Number;
    type Reply = Number;
    type Wake = Number;

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        number: Number,
    ) -> Result<Commit<Number>, Refusal> {
        sql.query("INSERT INTO fussy(n) VALUES(1)", &[]).await?;
        Ok(Commit { reply: number, alarm: Alarm::At(context.now) })
    }

    async fn wake<S: Sql>(&self, _: &Context<'_>, sql: &S) -> Result<Commit<Vec<Number>>, Refusal> {
        sql.query("INSERT INTO fussy(n) VALUES(100)", &[]).await?;
        if self.refuses.get() {
            return Err(Refusal::new(Reason::InternalHost, "on purpose"));
        }
        Ok(Commit::keep(vec![Number(0.5)]))
    }
}

#[derive(Default)]
struct Deployment {
    counter: Counter,
    fussy: Fussy,
}

impl AsRef<Counter> for Deployment {
    fn as_ref(&self) -> &Counter {
        &self.counter
    }
}

impl AsRef<Fussy> for Deployment {
    fn as_ref(&self) -> &Fussy {
        &self.fussy
    }
}

fn objects(store: NativeStore) -> (TestClock, Objects<Deployment>) {
    let clock = TestClock::at(Timestamp::from_unix(1_800_000_000));
    (clock.clone(), Objects::new(Deployment::default(), store, clock, SeededEntropy::new(1)))
}

fn in_memory() -> (TestClock, Objects<Deployment>) {
    objects(NativeStore::in_memory().unwrap())
}

async fn sum(objects: &Objects<Deployment>) -> i64 {
    let statement = "SELECT coalesce(sum(n), 0) FROM fussy";
    let rows = objects.store().transact(async |sql: &_| sql.query(statement, &[]).await).await.unwrap();
    rows[0].integer(0).unwrap()
}

fn add(alarm_in: Span) -> CounterCommand {
    CounterCommand::Add { alarm_in: Some(alarm_in), repeats: 0 }
}

async fn fired(objects: &Objects<Deployment>, key: &str) -> i64 {
    let told: Counted =
        Ask::<Counter>::ask(objects, key, CounterCommand::Tell { text: String::new() }).await.unwrap();
    told.fired
}

#[tokio::test]
async fn a_command_that_does_not_survive_json_reaches_no_object() {
    let (_, objects) = in_memory();
    let asked: Result<Number, _> = Ask::<Fussy>::ask(&objects, "a", Number(f64::NAN)).await;
    assert_eq!(asked.unwrap_err().reason, Reason::InternalHost);
    assert_eq!((sum(&objects).await, objects.next_alarm().await), (0, Ok(None)));
}

#[tokio::test]
async fn what_json_carries_comes_back() {
    let (clock, objects) = in_memory();
    assert_eq!(Ask::<Fussy>::ask(&objects, "a", Number(1.5)).await, Ok(Number(1.5)));
    assert_eq!(objects.next_alarm().await, Ok(Some(Timestamp::from_unix(1_800_000_000))));
    let due = objects.due::<Fussy>(clock.advance(Span::millis(0))).await.unwrap();
    assert_eq!(due, ["a"]);
    assert_eq!(objects.fire::<Fussy>("a").await, Ok(vec![Number(0.5)]));
    assert_eq!((sum(&objects).await, objects.next_alarm().await), (101, Ok(None)));
}

#[tokio::test]
async fn a_refused_wake_writes_nothing_and_fires_again() {
    let (clock, objects) = in_memory();
    let _: Number = Ask::<Fussy>::ask(&objects, "a", Number(1.0)).await.unwrap();
    objects.deployment().fussy.refuses.set(true);
    assert_eq!(objects.fire::<Fussy>("a").await.unwrap_err().detail, "on purpose");
    assert_eq!(sum(&objects).await, 1);
    let now = clock.advance(Span::seconds(1));
    assert_eq!(objects.due::<Fussy>(now).await.unwrap(), ["a"]);
    objects.deployment().fussy.refuses.set(false);
    assert_eq!(objects.fire::<Fussy>("a").await.unwrap().len(), 1);
    assert!(objects.due::<Fussy>(now).await.unwrap().is_empty());
}

#[tokio::test]
async fn only_a_due_alarm_fires_and_only_once() {
    let (clock, objects) = in_memory();
    assert_eq!(objects.fire::<Counter>("a").await, Ok(vec![]));
    let _: Counted = Ask::<Counter>::ask(&objects, "a", add(Span::seconds(10))).await.unwrap();
    assert_eq!(objects.fire::<Counter>("a").await, Ok(vec![]));
    assert_eq!(fired(&objects, "a").await, 0);
    clock.advance(Span::seconds(10));
    assert_eq!(objects.fire::<Counter>("a").await, Ok(vec![1]));
    assert_eq!(objects.fire::<Counter>("a").await, Ok(vec![]));
}

#[tokio::test]
async fn due_objects_come_earliest_first_and_only_of_their_own_kind() {
    let (clock, objects) = in_memory();
    for (key, seconds) in [("b", 2), ("a", 2), ("c", 1), ("d", 9)] {
        let _: Counted = Ask::<Counter>::ask(&objects, key, add(Span::seconds(seconds))).await.unwrap();
    }
    let _: Number = Ask::<Fussy>::ask(&objects, "a", Number(1.0)).await.unwrap();
    let now = clock.advance(Span::seconds(3));
    assert_eq!(objects.due::<Counter>(now).await.unwrap(), ["c", "a", "b"]);
    assert_eq!(objects.due::<Fussy>(now).await.unwrap(), ["a"]);
    objects.fire::<Fussy>("a").await.unwrap();
    assert_eq!(objects.due::<Counter>(now).await.unwrap(), ["c", "a", "b"]);
}

#[tokio::test]
async fn an_overdue_alarm_fires_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookproof.db");
    let (_, before) = objects(NativeStore::open(&path).unwrap());
    let _: Counted = Ask::<Counter>::ask(&before, "a", add(Span::seconds(1))).await.unwrap();
    drop(before);
    let (clock, after) = objects(NativeStore::open(&path).unwrap());
    let now = clock.advance(Span::days(1));
    assert_eq!(after.next_alarm().await, Ok(Some(Timestamp::from_unix(1_800_000_001))));
    assert_eq!(after.due::<Counter>(now).await.unwrap(), ["a"]);
    assert_eq!(after.fire::<Counter>("a").await, Ok(vec![1]));
}
