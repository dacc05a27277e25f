//! Entry on Cloudflare Workers: the queue consumer, and the objects this Worker hosts.
//!
//! It hosts the authorities and the event objects and binds no other Worker, so it is the first to deploy.
#![expect(unnameable_types, reason = "the platform reaches objects by their exported names")]

use hookproof_authority::event::Events;
use hookproof_authority::message::{ChallengeDue, Due};
use hookproof_authority::subscription::{Authority, Wake};
use hookproof_core::Refusal;
use hookproof_core::id::IdKey;
use hookproof_core::keys::{IssuerKeys, MasterKeys};
use hookproof_ports::{Egress, Queue};
use hookproof_workers::{
    ConsoleJournal, FetchTransport, ObjectHost, Objects, PlatformResolver, WorkersClock, WorkersQueue,
    consume, settings,
};
use worker::{Context, DurableObject, Env, MessageBatch, Request, Response, State, durable_object, event};

use crate::Dispatch;

type WorkersDispatch<'a> =
    Dispatch<Objects<'a>, PlatformResolver, FetchTransport, WorkersClock, ConsoleJournal>;

fn dispatch(env: &Env) -> Result<WorkersDispatch<'_>, Refusal> {
    let policy = settings::endpoint_policy(env)?;
    let egress = Egress { policy, resolver: PlatformResolver, transport: FetchTransport };
    Ok(Dispatch { objects: Objects::new(env), egress, clock: settings::clock(env)?, journal: ConsoleJournal })
}

fn authority(env: &Env) -> Result<Authority, Refusal> {
    Ok(Authority {
        issuer: settings::variable(env, "ISSUER")?,
        receipts_url: settings::variable(env, "RECEIPTS_URL")?,
        region: settings::variable(env, "REGION")?,
        keys: MasterKeys::parse(&settings::secret(env, "MASTER_KEYS")?)?,
        issuer_keys: IssuerKeys::parse(&settings::secret(env, "ISSUER_KEYS")?)?,
        id_key: IdKey::new(settings::secret(env, "ID_KEY")?.as_bytes()),
    })
}

#[event(queue)]
async fn queue(batch: MessageBatch<String>, env: Env, _context: Context) -> worker::Result<()> {
    match dispatch(&env) {
        Ok(dispatch) if batch.queue().ends_with("-fresh") => dispatch.fresh(consume(&batch)).await,
        Ok(dispatch) => dispatch.due(consume(&batch)).await,
        Err(refusal) => settings::complain(&refusal),
    }
    // Whatever happened: an error here would take the whole isolate down.
    Ok(())
}

/// One subscription's authority.
#[durable_object(alarm)]
pub struct SubscriptionObject {
    host: ObjectHost,
    env: Env,
}

impl DurableObject for SubscriptionObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env), env }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        self.host.serve(authority(&self.env), request).await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        let woken = async {
            for wake in self.host.wake(&authority(&self.env)?).await? {
                match wake {
                    Wake::Deliveries(subscription) => {
                        WorkersQueue::new(&self.env, "RETRY").send(&[Due { subscription }]).await?;
                    }
                    Wake::Challenge(subscription) => {
                        WorkersQueue::new(&self.env, "CHALLENGES")
                            .send(&[ChallengeDue { subscription }])
                            .await?;
                    }
                }
            }
            Ok(())
        };
        self.host.rung(woken.await).await
    }
}

/// Sixteenth part of a tenant's events.
#[durable_object(alarm)]
pub struct EventObject {
    host: ObjectHost,
    env: Env,
}

impl DurableObject for EventObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env), env }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        self.host.serve(Ok(Events), request).await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        let woken = async {
            let messages = self.host.wake(&Events).await?;
            WorkersQueue::new(&self.env, "FRESH").send(&messages).await
        };
        self.host.rung(woken.await).await
    }
}
