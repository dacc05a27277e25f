//! The catalogue of event types: what a type and version means never changes once it was published, and an
//! event that claims to be of it is.

use hookproof_core::envelope::EventType;
use hookproof_core::filter::Subject;
use hookproof_core::schema::Schema;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{FromRow, Row, Sql, Value};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::Tables;
use crate::rows::{from_json, raw, to_json};

/// Most versions of one type.
pub const MAX_VERSIONS: i64 = 50;

/// What a publisher says of the step from the version before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compatibility {
    /// Consumers of the version before understand this one.
    Backward,
    /// Consumers of this version understand the one before.
    Forward,
    /// Both.
    Full,
    /// Nothing is promised.
    #[default]
    None,
}

/// What may change about a published version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Notes {
    /// What the event says, for its consumers.
    pub description: String,
    /// How it relates to the version before.
    pub compatibility: Compatibility,
    /// When it is no longer published.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sunset_at: Option<Timestamp>,
    /// What a consumer has to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumer_impact: Option<String>,
    /// How to go back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_note: Option<String>,
}

/// A version of a type, as handed in. Schema and sample are JSON texts that were read strictly.
#[derive(Debug, Serialize, Deserialize)]
pub struct Publication {
    /// The type.
    pub r#type: EventType,
    /// The version.
    pub api_version: String,
    /// The schema of `data`.
    pub schema: String,
    /// Some `data` that fits it.
    pub sample: String,
    /// The rest.
    pub notes: Notes,
}

/// A version in the catalogue.
#[derive(Debug, Serialize, Deserialize)]
pub struct Published {
    /// Whether it is new.
    pub created: bool,
    /// The version as it is shown.
    pub view: Box<RawValue>,
}

/// A version as it is shown and stored.
#[derive(Serialize, Deserialize)]
struct Version {
    r#type: EventType,
    api_version: String,
    description: String,
    compatibility: Compatibility,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sunset_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    consumer_impact: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rollback_note: Option<String>,
    published_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sample: Option<Box<RawValue>>,
}

impl<S: Sql> Tables<'_, S> {
    async fn version(&self, kind: &str, api_version: &str) -> Result<Option<Version>, Refusal> {
        let statement = "SELECT record FROM event_type WHERE directory = ? AND type = ? AND api_version = ?";
        let rows = self.query(statement, vec![kind.into(), api_version.into()]).await?;
        rows.first().map(|row| from_json(row.text(0)?)).transpose()
    }

    /// Publishes a version, or changes what may change about one.
    pub(super) async fn publish_type(&self, asked: Publication) -> Result<Published, Refusal> {
        let (kind, api_version) = (asked.r#type.to_string(), asked.api_version.clone());
        let known = self.version(&kind, &api_version).await?;
        let created = known.is_none();
        match &known {
            Some(known) if value(schema_of(known)?)? != value(&asked.schema)? => {
                let words = format!("{kind} {api_version} was published with another schema");
                return Err(Refusal::new(Reason::EventTypeImmutable, words)
                    .at("schema", "the schema as published; a changed one is another api_version"));
            }
            Some(_) => {}
            None => self.room(&kind).await?,
        }
        let schema = Schema::compile(&value(&asked.schema)?, "/schema")?;
        schema.check(&value(&asked.sample)?, "/sample").map_err(|mismatch| {
            Refusal::new(Reason::EventSchemaMismatch, "the sample does not fit the schema")
                .at(mismatch.pointer, mismatch.expected)
        })?;
        let text =
            |text: String| RawValue::from_string(text).map_err(|_| Refusal::from(Reason::InternalCorrupt));
        let published_at = known.as_ref().map_or(self.now, |known| known.published_at);
        // As first written: the schema's text does not change either.
        let schema = match known.and_then(|known| known.schema) {
            Some(schema) => schema,
            None => text(asked.schema)?,
        };
        let notes = asked.notes;
        let version = Version {
            r#type: asked.r#type,
            api_version: asked.api_version,
            description: notes.description,
            compatibility: notes.compatibility,
            sunset_at: notes.sunset_at,
            consumer_impact: notes.consumer_impact,
            rollback_note: notes.rollback_note,
            published_at,
            schema: Some(schema),
            sample: Some(text(asked.sample)?),
        };
        let statement = "INSERT INTO event_type(directory, type, api_version, record) VALUES(?, ?, ?, ?)
            ON CONFLICT(directory, type, api_version) DO UPDATE SET record = excluded.record";
        let values = vec![kind.into(), api_version.into(), to_json(&version)?.into()];
        self.query(statement, values).await?;
        Ok(Published { created, view: raw(&version)? })
    }

    async fn room(&self, kind: &str) -> Result<(), Refusal> {
        let statement = "SELECT count(*) FROM event_type WHERE directory = ? AND type = ?";
        let rows = self.query(statement, vec![kind.into()]).await?;
        if rows.first().map_or(Ok(0), |row| row.integer(0))? < MAX_VERSIONS {
            return Ok(());
        }
        let words = format!("{kind} has {MAX_VERSIONS} versions");
        Err(Refusal::new(Reason::StateForbids, words).at("api_version", "a version that was published"))
    }

    pub(super) async fn event_type(&self, kind: &EventType) -> Result<Vec<Box<RawValue>>, Refusal> {
        let statement = "SELECT record FROM event_type WHERE directory = ? AND type = ? ORDER BY api_version";
        let rows = self.query(statement, vec![kind.as_str().into()]).await?;
        if rows.is_empty() {
            return Err(Refusal::new(Reason::EventTypeUnknown, "the catalogue has no such type"));
        }
        rows.iter().map(|row| from_json(row.text(0)?)).collect()
    }

    pub(super) async fn event_types(
        &self,
        after: (String, String),
        limit: u32,
    ) -> Result<Vec<Box<RawValue>>, Refusal> {
        let statement = "SELECT record FROM event_type WHERE directory = ? AND (type, api_version) > (?, ?)
            ORDER BY type, api_version LIMIT ?";
        let limit = Value::Integer(limit.clamp(1, 200).into());
        let rows = self.query(statement, vec![after.0.into(), after.1.into(), limit]).await?;
        let brief = |row: &Row| {
            let version: Version = from_json(row.text(0)?)?;
            raw(&Version { schema: None, sample: None, ..version })
        };
        rows.iter().map(brief).collect()
    }

    /// Refuses an event that is not what its type and version mean, or that means nothing where it has to.
    pub(super) async fn admit(&self, event: &Subject, required: bool) -> Result<(), Refusal> {
        let (kind, api_version) = (event.kind(), event.api_version());
        let Some(version) = self.version(kind, api_version).await? else {
            if !required {
                return Ok(());
            }
            let words =
                format!("{kind} {api_version} is not in the catalogue, and this environment requires it");
            return Err(Refusal::new(Reason::EventTypeRequired, words)
                .at("type", "a type and api_version from GET /v1/event-types"));
        };
        let schema = Schema::compile(&value(schema_of(&version)?)?, "/schema")
            .map_err(|_| Refusal::new(Reason::InternalCorrupt, "a published schema does not read"))?;
        schema.check(event.data(), "/data").map_err(|mismatch| {
            let words = format!("the data is not what the catalogue's schema says of {kind} {api_version}");
            Refusal::new(Reason::EventSchemaMismatch, words).at(mismatch.pointer, mismatch.expected)
        })
    }
}

fn schema_of(version: &Version) -> Result<&str, Refusal> {
    version.schema.as_deref().map(RawValue::get).ok_or_else(|| Reason::InternalCorrupt.into())
}

fn value(text: &str) -> Result<serde_json::Value, Refusal> {
    from_json(text)
}
