//! The inbox's tables: a JSON record beside the columns that queries need, the object first in every key
//! so that one database holds many inboxes.
//!
//! Bodies stand apart, so that a change of state rewrites a short row; a completed event's is dropped.

use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::id::SubscriptionId;
use hookproof_core::receiver::{Item, ItemReceipt};
use hookproof_core::time::Timestamp;
use hookproof_ports::{FromRow, Row, Sql, Value};

use super::command::Delivery;
use super::view::{Quarantined, Totals};
use crate::rows::{from_json, to_json};

/// Statements that create the tables.
pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS inbox_head(object TEXT PRIMARY KEY, armed INTEGER, totals TEXT NOT NULL) \
     WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS inbox(object TEXT, id TEXT, state TEXT NOT NULL, due INTEGER, \
     received_at INTEGER NOT NULL, latency INTEGER, record TEXT NOT NULL, PRIMARY KEY(object, id)) \
     WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS inbox_due ON inbox(object, due) WHERE due IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS inbox_arrival ON inbox(object, received_at, id)",
    "CREATE INDEX IF NOT EXISTS inbox_dead ON inbox(object, received_at, id) WHERE state = 'dead_letter'",
    "CREATE TABLE IF NOT EXISTS inbox_body(object TEXT, id TEXT, content_type TEXT NOT NULL, \
     fields TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY(object, id)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS inbox_receipt(object TEXT, id TEXT, subscription TEXT, due INTEGER, \
     record TEXT NOT NULL, PRIMARY KEY(object, id, subscription)) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS inbox_receipt_due ON inbox_receipt(object, due) WHERE due IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS inbox_quarantine(object TEXT, id TEXT, digest TEXT, last_at INTEGER NOT NULL, \
     record TEXT NOT NULL, fields TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY(object, id, digest)) \
     WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS inbox_quarantine_age ON inbox_quarantine(object, last_at)",
];

/// The statements of one inbox.
pub(super) struct Table<'a, S> {
    /// The object's key.
    pub(super) object: &'a str,
    /// The transaction.
    pub(super) sql: &'a S,
}

/// When the timer is set to, and the totals.
#[derive(Default)]
pub(super) struct Head {
    pub(super) armed: Option<Timestamp>,
    pub(super) totals: Totals,
}

fn millis(time: Option<Timestamp>) -> Value {
    time.map(Timestamp::millis).into()
}

