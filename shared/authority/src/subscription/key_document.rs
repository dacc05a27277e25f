//! The subscription's signed key document: made from the rows that decide, in a transaction, and signed
//! again only when it says something else or is five minutes old. Its sequence rises with its content.

use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::key_document::{Content, RENEWAL};
use hookproof_core::keys::Issuer;
use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::{FromRow, Sql, Value};

use super::Authority;
use super::session::Session;

pub(super) const SCHEMA: &str = "CREATE TABLE IF NOT EXISTS key_document(
        subscription TEXT PRIMARY KEY, sequence INTEGER NOT NULL, issued_at INTEGER NOT NULL,
        content TEXT NOT NULL, key_id TEXT NOT NULL, answer TEXT NOT NULL
    ) WITHOUT ROWID";

/// The document signed last.
struct Kept {
    sequence: u64,
    issued_at: Timestamp,
    content: String,
    key_id: String,
    answer: String,
}

impl Authority {
    /// Who signs key documents: the same for every subscription, so that no subscription is opened for it.
    pub(super) fn issuer(&self) -> Result<Issuer, Refusal> {
        Ok(Issuer { issuer: self.issuer.clone(), keys: self.issuer_keys.public()? })
    }
}

impl<S: Sql> Session<'_, S> {
    /// The document as it is served, octet for octet.
    pub(super) async fn key_document(&self) -> Result<String, Refusal> {
        let content = self.published().await?;
        let (digest, key) = (content.digest()?, self.authority.issuer_keys.current()?);
        let kept = self.kept().await?;
        let (same, before) = match kept {
            Some(kept) if kept.still_good(&digest, &key.key_id, self.now()) => return Ok(kept.answer),
            Some(kept) => (kept.content == digest.to_string(), kept.sequence),
            None => (false, 0),
        };
        // A renewal keeps the sequence: one sequence never names two contents, nor two one.
        let sequence = if same { before } else { before + 1 };
        let document = content.document(&self.authority.issuer, &self.subscription, sequence, self.now());
        let answer = self.authority.issuer_keys.sign(&document)?.to_text()?;
        let kept = Kept {
            sequence,
            issued_at: self.now(),
            content: digest.to_string(),
            key_id: key.key_id,
            answer: answer.clone(),
        };
        self.keep(kept).await?;
        Ok(answer)
    }

    async fn published(&self) -> Result<Content, Refusal> {
        let mut all = Vec::new();
        for generation in &self.generations {
            let record = &generation.record;
            for row in self.tables.credentials(record.generation).await? {
                all.push((record, row.credential));
            }
        }
        let credentials = all.iter().map(|(record, key)| (record.generation, &record.state, key));
        Ok(Content::new(self.shown()?.record.generation, credentials, self.now()))
    }

    async fn kept(&self) -> Result<Option<Kept>, Refusal> {
        let statement = "SELECT sequence, issued_at, content, key_id, answer FROM key_document \
            WHERE subscription = ?";
        let rows = self.tables.sql.query(statement, &[self.tables.subscription.into()]).await?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(Some(Kept {
            sequence: row.integer(0)?.unsigned_abs(),
            issued_at: Timestamp::from_millis(row.integer(1)?),
            content: row.text(2)?.to_owned(),
            key_id: row.text(3)?.to_owned(),
            answer: row.text(4)?.to_owned(),
        }))
    }

    async fn keep(&self, kept: Kept) -> Result<(), Refusal> {
        let statement = "INSERT INTO key_document(subscription, sequence, issued_at, content, key_id, answer) \
            VALUES(?, ?, ?, ?, ?, ?) ON CONFLICT(subscription) DO UPDATE SET sequence = excluded.sequence, \
            issued_at = excluded.issued_at, content = excluded.content, key_id = excluded.key_id, \
            answer = excluded.answer";
        let values = [
            self.tables.subscription.into(),
            Value::Integer(kept.sequence.cast_signed()),
            kept.issued_at.millis().into(),
            kept.content.into(),
            kept.key_id.into(),
            kept.answer.into(),
        ];
        self.tables.sql.query(statement, &values).await.map(drop)
    }
}

impl Kept {
    fn still_good(&self, content: &Digest, key_id: &str, now: Timestamp) -> bool {
        let age = now - self.issued_at;
        let young = age >= Span::ZERO && age < RENEWAL;
        young && self.key_id == key_id && self.content == content.to_string()
    }
}
