//! The authority's tables. The subscription leads every key, so one database holds many.

use hookproof_core::challenge::Challenge;
use hookproof_core::digest::Digest;
use hookproof_core::evidence::{ChainScope, Head};
use hookproof_core::id::{ChallengeId, DeliveryId, Environment, Generation, SubscriptionId, TenantId};
use hookproof_core::keys::Credential;
use hookproof_core::ledger::Delivery;
use hookproof_core::subscription::GenerationRecord;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{FromRow, Row, Sql, Value};
use serde::{Deserialize, Serialize};

use crate::rows::{from_json, to_json};

pub(super) const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS subscription(
        subscription TEXT PRIMARY KEY, record TEXT NOT NULL,
        epoch INTEGER NOT NULL, seq INTEGER NOT NULL, hash BLOB NOT NULL, alarm INTEGER
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS generation(
        subscription TEXT NOT NULL, generation INTEGER NOT NULL, record TEXT NOT NULL, challenge_due INTEGER,
        PRIMARY KEY(subscription, generation)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS credential(
        subscription TEXT NOT NULL, generation INTEGER NOT NULL, key_id TEXT NOT NULL, record TEXT NOT NULL,
        sealed_secret BLOB NOT NULL, sealed_signing_key BLOB,
        PRIMARY KEY(subscription, generation, key_id)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS challenge(
        subscription TEXT NOT NULL, generation INTEGER NOT NULL, challenge_id TEXT NOT NULL,
        record TEXT NOT NULL,
        PRIMARY KEY(subscription, generation)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS delivery(
        subscription TEXT NOT NULL, delivery_id TEXT NOT NULL, generation INTEGER NOT NULL, state TEXT NOT NULL,
        due INTEGER, held INTEGER NOT NULL, record TEXT NOT NULL, log TEXT NOT NULL,
        PRIMARY KEY(subscription, delivery_id)
    ) WITHOUT ROWID",
    "CREATE INDEX IF NOT EXISTS delivery_due ON delivery(due, subscription) WHERE due IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS evidence(
        subscription TEXT NOT NULL, seq INTEGER NOT NULL, entry TEXT NOT NULL,
        PRIMARY KEY(subscription, seq)
    ) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS quarantine(
        subscription TEXT NOT NULL, seq INTEGER NOT NULL, delivery_id TEXT NOT NULL, reason TEXT NOT NULL,
        body TEXT NOT NULL, at INTEGER NOT NULL,
        PRIMARY KEY(subscription, seq)
    ) WITHOUT ROWID",
    crate::idempotency::TABLE,
    crate::idempotency::INDEX,
    super::key_document::SCHEMA,
];

/// What belongs to the subscription rather than to one of its generations.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) tenant: TenantId,
    pub(super) environment: Environment,
    pub(super) region: String,
    pub(super) created_at: Timestamp,
    pub(super) registration_digest: Digest,
    pub(super) recovery_digest: Digest,
    /// Rises with every change.
    pub(super) revision: u64,
    /// The highest number given to a generation, or taken from one by a revocation; never used again.
    pub(super) last_generation: Generation,
    /// When every generation ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) expires_at: Option<Timestamp>,
}

/// The subscription's one row.
pub(super) struct HeadRow {
    pub(super) record: Record,
    pub(super) chain: Head,
    pub(super) alarm: Option<Timestamp>,
}

/// A credential and its sealed halves.
pub(super) struct CredentialRow {
    pub(super) credential: Credential,
    pub(super) sealed_secret: Vec<u8>,
    pub(super) sealed_signing_key: Option<Vec<u8>>,
}

/// A delivery with the salt of its evidence.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct DeliveryRow {
    pub(super) delivery: Delivery,
    pub(super) api_version: String,
    pub(super) salt: String,
}

/// Statements about one subscription.
pub(super) struct Tables<'a, S> {
    pub(super) sql: &'a S,
    pub(super) subscription: &'a str,
}

/// Deliveries that wait for something.
#[derive(Clone, Copy)]
pub(super) enum Waiting {
    /// Those that are held because their generation is suspended.
    Held,
    /// All of them.
    All,
}

