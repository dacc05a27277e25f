//! Handling: an event is with one handler at a time, and `completed` is written only by whoever holds
//! its lease, after the effect.

use hookproof_core::receiver::{Advance, HandlerResult, InboxState, Item, default_operation_id};
use hookproof_core::{Reason, Refusal, base64};
use hookproof_ports::{FromRow, Row, Sql, random};

use super::body::Body;
use super::command::{Reply, Work};
use super::object::Session;
use crate::rows::from_json;

const DUE: &str = "SELECT i.id, i.record, b.content_type, b.body FROM inbox i \
    JOIN inbox_body b ON b.object = i.object AND b.id = i.id \
    WHERE i.object = ? AND i.due <= ? ORDER BY i.due LIMIT ?";

impl<S: Sql> Session<'_, S> {
    pub(super) async fn take(&mut self, limit: u32) -> Result<Reply, Refusal> {
        let mut work = Vec::new();
        for row in self.table.rows(DUE, &[self.now.millis().into(), i64::from(limit).into()]).await? {
            let item: Item = from_json(row.text(1)?)?;
            let lease = base64::url(&random::<16>(self.entropy));
            let item = item.lapse(self.now);
            if let Some(taken) = item.clone().take(lease.clone(), self.now) {
                self.table.update(row.text(0)?, &taken).await?;
                work.push(piece(&row, taken, lease)?);
            } else {
                self.count_dead(&item);
                self.table.update(row.text(0)?, &item).await?;
            }
        }
        let [due, _] = self.table.due().await?;
        Ok(Reply::Taken { work, more: due.is_some_and(|due| due <= self.now) })
    }

    pub(super) async fn report(
        &mut self,
        id: &str,
        lease: &str,
        result: HandlerResult,
    ) -> Result<Reply, Refusal> {
        let item = self.known(id).await?;
        let (next, advance) = item.clone().report(lease, result, self.now);
        let state = (&next.state).into();
        if next == item {
            return Ok(Reply::Reported { accepted: false, state, receipts_due: 0 });
        }
        self.table.update(id, &next).await?;
        let mut receipts_due = 0;
        match advance {
            Advance::Waiting => self.count_dead(&next),
            Advance::Completed => {
                self.head.totals.completed += 1;
                self.counted = true;
                self.table.drop_body(id).await?;
                for receipt in self.table.receipts(id).await? {
                    self.table.put_receipt(id, &receipt.release(self.now)).await?;
                    receipts_due += 1;
                }
            }
        }
        Ok(Reply::Reported { accepted: true, state, receipts_due })
    }

    pub(super) async fn replay(&mut self, id: &str) -> Result<Reply, Refusal> {
        let item = self.known(id).await?;
        let before = item.replays;
        let item = item.replay(self.now).map_err(|reason| {
            let words = "only a dead letter is replayed; see its state in the inbox";
            Refusal::new(reason, words).at("item", "the id of an item in state dead_letter")
        })?;
        if item.replays > before {
            self.table.update(id, &item).await?;
            self.head.totals.replays += 1;
            self.counted = true;
        }
        Ok(Reply::Replayed(Box::new((&item).into())))
    }

    pub(super) async fn abandon(&mut self, limit: u32) -> Result<Reply, Refusal> {
        let parameters = [self.now.millis().into(), i64::from(limit).into()];
        for row in self.table.rows(DUE, &parameters).await? {
            let item = from_json::<Item>(row.text(1)?)?.abandon(self.now);
            self.count_dead(&item);
            self.table.update(row.text(0)?, &item).await?;
        }
        self.abandon_receipts(limit).await?;
        Ok(Reply::Done)
    }

    pub(super) async fn known(&self, id: &str) -> Result<Item, Refusal> {
        let unknown = || Refusal::new(Reason::EventUnknown, "no such item in this inbox");
        self.table.item(id).await?.ok_or_else(unknown)
    }

    fn count_dead(&mut self, item: &Item) {
        if matches!(item.state, InboxState::DeadLetter { .. }) {
            self.head.totals.dead_lettered += 1;
            self.counted = true;
        }
    }
}

fn piece(row: &Row, item: Item, lease: String) -> Result<Work, Refusal> {
    Ok(Work {
        id: row.text(0)?.to_owned(),
        lease,
        content_type: row.text(2)?.to_owned(),
        body: Body(row.blob(3)?.to_vec()),
        attempt: item.failures + 1,
        idempotency_key: default_operation_id(&item.key),
        event_type: item.event_type,
        key: item.key,
    })
}
