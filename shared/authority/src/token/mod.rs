//! Tokens: one object each, so that a revocation is decided where it is read.
//!
//! A portal link is a token too: first a code that opens nothing but its own exchange, then, in the same
//! object and with another secret, the session it was exchanged for.

use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, Generation, SubscriptionId, TenantId, TokenId};
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::token::same_digest;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Commit, Context, FromRow, Sql};
use serde::{Deserialize, Serialize};

use crate::idempotency::{INDEX, Once, Records, TABLE};
use crate::rows::{from_json, to_json};

/// How long a portal session lasts at most.
const SESSION: Span = Span::minutes(60);

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
    /// Rotate keys of subscriptions.
    #[serde(rename = "keys:write")]
    KeysWrite,
    /// Publish events.
    #[serde(rename = "events:write")]
    EventsWrite,
    /// Read deliveries and evidence.
    #[serde(rename = "deliveries:read")]
    DeliveriesRead,
    /// Send deliveries again.
    #[serde(rename = "deliveries:replay")]
    DeliveriesReplay,
    /// Read metrics.
    #[serde(rename = "metrics:read")]
    MetricsRead,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 7] = [
        Self::SubscriptionsRead,
        Self::SubscriptionsWrite,
        Self::KeysWrite,
        Self::EventsWrite,
        Self::DeliveriesRead,
        Self::DeliveriesReplay,
        Self::MetricsRead,
    ];

    /// Its name in tokens and refusals.
    pub fn name(self) -> &'static str {
        match self {
            Self::SubscriptionsRead => "subscriptions:read",
            Self::SubscriptionsWrite => "subscriptions:write",
            Self::KeysWrite => "keys:write",
            Self::EventsWrite => "events:write",
            Self::DeliveriesRead => "deliveries:read",
            Self::DeliveriesReplay => "deliveries:replay",
            Self::MetricsRead => "metrics:read",
        }
    }
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
    /// What a portal link is bound to; none for a tenant's own token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portal: Option<Portal>,
}

impl Record {
    fn has_ended(&self, now: Timestamp) -> bool {
        self.revoked_at.is_some() || self.expires_at.is_some_and(|at| at <= now)
    }

    /// A link that was not exchanged yet.
    fn is_code(&self) -> bool {
        self.portal.as_ref().is_some_and(|portal| !portal.exchanged)
    }
}

/// What a portal link and its session are bound to; they end with any of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Portal {
    /// The one subscription it shows.
    pub subscription_id: SubscriptionId,
    /// The generation that subscription had.
    pub generation: Generation,
    /// The token it was made with.
    pub minted_by: TokenId,
    /// Whether its code was exchanged.
    pub exchanged: bool,
}

/// A command to a token's object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Stores a new token; one that exists stays as it is.
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
    /// Whether it is good now, asked for what was minted with it.
    Alive,
    /// Exchanges a portal link's code, once, for the session with the other secret.
    Exchange {
        /// The hash of the code as presented.
        code: Digest,
        /// The hash of the session's token.
        session: Digest,
        /// The request, where it may come twice.
        once: Option<Once>,
    },
    /// Ends it.
    Revoke,
}

/// A reply of a token's object, sent bare: who asks knows its type.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `Check`, `Alive` and `Revoke`.
    Token(Record),
    /// To `Create` and `Exchange`.
    Stored(Stored),
}

/// A token as stored.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The record.
    pub record: Record,
    /// Whether this command stored it, with the digest it brought.
    pub fresh: bool,
}

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS token(token TEXT PRIMARY KEY, digest TEXT NOT NULL, record TEXT NOT NULL) WITHOUT ROWID",
    TABLE,
    INDEX,
];

