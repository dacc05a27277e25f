//! Entry on Spin.

use std::cell::OnceCell;

use bytes::Bytes;
use hookproof_core::Refusal;
use hookproof_spin::instance::{Slot, shared};
use hookproof_spin::{Objects, Sender, SpinEntropy, SpinStore, StdoutJournal, http, settings};
use spin_sdk::http::{FullBody, Request, Response};
use spin_sdk::http_service;

use crate::{MAX_BODY, Receipts};

type SpinReceipts = Receipts<Objects<Sender>, SpinEntropy, StdoutJournal>;

thread_local! {
    static APP: Slot<SpinReceipts> = const { OnceCell::new() };
}

async fn app() -> Result<SpinReceipts, Refusal> {
    let objects = settings::sender(SpinStore::default(), settings::clock().await?).await?;
    let id_key = settings::id_key().await?;
    Ok(Receipts { objects, entropy: SpinEntropy, journal: StdoutJournal, id_key })
}

#[http_service]
async fn handle(request: Request) -> Response<FullBody<Bytes>> {
    match shared(&APP, app()).await {
        Ok(receipts) => http::write(receipts.answer(http::read(request, MAX_BODY).await).await),
        Err(refusal) => http::write(settings::misconfigured(&refusal)),
    }
}
