//! Arrivals: stored once with their bytes, counted when they come again, quarantined when they
//! contradict what is stored. Nothing that is stored is ever overwritten.

use hookproof_core::receiver::{Arrival, InboxState, Item, ItemReceipt, is_too_old};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::Sql;

use super::command::{Delivery, Outcome, Reply};
use super::object::Session;
use super::view::Quarantined;

impl<S: Sql> Session<'_, S> {
    pub(super) async fn store(&mut self, delivery: &Delivery) -> Result<Reply, Refusal> {
        if delivery.key.source != self.table.object {
            return Err(Refusal::new(Reason::InternalHost, "a delivery was given to another source's inbox"));
        }
        let id = delivery.key.id();
        let (outcome, receipts_due) = match self.table.item(&id).await? {
            None if is_too_old(delivery.accepted_at, self.now) => {
                (self.refuse(&id, Reason::EventTooOld, None, delivery).await?, false)
            }
            None => (self.first(&id, delivery).await?, false),
            Some(item) if item.digest == delivery.digest => self.again(&id, item, delivery).await?,
            Some(item) => (self.refuse(&id, Reason::EventConflict, Some(&item), delivery).await?, false),
        };
        Ok(Reply::Stored { outcome, id, receipts_due })
    }

    async fn first(&mut self, id: &str, delivery: &Delivery) -> Result<Outcome, Refusal> {
        let event_type = delivery.event_type.clone();
        let item =
            Item::arrive(delivery.key.clone(), delivery.digest, event_type, delivery.signed_at, self.now);
        self.table.insert(id, &item, delivery).await?;
        if let Some(arrival) = &delivery.arrival {
            self.table.put_receipt(id, &ItemReceipt::waiting(arrival.clone())).await?;
        }
        Ok(Outcome::New)
    }

    async fn again(&mut self, id: &str, item: Item, delivery: &Delivery) -> Result<(Outcome, bool), Refusal> {
        let completed = matches!(item.state, InboxState::Completed { .. });
        self.table.update(id, &item.repeat()).await?;
        self.head.totals.duplicates += 1;
        self.counted = true;
        let due = match &delivery.arrival {
            Some(arrival) => self.owe(id, arrival, completed).await?,
            None => false,
        };
        Ok((Outcome::Duplicate, due))
    }

    /// The receipt for a repeated arrival; due at once where the event is completed.
    async fn owe(&mut self, id: &str, arrival: &Arrival, completed: bool) -> Result<bool, Refusal> {
        let before = self.table.receipt(id, &arrival.subscription).await?;
        let mut receipt = match before.clone() {
            None => ItemReceipt::waiting(arrival.clone()),
            Some(receipt) => receipt.again(arrival.clone()),
        };
        if completed {
            receipt = receipt.release(self.now);
        }
        if before.as_ref() == Some(&receipt) {
            return Ok(false);
        }
        self.table.put_receipt(id, &receipt).await?;
        Ok(completed)
    }

    async fn refuse(
        &mut self,
        id: &str,
        reason: Reason,
        stored: Option<&Item>,
        delivery: &Delivery,
    ) -> Result<Outcome, Refusal> {
        let before = self.table.quarantined(id, &delivery.digest).await?;
        let row = Quarantined {
            id: id.to_owned(),
            event_id: delivery.key.event_id.clone(),
            event_type: delivery.event_type.clone(),
            reason,
            payload_digest: delivery.digest,
            stored_digest: stored.map(|item| item.digest),
            arrival: delivery.arrival.clone(),
            first_at: before.as_ref().map_or(self.now, |row| row.first_at),
            last_at: self.now,
            times: before.map_or(0, |row| row.times) + 1,
        };
        self.table.quarantine(&row, delivery).await?;
        let totals = &mut self.head.totals;
        let total = if stored.is_some() { &mut totals.conflicts } else { &mut totals.too_old };
        *total += 1;
        self.counted = true;
        Ok(Outcome::Refused(reason))
    }
}
