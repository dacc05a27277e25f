//! The list of a tenant's tokens. Each token's own object decides; a revocation that has committed there
//! may be missing here until it is asked for again.

use hookproof_core::Refusal;
use hookproof_core::id::TokenId;
use hookproof_ports::{FromRow, Sql, Value};

use super::Tables;
use crate::rows::{from_json, to_json};
use crate::token::Record;

pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS listed_token(
        directory TEXT NOT NULL, token TEXT NOT NULL, record TEXT NOT NULL,
        PRIMARY KEY(directory, token)
    ) WITHOUT ROWID";

impl<S: Sql> Tables<'_, S> {
    /// Lists a token, or what has become of it.
    pub(super) async fn list_token(&self, record: &Record) -> Result<(), Refusal> {
        let statement = "INSERT INTO listed_token(directory, token, record) VALUES(?, ?, ?)
            ON CONFLICT(directory, token) DO UPDATE SET record = excluded.record";
        let values = vec![record.token_id.as_str().into(), to_json(record)?.into()];
        self.query(statement, values).await.map(|_| ())
    }

    /// Tokens in id order.
    pub(super) async fn tokens(&self, after: Option<&TokenId>, limit: u32) -> Result<Vec<Record>, Refusal> {
        let statement =
            "SELECT record FROM listed_token WHERE directory = ? AND token > ? ORDER BY token LIMIT ?";
        let values =
            vec![after.map_or("", TokenId::as_str).into(), Value::Integer(limit.clamp(1, 200).into())];
        self.query(statement, values).await?.iter().map(|row| from_json(row.text(0)?)).collect()
    }
}
