//! The directory of one (tenant, environment): which subscriptions may want an event. Only a
//! prefilter; each subscription's authority decides.

mod tokens;

use hookproof_core::envelope::major;
use hookproof_core::id::{Environment, SubscriptionId, TenantId, TokenId};
use hookproof_core::subscription::TopicPattern;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Ask, Commit, Context, FromRow, Sql, Value};
use serde::{Deserialize, Serialize};

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

/// What the directory keeps of a subscription: the union over its non-final generations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listing {
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// Topics of any of its generations.
    pub topics: Vec<TopicPattern>,
    /// Majors of any of its generations; empty takes all.
    pub accepted_versions: Vec<String>,
}

/// A command to a directory.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Creates the tenant; creating it again with the same name changes nothing.
    CreateTenant(Tenant),
    /// Reads the tenant.
    Tenant,
    /// Lists a subscription, before it can become active.
    List(Listing),
    /// Which subscriptions may want an event.
    Match {
        /// Its type.
        r#type: String,
        /// Its version.
        api_version: String,
    },
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
}

/// A reply of a directory, sent bare: [`AskDirectory`] knows its type.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `CreateTenant` and `Tenant`.
    Tenant(Tenant),
    /// To `List` and `ListToken`.
    Listed(()),
    /// To `Match` and `Subscriptions`.
    Subscriptions(Vec<SubscriptionId>),
    /// To `Remember`.
    Remembered(String),
    /// To `Tokens`.
    Tokens(Vec<Record>),
}

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS tenant(directory TEXT PRIMARY KEY, record TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS listing(
        directory TEXT NOT NULL, subscription TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(directory, subscription)
    ) WITHOUT ROWID",
    tokens::TABLE,
    TABLE,
    INDEX,
];

/// The key of a directory object.
pub fn key(tenant: &TenantId, environment: Environment) -> String {
    format!("{tenant}.{environment}")
}

/// Calls to directories, each with the type of its reply.
#[expect(async_fn_in_trait, reason = "hosts are single-threaded; a Send bound would exclude Workers")]
pub trait AskDirectory: Ask<Directory> {
    /// Creates a tenant in one of its environments.
    async fn create_tenant(&self, tenant: Tenant) -> Result<Tenant, Refusal> {
        self.ask(&key(&tenant.tenant_id, tenant.environment), Command::CreateTenant(tenant)).await
    }

    /// Reads a tenant.
    async fn tenant(&self, tenant: &TenantId, environment: Environment) -> Result<Tenant, Refusal> {
        self.ask(&key(tenant, environment), Command::Tenant).await
    }

    /// Lists a subscription.
    async fn list(
        &self,
        tenant: &TenantId,
        environment: Environment,
        listing: Listing,
    ) -> Result<(), Refusal> {
        self.ask(&key(tenant, environment), Command::List(listing)).await
    }

