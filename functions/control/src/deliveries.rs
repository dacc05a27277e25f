//! Ledger queries: what state, why did the last attempt fail, when is the next. They read the truth.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::json;
use hookproof_authority::message::EventRef;
use hookproof_authority::subscription::AskAuthority;
use hookproof_core::id::{DeliveryId, EventId, SubscriptionId};
use hookproof_core::ledger::State;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Queue};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Call, Caller};
use crate::query::malformed;
use crate::{Control, Fresh, Objects};

const ACCEPTED: &str = "?subscription=sub_…, ?event=…, or both; with &state=, &cursor=, &limit=";

#[derive(Serialize)]
struct OfEvent<'a> {
    items: Vec<Box<RawValue>>,
    planned: Vec<&'a SubscriptionId>,
    next: Option<&'a SubscriptionId>,
}

/// What is read of a delivery's view.
#[derive(Deserialize)]
struct Glance {
    state: String,
}

/// Which deliveries, beside those of whom.
struct Filter<'a> {
    state: Option<&'a str>,
    limit: u32,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn list_deliveries(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let (caller, query) = (call.caller()?, &call.query);
        let filter = Filter { state: state(query.get("state"))?, limit: query.limit()? };
        // A session at the portal asks about its own subscription, whether it says so or not.
        let own = caller.portal().map(|portal| portal.subscription_id.as_str());
        let (subscription, event) = (query.get("subscription").or(own), query.get("event"));
        match (subscription, event) {
            (subscription, Some(event)) => {
                self.of_event(caller, event, subscription, (query.cursor()?, filter)).await
            }
            (Some(subscription), None) => {
                let (id, _) = self.owned(caller, subscription).await?;
                let state = filter.state.map(str::to_owned);
                let page = self.objects.deliveries(&id, query.cursor()?, filter.limit, state).await?;
                Ok(json(200, &page))
            }
            (None, None) => Err(malformed("subscription", ACCEPTED)),
        }
    }

    /// The deliveries of one event, asked of each subscription it went to. A subscription that has not
    /// been asked yet is listed apart: its delivery is planned and nobody has claimed it. A page looks at
    /// `limit` subscriptions, so that it may hold fewer deliveries.
    async fn of_event(
        &self,
        caller: &Caller,
        event: &str,
        subscription: Option<&str>,
        (after, filter): (Option<SubscriptionId>, Filter<'_>),
    ) -> Result<Response<Bytes>, Refusal> {
        let event: EventId = event.parse().map_err(|_| unknown_event())?;
        let view = self.event(caller, &event).await?;
        let only = match subscription {
            Some(id) => Some(self.owned(caller, id).await?.0),
            None => None,
        };
        // Of an event that was for others a subscriber learns nothing, not even that it is there.
        if caller.portal().is_some() && !only.as_ref().is_some_and(|only| view.asked.contains(only)) {
            return Err(unknown_event());
        }
        let wanted = |id: &&SubscriptionId| {
            only.as_ref().is_none_or(|only| only == *id) && after.as_ref().is_none_or(|after| *id > after)
        };
        let mut asked: Vec<&SubscriptionId> = view.asked.iter().filter(wanted).collect();
        asked.sort_unstable();
        let limit = filter.limit as usize;
        let next = if asked.len() > limit { asked.get(limit - 1).copied() } else { None };
        asked.truncate(limit);
        let mut items: Vec<Box<RawValue>> = Vec::new();
        for id in &asked {
            let delivery = self.of_both(&view.event, id).await?;
            items.extend(delivery.filter(|delivery| filter.admits(delivery)));
        }
        let planned = filter.state.is_none_or(|state| state == State::Planned.name());
        let planned = view.unanswered.iter().filter(|id| planned && asked.contains(id)).collect();
        Ok(json(200, &OfEvent { items, planned, next }))
    }

    /// The delivery of an event to a subscription; none if it was not planned yet, is not wanted, or the
    /// subscription was listed and never registered.
    async fn of_both(&self, event: &EventRef, id: &SubscriptionId) -> Result<Option<Box<RawValue>>, Refusal> {
        let delivery_id = DeliveryId::of(&event.tenant, event.environment, id, &event.id, event.accepted_at);
        match self.objects.delivery(id, delivery_id).await {
            Ok(delivery) => Ok(Some(delivery)),
            Err(refusal)
                if matches!(refusal.reason, Reason::DeliveryUnknown | Reason::SubscriptionUnknown) =>
            {
                Ok(None)
            }
            Err(refusal) => Err(refusal),
        }
    }
}

impl Filter<'_> {
    fn admits(&self, delivery: &RawValue) -> bool {
        let Some(wanted) = self.state else { return true };
        serde_json::from_str::<Glance>(delivery.get()).is_ok_and(|it| it.state == wanted)
    }
}

fn unknown_event() -> Refusal {
    Reason::EventUnknown.into()
}

fn state(text: Option<&str>) -> Result<Option<&str>, Refusal> {
    match text {
        Some(name) if !State::NAMES.contains(&name) => Err(malformed("state", &State::NAMES.join(", "))),
        other => Ok(other),
    }
}
