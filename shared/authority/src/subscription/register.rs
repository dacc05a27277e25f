//! Registration: a subscription, its first generation and its first credential, in one commit. The
//! secret and the recovery credential are in this one answer and never again.

use std::str::FromStr;

use hookproof_core::base64;
use hookproof_core::digest::Digest;
use hookproof_core::evidence::Head;
use hookproof_core::id::{Environment, Generation, Scope, SubscriptionId, TenantId};
use hookproof_core::keys::{Binding, Credential, CredentialState, KeyGeneration};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Alg, SigningKey, thumbprint};
use hookproof_core::subscription::{GenerationRecord, ReceiptContract, Terms};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Commit, Context, Sql, random};
use serde::{Deserialize, Serialize};

use super::change::check_expiry;
use super::command::Described;
use super::evidence::What;
use super::recovery::new_recovery_credential;
use super::session::{LoadedGeneration, Session};
use super::store::{CredentialRow, HeadRow, Record, Tables};
use super::{Authority, Reply};
use crate::rows::to_json;

/// What deliveries of a generation are signed with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SigningAlg {
    /// A key pair of ours; anybody can verify.
    #[default]
    Ed25519,
    /// A key derived from the subscriber secret.
    HmacSha256,
}

impl SigningAlg {
    pub(super) fn of(alg: Alg) -> Self {
        match alg {
            Alg::Ed25519 => Self::Ed25519,
            Alg::HmacSha256 => Self::HmacSha256,
        }
    }
}

/// What a registration needs. The terms were parsed and vetted before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Registration {
    /// The tenant, from its token.
    pub tenant: TenantId,
    /// The token's environment.
    pub environment: Environment,
    /// What generation 1 binds.
    pub terms: Terms,
    /// How it signs.
    pub signing: SigningAlg,
    /// When it ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// The answer to a registration.
#[derive(Debug, Serialize, Deserialize)]
pub struct Registered {
    /// The subscription.
    pub subscription: Described,
    /// The subscriber secret, base64url; none when it was shown before.
    pub secret: Option<String>,
    /// The recovery credential; none when it was shown before.
    pub recovery_credential: Option<String>,
}

