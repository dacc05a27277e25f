//! Rations, each in an object of its own name: counted where they are decided.

use hookproof_core::challenge::budget::Budget;
use hookproof_core::endpoint::registrable_domain;
use hookproof_core::id::{Environment, TenantId};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{FromRow, Sql, Value};

use super::Tables;

pub(super) const TABLE: &str = "CREATE TABLE IF NOT EXISTS budget(
        directory TEXT PRIMARY KEY, since INTEGER NOT NULL, used INTEGER NOT NULL
    ) WITHOUT ROWID";

const PREFIX: &str = "challenges.";

/// The object that counts a tenant's requests for challenges.
pub fn of_tenant(tenant: &TenantId, environment: Environment) -> String {
    format!("{PREFIX}{tenant}.{environment}")
}

/// The object that counts requests for challenges of hosts under one registrable domain.
pub fn of_host(host: &str) -> String {
    format!("{PREFIX}domain.{}", registrable_domain(host))
}

/// Whether a directory object counts a ration and is nobody's directory.
pub(super) fn counts(key: &str) -> bool {
    key.starts_with(PREFIX)
}

impl<S: Sql> Tables<'_, S> {
    /// Uses one of `limit`.
    pub(super) async fn spend(&self, limit: u32) -> Result<(), Refusal> {
        let rows = self.query("SELECT since, used FROM budget WHERE directory = ?", vec![]).await?;
        let read = |row: &hookproof_ports::Row| {
            let used = u32::try_from(row.integer(1)?).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
            Ok::<_, Refusal>(Budget { since: Timestamp::from_millis(row.integer(0)?), used })
        };
        let before = rows.first().map(read).transpose()?;
        let after = Budget::spend(before, limit, self.now).map_err(|from| {
            let words =
                format!("no more than {limit} challenges are asked for in an hour here; again from {from}");
            Refusal::new(Reason::ChallengeBudget, words)
        })?;
        let statement = "INSERT INTO budget(directory, since, used) VALUES(?, ?, ?)
            ON CONFLICT(directory) DO UPDATE SET since = excluded.since, used = excluded.used";
        let values = vec![after.since.millis().into(), Value::Integer(after.used.into())];
        self.query(statement, values).await.map(|_| ())
    }
}
