//! The directory of one (tenant, environment): which subscriptions may want an event, and what its types
//! mean. Of subscriptions only a prefilter; each one's authority decides. Of types the truth.

pub mod budget;
mod catalogue;
mod client;
mod listing;
mod tokens;

pub use catalogue::{Compatibility, MAX_VERSIONS, Notes, Publication, Published};
pub use client::AskDirectory;
pub use listing::Matched;

use hookproof_core::envelope::{EventType, Object};
use hookproof_core::filter::Subject;
use hookproof_core::id::{Environment, SubscriptionId, TenantId, TokenId};
use hookproof_core::subscription::Wants;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Commit, Context, FromRow, Row, Sql, Value};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::idempotency::{INDEX, Once, Records, TABLE};
use crate::rows::{from_json, to_json};
use crate::token::Record;

/// The directory of what is no tenant's: requests under the root token are remembered here.
pub const ROOT: &str = "root";

/// The directory's code.
pub struct Directory;

/// A tenant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tenant {
    /// Its id.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// Its name.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

/// An event that is about to be accepted, as far as the directory judges it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Candidate {
    /// Its type.
    pub r#type: String,
    /// Its version.
    pub api_version: String,
    /// The aggregate it is about.
    pub object: Option<Object>,
    /// Raw JSON text.
    pub data: String,
}

/// A command to a directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Creates the tenant; creating it again with the same name changes nothing.
    CreateTenant(Tenant),
    /// Reads the tenant.
    Tenant,
    /// Adds to what a subscription may want, before it can become active.
    Widen {
        /// The subscription.
        subscription_id: SubscriptionId,
        /// What it may want from now on.
        wants: Box<Wants>,
    },
    /// Replaces what a subscription may want, but for what was added of late: after a change, and after a
    /// generation ended.
    Relist {
        /// The subscription.
        subscription_id: SubscriptionId,
        /// What its generations want that may still plan.
        wants: Vec<Wants>,
    },
    /// Which subscriptions may want an event that the catalogue takes.
    Match(Box<Candidate>),
    /// Subscriptions in id order.
    Subscriptions {
        /// Continue after this one.
        after: Option<SubscriptionId>,
        /// At most so many.
        limit: u32,
    },
    /// Remembers the id that a request makes; a repeat gets the id of the first.
    Remember {
        /// The request.
        once: Once,
        /// The id, if it is the first.
        id: String,
    },
    /// Lists a token, or what has become of it.
    ListToken(Record),
    /// Tokens in id order.
    Tokens {
        /// Continue after this one.
        after: Option<TokenId>,
        /// At most so many.
        limit: u32,
    },
    /// Puts a version of a type into the catalogue.
    PublishType(Box<Publication>),
    /// Reads all versions of a type.
    EventType {
        /// The type.
        r#type: EventType,
    },
    /// Reads the catalogue in the order of types and versions.
    EventTypes {
        /// Continue after this type and version.
        after: (String, String),
        /// At most so many.
        limit: u32,
    },
    /// Uses one of a ration; of an object named by [`budget`] only.
    Spend {
        /// Its size.
        limit: u32,
    },
    /// Whether only catalogued events are taken; also changes it.
    RequireCatalogue {
        /// To what.
        require: Option<bool>,
    },
}

/// A reply of a directory, sent bare: [`AskDirectory`] knows its type.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `CreateTenant` and `Tenant`.
    Tenant(Tenant),
    /// To `Widen`, `Relist`, `ListToken` and `Spend`.
    Listed(()),
    /// To `Match`.
    Matched(Vec<Matched>),
    /// To `Subscriptions`.
    Subscriptions(Vec<SubscriptionId>),
    /// To `Remember`.
    Remembered(String),
    /// To `Tokens`.
    Tokens(Vec<Record>),
    /// To `PublishType`.
    Published(Published),
    /// To `EventType` and `EventTypes`.
    EventTypes(Vec<Box<RawValue>>),
    /// To `RequireCatalogue`.
    Required(bool),
}

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS tenant(
        directory TEXT PRIMARY KEY, record TEXT NOT NULL, require_catalogue INTEGER NOT NULL DEFAULT 0
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS listing(
        directory TEXT NOT NULL, subscription TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(directory, subscription)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS event_type(
        directory TEXT NOT NULL, type TEXT NOT NULL, api_version TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(directory, type, api_version)
    ) WITHOUT ROWID",
    tokens::TABLE,
    budget::TABLE,
    TABLE,
    INDEX,
];

/// The key of a directory object.
pub fn key(tenant: &TenantId, environment: Environment) -> String {
    format!("{tenant}.{environment}")
}

impl Aggregate for Directory {
    const NAME: &'static str = "directory";
    const SCHEMA: &'static [&'static str] = SCHEMA;
    type Command = Command;
    type Reply = Reply;
    type Wake = ();

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: Command,
    ) -> Result<Commit<Reply>, Refusal> {
        let tables = Tables { sql, directory: context.key, now: context.now };
        let reply = if let Command::CreateTenant(tenant) = command {
            Reply::Tenant(tables.create(tenant).await?)
        } else if let (ROOT, Command::Remember { once, id }) = (context.key, &command) {
            // A tenant's directory remembers for that tenant only; the one of [`ROOT`] has none.
            Reply::Remembered(tables.remember(once, id.clone()).await?)
        } else if let (true, Command::Spend { limit }) = (budget::counts(context.key), &command) {
            Reply::Listed(tables.spend(*limit).await?)
        } else {
            let (tenant, required) = tables.tenant().await?.ok_or(Reason::TenantUnknown)?;
            tables.answer(command, tenant, required).await?
        };
        Ok(Commit::keep(reply))
    }

    async fn wake<S: Sql>(&self, _context: &Context<'_>, _sql: &S) -> Result<Commit<Vec<()>>, Refusal> {
        Ok(Commit::keep(Vec::new()))
    }
}