impl Authority {
    pub(super) async fn register<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        asked: Registration,
    ) -> Result<Commit<Reply>, Refusal> {
        let subscription =
            SubscriptionId::from_str(context.key).map_err(|_| Refusal::from(Reason::SubscriptionUnknown))?;
        if !self.id_key.admits(&subscription) {
            return Err(Reason::SubscriptionUnknown.into());
        }
        let digest = Digest::of(to_json(&asked)?.as_bytes());
        let tables = Tables { sql, subscription: context.key };
        if let Some(existing) = tables.head().await? {
            return self.repeat(context, sql, &existing, &digest).await;
        }
        self.check_receipt_key(&asked.terms.receipt)?;
        check_expiry(asked.expires_at, context.now)?;
        let made = self.first_generation(context, &tables, &subscription, &asked, digest).await?;
        let mut session = self.open(context, sql).await?;
        let what = What::Registered {
            generation: Generation::FIRST,
            endpoint_digest: asked.terms.endpoint.digest(),
            key_id: made.key_id,
        };
        session.record(what).await?;
        let registered = Registered {
            subscription: session.describe().await?,
            secret: Some(made.secret.show_once()),
            recovery_credential: Some(made.recovery),
        };
        session.commit(Reply::Registered(Box::new(registered))).await
    }

    /// Refuses a subscriber key that is no good, or one of ours: whoever holds it could sign for the subscriber.
    pub(super) fn check_receipt_key(&self, contract: &ReceiptContract) -> Result<(), Refusal> {
        contract.check()?;
        let ReceiptContract::Ed25519 { public_key } = contract else { return Ok(()) };
        if self.issuer_keys.public()?.iter().any(|key| key.public_key == *public_key) {
            return Err(own_key());
        }
        Ok(())
    }

    /// The same registration again: the same answer without what was shown once.
    async fn repeat<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        existing: &HeadRow,
        digest: &Digest,
    ) -> Result<Commit<Reply>, Refusal> {
        if existing.record.registration_digest != *digest {
            return Err(Refusal::new(
                Reason::IdempotencyConflict,
                "this subscription was registered with other terms",
            ));
        }
        let session = self.open(context, sql).await?;
        let subscription = session.describe().await?;
        session
            .commit(Reply::Registered(Box::new(Registered {
                subscription,
                secret: None,
                recovery_credential: None,
            })))
            .await
    }

    async fn first_generation<S: Sql>(
        &self,
        context: &Context<'_>,
        tables: &Tables<'_, S>,
        subscription: &SubscriptionId,
        asked: &Registration,
        registration_digest: Digest,
    ) -> Result<Made, Refusal> {
        let (recovery, recovery_digest) = new_recovery_credential(context.entropy, subscription);
        let record = Record {
            tenant: asked.tenant.clone(),
            environment: asked.environment,
            region: self.region.clone(),
            created_at: context.now,
            registration_digest,
            recovery_digest,
            revision: 1,
            last_generation: Generation::FIRST,
            expires_at: asked.expires_at,
        };
        tables.put_head(&HeadRow { record, chain: Head::EMPTY, alarm: None }).await?;
        let generation = GenerationRecord::staged(Generation::FIRST, asked.terms.clone(), context.now);
        tables.put_generation(&generation, None).await?;
        let scope = Scope {
            issuer: self.issuer.clone(),
            tenant: asked.tenant.clone(),
            environment: asked.environment,
            subscription: subscription.clone(),
            generation: Generation::FIRST,
        };
        let (row, secret) = self.new_credential(context, &scope, asked.signing, KeyGeneration(1))?;
        tables.put_credential(Generation::FIRST, &row).await?;
        Ok(Made { key_id: row.credential.key_id, secret, recovery })
    }

    /// Draws a credential and seals it for its own row.
    pub(super) fn new_credential(
        &self,
        context: &Context<'_>,
        scope: &Scope,
        alg: SigningAlg,
        key_generation: KeyGeneration,
    ) -> Result<(CredentialRow, Secret), Refusal> {
        let secret = Secret::new(random(context.entropy));
        let (alg, key_id, public_key, seed) = match alg {
            SigningAlg::Ed25519 => {
                let seed = Secret::new(random(context.entropy));
                let public = SigningKey::ed25519(&seed).public().ok_or(Reason::InternalHost)?;
                (Alg::Ed25519, thumbprint(&public), Some(base64::url(&public)), Some(seed))
            }
            SigningAlg::HmacSha256 => {
                (Alg::HmacSha256, base64::url(&random::<16>(context.entropy)), None, None)
            }
        };
        let bound = |purpose| Binding {
            scope,
            key_id: &key_id,
            key_generation: key_generation.0,
            purpose,
            alg: alg.name(),
        };
        let seal = |purpose, plain: &Secret| {
            self.keys.seal(&bound(purpose), plain.expose(), random(context.entropy))
        };
        let sealed_secret = seal("secret", &secret)?;
        let sealed_signing_key = seed.map(|seed| seal("signing-key", &seed)).transpose()?;
        let credential = Credential {
            key_id: key_id.clone(),
            key_generation,
            alg,
            state: CredentialState::Active,
            public_key,
            created_at: context.now,
            verify_until: None,
        };
        Ok((CredentialRow { credential, sealed_secret, sealed_signing_key }, secret))
    }
}

/// The refusal of a key that is ours.
pub(super) fn own_key() -> Refusal {
    Refusal::new(Reason::KeyReserved, "the receipt key is one of this deployment's own")
        .at("receipt.public_key", "base64url of a 32-octet Ed25519 public key of your own")
}

struct Made {
    key_id: String,
    secret: Secret,
    recovery: String,
}

impl<S: Sql> Session<'_, S> {
    /// The secret of a credential, for the derivations of one command.
    pub(super) fn open_secret(&self, generation: Generation, row: &CredentialRow) -> Result<Secret, Refusal> {
        let scope = self.scope(generation);
        self.authority.keys.open_secret(&binding(&scope, row, "secret"), &row.sealed_secret)
    }

    /// The key a credential signs with.
    pub(super) fn open_signing_key(
        &self,
        generation: &LoadedGeneration,
        row: &CredentialRow,
    ) -> Result<SigningKey, Refusal> {
        let scope = self.scope(generation.record.generation);
        match &row.sealed_signing_key {
            Some(sealed) => {
                let seed = self.authority.keys.open_secret(&binding(&scope, row, "signing-key"), sealed)?;
                Ok(SigningKey::ed25519(&seed))
            }
            None => {
                let secret = self.open_secret(generation.record.generation, row)?;
                let purpose = hookproof_core::keys::Purpose::Deliver;
                let profile = &generation.record.terms.profile;
                Ok(SigningKey::hmac(hookproof_core::keys::derive(
                    &secret,
                    purpose,
                    &scope,
                    &row.credential.key_id,
                    profile,
                )))
            }
        }
    }
}

fn binding<'a>(scope: &'a Scope, row: &'a CredentialRow, purpose: &'a str) -> Binding<'a> {
    Binding {
        scope,
        key_id: &row.credential.key_id,
        key_generation: row.credential.key_generation.0,
        purpose,
        alg: row.credential.alg.name(),
    }
}
