//! Receipts: verified under the delivery's own generation, recorded once, quarantined when they
//! contradict.

use hookproof_core::digest::Digest;
use hookproof_core::keys::{KeyGeneration, Purpose, derive};
use hookproof_core::ledger::{Application, Recorded};
use hookproof_core::receipt::{Assurance, Receipt};
use hookproof_core::signature::{Fields, Message, VerifyKey, profile, select, thumbprint};
use hookproof_core::subscription::ReceiptContract;
use hookproof_core::{Reason, Refusal, base64};
use hookproof_ports::Sql;
use serde::{Deserialize, Serialize};

use super::command::{HeaderField, Standing};
use super::evidence::What;
use super::session::{LoadedGeneration, Session};
use super::store::DeliveryRow;

/// A receipt as it arrived.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReceiptRequest {
    /// Its header fields, ASCII.
    pub fields: Vec<HeaderField>,
    /// Its body.
    pub body: String,
}

/// What became of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptOutcome {
    /// Recorded, now or before.
    Recorded {
        /// Whether it was the first.
        recorded: Recorded,
        /// The delivery afterwards.
        delivery: Standing,
    },
    /// Contradicts what is recorded: kept apart, changes nothing.
    Quarantined {
        /// How.
        reason: Reason,
    },
}

/// What receipts of a generation are verified with.
struct ReceiptKey {
    key: VerifyKey,
    key_id: String,
    /// Ours where the key is derived from a credential; a subscriber numbers its own keys by itself.
    key_generation: Option<KeyGeneration>,
    assurance: Assurance,
}

impl<S: Sql> Session<'_, S> {
    /// Verifies and records a receipt. A refusal changes nothing; a contradiction is kept.
    pub(super) async fn receipt(&mut self, request: ReceiptRequest) -> Result<ReceiptOutcome, Refusal> {
        let receipt = Receipt::parse(request.body.as_bytes())?;
        let record = &self.head.record;
        let ours = receipt.issuer == self.authority.issuer
            && receipt.tenant == record.tenant
            && receipt.environment == record.environment
            && receipt.subscription_id == self.subscription;
        if !ours {
            return Err(Reason::ReceiptUnbound.into());
        }
        let row = self.tables.delivery(&receipt.delivery_id).await?;
        let generation =
            self.generation(receipt.generation).map_err(|_| Refusal::from(Reason::ReceiptUnbound))?.clone();
        let ReceiptKey { key, key_id, key_generation, assurance } = self.receipt_key(&generation).await?;
        let fields: Fields = request.fields.iter().map(|(name, value)| (name, value)).collect();
        let message = Message::request("POST", &self.authority.receipts_url, &fields);
        let candidate = select(&profile::RECEIPT, &message)?;
        if candidate.keyid() != key_id {
            return Err(Reason::KeyUnknown.into());
        }
        candidate.verify(&key, request.body.as_bytes(), self.now().unix())?;
        if key_generation.is_some_and(|ours| ours.0 != receipt.receipt_key_generation) {
            return Err(Reason::ReceiptUnbound.into());
        }
        // Only now may it learn whether such a delivery exists.
        let row = row.ok_or(Reason::ReceiptBeforeAttempt)?;
        let receipt_digest = Digest::of(request.body.as_bytes());
        let application = Application {
            operation_id: receipt.operation_id.clone(),
            result: receipt.result,
            payload_digest: receipt.payload_digest,
            attempt: receipt.attempt,
            key_id,
            assurance,
            receipt_digest,
            at: self.now(),
        };
        match row.delivery.clone().record(&receipt, application) {
            Ok((_, Recorded::Duplicate)) => {
                let delivery = self.standing(&row);
                Ok(ReceiptOutcome::Recorded { recorded: Recorded::Duplicate, delivery })
            }
            Ok((delivery, Recorded::Confirmed)) => {
                let row = DeliveryRow { delivery, ..row };
                self.confirm(row).await
            }
            Err(reason @ (Reason::ReceiptConflict | Reason::ReceiptSecondEffect)) => {
                self.quarantine(&row, reason, receipt_digest, &request.body).await
            }
            Err(reason) => Err(reason.into()),
        }
    }

    async fn confirm(&mut self, row: DeliveryRow) -> Result<ReceiptOutcome, Refusal> {
        let application = row.delivery.application.clone().ok_or(Reason::InternalCorrupt)?;
        let line = self.chain(What::Receipt {
            delivery_id: row.delivery.id.clone(),
            attempt: application.attempt,
            operation_id: application.operation_id,
            result: application.result,
            key_id: application.key_id,
            assurance: application.assurance,
            receipt_digest: application.receipt_digest,
            state: row.delivery.state.name().to_owned(),
        })?;
        self.tables.put_delivery(&row, &format!("{line}\n")).await?;
        let delivery = self.standing(&row);
        Ok(ReceiptOutcome::Recorded { recorded: Recorded::Confirmed, delivery })
    }

    async fn quarantine(
        &mut self,
        row: &DeliveryRow,
        reason: Reason,
        receipt_digest: Digest,
        body: &str,
    ) -> Result<ReceiptOutcome, Refusal> {
        // The same contradiction again is the same row: repeating it does not fill the store.
        if self.tables.is_quarantined(&row.delivery.id, body).await? {
            return Ok(ReceiptOutcome::Quarantined { reason });
        }
        let delivery_id = row.delivery.id.clone();
        self.record(What::ReceiptConflict { delivery_id: delivery_id.clone(), reason, receipt_digest })
            .await?;
        self.tables.quarantine(self.head.chain.seq, &delivery_id, reason, body, self.now()).await?;
        Ok(ReceiptOutcome::Quarantined { reason })
    }

    /// The key the generation's receipts are signed with, while its credential still verifies.
    async fn receipt_key(&self, generation: &LoadedGeneration) -> Result<ReceiptKey, Refusal> {
        let number = generation.record.generation;
        let credentials = self.tables.credentials(number).await?;
        let usable = credentials.iter().find(|row| row.credential.verifies(self.now()));
        let row = usable.ok_or(Reason::KeyNotUsable)?;
        match &generation.record.terms.receipt {
            ReceiptContract::None => Err(Reason::ReceiptNotContracted.into()),
            ReceiptContract::Ed25519 { public_key } => {
                let octets: [u8; 32] = base64::array_from_url(public_key).ok_or(Reason::InternalCorrupt)?;
                Ok(ReceiptKey {
                    key: VerifyKey::ed25519(&octets)?,
                    key_id: thumbprint(&octets),
                    key_generation: None,
                    assurance: Assurance::ThirdParty,
                })
            }
            ReceiptContract::HmacSha256 => {
                let secret = self.open_secret(number, row)?;
                let profile = &generation.record.terms.profile;
                let key_id = row.credential.key_id.clone();
                let key = derive(&secret, Purpose::Receipt, &self.scope(number), &key_id, profile);
                Ok(ReceiptKey {
                    key: VerifyKey::hmac(key),
                    key_id,
                    key_generation: Some(row.credential.key_generation),
                    assurance: Assurance::Mutual,
                })
            }
        }
    }
}
