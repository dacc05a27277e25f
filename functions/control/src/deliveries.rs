//! Ledger queries: what state, why did the last attempt fail, when is the next. They read the truth.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::json;
use hookproof_authority::subscription::AskAuthority;
use hookproof_core::id::{DeliveryId, EventId, SubscriptionId};
use hookproof_core::ledger::State;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Queue};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::access::{Caller, Request, query};
use crate::{Control, Fresh, Objects};

const ACCEPTED: &str =
    "?subscription=sub_…, ?event=…, or both; &state=, &cursor=, &limit= with subscription alone";

#[derive(Serialize)]
struct OfEvent<'a> {
    items: Vec<Box<RawValue>>,
    planned: Vec<&'a SubscriptionId>,
    next: Option<DeliveryId>,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn list_deliveries(
        &self,
        caller: &Caller,
        request: &Request,
    ) -> Result<Response<Bytes>, Refusal> {
        let pairs = query(request)?;
        let value =
            |wanted: &str| pairs.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        match (value("subscription"), value("event")) {
            (subscription, Some(event)) => self.of_event(caller, event, subscription).await,
            (Some(subscription), None) => {
                let limit = limit(value("limit"))?;
                let state = state(value("state"))?;
                let cursor = value("cursor")
                    .map(str::parse)
                    .transpose()
                    .map_err(|_| malformed("cursor", "the next of an earlier answer"))?;
                self.of_subscription(caller, subscription, cursor, limit, state).await
            }
            (None, None) => Err(malformed("subscription", ACCEPTED)),
        }
    }

    async fn of_subscription(
        &self,
        caller: &Caller,
        subscription: &str,
        after: Option<DeliveryId>,
        limit: u32,
        state: Option<&str>,
    ) -> Result<Response<Bytes>, Refusal> {
        let (id, _) = self.owned(caller, subscription).await?;
        let page = self.objects.deliveries(&id, after, limit, state.map(str::to_owned)).await?;
        Ok(json(200, &page))
    }

    /// The deliveries of one event, asked of each subscription it went to. A subscription that has not
    /// been asked yet is listed apart: its delivery is planned and nobody has claimed it.
    async fn of_event(
        &self,
        caller: &Caller,
        event: &str,
        subscription: Option<&str>,
    ) -> Result<Response<Bytes>, Refusal> {
        let event: EventId = event.parse().map_err(|_| Refusal::from(Reason::EventUnknown))?;
        let view = self.event(caller, &event).await?;
        let only = match subscription {
            Some(id) => Some(self.owned(caller, id).await?.0),
            None => None,
        };
        let wanted = |id: &&SubscriptionId| only.as_ref().is_none_or(|only| only == *id);
        let mut items: Vec<Box<RawValue>> = Vec::new();
        for id in view.asked.iter().filter(wanted).take(200) {
            let event = &view.event;
            let delivery_id =
                DeliveryId::of(&event.tenant, event.environment, id, &event.id, event.accepted_at);
            match self.objects.delivery(id, delivery_id).await {
                Ok(delivery) => items.push(delivery),
                // Not planned yet, not wanted, or listed and never registered.
                Err(refusal)
                    if matches!(refusal.reason, Reason::DeliveryUnknown | Reason::SubscriptionUnknown) => {}
                Err(refusal) => return Err(refusal),
            }
        }
        let planned: Vec<&SubscriptionId> = view.unanswered.iter().filter(wanted).collect();
        Ok(json(200, &OfEvent { items, planned, next: None }))
    }
}

fn limit(text: Option<&str>) -> Result<u32, Refusal> {
    let limit = text.map_or(Ok(50), str::parse).ok();
    limit
        .filter(|limit| (1..=200).contains(limit))
        .ok_or_else(|| malformed("limit", "a number from 1 to 200"))
}

fn state(text: Option<&str>) -> Result<Option<&str>, Refusal> {
    match text {
        Some(name) if !State::NAMES.contains(&name) => Err(malformed("state", &State::NAMES.join(", "))),
        other => Ok(other),
    }
}

fn malformed(field: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, format!("{field} is missing or not usable")).at(field, accepted)
}
