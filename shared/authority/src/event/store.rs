//! The event objects' tables. The object's own key leads every primary key.

use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::id::EventId;
use hookproof_core::time::Timestamp;
use hookproof_ports::{FromRow, Row, Sql, Value};
use serde::{Deserialize, Serialize};

use super::Answer;
use crate::directory::Matched;
use crate::message::EventRef;
use crate::rows::{from_json, to_json};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS event(
        object TEXT NOT NULL, event_id TEXT NOT NULL, record TEXT NOT NULL, body TEXT NOT NULL,
        PRIMARY KEY(object, event_id)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS page(
        object TEXT NOT NULL, event_id TEXT NOT NULL, page INTEGER NOT NULL, due INTEGER, record TEXT NOT NULL,
        PRIMARY KEY(object, event_id, page)
    ) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS page_due ON page(due, object) WHERE due IS NOT NULL",
];

/// An accepted event.
pub(super) struct Stored {
    pub(super) event: EventRef,
    pub(super) request_digest: Digest,
    pub(super) body: String,
}

#[derive(Serialize, Deserialize)]
struct EventRecord {
    event: EventRef,
    request_digest: Digest,
}

/// Up to a hundred subscriptions to ask, and which of them have answered, bit by bit.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Page {
    pub(super) event: EventId,
    pub(super) page: u32,
    pub(super) asked: Vec<Matched>,
    #[serde(with = "hex")]
    pub(super) answered: u128,
    pub(super) tries: u32,
    pub(super) due: Option<Timestamp>,
}

impl Page {
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Matched> {
        self.asked.iter().enumerate().filter(|(bit, _)| self.answered >> bit & 1 == 0).map(|(_, it)| it)
    }
}

/// JSON numbers do not hold 128 bits on every host; text does.
mod hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bits: &u128, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{bits:x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u128, D::Error> {
        let text = String::deserialize(deserializer)?;
        u128::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

pub(super) struct Tables<'a, S> {
    pub(super) sql: &'a S,
    pub(super) object: &'a str,
}

impl<S: Sql> Tables<'_, S> {
    async fn query(&self, statement: &str, rest: Vec<Value>) -> Result<Vec<Row>, Refusal> {
        let mut parameters = vec![Value::from(self.object)];
        parameters.extend(rest);
        self.sql.query(statement, &parameters).await
    }

    pub(super) async fn event(&self, id: &EventId) -> Result<Option<Stored>, Refusal> {
        let rows = self
            .query(
                "SELECT record, body FROM event WHERE object = ? AND event_id = ?",
                vec![id.as_str().into()],
            )
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let EventRecord { event, request_digest } = from_json(row.text(0)?)?;
        Ok(Some(Stored { event, request_digest, body: row.text(1)?.to_owned() }))
    }

    pub(super) async fn put_event(&self, stored: &Stored) -> Result<(), Refusal> {
        let record = EventRecord { event: stored.event.clone(), request_digest: stored.request_digest };
        let values =
            vec![stored.event.id.as_str().into(), to_json(&record)?.into(), stored.body.as_str().into()];
        self.query("INSERT INTO event(object, event_id, record, body) VALUES(?, ?, ?, ?)", values)
            .await
            .map(|_| ())
    }

    pub(super) async fn pages(&self, id: &EventId) -> Result<Vec<Page>, Refusal> {
        let rows = self
            .query(
                "SELECT record FROM page WHERE object = ? AND event_id = ? ORDER BY page",
                vec![id.as_str().into()],
            )
            .await?;
        rows.iter().map(|row| from_json(row.text(0)?)).collect()
    }

    pub(super) async fn due_pages(&self, now: Timestamp) -> Result<Vec<Page>, Refusal> {
        let statement = "SELECT record FROM page WHERE object = ? AND due <= ? ORDER BY due LIMIT 10";
        let rows = self.query(statement, vec![now.millis().into()]).await?;
        rows.iter().map(|row| from_json(row.text(0)?)).collect()
    }

    pub(super) async fn put_page(&self, page: &Page) -> Result<(), Refusal> {
        let statement = "INSERT INTO page(object, event_id, page, due, record) VALUES(?, ?, ?, ?, ?)
            ON CONFLICT(object, event_id, page) DO UPDATE SET due = excluded.due, record = excluded.record";
        let values = vec![
            page.event.as_str().into(),
            Value::Integer(page.page.into()),
            page.due.map(Timestamp::millis).into(),
            to_json(page)?.into(),
        ];
        self.query(statement, values).await.map(|_| ())
    }

    /// Sets one bit; a page whose every bit is set is asked no more.
    pub(super) async fn answered(&self, answer: &Answer) -> Result<(), Refusal> {
        let statement = "SELECT record FROM page WHERE object = ? AND event_id = ? AND page = ?";
        let rows = self
            .query(statement, vec![answer.event.as_str().into(), Value::Integer(answer.page.into())])
            .await?;
        let Some(row) = rows.first() else { return Ok(()) };
        let mut page: Page = from_json(row.text(0)?)?;
        let Some(bit) = page.asked.iter().position(|it| it.subscription_id == answer.subscription) else {
            return Ok(());
        };
        if page.answered >> bit & 1 == 1 {
            return Ok(());
        }
        page.answered |= 1 << bit;
        if page.unanswered().next().is_none() {
            page.due = None;
        }
        self.put_page(&page).await
    }

    pub(super) async fn next_due(&self) -> Result<Option<Timestamp>, Refusal> {
        let rows =
            self.query("SELECT min(due) FROM page WHERE object = ? AND due IS NOT NULL", vec![]).await?;
        let millis = rows.first().map_or(Ok(None), |row| row.optional_integer(0))?;
        Ok(millis.map(Timestamp::from_millis))
    }
}
