//! Publishing: durable before the 202, idempotent by id and content; the queue only speeds it up.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_outer, percent_decode};
use hookproof_authority::directory::{AskDirectory, Candidate, Matched};
use hookproof_authority::event::{AskEvents, EventView};
use hookproof_core::digest::Digest;
use hookproof_core::envelope::{Draft, EventType, MAX_BYTES, Object};
use hookproof_core::id::EventId;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue, random};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Call, Caller};
use crate::{Control, Fresh, Objects};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    #[serde(default)]
    id: Option<String>,
    r#type: String,
    api_version: String,
    #[serde(default)]
    created: Option<Timestamp>,
    #[serde(default, deserialize_with = "hookproof_core::json::optional")]
    object: Option<Object>,
    #[serde(default)]
    resource_url: Option<String>,
    #[serde(borrow)]
    data: &'a RawValue,
}

const SHAPE: &str = "{\"id\"?, \"type\": \"invoice.paid\", \"api_version\", \"data\", \"created\"?, \"object\"?, \"resource_url\"?}";

#[derive(Serialize)]
struct Published {
    event_id: EventId,
    payload_digest: Digest,
    accepted_at: Timestamp,
    duplicate: bool,
    subscriptions: usize,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn publish(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let caller = call.caller()?;
        let (mut draft, minted) = self.draft(call.request.body())?;
        if minted {
            // The id decides what is a repeat; a repeat without one finds that of its first coming.
            draft.id = self.id_once(&caller.directory(), call.once.as_ref(), draft.id).await?;
        }
        let (tenant, environment) = (caller.tenant(), caller.environment());
        let subscriptions = self.wanting(caller, &draft).await?;
        let accepted = self.objects.publish(tenant, environment, draft, subscriptions).await?;
        // From here on the event is durable. A lost message is sent again by the event's own object.
        if let Err(lost) = self.fresh.send(&accepted.messages).await {
            let event_id = Some(accepted.event.id.as_str());
            let line =
                Line { event: "fan-out delayed", event_id, reason: Some(lost.reason), ..Line::default() };
            self.journal.record(&line);
        }
        let (duplicate, subscriptions) = (accepted.duplicate, accepted.messages.len());
        let event = accepted.event;
        let (event_id, payload_digest, accepted_at) = (event.id, event.payload_digest, event.accepted_at);
        let published = Published { event_id, payload_digest, accepted_at, duplicate, subscriptions };
        Ok(json(if duplicate { 200 } else { 202 }, &published))
    }

    /// Who may want an event that the catalogue takes. One that was accepted before the catalogue said
    /// otherwise stays accepted: its repeat is for its own object to answer.
    async fn wanting(&self, caller: &Caller, draft: &Draft) -> Result<Vec<Matched>, Refusal> {
        let candidate = Candidate {
            r#type: draft.kind.to_string(),
            api_version: draft.api_version.clone(),
            object: draft.object.clone(),
            data: draft.data.clone(),
        };
        let matched = self.objects.matching(caller.tenant(), caller.environment(), candidate).await;
        match matched {
            Err(refusal)
                if matches!(refusal.reason, Reason::EventSchemaMismatch | Reason::EventTypeRequired) =>
            {
                match self.event(caller, &draft.id).await {
                    Ok(_) => Ok(Vec::new()),
                    Err(unknown) if unknown.reason == Reason::EventUnknown => Err(refusal),
                    Err(failure) => Err(failure),
                }
            }
            matched => matched,
        }
    }

    /// The event as handed in, and whether its id was minted for it.
    fn draft(&self, body: &[u8]) -> Result<(Draft, bool), Refusal> {
        // `data` keeps its octets; it is read strictly when it is frozen.
        let asked: Asked<'_> = parse_outer(body, SHAPE)?;
        let minted = asked.id.is_none();
        let id = match asked.id {
            Some(id) => id
                .parse()
                .map_err(|fault| malformed("id", &format!("{fault}"), "e.g. evt_01 or order-77:paid"))?,
            None => EventId::mint(&self.settings.id_key, self.clock.now(), random(&self.entropy)),
        };
        let kind = asked.r#type.parse::<EventType>();
        let kind =
            kind.map_err(|fault| malformed("type", &fault.to_string(), "resource.action, past tense"))?;
        if asked.data.get().len() > MAX_BYTES {
            let words = format!("data has {} octets", asked.data.get().len());
            return Err(Refusal::new(Reason::BodyTooLarge, words)
                .at("data", format!("at most {MAX_BYTES} octets with its envelope")));
        }
        let draft = Draft {
            id,
            kind,
            created: asked.created,
            api_version: asked.api_version,
            object: asked.object,
            resource_url: asked.resource_url,
            data: asked.data.get().to_owned(),
        };
        Ok((draft, minted))
    }

    pub(crate) async fn read_event(&self, caller: &Caller, id: &str) -> Result<Response<Bytes>, Refusal> {
        let id = percent_decode(id).and_then(|id| id.parse().ok()).ok_or(Reason::EventUnknown)?;
        Ok(json(200, &self.event(caller, &id).await?))
    }

    /// An event of the caller's tenant and how far its fan-out is.
    pub(crate) async fn event(&self, caller: &Caller, id: &EventId) -> Result<EventView, Refusal> {
        self.objects.event(caller.tenant(), caller.environment(), id).await
    }
}

fn malformed(field: &str, detail: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, detail).at(field, accepted)
}
