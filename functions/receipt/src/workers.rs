//! Entry on Cloudflare Workers.

use hookproof_core::Refusal;
use hookproof_core::id::IdKey;
use hookproof_workers::{ConsoleJournal, Objects, WorkersEntropy, http, settings};
use worker::{Context, Env, Request, Response, event};

use crate::{MAX_BODY, Receipts};

fn receipts(env: &Env) -> Result<Receipts<Objects<'_>, WorkersEntropy, ConsoleJournal>, Refusal> {
    let id_key = IdKey::new(settings::secret(env, "ID_KEY")?.as_bytes());
    Ok(Receipts { objects: Objects::new(env), entropy: WorkersEntropy, journal: ConsoleJournal, id_key })
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    let receipts = match receipts(&env) {
        Ok(receipts) => receipts,
        Err(refusal) => return settings::misconfigured(&refusal),
    };
    http::write(receipts.answer(http::read(request, MAX_BODY).await).await)
}
