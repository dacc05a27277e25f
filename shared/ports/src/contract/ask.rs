//! What [`Ask`] promises: a command, what it wrote and its alarm are one; an alarm fires when it is due
//! and not after it was cleared; objects do not touch each other.

use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use serde::{Deserialize, Serialize};

use super::{Broken, expect};
use crate::ask::{Aggregate, Alarm, Ask, Commit, Context};
use crate::entropy::random;
use crate::sql::{FromRow, Sql, Value};

/// The smallest aggregate that can break every promise.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counter;

impl AsRef<Self> for Counter {
    fn as_ref(&self) -> &Self {
        self
    }
}

/// What a [`Counter`] can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum CounterCommand {
    /// Counts one, and sets the alarm for so much later; `repeats` more follow when it fires.
    Add {
        /// From now until the alarm; none leaves it as it is.
        alarm_in: Option<Span>,
        /// How often the alarm sets itself again, a millisecond later.
        repeats: i64,
    },
    /// Counts one, would set the alarm, and then refuses.
    Refuse,
    /// Clears the alarm.
    Calm,
    /// Forgets everything, the alarm too.
    Forget,
    /// Tells; refused for an object that was never added to.
    Tell {
        /// Comes back.
        text: String,
    },
}

/// What a [`Counter`] tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// How often it was added to.
    pub count: i64,
    /// How often its alarm fired.
    pub fired: i64,
    /// Its own name.
    pub key: String,
    /// What it was to say.
    pub text: String,
    /// Octets of its own.
    pub octets: [u8; 16],
    /// When, by its clock.
    pub at: Option<Timestamp>,
}

const TELL: &str = "SELECT added, fired FROM contract_counter WHERE key = ?";
const ADD: &str = "INSERT INTO contract_counter(key, added, fired, repeats) VALUES(?, 1, 0, ?) \
                   ON CONFLICT(key) DO UPDATE SET added = added + 1, repeats = excluded.repeats";
const FIRE: &str = "UPDATE contract_counter SET fired = fired + 1, repeats = repeats - 1 \
                    WHERE key = ? RETURNING fired, repeats";

impl Aggregate for Counter {
    const NAME: &'static str = "contract_counter";
    const SCHEMA: &'static [&'static str] = &["CREATE TABLE IF NOT EXISTS contract_counter(\
         key TEXT PRIMARY KEY, added INTEGER, fired INTEGER, repeats INTEGER) WITHOUT ROWID"];
    type Command = CounterCommand;
    type Reply = Counted;
    type Wake = i64;

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: CounterCommand,
    ) -> Result<Commit<Counted>, Refusal> {
        let key = Value::from(context.key);
        let mut alarm = Alarm::Keep;
        let mut said = String::new();
        match command {
            CounterCommand::Add { alarm_in, repeats } => {
                sql.query(ADD, &[key.clone(), repeats.into()]).await?;
                alarm = alarm_in.map_or(Alarm::Keep, |span| Alarm::At(context.now + span));
            }
            CounterCommand::Refuse => {
                sql.query(ADD, &[key, 0.into()]).await?;
                return Err(on_purpose());
            }
            CounterCommand::Calm => alarm = Alarm::Clear,
            CounterCommand::Forget => {
                sql.query("DELETE FROM contract_counter WHERE key = ?", &[key]).await?;
                return Ok(Commit { reply: Counted::default(), alarm: Alarm::Clear });
            }
            CounterCommand::Tell { text } => said = text,
        }
        let rows = sql.query(TELL, &[key]).await?;
        let row = rows.first().ok_or_else(|| Refusal::new(Reason::SubscriptionUnknown, "never added to"))?;
        let reply = Counted {
            count: row.integer(0)?,
            fired: row.integer(1)?,
            key: context.key.to_owned(),
            text: said,
            octets: random(context.entropy),
            at: Some(context.now),
        };
        Ok(Commit { reply, alarm })
    }

    async fn wake<S: Sql>(&self, context: &Context<'_>, sql: &S) -> Result<Commit<Vec<i64>>, Refusal> {
        let rows = sql.query(FIRE, &[context.key.into()]).await?;
        let Some(row) = rows.first() else { return Ok(Commit::keep(Vec::new())) };
        let again = row.integer(1)? >= 0;
        let alarm = if again { Alarm::At(context.now + Span::millis(1)) } else { Alarm::Keep };
        Ok(Commit { reply: vec![row.integer(0)?], alarm })
    }
}

fn on_purpose() -> Refusal {
    Refusal::new(Reason::GenerationStale, "on purpose").at("field", "another one")
}

/// How far ahead the suite sets alarms: hosts that cannot move their clock wait for them.
const SOON: Span = Span::millis(300);
const NEVER: Span = Span::days(1);

