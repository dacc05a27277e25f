//! A request that comes twice under one `Idempotency-Key` finds what the first one made.
//!
//! The record is written by the object that commits the effect, in the same transaction. It holds ids
//! and never an answer, so no secret is kept in it. A request that was refused leaves none.

use hookproof_core::digest::Digest;
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{FromRow, Sql};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::rows::{from_json, to_json};

/// How long a key is remembered.
pub const RETENTION: Span = Span::hours(24);

/// The table of an object that keeps records; to stand in its schema.
pub(crate) const TABLE: &str = "CREATE TABLE IF NOT EXISTS idempotency(
        object TEXT NOT NULL, route TEXT NOT NULL, key TEXT NOT NULL,
        digest TEXT NOT NULL, made TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY(object, route, key)
    ) WITHOUT ROWID";

/// Finds old records.
pub(crate) const INDEX: &str = "CREATE INDEX IF NOT EXISTS idempotency_at ON idempotency(object, at)";

/// A request that may come twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Once {
    /// The route, as its template.
    pub route: String,
    /// The client's key.
    pub key: String,
    /// SHA-256 of what was asked.
    pub digest: Digest,
}

/// The records of one object.
pub(crate) struct Records<'a, S> {
    pub(crate) sql: &'a S,
    pub(crate) object: &'a str,
    pub(crate) now: Timestamp,
}

impl<S: Sql> Records<'_, S> {
    /// What the first request under this key made; none if this is the first.
    pub(crate) async fn find<T: DeserializeOwned>(&self, once: &Once) -> Result<Option<T>, Refusal> {
        let statement =
            "SELECT digest, made FROM idempotency WHERE object = ? AND route = ? AND key = ? AND at > ?";
        let values = [
            self.object.into(),
            once.route.as_str().into(),
            once.key.as_str().into(),
            self.horizon().millis().into(),
        ];
        let rows = self.sql.query(statement, &values).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        if Digest::parse(row.text(0)?) != Some(once.digest) {
            let words = "this Idempotency-Key was used on this route with another request";
            return Err(Refusal::new(Reason::IdempotencyConflict, words)
                .at("Idempotency-Key", "a key of its own for each request"));
        }
        from_json(row.text(1)?).map(Some)
    }

    /// Remembers what this request made, and forgets what is past the retention.
    pub(crate) async fn keep<T: Serialize>(&self, once: &Once, made: &T) -> Result<(), Refusal> {
        let old = [self.object.into(), self.horizon().millis().into()];
        self.sql.query("DELETE FROM idempotency WHERE object = ? AND at <= ?", &old).await?;
        let statement =
            "INSERT INTO idempotency(object, route, key, digest, made, at) VALUES(?, ?, ?, ?, ?, ?)";
        let values = [
            self.object.into(),
            once.route.as_str().into(),
            once.key.as_str().into(),
            once.digest.to_string().into(),
            to_json(made)?.into(),
            self.now.millis().into(),
        ];
        self.sql.query(statement, &values).await.map(|_| ())
    }

    /// Records of this time and earlier are forgotten.
    fn horizon(&self) -> Timestamp {
        self.now - RETENTION
    }
}
