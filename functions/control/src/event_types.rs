//! The catalogue: what the events of a type and version say. A version is published once; what it is checked
//! by never changes.

use std::str::FromStr;

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json, parse_outer, percent_decode};
use hookproof_authority::directory::{AskDirectory, Compatibility, Notes, Publication};
use hookproof_core::envelope::{EventType, check_api_version, check_json};
use hookproof_core::schema;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue};
use serde::Deserialize;
use serde_json::json as object;
use serde_json::value::RawValue;

use crate::access::{Call, Caller};
use crate::{Control, Fresh, Objects};

/// Longest text of a note, in characters.
const NOTE: usize = 2_000;

/// Longest sample in octets.
const SAMPLE: usize = 32 * 1024;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    api_version: String,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    sample: &'a RawValue,
    description: String,
    #[serde(default)]
    compatibility: Compatibility,
    #[serde(default)]
    sunset_at: Option<Timestamp>,
    #[serde(default)]
    consumer_impact: Option<String>,
    #[serde(default)]
    rollback_note: Option<String>,
}

const SHAPE: &str = "{\"api_version\", \"schema\", \"sample\", \"description\", \"compatibility\"?: \"backward\", \
    \"forward\", \"full\" or \"none\", \"sunset_at\"?, \"consumer_impact\"?, \"rollback_note\"?}";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Policy {
    require_catalogue: bool,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn put_event_type(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let caller = call.caller()?;
        let publication = publication(call.id()?, call.request.body())?;
        let (tenant, environment) = (caller.tenant(), caller.environment());
        let published = self.objects.publish_type(tenant, environment, publication).await?;
        self.journal.record(&Line { event: "event type published", ..Line::default() });
        Ok(json(if published.created { 201 } else { 200 }, &published.view))
    }

    pub(crate) async fn read_event_type(
        &self,
        caller: &Caller,
        kind: &str,
    ) -> Result<Response<Bytes>, Refusal> {
        let unknown = || Refusal::new(Reason::EventTypeUnknown, "the catalogue has no such type");
        let kind: EventType = percent_decode(kind).and_then(|kind| kind.parse().ok()).ok_or_else(unknown)?;
        let name = kind.to_string();
        let versions = self.objects.event_type(caller.tenant(), caller.environment(), kind).await?;
        Ok(json(200, &object!({ "type": name, "versions": versions })))
    }

    pub(crate) async fn list_event_types(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let (caller, limit) = (call.caller()?, call.query.limit()?);
        let after = call.query.cursor::<Place>()?.unwrap_or_default();
        let place = (after.r#type, after.api_version);
        let items = self.objects.event_types(caller.tenant(), caller.environment(), place, limit).await?;
        let last = items.last().filter(|_| items.len() == limit as usize);
        let next = last.map(|view| Place::of(view)).transpose()?;
        Ok(json(200, &object!({ "items": items, "next": next })))
    }

    pub(crate) async fn put_event_types_policy(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let shape = "{\"require_catalogue\": true or false}";
        let Policy { require_catalogue } = parse_json(call.request.body(), shape)?;
        self.catalogue_policy(call.caller()?, Some(require_catalogue)).await
    }

    pub(crate) async fn read_event_types_policy(&self, caller: &Caller) -> Result<Response<Bytes>, Refusal> {
        self.catalogue_policy(caller, None).await
    }

    async fn catalogue_policy(&self, caller: &Caller, to: Option<bool>) -> Result<Response<Bytes>, Refusal> {
        let required = self.objects.require_catalogue(caller.tenant(), caller.environment(), to).await?;
        Ok(json(200, &object!({ "require_catalogue": required })))
    }
}

/// Where a page ends and the next one begins, written `type@api_version`.
#[derive(Default, Deserialize)]
struct Place {
    r#type: String,
    api_version: String,
}

impl Place {
    fn of(view: &RawValue) -> Result<String, Refusal> {
        let it: Self =
            serde_json::from_str(view.get()).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        Ok(format!("{}@{}", it.r#type, it.api_version))
    }
}

impl FromStr for Place {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        // No type has the sign in it; a version may.
        let (kind, version) = text.split_once('@').ok_or(())?;
        Ok(Self { r#type: kind.to_owned(), api_version: version.to_owned() })
    }
}

/// A version as handed in, or the first field that does not fit. The schema itself is judged where it is kept.
fn publication(kind: &str, body: &[u8]) -> Result<Publication, Refusal> {
    let kind = percent_decode(kind).unwrap_or_default().parse::<EventType>();
    let kind = kind.map_err(|fault| malformed("type", &fault.to_string(), "resource.action, past tense"))?;
    let asked: Asked<'_> = parse_outer(body, SHAPE)?;
    check_api_version(&asked.api_version)?;
    let text = |field: &str, it: &RawValue, limit: usize| {
        if it.get().len() > limit {
            let words = format!("{field} has {} octets", it.get().len());
            return Err(Refusal::new(Reason::BodyTooLarge, words).at(field, format!("at most {limit}")));
        }
        check_json(it.get()).map_err(|fault| fault.refusal(field))?;
        Ok(it.get().to_owned())
    };
    // White space does not count for the schema's own limit; twice as much is room for it.
    let (schema, sample) =
        (text("schema", asked.schema, 2 * schema::MAX_BYTES)?, text("sample", asked.sample, SAMPLE)?);
    let notes = Notes {
        description: note("description", asked.description)?,
        compatibility: asked.compatibility,
        sunset_at: asked.sunset_at,
        consumer_impact: asked.consumer_impact.map(|text| note("consumer_impact", text)).transpose()?,
        rollback_note: asked.rollback_note.map(|text| note("rollback_note", text)).transpose()?,
    };
    Ok(Publication { r#type: kind, api_version: asked.api_version, schema, sample, notes })
}

fn note(field: &str, text: String) -> Result<String, Refusal> {
    if !text.trim().is_empty() && text.chars().count() <= NOTE {
        return Ok(text);
    }
    Err(malformed(field, "this says nothing, or too much", &format!("1 to {NOTE} characters")))
}

fn malformed(field: &str, detail: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, detail).at(field, accepted)
}
