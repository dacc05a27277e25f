//! Entry on Cloudflare Workers: a queue consumer.

use hookproof_core::Refusal;
use hookproof_workers::{ConsoleJournal, DohResolver, FetchTransport, Objects, consume, settings};
use worker::{Context, Env, MessageBatch, event};

use crate::Challenger;

type WorkersChallenger<'a> = Challenger<Objects<'a>, DohResolver, FetchTransport, ConsoleJournal>;

fn challenger(env: &Env) -> Result<WorkersChallenger<'_>, Refusal> {
    let egress = settings::egress(env)?;
    Ok(Challenger { objects: Objects::new(env), egress, journal: ConsoleJournal })
}

#[event(queue)]
async fn queue(batch: MessageBatch<String>, env: Env, _context: Context) -> worker::Result<()> {
    match challenger(&env) {
        Ok(challenger) => challenger.run(consume(&batch)).await,
        Err(refusal) => settings::complain(&refusal),
    }
    // Whatever happened: an error here would take the whole isolate down.
    Ok(())
}
