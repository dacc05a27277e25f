//! The list of a tenant's tokens. Each token's own object decides; a revocation that has committed there
//! may be missing here until it is asked for again.

use hookproof_core::id::TokenId;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Context, FromRow, Sql, Value};

use super::read;
use crate::rows::{from_json, to_json};
use crate::token::Record;

pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS listed_token(
        directory TEXT NOT NULL, token TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(directory, token)
    ) WITHOUT ROWID";

/// Lists a token, or what has become of it.
pub(super) async fn list<S: Sql>(context: &Context<'_>, sql: &S, record: &Record) -> Result<(), Refusal> {
    read(context, sql).await?.ok_or(Reason::TenantUnknown)?;
    let statement = "INSERT INTO listed_token(directory, token, record) VALUES(?, ?, ?)
        ON CONFLICT(directory, token) DO UPDATE SET record = excluded.record";
    let values = [context.key.into(), record.token_id.as_str().into(), to_json(record)?.into()];
    sql.query(statement, &values).await.map(|_| ())
}

/// Tokens in id order.
pub(super) async fn page<S: Sql>(
    context: &Context<'_>,
    sql: &S,
    after: Option<&TokenId>,
    limit: u32,
) -> Result<Vec<Record>, Refusal> {
    read(context, sql).await?.ok_or(Reason::TenantUnknown)?;
    let statement =
        "SELECT record FROM listed_token WHERE directory = ? AND token > ? ORDER BY token LIMIT ?";
    let after = after.map_or("", TokenId::as_str);
    let values = [context.key.into(), after.into(), Value::Integer(limit.into())];
    sql.query(statement, &values).await?.iter().map(|row| from_json(row.text(0)?)).collect()
}
