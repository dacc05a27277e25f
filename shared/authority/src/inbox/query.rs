//! Looks into the inbox; nothing here writes.

use hookproof_core::receiver::{Item, ItemReceipt, Latency};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{FromRow, Sql, Value};

use super::body::Body;
use super::command::{Command, Reply};
use super::object::Session;
use super::view::{ItemDetail, Listed, Metrics, ReceiptView, StateFilter};
use crate::rows::from_json;

/// Most rows of a page.
const MAX_PAGE: u32 = 200;

/// Completed events whose latencies are looked at.
const LATENCIES: i64 = 1000;

impl<S: Sql> Session<'_, S> {
    /// Answers the commands that only look.
    pub(super) async fn query(&self, command: Command) -> Result<Reply, Refusal> {
        match command {
            Command::List { cursor, limit, state } => self.list(cursor.as_deref(), limit, state).await,
            Command::ListDeadLetters { cursor, limit } => {
                self.list(cursor.as_deref(), limit, Some(StateFilter::DeadLetter)).await
            }
            Command::ListQuarantine { limit } => self.quarantine(limit).await,
            Command::Show { id } => self.show(&id).await,
            Command::Metrics => self.metrics().await,
            Command::Store(_)
            | Command::Take { .. }
            | Command::Report { .. }
            | Command::TakeReceipts { .. }
            | Command::ReportReceipt { .. }
            | Command::Abandon { .. }
            | Command::Replay { .. } => Err(Reason::InternalHost.into()),
        }
    }

    async fn list(
        &self,
        cursor: Option<&str>,
        limit: u32,
        state: Option<StateFilter>,
    ) -> Result<Reply, Refusal> {
        let limit = limit.clamp(1, MAX_PAGE);
        let (before, id) = cursor.map_or(Ok((i64::MAX >> 10, "")), read_cursor)?;
        // Spelled out, so that SQLite sees that the index of dead letters serves.
        let filter = state.map_or_else(String::new, |state| format!("AND state = '{}' ", state.name()));
        let statement = format!(
            "SELECT record FROM inbox WHERE object = ? {filter}AND (received_at, id) < (?, ?) \
             ORDER BY received_at DESC, id DESC LIMIT ?"
        );
        let parameters = [Value::Integer(before), id.into(), i64::from(limit + 1).into()];
        let rows = self.table.rows(&statement, &parameters).await?;
        let mut items = Vec::new();
        for row in rows.iter().take(limit as usize) {
            items.push((&from_json::<Item>(row.text(0)?)?).into());
        }
        let next = if rows.len() > limit as usize { items.last().map(cursor_after) } else { None };
        Ok(Reply::Page(Listed { items, next }))
    }

    async fn quarantine(&self, limit: u32) -> Result<Reply, Refusal> {
        let statement =
            "SELECT record FROM inbox_quarantine WHERE object = ? ORDER BY last_at DESC, id, digest LIMIT ?";
        let limit = i64::from(limit.clamp(1, MAX_PAGE));
        let rows = self.table.rows(statement, &[limit.into()]).await?;
        rows.iter().map(|row| from_json(row.text(0)?)).collect::<Result<_, _>>().map(Reply::Quarantine)
    }

    async fn show(&self, id: &str) -> Result<Reply, Refusal> {
        let item = self.known(id).await?;
        let receipts = self.table.receipts(id).await?.into_iter().map(ReceiptView::from).collect();
        let statement = "SELECT fields, body FROM inbox_body WHERE object = ? AND id = ?";
        let rows = self.table.rows(statement, &[id.into()]).await?;
        let (fields, body) = match rows.first() {
            Some(row) => (from_json(row.text(0)?)?, Some(Body(row.blob(1)?.to_vec()))),
            None => (Vec::new(), None),
        };
        Ok(Reply::Item(Box::new(ItemDetail { item: (&item).into(), receipts, fields, body })))
    }

    async fn metrics(&self) -> Result<Reply, Refusal> {
        let count = async |condition: &str, from: &str| {
            let statement = format!("SELECT count(*) FROM {from} WHERE object = ? AND {condition}");
            self.table.integer(&statement, &[]).await.map(|count| count.unwrap_or(0))
        };
        let latencies = "SELECT latency FROM inbox WHERE object = ? AND state = 'completed' \
            ORDER BY received_at DESC, id DESC LIMIT ?";
        let rows = self.table.rows(latencies, &[LATENCIES.into()]).await?;
        let millis: Result<Vec<i64>, Refusal> = rows.iter().map(|row| row.integer(0)).collect();
        Ok(Reply::Metrics(Box::new(Metrics {
            pending: count("due IS NOT NULL AND state = 'pending'", "inbox").await?,
            processing: count("due IS NOT NULL AND state = 'processing'", "inbox").await?,
            dead_letters: count("state = 'dead_letter'", "inbox").await?,
            receipts_due: count("due IS NOT NULL", "inbox_receipt").await?,
            totals: self.head.totals,
            completion: Latency::of(millis?),
        })))
    }
}

impl From<ItemReceipt> for ReceiptView {
    fn from(receipt: ItemReceipt) -> Self {
        Self {
            arrival: receipt.arrival,
            receipt: receipt.state,
            tries: receipt.tries,
            last_status: receipt.last_status,
            next_try_at: receipt.due,
        }
    }
}

fn cursor_after(item: &super::view::ItemView) -> String {
    format!("{}.{}", item.received_at.millis(), item.id)
}

fn read_cursor(text: &str) -> Result<(i64, &str), Refusal> {
    let parts = text.split_once('.').and_then(|(millis, id)| Some((millis.parse().ok()?, id)));
    let words = "the cursor is not one of this list";
    parts.ok_or_else(|| Refusal::new(Reason::BodyMalformed, words).at("cursor", "`next` of an earlier page"))
}
