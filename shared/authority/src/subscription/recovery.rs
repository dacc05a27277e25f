//! The recovery credential: shown once at registration, stored hashed, and no token. It alone leads back from
//! a compromise, and it is used up by that.

use hookproof_core::digest::Digest;
use hookproof_core::id::SubscriptionId;
use hookproof_core::keys::{CredentialState, KeyGeneration};
use hookproof_core::subscription::GenerationState;
use hookproof_core::token::same_digest;
use hookproof_core::tuple::Tuple;
use hookproof_core::{Reason, Refusal, base64};
use hookproof_ports::{Entropy, Sql, random};

use super::change::Changed;
use super::evidence::What;
use super::register::SigningAlg;
use super::session::Session;

/// A fresh credential and what is stored of it.
pub(super) fn new_recovery_credential(
    entropy: &dyn Entropy,
    subscription: &SubscriptionId,
) -> (String, Digest) {
    let credential = format!("hp_recovery_{}", base64::url(&random::<32>(entropy)));
    let digest = recovery_digest(subscription, &credential);
    (credential, digest)
}

fn recovery_digest(subscription: &SubscriptionId, credential: &str) -> Digest {
    Digest(Tuple::new("hookproof-recovery-v1").field(subscription.as_str()).field(credential).sha256())
}

impl<S: Sql> Session<'_, S> {
    /// Uses up the recovery credential and returns the next one, to be shown once.
    pub(super) fn use_recovery_credential(&mut self, shown: &str) -> Result<String, Refusal> {
        let presented = recovery_digest(&self.subscription, shown);
        if !same_digest(&self.head.record.recovery_digest, &presented) {
            let words = "this is not the subscription's recovery credential, or it was used before";
            return Err(Refusal::new(Reason::RecoveryRefused, words));
        }
        let (next, digest) = new_recovery_credential(self.context.entropy, &self.subscription);
        self.head.record.recovery_digest = digest;
        self.touch();
        Ok(next)
    }

    /// Leads a suspended generation back to PENDING_CHALLENGE under a new secret and key: same endpoint,
    /// owner, profile and receipt contract.
    pub(super) async fn recover(&mut self, shown: &str) -> Result<Changed, Refusal> {
        let suspended =
            self.serving().filter(|g| matches!(g.record.state, GenerationState::Suspended { .. }));
        let Some(generation) = suspended.cloned() else {
            let words =
                format!("a {} subscription has nothing to recover", self.shown()?.record.state.name());
            return Err(Refusal::new(Reason::StateForbids, words));
        };
        let recovery_credential = self.use_recovery_credential(shown)?;
        let number = generation.record.generation;
        let mut newest = KeyGeneration(0);
        let mut alg = SigningAlg::Ed25519;
        for mut row in self.tables.credentials(number).await? {
            if row.credential.key_generation > newest {
                (newest, alg) = (row.credential.key_generation, SigningAlg::of(row.credential.alg));
            }
            if row.credential.state != CredentialState::Revoked {
                row.credential.state = CredentialState::Revoked;
                self.tables.put_credential(number, &row).await?;
            }
        }
        let scope = self.scope(number);
        let next = KeyGeneration(newest.0 + 1);
        let (row, secret) = self.authority.new_credential(self.context, &scope, alg, next)?;
        self.tables.put_credential(number, &row).await?;
        self.record(What::Recovered { generation: number, key_id: row.credential.key_id }).await?;
        self.reactivate(generation, true).await?;
        Ok(Changed {
            subscription: self.describe().await?,
            generation: Some(number),
            secret: Some(secret.show_once()),
            recovery_credential: Some(recovery_credential),
        })
    }
}