impl Aggregate for Tokens {
    const NAME: &'static str = "token";
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
            Command::Create { record, digest } => Reply::Stored(create(context, sql, record, &digest).await?),
            Command::Check { digest } => Reply::Token(check(context, sql, &digest).await?),
            Command::Alive => Reply::Token(alive(context, sql).await?),
            Command::Exchange { code, session, once } => {
                Reply::Stored(exchange(context, sql, (&code, &session), once.as_ref()).await?)
            }
            Command::Revoke => {
                let (digest, mut record) = read(context, sql).await?.ok_or(Reason::TokenRefused)?;
                record.revoked_at = record.revoked_at.or(Some(context.now));
                put(context, sql, &digest, &record).await?;
                Reply::Token(record)
            }
        };
        Ok(Commit::keep(reply))
    }

    async fn wake<S: Sql>(&self, _context: &Context<'_>, _sql: &S) -> Result<Commit<Vec<()>>, Refusal> {
        Ok(Commit::keep(Vec::new()))
    }
}

async fn create<S: Sql>(
    context: &Context<'_>,
    sql: &S,
    record: Record,
    digest: &Digest,
) -> Result<Stored, Refusal> {
    if let Some((_, record)) = read(context, sql).await? {
        return Ok(Stored { record, fresh: false });
    }
    put(context, sql, digest, &record).await?;
    Ok(Stored { record, fresh: true })
}

/// One answer for every failure, and one comparison: a token that does not exist is compared with a
/// digest that nothing has.
async fn check<S: Sql>(context: &Context<'_>, sql: &S, presented: &Digest) -> Result<Record, Refusal> {
    let found = read(context, sql).await?;
    let stored = found.as_ref().map_or(Digest([0; 32]), |(digest, _)| *digest);
    let same = same_digest(&stored, presented);
    let good =
        found.map(|(_, record)| record).filter(|it| same && !it.has_ended(context.now) && !it.is_code());
    good.ok_or_else(|| Reason::TokenRefused.into())
}

async fn alive<S: Sql>(context: &Context<'_>, sql: &S) -> Result<Record, Refusal> {
    let found = read(context, sql).await?.map(|(_, record)| record);
    let good = found.filter(|record| !record.has_ended(context.now) && !record.is_code());
    good.ok_or_else(|| Reason::TokenRefused.into())
}

/// The code's digest is replaced by the session's, so that a code is good once.
async fn exchange<S: Sql>(
    context: &Context<'_>,
    sql: &S,
    (code, session): (&Digest, &Digest),
    once: Option<&Once>,
) -> Result<Stored, Refusal> {
    let found = read(context, sql).await?;
    let same = same_digest(&found.as_ref().map_or(Digest([0; 32]), |(digest, _)| *digest), code);
    let (_, mut record) = found.ok_or(Reason::TokenRefused)?;
    let records = Records { sql, object: context.key, now: context.now };
    if let Some(once) = once {
        // Its digest is over the code too, so that a repeat has shown it.
        if records.find::<()>(once).await?.is_some() {
            return Ok(Stored { record, fresh: false });
        }
        records.keep(once, &()).await?;
    }
    let open = same && record.is_code() && !record.has_ended(context.now);
    let portal = record.portal.as_mut().filter(|_| open).ok_or(Reason::TokenRefused)?;
    portal.exchanged = true;
    record.created_at = context.now;
    record.expires_at = Some(context.now + SESSION);
    put(context, sql, session, &record).await?;
    Ok(Stored { record, fresh: true })
}

async fn put<S: Sql>(
    context: &Context<'_>,
    sql: &S,
    digest: &Digest,
    record: &Record,
) -> Result<(), Refusal> {
    let statement = "INSERT INTO token(token, digest, record) VALUES(?, ?, ?)
        ON CONFLICT(token) DO UPDATE SET digest = excluded.digest, record = excluded.record";
    let values = [context.key.into(), digest.to_string().into(), to_json(record)?.into()];
    sql.query(statement, &values).await.map(|_| ())
}

async fn read<S: Sql>(context: &Context<'_>, sql: &S) -> Result<Option<(Digest, Record)>, Refusal> {
    let rows = sql.query("SELECT digest, record FROM token WHERE token = ?", &[context.key.into()]).await?;
    let Some(row) = rows.first() else { return Ok(None) };
    let digest = Digest::parse(row.text(0)?).ok_or(Reason::InternalCorrupt)?;
    Ok(Some((digest, from_json(row.text(1)?)?)))
}