    /// Which subscriptions may want an event.
    async fn matching(
        &self,
        tenant: &TenantId,
        environment: Environment,
        r#type: String,
        api_version: String,
    ) -> Result<Vec<SubscriptionId>, Refusal> {
        self.ask(&key(tenant, environment), Command::Match { r#type, api_version }).await
    }

    /// Subscriptions in id order.
    async fn subscriptions(
        &self,
        tenant: &TenantId,
        environment: Environment,
        after: Option<SubscriptionId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionId>, Refusal> {
        self.ask(&key(tenant, environment), Command::Subscriptions { after, limit }).await
    }

    /// The id that a request makes: `id`, or that of its first coming. `directory` is a tenant's
    /// [`key`] or [`ROOT`].
    async fn remember(&self, directory: &str, once: Once, id: String) -> Result<String, Refusal> {
        self.ask(directory, Command::Remember { once, id }).await
    }

    /// Lists a token, before it can be used, or what has become of it.
    async fn list_token(&self, record: Record) -> Result<(), Refusal> {
        self.ask(&key(&record.tenant_id, record.environment), Command::ListToken(record)).await
    }

    /// Tokens in id order.
    async fn tokens(
        &self,
        tenant: &TenantId,
        environment: Environment,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<Record>, Refusal> {
        self.ask(&key(tenant, environment), Command::Tokens { after, limit }).await
    }
}

impl<T: Ask<Directory>> AskDirectory for T {}

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
        let reply = match command {
            Command::CreateTenant(tenant) => Reply::Tenant(create(context, sql, tenant).await?),
            Command::Tenant => Reply::Tenant(read(context, sql).await?.ok_or(Reason::TenantUnknown)?),
            Command::List(listing) => {
                read(context, sql).await?.ok_or(Reason::TenantUnknown)?;
                let statement = "INSERT INTO listing(directory, subscription, record) VALUES(?, ?, ?)
                    ON CONFLICT(directory, subscription) DO UPDATE SET record = excluded.record";
                let values =
                    [context.key.into(), listing.subscription_id.as_str().into(), to_json(&listing)?.into()];
                sql.query(statement, &values).await?;
                Reply::Listed(())
            }
            Command::Match { r#type, api_version } => {
                Reply::Subscriptions(matching(context, sql, &r#type, &api_version).await?)
            }
            Command::Subscriptions { after, limit } => {
                let statement = "SELECT record FROM listing WHERE directory = ? AND subscription > ? ORDER BY subscription LIMIT ?";
                let after = after.as_ref().map_or("", SubscriptionId::as_str);
                let values = [context.key.into(), after.into(), Value::Integer(limit.clamp(1, 200).into())];
                let rows = sql.query(statement, &values).await?;
                let id = |row: &hookproof_ports::Row| {
                    Ok::<_, Refusal>(from_json::<Listing>(row.text(0)?)?.subscription_id)
                };
                Reply::Subscriptions(rows.iter().map(id).collect::<Result<_, _>>()?)
            }
            Command::Remember { once, id } => Reply::Remembered(remember(context, sql, &once, id).await?),
            Command::ListToken(record) => Reply::Listed(tokens::list(context, sql, &record).await?),
            Command::Tokens { after, limit } => {
                Reply::Tokens(tokens::page(context, sql, after.as_ref(), limit.clamp(1, 200)).await?)
            }
        };
        Ok(Commit::keep(reply))
    }

    async fn wake<S: Sql>(&self, _context: &Context<'_>, _sql: &S) -> Result<Commit<Vec<()>>, Refusal> {
        Ok(Commit::keep(Vec::new()))
    }
}

async fn read<S: Sql>(context: &Context<'_>, sql: &S) -> Result<Option<Tenant>, Refusal> {
    let rows = sql.query("SELECT record FROM tenant WHERE directory = ?", &[context.key.into()]).await?;
    rows.first().map(|row| from_json(row.text(0)?)).transpose()
}

/// A tenant's directory remembers for that tenant only; the one of [`ROOT`] has none.
async fn remember<S: Sql>(
    context: &Context<'_>,
    sql: &S,
    once: &Once,
    id: String,
) -> Result<String, Refusal> {
    if context.key != ROOT {
        read(context, sql).await?.ok_or(Reason::TenantUnknown)?;
    }
    let records = Records { sql, object: context.key, now: context.now };
    if let Some(first) = records.find(once).await? {
        return Ok(first);
    }
    records.keep(once, &id).await?;
    Ok(id)
}

async fn create<S: Sql>(context: &Context<'_>, sql: &S, tenant: Tenant) -> Result<Tenant, Refusal> {
    if let Some(existing) = read(context, sql).await? {
        return if existing.name == tenant.name {
            Ok(existing)
        } else {
            Err(Reason::IdempotencyConflict.into())
        };
    }
    let values = [context.key.into(), to_json(&tenant)?.into()];
    sql.query("INSERT INTO tenant(directory, record) VALUES(?, ?)", &values).await?;
    Ok(tenant)
}

async fn matching<S: Sql>(
    context: &Context<'_>,
    sql: &S,
    kind: &str,
    api_version: &str,
) -> Result<Vec<SubscriptionId>, Refusal> {
    read(context, sql).await?.ok_or(Reason::TenantUnknown)?;
    let statement = "SELECT record FROM listing WHERE directory = ? ORDER BY subscription";
    let version = major(api_version);
    let mut matched = Vec::new();
    for row in sql.query(statement, &[context.key.into()]).await? {
        let listing: Listing = from_json(row.text(0)?)?;
        let wanted = listing.topics.iter().any(|topic| topic.matches(kind));
        let understood =
            listing.accepted_versions.is_empty() || listing.accepted_versions.iter().any(|v| v == version);
        if wanted && understood {
            matched.push(listing.subscription_id);
        }
    }
    Ok(matched)
}
