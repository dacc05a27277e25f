//! A source's configuration, sealed under the receiver's own master key: what leaves unsealed goes to
//! the receiver itself, and what an operator sees holds no secret.

use hookproof_core::id::{Environment, Generation, SubscriptionId, TenantId};
use hookproof_core::keys::{MasterKeys, NamedRow};
use hookproof_core::receiver::{Entry, EntryKey, Handler, Source};
use hookproof_core::signature::Alg;
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Commit, Context, FromRow, Row, Sql, Value, random};
use serde::{Deserialize, Serialize};

use crate::rows::{from_json, to_json};

/// The sources of a receiver, one object each.
pub struct Sources {
    /// Opens and seals what is at rest.
    pub keys: MasterKeys,
}

/// A command to one source.
#[derive(Clone, Serialize, Deserialize)]
pub enum SourceCommand {
    /// Creates or replaces it; [`SourceReply::Public`].
    Put(Box<Source>),
    /// For the receiver itself; [`SourceReply::Source`].
    Get,
    /// For its operator; [`SourceReply::Public`].
    Show,
    /// Forgets it; [`SourceReply::Deleted`].
    Delete,
}

/// A reply of a source.
#[derive(Clone, Serialize, Deserialize)]
pub enum SourceReply {
    /// With its secrets: for the receiver's own process only.
    Source(Box<Source>),
    /// Without them.
    Public {
        /// It was created by this command.
        created: bool,
        /// The source.
        source: Box<PublicSource>,
    },
    /// Gone.
    Deleted,
}

/// A source without its secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublicSource {
    /// Its name.
    pub source: String,
    /// Rises with each change.
    pub revision: u64,
    /// The last change.
    pub updated_at: Timestamp,
    /// Where verified events go.
    pub handler: Handler,
    /// The subscriptions it takes.
    pub entries: Vec<PublicEntry>,
}

/// An entry without its secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublicEntry {
    /// The sender's origin.
    pub issuer: String,
    /// The sender's tenant.
    pub tenant_id: TenantId,
    /// `live` or `test`.
    pub environment: Environment,
    /// The subscription.
    pub subscription_id: SubscriptionId,
    /// Its generation.
    pub generation: Generation,
    /// Its signing profile.
    pub profile: String,
    /// The URL the sender was given for us.
    pub public_url: String,
    /// The sender's keys; all of them public.
    pub keys: Vec<EntryKey>,
    /// How receipts are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receipts: Option<PublicReceipts>,
}

/// A receipt contract without its seed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PublicReceipts {
    /// The sender's receipts URL.
    pub url: String,
    /// The algorithm.
    pub alg: Alg,
    /// The key's id.
    pub key_id: String,
    /// Which of the subscriber's receipt keys it is.
    pub key_generation: u64,
}

impl PublicSource {
    fn of(name: &str, source: &Source, stored: &Stored) -> Self {
        Self {
            source: name.to_owned(),
            revision: stored.revision,
            updated_at: stored.updated_at,
            handler: source.handler.clone(),
            entries: source.entries.iter().map(PublicEntry::of).collect(),
        }
    }
}

impl PublicEntry {
    fn of(entry: &Entry) -> Self {
        let receipts = entry.receipts.as_ref().zip(entry.receipt_key().ok()).map(|(receipts, key)| {
            let (key, key_id, key_generation) = key;
            PublicReceipts { url: receipts.url.as_str().to_owned(), alg: key.alg(), key_id, key_generation }
        });
        Self {
            issuer: entry.issuer.clone(),
            tenant_id: entry.tenant_id.clone(),
            environment: entry.environment,
            subscription_id: entry.subscription_id.clone(),
            generation: entry.generation,
            profile: entry.profile.clone(),
            public_url: entry.public_url.as_str().to_owned(),
            keys: entry.keys.clone(),
            receipts,
        }
    }
}

struct Stored {
    revision: u64,
    updated_at: Timestamp,
    sealed: Vec<u8>,
}

impl Aggregate for Sources {
    const NAME: &'static str = "source";
    const SCHEMA: &'static [&'static str] = &["CREATE TABLE IF NOT EXISTS source(\
        object TEXT PRIMARY KEY, revision INTEGER NOT NULL, updated_at INTEGER NOT NULL, \
        sealed BLOB NOT NULL) WITHOUT ROWID"];
    type Command = SourceCommand;
    type Reply = SourceReply;
    type Wake = ();

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: SourceCommand,
    ) -> Result<Commit<SourceReply>, Refusal> {
        let stored = load(sql, context.key).await?;
        if let SourceCommand::Put(source) = command {
            return self.put(context, sql, &source, stored).await.map(Commit::keep);
        }
        let unknown = || Refusal::new(Reason::SourceUnknown, "no source of this name is configured");
        let stored = stored.ok_or_else(unknown)?;
        let reply = match command {
            SourceCommand::Put(_) | SourceCommand::Get => {
                SourceReply::Source(Box::new(self.open(context, &stored)?))
            }
            SourceCommand::Show => {
                let source = PublicSource::of(context.key, &self.open(context, &stored)?, &stored);
                SourceReply::Public { created: false, source: Box::new(source) }
            }
            SourceCommand::Delete => {
                sql.query("DELETE FROM source WHERE object = ?", &[context.key.into()]).await?;
                SourceReply::Deleted
            }
        };
        Ok(Commit::keep(reply))
    }

    async fn wake<S: Sql>(&self, _: &Context<'_>, _: &S) -> Result<Commit<Vec<()>>, Refusal> {
        Ok(Commit::keep(Vec::new()))
    }
}

impl Sources {
    async fn put<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        source: &Source,
        before: Option<Stored>,
    ) -> Result<SourceReply, Refusal> {
        source.check()?;
        let revision = before.as_ref().map_or(0, |stored| stored.revision) + 1;
        let plain = to_json(source)?;
        let sealed =
            self.keys.seal(&row(context.key, revision), plain.as_bytes(), random(context.entropy))?;
        let stored = Stored { revision, updated_at: context.now, sealed };
        let statement = "INSERT INTO source(object, revision, updated_at, sealed) VALUES(?, ?, ?, ?) \
            ON CONFLICT(object) DO UPDATE SET revision = excluded.revision, \
            updated_at = excluded.updated_at, sealed = excluded.sealed";
        let parameters = [
            context.key.into(),
            Value::Integer(revision.cast_signed()),
            context.now.millis().into(),
            stored.sealed.clone().into(),
        ];
        sql.query(statement, &parameters).await?;
        let public = PublicSource::of(context.key, source, &stored);
        Ok(SourceReply::Public { created: before.is_none(), source: Box::new(public) })
    }

    fn open(&self, context: &Context<'_>, stored: &Stored) -> Result<Source, Refusal> {
        let plain = self.keys.open(&row(context.key, stored.revision), &stored.sealed)?;
        let text = String::from_utf8(plain).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        from_json(&text)
    }
}

fn row(name: &str, revision: u64) -> NamedRow<'_> {
    NamedRow { kind: "source", name, revision }
}

async fn load<S: Sql>(sql: &S, key: &str) -> Result<Option<Stored>, Refusal> {
    let statement = "SELECT revision, updated_at, sealed FROM source WHERE object = ?";
    let rows = sql.query(statement, &[key.into()]).await?;
    let read = |row: &Row| {
        Ok(Stored {
            revision: row.integer(0)?.cast_unsigned(),
            updated_at: Timestamp::from_millis(row.integer(1)?),
            sealed: row.blob(2)?.to_vec(),
        })
    };
    rows.first().map(read).transpose()
}
