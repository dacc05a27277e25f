//! Tokens: one object each, so that a revocation is decided where it is read.

use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, TenantId, TokenId};
use hookproof_core::time::Timestamp;
use hookproof_core::token::same_digest;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Commit, Context, FromRow, Sql};
use serde::{Deserialize, Serialize};

use crate::rows::{from_json, to_json};

/// The tokens' code.
pub struct Tokens;

/// What a token may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Scope {
    /// Read subscriptions.
    #[serde(rename = "subscriptions:read")]
    SubscriptionsRead,
    /// Register and change subscriptions.
    #[serde(rename = "subscriptions:write")]
    SubscriptionsWrite,
    /// Publish events.
    #[serde(rename = "events:write")]
    EventsWrite,
    /// Read deliveries and evidence.
    #[serde(rename = "deliveries:read")]
    DeliveriesRead,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] =
        [Self::SubscriptionsRead, Self::SubscriptionsWrite, Self::EventsWrite, Self::DeliveriesRead];
}

/// A token as stored and shown; its secret is only a hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its public half.
    pub token_id: TokenId,
    /// Whose.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// What for.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<Timestamp>,
}

/// A command to a token's object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Stores a new token.
    Create {
        /// The record.
        record: Record,
        /// The hash of the whole token.
        digest: Digest,
    },
    /// Whether a presented token is good now.
    Check {
        /// The hash of what was presented.
        digest: Digest,
    },
    /// Ends it.
    Revoke,
}

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS token(token TEXT PRIMARY KEY, digest TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID",
];

impl Aggregate for Tokens {
    const NAME: &'static str = "token";
    const SCHEMA: &'static [&'static str] = SCHEMA;
    type Command = Command;
    type Reply = Record;
    type Wake = ();

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: Command,
    ) -> Result<Commit<Record>, Refusal> {
        match command {
            Command::Create { record, digest } => {
                let values = [context.key.into(), digest.to_string().into(), to_json(&record)?.into()];
                sql.query("INSERT INTO token(token, digest, record) VALUES(?, ?, ?)", &values).await?;
                Ok(Commit::keep(record))
            }
            Command::Check { digest } => {
                let (stored, record) = read(context, sql).await?;
                let ended =
                    record.revoked_at.is_some() || record.expires_at.is_some_and(|at| at <= context.now);
                if !same_digest(&stored, &digest) || ended {
                    return Err(Reason::TokenRefused.into());
                }
                Ok(Commit::keep(record))
            }
            Command::Revoke => {
                let (_, mut record) = read(context, sql).await?;
                record.revoked_at = record.revoked_at.or(Some(context.now));
                let values = [to_json(&record)?.into(), context.key.into()];
                sql.query("UPDATE token SET record = ? WHERE token = ?", &values).await?;
                Ok(Commit::keep(record))
            }
        }
    }

    async fn wake<S: Sql>(&self, _context: &Context<'_>, _sql: &S) -> Result<Commit<Vec<()>>, Refusal> {
        Ok(Commit::keep(Vec::new()))
    }
}

/// One answer for every failure: a token that does not exist is refused like a wrong one.
async fn read<S: Sql>(context: &Context<'_>, sql: &S) -> Result<(Digest, Record), Refusal> {
    let rows = sql.query("SELECT digest, record FROM token WHERE token = ?", &[context.key.into()]).await?;
    let Some(row) = rows.first() else { return Err(Reason::TokenRefused.into()) };
    let digest = Digest::parse(row.text(0)?).ok_or(Reason::InternalCorrupt)?;
    Ok((digest, from_json(row.text(1)?)?))
}