/// A delivery from `record` and `due`: the column is the truth, since a whole generation is moved by it.
fn delivery_row(row: &Row) -> Result<DeliveryRow, Refusal> {
    let mut read: DeliveryRow = from_json(row.text(0)?)?;
    read.delivery.due = instant(row, 1)?;
    Ok(read)
}

fn instant(row: &Row, column: usize) -> Result<Option<Timestamp>, Refusal> {
    Ok(row.optional_integer(column)?.map(Timestamp::from_millis))
}

fn millis(at: Option<Timestamp>) -> Value {
    at.map(Timestamp::millis).into()
}

fn small(value: i64) -> Result<u64, Refusal> {
    u64::try_from(value).map_err(|_| Reason::InternalCorrupt.into())
}

fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}

impl<S: Sql> Tables<'_, S> {
    async fn query(&self, statement: &str, rest: Vec<Value>) -> Result<Vec<Row>, Refusal> {
        let mut parameters = vec![Value::from(self.subscription)];
        parameters.extend(rest);
        self.sql.query(statement, &parameters).await
    }

    pub(super) async fn head(&self) -> Result<Option<HeadRow>, Refusal> {
        let rows = self
            .query("SELECT record, epoch, seq, hash, alarm FROM subscription WHERE subscription = ?", vec![])
            .await?;
        let Some(row) = rows.first() else { return Ok(None) };
        let hash: [u8; 32] = row.blob(3)?.try_into().map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        let epoch = u32::try_from(row.integer(1)?).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        let chain = Head { epoch, seq: small(row.integer(2)?)?, hash: Digest(hash) };
        Ok(Some(HeadRow { record: from_json(row.text(0)?)?, chain, alarm: instant(row, 4)? }))
    }

    pub(super) async fn put_head(&self, head: &HeadRow) -> Result<(), Refusal> {
        let statement =
            "INSERT INTO subscription(subscription, record, epoch, seq, hash, alarm) VALUES(?, ?, ?, ?, ?, ?)
            ON CONFLICT(subscription) DO UPDATE SET record = excluded.record, epoch = excluded.epoch,
            seq = excluded.seq, hash = excluded.hash, alarm = excluded.alarm";
        let values = vec![
            to_json(&head.record)?.into(),
            integer(head.chain.epoch.into()),
            integer(head.chain.seq),
            Value::Blob(head.chain.hash.0.to_vec()),
            millis(head.alarm),
        ];
        self.query(statement, values).await.map(|_| ())
    }

    pub(super) async fn generations(&self) -> Result<Vec<(GenerationRecord, Option<Timestamp>)>, Refusal> {
        let statement =
            "SELECT record, challenge_due FROM generation WHERE subscription = ? ORDER BY generation DESC";
        let rows = self.query(statement, vec![]).await?;
        rows.iter().map(|row| Ok((from_json(row.text(0)?)?, instant(row, 1)?))).collect()
    }

    pub(super) async fn put_generation(
        &self,
        record: &GenerationRecord,
        challenge_due: Option<Timestamp>,
    ) -> Result<(), Refusal> {
        let statement = "INSERT INTO generation(subscription, generation, record, challenge_due) VALUES(?, ?, ?, ?)
            ON CONFLICT(subscription, generation) DO UPDATE SET record = excluded.record, challenge_due = excluded.challenge_due";
        let values = vec![integer(record.generation.0), to_json(record)?.into(), millis(challenge_due)];
        self.query(statement, values).await.map(|_| ())
    }

    pub(super) async fn credentials(&self, generation: Generation) -> Result<Vec<CredentialRow>, Refusal> {
        let statement = "SELECT record, sealed_secret, sealed_signing_key FROM credential WHERE subscription = ? AND generation = ?";
        let rows = self.query(statement, vec![integer(generation.0)]).await?;
        let read = |row: &Row| {
            let sealed_signing_key = match row.0.get(2) {
                Some(Value::Null) => None,
                Some(_) | None => Some(row.blob(2)?.to_vec()),
            };
            Ok(CredentialRow {
                credential: from_json(row.text(0)?)?,
                sealed_secret: row.blob(1)?.to_vec(),
                sealed_signing_key,
            })
        };
        rows.iter().map(read).collect()
    }

    pub(super) async fn put_credential(
        &self,
        generation: Generation,
        row: &CredentialRow,
    ) -> Result<(), Refusal> {
        let statement = "INSERT INTO credential(subscription, generation, key_id, record, sealed_secret, sealed_signing_key)
            VALUES(?, ?, ?, ?, ?, ?)
            ON CONFLICT(subscription, generation, key_id) DO UPDATE SET record = excluded.record";
        let values = vec![
            integer(generation.0),
            row.credential.key_id.as_str().into(),
            to_json(&row.credential)?.into(),
            row.sealed_secret.clone().into(),
            row.sealed_signing_key.clone().into(),
        ];
        self.query(statement, values).await.map(|_| ())
    }

    /// The outstanding challenge of a generation; at most one exists, since issuing the next replaces it.
    pub(super) async fn challenge(&self, generation: Generation) -> Result<Option<Challenge>, Refusal> {
        let statement = "SELECT record FROM challenge WHERE subscription = ? AND generation = ?";
        let rows = self.query(statement, vec![integer(generation.0)]).await?;
        rows.first().map(|row| from_json(row.text(0)?)).transpose()
    }

    /// An outstanding challenge by its id.
    pub(super) async fn challenge_by_id(&self, id: &ChallengeId) -> Result<Option<Challenge>, Refusal> {
        let statement = "SELECT record FROM challenge WHERE subscription = ? AND challenge_id = ?";
        let rows = self.query(statement, vec![id.as_str().into()]).await?;
        rows.first().map(|row| from_json(row.text(0)?)).transpose()
    }

    pub(super) async fn put_challenge(&self, challenge: &Challenge) -> Result<(), Refusal> {
        let statement =
            "INSERT INTO challenge(subscription, generation, challenge_id, record) VALUES(?, ?, ?, ?)
            ON CONFLICT(subscription, generation) DO UPDATE SET
            challenge_id = excluded.challenge_id, record = excluded.record";
        let generation = integer(challenge.scope.generation.0);
        let values = vec![generation, challenge.id.as_str().into(), to_json(challenge)?.into()];
        self.query(statement, values).await.map(|_| ())
    }

    /// Withdraws the outstanding challenge of a generation: its answer then finds none.
    pub(super) async fn withdraw_challenge(&self, generation: Generation) -> Result<(), Refusal> {
        let statement = "DELETE FROM challenge WHERE subscription = ? AND generation = ?";
        self.query(statement, vec![integer(generation.0)]).await.map(|_| ())
    }

    /// Removes a challenge; true for exactly one of two callers.
    pub(super) async fn consume_challenge(&self, id: &ChallengeId) -> Result<bool, Refusal> {
        let statement =
            "DELETE FROM challenge WHERE subscription = ? AND challenge_id = ? RETURNING challenge_id";
        Ok(!self.query(statement, vec![id.as_str().into()]).await?.is_empty())
    }

    pub(super) async fn delivery(&self, id: &DeliveryId) -> Result<Option<DeliveryRow>, Refusal> {
        let statement = "SELECT record, due FROM delivery WHERE subscription = ? AND delivery_id = ?";
        let rows = self.query(statement, vec![id.as_str().into()]).await?;
        rows.first().map(delivery_row).transpose()
    }

    /// Writes the delivery and appends `log`, the evidence lines of this change.
    pub(super) async fn put_delivery(&self, row: &DeliveryRow, log: &str) -> Result<(), Refusal> {
        let statement =
            "INSERT INTO delivery(subscription, delivery_id, generation, state, due, held, record, log)
            VALUES(?, ?, ?, ?, ?, ?, ?, ?)
            ON CONFLICT(subscription, delivery_id) DO UPDATE SET
            state = excluded.state, due = excluded.due, held = excluded.held, record = excluded.record,
            log = log || excluded.log";
        let delivery = &row.delivery;
        let values = vec![
            delivery.id.as_str().into(),
            integer(delivery.generation.0),
            delivery.state.name().into(),
            millis(delivery.due),
            Value::Integer(delivery.held_since.is_some().into()),
            to_json(row)?.into(),
            log.into(),
        ];
        self.query(statement, values).await.map(|_| ())
    }

    pub(super) async fn due_deliveries(
        &self,
        now: Timestamp,
        limit: u32,
    ) -> Result<Vec<DeliveryRow>, Refusal> {
        let statement =
            "SELECT record, due FROM delivery WHERE subscription = ? AND due <= ? ORDER BY due LIMIT ?";
        let rows = self.query(statement, vec![now.millis().into(), integer(limit.into())]).await?;
        rows.iter().map(delivery_row).collect()
    }

    pub(super) async fn deliveries(
        &self,
        after: &str,
        state: Option<&str>,
        limit: u32,
    ) -> Result<Vec<DeliveryRow>, Refusal> {
        let statement =
            "SELECT record, due FROM delivery WHERE subscription = ?1 AND (?2 = '' OR delivery_id < ?2)
            AND (?3 IS NULL OR state = ?3) ORDER BY delivery_id DESC LIMIT ?4";
        let rows = self.query(statement, vec![after.into(), state.into(), integer(limit.into())]).await?;
        rows.iter().map(delivery_row).collect()
    }

    /// Makes deliveries of a generation that are held, or all that wait, due at `now`.
    pub(super) async fn hurry(
        &self,
        generation: Generation,
        which: Waiting,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        let held = match which {
            Waiting::Held => " AND held = 1",
            Waiting::All => "",
        };
        let statement = format!(
            "UPDATE delivery SET due = ?3 WHERE subscription = ?1 AND generation = ?2 AND due > ?3
            AND state IN ('PLANNED', 'RETRYABLE', 'UNKNOWN_TRANSPORT'){held}"
        );
        self.query(&statement, vec![integer(generation.0), now.millis().into()]).await.map(|_| ())
    }

    /// The earliest time after `from` at which a delivery has something to be done; `from` itself is not.
    pub(super) async fn next_delivery(&self, from: Option<Timestamp>) -> Result<Option<Timestamp>, Refusal> {
        let statement = "SELECT min(due) FROM delivery WHERE subscription = ? AND due > ?";
        let from = from.map_or(-1, Timestamp::millis);
        let rows = self.query(statement, vec![from.into()]).await?;
        rows.first().map_or(Ok(None), |row| instant(row, 0))
    }

    pub(super) async fn put_evidence(&self, seq: u64, entry: &str) -> Result<(), Refusal> {
        let statement = "INSERT INTO evidence(subscription, seq, entry) VALUES(?, ?, ?)";
        self.query(statement, vec![integer(seq), entry.into()]).await.map(|_| ())
    }

    /// Every stored entry, from both places they are kept in, in no particular order.
    pub(super) async fn evidence(&self) -> Result<Vec<String>, Refusal> {
        let mut entries = Vec::new();
        for row in self.query("SELECT entry FROM evidence WHERE subscription = ?", vec![]).await? {
            entries.push(row.text(0)?.to_owned());
        }
        for row in self.query("SELECT log FROM delivery WHERE subscription = ?", vec![]).await? {
            entries.extend(row.text(0)?.lines().map(str::to_owned));
        }
        Ok(entries)
    }

    pub(super) async fn is_quarantined(&self, id: &DeliveryId, body: &str) -> Result<bool, Refusal> {
        let statement =
            "SELECT seq FROM quarantine WHERE subscription = ? AND delivery_id = ? AND body = ? LIMIT 1";
        Ok(!self.query(statement, vec![id.as_str().into(), body.into()]).await?.is_empty())
    }

    pub(super) async fn quarantine(
        &self,
        seq: u64,
        id: &DeliveryId,
        reason: Reason,
        body: &str,
        at: Timestamp,
    ) -> Result<(), Refusal> {
        let statement = "INSERT INTO quarantine(subscription, seq, delivery_id, reason, body, at) VALUES(?, ?, ?, ?, ?, ?)";
        let values =
            vec![integer(seq), id.as_str().into(), reason.code().into(), body.into(), at.millis().into()];
        self.query(statement, values).await.map(|_| ())
    }
}

/// The chain's owner.
pub(super) fn chain_scope(issuer: &str, record: &Record, subscription: &SubscriptionId) -> ChainScope {
    ChainScope {
        issuer: issuer.to_owned(),
        tenant: record.tenant.clone(),
        environment: record.environment,
        subscription: subscription.clone(),
    }
}
