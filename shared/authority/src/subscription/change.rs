//! Changing a subscription: what binds stages the next generation beside the one that serves, in one commit;
//! the rest is a revision of what is there.

use hookproof_core::id::{ChallengeId, Generation};
use hookproof_core::keys::KeyGeneration;
use hookproof_core::subscription::{
    Change, GenerationRecord, GenerationState, KeyChange, ReceiptContract, SuspendReason, Terms,
};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Sql, random};
use serde::{Deserialize, Serialize};

use super::command::Described;
use super::evidence::What;
use super::lifecycle::Expected;
use super::register::{SigningAlg, own_key};
use super::session::{LoadedGeneration, Session};

/// A change, and what the caller believes it changes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ChangeRequest {
    /// What is to be different. Its fields were parsed and vetted before.
    pub change: Change,
    /// How deliveries are to be signed, where that changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningAlg>,
    /// Only if the subscription is there.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expected: Option<Expected>,
    /// For a new subscriber key, in place of the old key's consent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_credential: Option<String>,
}

/// The answer to a change.
#[derive(Debug, Serialize, Deserialize)]
pub struct Changed {
    /// The subscription afterwards.
    pub subscription: Described,
    /// The generation that was staged; none when nothing that binds changed.
    pub generation: Option<Generation>,
    /// Its subscriber secret; this once.
    pub secret: Option<String>,
    /// The next recovery credential, where one was used up; this once.
    pub recovery_credential: Option<String>,
}

/// Refuses an end that has passed.
pub(super) fn check_expiry(at: Option<Timestamp>, now: Timestamp) -> Result<(), Refusal> {
    if at.is_none_or(|at| now < at) {
        return Ok(());
    }
    let words = "the subscription cannot end in the past";
    Err(Refusal::new(Reason::BodyMalformed, words).at("expires_at", "a future time, or null for none"))
}

