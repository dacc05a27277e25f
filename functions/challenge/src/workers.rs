//! Entry on Cloudflare Workers: a queue consumer.

use hookproof_core::Refusal;
use hookproof_ports::Egress;
use hookproof_workers::{ConsoleJournal, FetchTransport, Objects, PlatformResolver, consume, settings};
use worker::{Context, Env, MessageBatch, event};

use crate::Challenger;

type WorkersChallenger<'a> = Challenger<Objects<'a>, PlatformResolver, FetchTransport, ConsoleJournal>;

fn challenger(env: &Env) -> Result<WorkersChallenger<'_>, Refusal> {
    let policy = settings::endpoint_policy(env)?;
    let egress = Egress { policy, resolver: PlatformResolver, transport: FetchTransport };
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