/// The directory's tables, and the time of the command.
struct Tables<'a, S> {
    sql: &'a S,
    directory: &'a str,
    now: Timestamp,
}

impl<S: Sql> Tables<'_, S> {
    async fn query(&self, statement: &str, rest: Vec<Value>) -> Result<Vec<Row>, Refusal> {
        let mut parameters = vec![Value::from(self.directory)];
        parameters.extend(rest);
        self.sql.query(statement, &parameters).await
    }

    /// Everything that a tenant's own directory is asked.
    async fn answer(&self, command: Command, tenant: Tenant, required: bool) -> Result<Reply, Refusal> {
        Ok(match command {
            Command::CreateTenant(_) | Command::Tenant => Reply::Tenant(tenant),
            Command::Widen { subscription_id, wants } => {
                Reply::Listed(self.widen(&subscription_id, *wants).await?)
            }
            Command::Relist { subscription_id, wants } => {
                Reply::Listed(self.relist(&subscription_id, wants).await?)
            }
            Command::Match(it) => {
                let event = Subject::new(&it.r#type, &it.api_version, it.object.as_ref(), &it.data)?;
                self.admit(&event, required).await?;
                Reply::Matched(self.matching(&event).await?)
            }
            Command::Subscriptions { after, limit } => {
                Reply::Subscriptions(self.subscriptions(after.as_ref(), limit).await?)
            }
            Command::Remember { once, id } => Reply::Remembered(self.remember(&once, id).await?),
            Command::ListToken(record) => Reply::Listed(self.list_token(&record).await?),
            Command::Tokens { after, limit } => Reply::Tokens(self.tokens(after.as_ref(), limit).await?),
            Command::PublishType(publication) => Reply::Published(self.publish_type(*publication).await?),
            Command::EventType { r#type } => Reply::EventTypes(self.event_type(&r#type).await?),
            Command::EventTypes { after, limit } => Reply::EventTypes(self.event_types(after, limit).await?),
            // A tenant's own directory rations nothing.
            Command::Spend { .. } => return Err(Reason::InternalCorrupt.into()),
            Command::RequireCatalogue { require } => {
                let after = require.unwrap_or(required);
                if after != required {
                    self.require(after).await?;
                }
                Reply::Required(after)
            }
        })
    }

    async fn remember(&self, once: &Once, id: String) -> Result<String, Refusal> {
        let records = Records { sql: self.sql, object: self.directory, now: self.now };
        if let Some(first) = records.find(once).await? {
            return Ok(first);
        }
        records.keep(once, &id).await?;
        Ok(id)
    }

    /// The tenant, and whether only catalogued events are taken of it.
    async fn tenant(&self) -> Result<Option<(Tenant, bool)>, Refusal> {
        let statement = "SELECT record, require_catalogue FROM tenant WHERE directory = ?";
        let rows = self.query(statement, Vec::new()).await?;
        rows.first().map(|row| Ok((from_json(row.text(0)?)?, row.integer(1)? != 0))).transpose()
    }

    async fn create(&self, tenant: Tenant) -> Result<Tenant, Refusal> {
        if let Some((existing, _)) = self.tenant().await? {
            return if existing.name == tenant.name {
                Ok(existing)
            } else {
                Err(Reason::IdempotencyConflict.into())
            };
        }
        let values = vec![to_json(&tenant)?.into()];
        self.query("INSERT INTO tenant(directory, record) VALUES(?, ?)", values).await?;
        Ok(tenant)
    }

    async fn require(&self, required: bool) -> Result<(), Refusal> {
        let statement = "UPDATE tenant SET require_catalogue = ? WHERE directory = ?";
        let values = [Value::Integer(required.into()), self.directory.into()];
        self.sql.query(statement, &values).await.map(|_| ())
    }
}
