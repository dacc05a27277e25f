//! Settling: what came of an attempt is one commit; a 410, or an address that is not what it was,
//! suspends its generation in the same one.

use hookproof_core::endpoint::Lookup;
use hookproof_core::ledger::{Outcome, Settled, State};
use hookproof_core::subscription::{Hold, SuspendReason, admit};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Sql, random};

use super::command::{SettleItem, Standing};
use super::evidence::What;
use super::session::Session;
use super::store::DeliveryRow;

impl<S: Sql> Session<'_, S> {
    /// Records outcomes and says where each delivery is now.
    pub(super) async fn settle(&mut self, items: Vec<SettleItem>) -> Result<Vec<Standing>, Refusal> {
        let mut standings = Vec::with_capacity(items.len());
        for item in items {
            standings.push(self.settle_one(item).await?);
        }
        Ok(standings)
    }

    async fn settle_one(&mut self, item: SettleItem) -> Result<Standing, Refusal> {
        let row = self.tables.delivery(&item.delivery_id).await?.ok_or(Reason::DeliveryUnknown)?;
        let generation = self.generation(row.delivery.generation)?.clone();
        let settled = Settled {
            at: self.now(),
            outcome: item.outcome.clone(),
            reason: None,
            assurance: item.assurance,
            lookup: item.lookup.clone(),
            late: false,
        };
        let before = row.delivery.clone();
        let jitter = random::<1>(self.context.entropy)[0];
        let policy = &generation.record.terms.retry;
        let delivery = row.delivery.settle(item.attempt, &item.lease_token, settled, policy, jitter)?;
        if delivery == before {
            return Ok(self.standing(&DeliveryRow { delivery, ..row }));
        }
        let reason = delivery
            .attempts
            .iter()
            .find(|a| a.number == item.attempt)
            .and_then(|a| a.settled.as_ref()?.reason);
        let line = self.chain(What::Settled {
            delivery_id: delivery.id.clone(),
            attempt: item.attempt,
            outcome: item.outcome.clone(),
            assurance: item.assurance,
            lookup: item.lookup.clone(),
            state: delivery.state.name().to_owned(),
            reason,
        })?;
        let gone = delivery.state != before.state
            && matches!(&delivery.state, State::DeadLetter { reason: Reason::EndpointGone, .. });
        let mut row = DeliveryRow { delivery, ..row };
        // Its generation ended while it was on the wire: the timer, due at once, buries what would wait.
        if matches!(admit(row.delivery.generation, &generation.record.state, self.now()), Err(Hold::Never(_)))
        {
            row.delivery.due = row.delivery.due.map(|_| self.now());
        }
        self.tables.put_delivery(&row, &format!("{line}\n")).await?;
        if gone {
            self.suspend(row.delivery.generation, SuspendReason::EndpointGone).await?;
        }
        self.heed_addresses(row.delivery.generation, &item.lookup).await?;
        Ok(self.standing(&row))
    }

    /// Moves on a delivery whose lease or hold ran out; anything else is returned as it was.
    pub(super) async fn step_over(&mut self, row: DeliveryRow) -> Result<DeliveryRow, Refusal> {
        if !matches!(row.delivery.state, State::Dispatching { .. }) {
            return Ok(row);
        }
        let generation = self.generation(row.delivery.generation)?.clone();
        let jitter = random::<1>(self.context.entropy)[0];
        let attempt = row.delivery.attempt;
        let delivery = row.delivery.clone().expire_lease(&generation.record.terms.retry, self.now(), jitter);
        if delivery == row.delivery {
            return Ok(row);
        }
        let line = self.chain(What::Settled {
            delivery_id: delivery.id.clone(),
            attempt,
            outcome: Outcome::Unknown,
            assurance: None,
            lookup: Lookup::default(),
            state: delivery.state.name().to_owned(),
            reason: Some(Reason::TransportWorkerLost),
        })?;
        let row = DeliveryRow { delivery, ..row };
        self.tables.put_delivery(&row, &format!("{line}\n")).await?;
        Ok(row)
    }
}
