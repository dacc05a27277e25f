//! Objects: each decides about one thing, alone, in one transaction a command.

use hookproof_core::Refusal;
use hookproof_core::time::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entropy::Entropy;
use crate::sql::Sql;

/// What a command runs with: nothing in it is looked up by the command itself.
pub struct Context<'a> {
    /// Which object this is.
    pub key: &'a str,
    /// The time of the command.
    pub now: Timestamp,
    /// Fresh octets.
    pub entropy: &'a dyn Entropy,
}

/// What to do with the object's one timer, in the same transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alarm {
    /// Leave it.
    Keep,
    /// Fire at this time.
    At(Timestamp),
    /// Fire no more.
    Clear,
}

/// A command's outcome.
#[derive(Debug)]
pub struct Commit<R> {
    /// What the caller gets.
    pub reply: R,
    /// What becomes of the timer.
    pub alarm: Alarm,
}

impl<R> Commit<R> {
    /// A reply that leaves the timer alone.
    pub fn keep(reply: R) -> Self {
        Self { reply, alarm: Alarm::Keep }
    }
}

/// A kind of object: its schema, its commands, its timer. The same code runs on every host.
pub trait Aggregate {
    /// Its name in routes, logs and the native store.
    const NAME: &'static str;
    /// Statements that create its tables; each may run any number of times.
    const SCHEMA: &'static [&'static str];
    /// What it can be told or asked.
    type Command: Serialize + DeserializeOwned;
    /// What it answers. A command and its reply's type belong together; the kind's own client pairs them.
    type Reply: Serialize;
    /// What its timer asks its host to do.
    type Wake: Serialize + DeserializeOwned;

    /// Runs a command inside a transaction.
    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: Self::Command,
    ) -> Result<Commit<Self::Reply>, Refusal>;

    /// Runs when the timer fires, inside a transaction.
    async fn wake<S: Sql>(&self, context: &Context<'_>, sql: &S) -> Result<Commit<Vec<Self::Wake>>, Refusal>;
}

/// Reaches the objects of a kind.
pub trait Ask<A: Aggregate> {
    /// Sends `command` to the object `key` and waits for its reply, within the host's own time limit. `R`
    /// is the type of this command's reply; another one is a fault of the caller and refused.
    async fn ask<R: DeserializeOwned>(&self, key: &str, command: A::Command) -> Result<R, Refusal>;
}
