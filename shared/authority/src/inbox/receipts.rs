//! Receipts: counted before they are sent, tried until the sender answers for good.

use hookproof_core::id::SubscriptionId;
use hookproof_core::receiver::{InboxState, Item, ItemReceipt, ReceiptState};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{FromRow, Sql};

use super::command::{OwedReceipt, Reply};
use super::object::Session;
use crate::rows::from_json;

const DUE: &str = "SELECT r.id, r.record, i.record FROM inbox_receipt r \
    JOIN inbox i ON i.object = r.object AND i.id = r.id \
    WHERE r.object = ? AND r.due <= ? ORDER BY r.due LIMIT ?";

impl<S: Sql> Session<'_, S> {
    pub(super) async fn take_receipts(&mut self, limit: u32) -> Result<Reply, Refusal> {
        let mut owed = Vec::new();
        for row in self.table.rows(DUE, &[self.now.millis().into(), i64::from(limit).into()]).await? {
            let id = row.text(0)?;
            let receipt = from_json::<ItemReceipt>(row.text(1)?)?.begin(self.now);
            let item: Item = from_json(row.text(2)?)?;
            let InboxState::Completed { result, operation_id, .. } = item.state else {
                return Err(Refusal::new(
                    Reason::InternalCorrupt,
                    "a receipt is due before its event is done",
                ));
            };
            self.table.put_receipt(id, &receipt).await?;
            owed.push(OwedReceipt {
                id: id.to_owned(),
                key: item.key,
                digest: item.digest,
                result,
                operation_id,
                tries: receipt.tries,
                arrival: receipt.arrival,
            });
        }
        let [_, due] = self.table.due().await?;
        Ok(Reply::Receipts { owed, more: due.is_some_and(|due| due <= self.now) })
    }

    pub(super) async fn report_receipt(
        &mut self,
        id: &str,
        subscription: &SubscriptionId,
        status: Option<u16>,
    ) -> Result<Reply, Refusal> {
        let unknown = || Refusal::new(Reason::EventUnknown, "no receipt is owed for this event");
        let receipt = self.table.receipt(id, subscription).await?.ok_or_else(unknown)?;
        self.settle(id, receipt.clone(), receipt.answered(status, self.now)).await?;
        Ok(Reply::Done)
    }

    pub(super) async fn abandon_receipts(&mut self, limit: u32) -> Result<(), Refusal> {
        let parameters = [self.now.millis().into(), i64::from(limit).into()];
        for row in self.table.rows(DUE, &parameters).await? {
            let receipt: ItemReceipt = from_json(row.text(1)?)?;
            self.settle(row.text(0)?, receipt.clone(), receipt.abandon(self.now)).await?;
        }
        Ok(())
    }

    async fn settle(&mut self, id: &str, before: ItemReceipt, after: ItemReceipt) -> Result<(), Refusal> {
        if before == after {
            return Ok(());
        }
        let totals = &mut self.head.totals;
        let total = match after.state {
            ReceiptState::Waiting | ReceiptState::Due => None,
            ReceiptState::Confirmed { .. } => Some(&mut totals.receipts_confirmed),
            ReceiptState::Refused { .. } => Some(&mut totals.receipts_refused),
            ReceiptState::GivenUp { .. } => Some(&mut totals.receipts_given_up),
        };
        if let Some(total) = total {
            *total += 1;
            self.counted = true;
        }
        self.table.put_receipt(id, &after).await
    }
}
