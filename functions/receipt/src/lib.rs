//! `receipt`: public intake of `applicationReceipt.v1`.
//!
//! In: one signed POST. Out: 200 recorded or duplicate, 409 contradiction (kept apart), 400 or 401
//! refused. A stranger never learns whether a subscription or delivery exists.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod http;

#[cfg(target_os = "wasi")]
mod spin;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod workers;

use hookproof_authority::subscription::{AskAuthority, Authority, ReceiptOutcome, ReceiptRequest};
use hookproof_core::id::IdKey;
use hookproof_core::receipt::Receipt;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Entropy, Journal};

/// Largest request body in octets.
pub const MAX_BODY: usize = hookproof_core::receipt::MAX_BYTES;

/// The flow, over its ports.
pub struct Receipts<O, N, J> {
    /// Reaches authorities.
    pub objects: O,
    /// Request ids.
    pub entropy: N,
    /// Log lines.
    pub journal: J,
    /// Refuses made-up ids before any object is called.
    pub id_key: IdKey,
}

impl<O: Ask<Authority>, N: Entropy, J: Journal> Receipts<O, N, J> {
    /// Takes a receipt. The body names the subscription; its authority verifies everything else.
    pub async fn take(&self, request: ReceiptRequest) -> Result<ReceiptOutcome, Refusal> {
        let receipt = Receipt::parse(request.body.as_bytes())?;
        if !self.id_key.admits(&receipt.subscription_id) {
            return Err(Reason::ReceiptUnbound.into());
        }
        self.objects.receipt(&receipt.subscription_id, request).await
    }
}