impl<S: Sql> Session<'_, S> {
    /// Changes the subscription.
    pub(super) async fn change(&mut self, asked: ChangeRequest) -> Result<Changed, Refusal> {
        self.expect(asked.expected)?;
        let base = self.base()?.clone();
        let terms = asked.change.apply(&base.record.terms);
        let alg = self.signing_alg(&base).await?;
        let binds = !terms.binds_as(&base.record.terms) || asked.signing.is_some_and(|wanted| wanted != alg);
        if binds {
            self.refuse_before_recovery()?;
            self.authority.check_receipt_key(&terms.receipt)?;
            self.refuse_own_key(&terms.receipt).await?;
        }
        let recovery_credential = match &asked.recovery_credential {
            Some(shown) if binds => Some(self.use_recovery_credential(shown)?),
            Some(_) | None => None,
        };
        self.revise(&asked.change).await?;
        if !binds {
            return Ok(Changed { recovery_credential, ..self.nothing_shown().await? });
        }
        let key_change = self.key_change(&terms, recovery_credential.is_some())?;
        let owner_changes = self.serving().is_some_and(|g| g.record.terms.owner != terms.owner);
        let (generation, secret) = self.stage(terms, asked.signing.unwrap_or(alg), key_change).await?;
        if owner_changes && let Some(serving) = self.serving().map(|g| g.record.generation) {
            self.suspend(serving, SuspendReason::OwnerChanged).await?;
        }
        let subscription = self.describe().await?;
        Ok(Changed { subscription, generation: Some(generation), secret: Some(secret), recovery_credential })
    }

    /// Refuses the public key of one of the subscription's own credentials as the subscriber's.
    async fn refuse_own_key(&self, contract: &ReceiptContract) -> Result<(), Refusal> {
        let ReceiptContract::Ed25519 { public_key } = contract else { return Ok(()) };
        for generation in &self.generations {
            let credentials = self.tables.credentials(generation.record.generation).await?;
            if credentials.iter().any(|row| row.credential.public_key.as_ref() == Some(public_key)) {
                return Err(own_key());
            }
        }
        Ok(())
    }

    /// The answer to what was done before: without what was shown once.
    pub(super) async fn nothing_shown(&self) -> Result<Changed, Refusal> {
        let subscription = self.describe().await?;
        Ok(Changed { subscription, generation: None, secret: None, recovery_credential: None })
    }

    /// What a change starts from: the staged generation where there is one, so that two changes add up.
    fn base(&self) -> Result<&LoadedGeneration, Refusal> {
        if let Some(base) = self.staged().or_else(|| self.serving()) {
            return Ok(base);
        }
        let words = format!("a {} subscription cannot be changed", self.shown()?.record.state.name());
        Err(Refusal::new(Reason::StateForbids, words))
    }

    async fn signing_alg(&self, generation: &LoadedGeneration) -> Result<SigningAlg, Refusal> {
        let credentials = self.tables.credentials(generation.record.generation).await?;
        let newest = credentials.iter().max_by_key(|row| row.credential.key_generation);
        Ok(SigningAlg::of(newest.ok_or(Reason::InternalCorrupt)?.credential.alg))
    }

    /// What belongs to the revision changes in every generation that has not ended.
    async fn revise(&mut self, change: &Change) -> Result<(), Refusal> {
        let mut revised = false;
        if let Some(expiry) = change.expiry.filter(|expiry| expiry.at != self.head.record.expires_at) {
            check_expiry(expiry.at, self.now())?;
            self.head.record.expires_at = expiry.at;
            revised = true;
        }
        let open: Vec<_> =
            self.generations.iter().filter(|g| !g.record.state.is_terminal()).cloned().collect();
        for mut generation in open {
            let before = generation.record.terms.clone();
            change.revise(&mut generation.record.terms);
            if generation.record.terms != before {
                self.save_generation(generation).await?;
                revised = true;
            }
        }
        if revised {
            self.head.record.revision += 1;
            self.record(What::Revised { revision: self.head.record.revision }).await?;
        }
        Ok(())
    }

    /// A subscriber key that serves gives way only with consent: the old key's, or the recovery credential.
    fn key_change(&self, terms: &Terms, recovered: bool) -> Result<Option<KeyChange>, Refusal> {
        let serving = self.serving().map(|g| &g.record.terms.receipt);
        let Some(ReceiptContract::Ed25519 { public_key: old }) = serving else { return Ok(None) };
        let new = match &terms.receipt {
            ReceiptContract::Ed25519 { public_key } if public_key == old => return Ok(None),
            ReceiptContract::Ed25519 { public_key } => public_key,
            ReceiptContract::None | ReceiptContract::HmacSha256 if recovered => return Ok(None),
            ReceiptContract::None | ReceiptContract::HmacSha256 => {
                let words =
                    "giving up the subscriber's Ed25519 key needs recovery_credential in the same request";
                return Err(
                    Refusal::new(Reason::RecoveryRequired, words).at("receipt", "the recovery credential")
                );
            }
        };
        let id = ChallengeId::mint(&self.authority.id_key, self.now(), random(self.context.entropy));
        Ok((!recovered).then(|| KeyChange {
            challenge_id: id,
            old_public_key: old.clone(),
            new_public_key: new.clone(),
            approved: false,
        }))
    }

    /// Stages the next generation in place of whatever was staged before.
    async fn stage(
        &mut self,
        terms: Terms,
        alg: SigningAlg,
        key_change: Option<KeyChange>,
    ) -> Result<(Generation, String), Refusal> {
        self.discard_staged().await?;
        let number = self.head.record.last_generation.next();
        self.head.record.last_generation = number;
        let mut record = GenerationRecord::staged(number, terms, self.now());
        record.key_change = key_change;
        let endpoint_digest = record.terms.endpoint.digest();
        self.save_generation(LoadedGeneration { record, challenge_due: None }).await?;
        let (row, secret) =
            self.authority.new_credential(self.context, &self.scope(number), alg, KeyGeneration(1))?;
        self.tables.put_credential(number, &row).await?;
        let key_id = row.credential.key_id;
        self.record(What::Staged { generation: number, endpoint_digest, key_id }).await?;
        Ok((number, secret.show_once()))
    }

    /// The old key's consent to the staged generation's change of key.
    pub(super) async fn consent(&mut self, signature: &str) -> Result<(), Refusal> {
        let Some(mut staged) = self.staged().cloned() else { return Ok(()) };
        let Some(change) = staged.record.key_change.as_mut().filter(|change| !change.approved) else {
            return Ok(());
        };
        if !change.is_consent(&self.scope(staged.record.generation), signature) {
            let words = "this is not the old key's signature over this change";
            return Err(Refusal::new(Reason::KeyChangeUnproved, words).at(
                "key_change_signature",
                "see key_change in the subscription and docs/wire/challenge.v1.md",
            ));
        }
        change.approved = true;
        self.save_generation(staged).await
    }

    /// Whether the staged generation waits for the consent of the key it replaces.
    pub(super) fn refuse_without_consent(&self) -> Result<(), Refusal> {
        let unproved = |g: &&LoadedGeneration| {
            matches!(g.record.state, GenerationState::PendingChallenge { .. })
                && g.record.key_change.as_ref().is_some_and(|change| !change.approved)
        };
        let Some(waiting) = self.generations.iter().find(unproved) else { return Ok(()) };
        let words = format!(
            "generation {} replaces the subscriber's key: the old key has to sign the change first",
            waiting.record.generation
        );
        Err(Refusal::new(Reason::KeyChangeUnproved, words).at(
            "key_change_signature",
            "base64url of the old key's signature, or PATCH with recovery_credential",
        ))
    }
}