/// Runs the whole suite on the counters `contract-a` and `contract-b`, which are forgotten afterwards.
/// `pass` lets so much time pass and whatever is due within it fire. Returns the number of promises
/// checked.
pub async fn ask_keeps_its_promises(
    host: &impl Ask<Counter>,
    pass: impl AsyncFn(Span),
) -> Result<u32, Broken> {
    let a = Object { host, key: "contract-a" };
    let b = Object { host, key: "contract-b" };
    a.tell(CounterCommand::Forget).await?;
    b.tell(CounterCommand::Forget).await?;
    unknown_stays_unknown(&a).await?;
    commits_or_refuses(&a, &b).await?;
    carries_what_it_is_given(&a).await?;
    alarms_fire(&a, &b, &pass).await?;
    alarms_are_part_of_the_commit(&a, &pass).await?;
    a.tell(CounterCommand::Forget).await?;
    b.tell(CounterCommand::Forget).await?;
    unknown_stays_unknown(&a).await?;
    Ok(5)
}

struct Object<'a, H> {
    host: &'a H,
    key: &'a str,
}

impl<H: Ask<Counter>> Object<'_, H> {
    async fn ask(&self, command: CounterCommand) -> Result<Counted, Refusal> {
        self.host.ask(self.key, command).await
    }

    async fn tell(&self, command: CounterCommand) -> Result<Counted, Broken> {
        let told = self.ask(command).await;
        told.map_err(|refusal| Broken(format!("{} takes a command, not {refusal}", self.key)))
    }

    async fn now(&self) -> Result<Counted, Broken> {
        self.tell(CounterCommand::Tell { text: String::new() }).await
    }
}

fn add(alarm_in: Option<Span>, repeats: i64) -> CounterCommand {
    CounterCommand::Add { alarm_in, repeats }
}

async fn unknown_stays_unknown<H: Ask<Counter>>(a: &Object<'_, H>) -> Result<(), Broken> {
    for _ in 0..2 {
        let refused = a.ask(CounterCommand::Tell { text: String::new() }).await.err();
        let reason = refused.map(|refusal| refusal.reason);
        expect(
            reason == Some(Reason::SubscriptionUnknown),
            "an object that holds nothing says so, each time",
        )?;
    }
    Ok(())
}

async fn commits_or_refuses<H: Ask<Counter>>(a: &Object<'_, H>, b: &Object<'_, H>) -> Result<(), Broken> {
    let refused = a.ask(CounterCommand::Refuse).await.err();
    expect(refused == Some(on_purpose()), "a refusal comes back whole")?;
    unknown_stays_unknown(a).await?;
    a.tell(add(None, 0)).await?;
    expect(a.tell(add(None, 0)).await?.count == 2, "a command sees what the one before it committed")?;
    let refused = a.ask(CounterCommand::Refuse).await.err();
    let told = a.now().await?;
    expect(refused.is_some() && told.count == 2, "a refused command has written nothing")?;
    expect(told.key == a.key, "an object knows its own name")?;
    expect(b.tell(add(None, 0)).await?.count == 1, "objects do not touch each other")
}

async fn carries_what_it_is_given<H: Ask<Counter>>(a: &Object<'_, H>) -> Result<(), Broken> {
    let text = "ünïcode \u{1f980} \"\\\u{0}\u{2028}".repeat(5000);
    let first = a.tell(CounterCommand::Tell { text: text.clone() }).await?;
    expect(first.text == text, "text of 100 KiB comes back as it went in")?;
    let second = a.now().await?;
    expect(first.octets != second.octets && first.octets != [0; 16], "octets are fresh for each command")?;
    expect(first.at.is_some() && first.at <= second.at, "time does not go back between two commands")
}

async fn alarms_fire<H: Ask<Counter>>(
    a: &Object<'_, H>,
    b: &Object<'_, H>,
    pass: &impl AsyncFn(Span),
) -> Result<(), Broken> {
    a.tell(add(Some(SOON), 0)).await?;
    expect(a.now().await?.fired == 0, "an alarm does not fire before it is due")?;
    pass(SOON + SOON).await;
    expect(a.now().await?.fired == 1, "an alarm fires when it is due")?;
    pass(SOON).await;
    expect(a.now().await?.fired == 1, "an alarm fires once")?;
    expect(b.now().await?.fired == 0, "an alarm is its own object's")?;
    a.tell(add(Some(SOON), 2)).await?;
    pass(SOON + SOON).await;
    pass(SOON).await;
    pass(SOON).await;
    expect(a.now().await?.fired == 4, "an alarm may set itself again")
}

async fn alarms_are_part_of_the_commit<H: Ask<Counter>>(
    a: &Object<'_, H>,
    pass: &impl AsyncFn(Span),
) -> Result<(), Broken> {
    let before = a.now().await?.fired;
    a.tell(add(Some(SOON), 0)).await?;
    a.tell(CounterCommand::Calm).await?;
    pass(SOON + SOON).await;
    expect(a.now().await?.fired == before, "a cleared alarm does not fire")?;
    a.tell(add(Some(SOON), 0)).await?;
    a.tell(add(Some(NEVER), 0)).await?;
    pass(SOON + SOON).await;
    expect(a.now().await?.fired == before, "an alarm put off does not fire at its first time")?;
    a.tell(add(Some(SOON), 0)).await?;
    let refused = a.ask(CounterCommand::Refuse).await.is_err();
    a.now().await?;
    pass(SOON + SOON).await;
    let told = a.now().await?;
    expect(refused && told.fired == before + 1, "neither a refusal nor a question touches the alarm")
}