impl<S: Sql> Table<'_, S> {
    /// Runs `statement`, whose first parameter is the object.
    pub(super) async fn rows(&self, statement: &str, rest: &[Value]) -> Result<Vec<Row>, Refusal> {
        let mut parameters = vec![Value::from(self.object)];
        parameters.extend_from_slice(rest);
        self.sql.query(statement, &parameters).await
    }

    /// The first integer of the first row, where there is one that is not NULL.
    pub(super) async fn integer(&self, statement: &str, rest: &[Value]) -> Result<Option<i64>, Refusal> {
        self.rows(statement, rest).await?.first().map_or(Ok(None), |row| row.optional_integer(0))
    }

    pub(super) async fn head(&self) -> Result<Head, Refusal> {
        let rows = self.rows("SELECT armed, totals FROM inbox_head WHERE object = ?", &[]).await?;
        let Some(row) = rows.first() else { return Ok(Head::default()) };
        let armed = row.optional_integer(0)?.map(Timestamp::from_millis);
        Ok(Head { armed, totals: from_json(row.text(1)?)? })
    }

    pub(super) async fn put_head(&self, head: &Head) -> Result<(), Refusal> {
        let statement = "INSERT INTO inbox_head(object, armed, totals) VALUES(?, ?, ?) \
            ON CONFLICT(object) DO UPDATE SET armed = excluded.armed, totals = excluded.totals";
        self.rows(statement, &[millis(head.armed), to_json(&head.totals)?.into()]).await.map(drop)
    }

    pub(super) async fn item(&self, id: &str) -> Result<Option<Item>, Refusal> {
        let rows = self.rows("SELECT record FROM inbox WHERE object = ? AND id = ?", &[id.into()]).await?;
        rows.first().map(|row| from_json(row.text(0)?)).transpose()
    }

    pub(super) async fn insert(&self, id: &str, item: &Item, from: &Delivery) -> Result<(), Refusal> {
        let statement = "INSERT INTO inbox(object, id, state, due, received_at, record) \
            VALUES(?, ?, ?, ?, ?, ?)";
        let parameters = [
            id.into(),
            item.state.name().into(),
            millis(item.due),
            item.received_at.millis().into(),
            to_json(item)?.into(),
        ];
        self.rows(statement, &parameters).await?;
        let statement =
            "INSERT INTO inbox_body(object, id, content_type, fields, body) VALUES(?, ?, ?, ?, ?)";
        let parameters = [
            id.into(),
            from.content_type.as_str().into(),
            to_json(&from.fields)?.into(),
            from.body.0.clone().into(),
        ];
        self.rows(statement, &parameters).await.map(drop)
    }

    pub(super) async fn update(&self, id: &str, item: &Item) -> Result<(), Refusal> {
        let statement = "UPDATE inbox SET state = ?, due = ?, latency = ?, record = ? \
            WHERE object = ? AND id = ?";
        let parameters = [
            item.state.name().into(),
            millis(item.due),
            item.latency().map(|span| span.as_millis()).into(),
            to_json(item)?.into(),
            self.object.into(),
            id.into(),
        ];
        self.sql.query(statement, &parameters).await.map(drop)
    }

    pub(super) async fn drop_body(&self, id: &str) -> Result<(), Refusal> {
        self.rows("DELETE FROM inbox_body WHERE object = ? AND id = ?", &[id.into()]).await.map(drop)
    }

    pub(super) async fn receipts(&self, id: &str) -> Result<Vec<ItemReceipt>, Refusal> {
        let statement = "SELECT record FROM inbox_receipt WHERE object = ? AND id = ?";
        let rows = self.rows(statement, &[id.into()]).await?;
        rows.iter().map(|row| from_json(row.text(0)?)).collect()
    }

    pub(super) async fn receipt(
        &self,
        id: &str,
        subscription: &SubscriptionId,
    ) -> Result<Option<ItemReceipt>, Refusal> {
        let statement = "SELECT record FROM inbox_receipt WHERE object = ? AND id = ? AND subscription = ?";
        let rows = self.rows(statement, &[id.into(), subscription.as_str().into()]).await?;
        rows.first().map(|row| from_json(row.text(0)?)).transpose()
    }

    pub(super) async fn put_receipt(&self, id: &str, receipt: &ItemReceipt) -> Result<(), Refusal> {
        let statement = "INSERT INTO inbox_receipt(object, id, subscription, due, record) \
            VALUES(?, ?, ?, ?, ?) ON CONFLICT(object, id, subscription) \
            DO UPDATE SET due = excluded.due, record = excluded.record";
        let subscription = receipt.arrival.subscription.as_str().into();
        let parameters = [id.into(), subscription, millis(receipt.due), to_json(receipt)?.into()];
        self.rows(statement, &parameters).await.map(drop)
    }

    pub(super) async fn quarantined(
        &self,
        id: &str,
        digest: &Digest,
    ) -> Result<Option<Quarantined>, Refusal> {
        let statement = "SELECT record FROM inbox_quarantine WHERE object = ? AND id = ? AND digest = ?";
        let rows = self.rows(statement, &[id.into(), digest.to_string().into()]).await?;
        rows.first().map(|row| from_json(row.text(0)?)).transpose()
    }

    pub(super) async fn quarantine(&self, row: &Quarantined, from: &Delivery) -> Result<(), Refusal> {
        let statement = "INSERT INTO inbox_quarantine(object, id, digest, last_at, record, fields, body) \
            VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT(object, id, digest) \
            DO UPDATE SET last_at = excluded.last_at, record = excluded.record";
        let parameters = [
            row.id.as_str().into(),
            row.payload_digest.to_string().into(),
            row.last_at.millis().into(),
            to_json(row)?.into(),
            to_json(&from.fields)?.into(),
            from.body.0.clone().into(),
        ];
        self.rows(statement, &parameters).await.map(drop)
    }

    /// The earliest due time of events and of receipts.
    pub(super) async fn due(&self) -> Result<[Option<Timestamp>; 2], Refusal> {
        let events = "SELECT min(due) FROM inbox WHERE object = ? AND due IS NOT NULL";
        let receipts = "SELECT min(due) FROM inbox_receipt WHERE object = ? AND due IS NOT NULL";
        let time = |due: Option<i64>| due.map(Timestamp::from_millis);
        Ok([time(self.integer(events, &[]).await?), time(self.integer(receipts, &[]).await?)])
    }
}
