//! Entry on Cloudflare Workers: the intake, the queue consumer and the two objects.
#![expect(unnameable_types, reason = "the platform reaches objects by their exported names")]

use hookproof_authority::api::stranger;
use hookproof_authority::inbox::{Inbox, Sources};
use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::keys::MasterKeys;
use hookproof_ports::{Journal, Line};
use hookproof_workers::{
    ConsoleJournal, DohResolver, FetchTransport, ObjectHost, Objects, WorkersClock, WorkersEntropy,
    WorkersQueue, consume, http, settings,
};
use worker::{Context, DurableObject, Env, MessageBatch, Request, Response, State, durable_object, event};

use crate::{MAX_BODY, Receiver, Settings, Wakeup};

type WorkersReceiver<'a> = Receiver<
    Objects<'a>,
    WorkersQueue<'a>,
    DohResolver,
    FetchTransport,
    WorkersClock,
    WorkersEntropy,
    ConsoleJournal,
>;

fn receiver(env: &Env) -> Result<WorkersReceiver<'_>, Refusal> {
    let admin_token = settings::secret(env, "ADMIN_TOKEN")?;
    Ok(Receiver {
        objects: Objects::new(env),
        queue: WorkersQueue::new(env, "WORK"),
        egress: settings::egress(env)?,
        clock: settings::clock(env)?,
        entropy: WorkersEntropy,
        journal: ConsoleJournal,
        settings: Settings { admin_token: Some(Digest::of(admin_token.as_bytes())) },
    })
}

fn sources(env: &Env) -> Result<Sources, Refusal> {
    Ok(Sources { keys: MasterKeys::parse(&settings::secret(env, "MASTER_KEYS")?)? })
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    let receiver = match receiver(&env) {
        Ok(receiver) => receiver,
        Err(refusal) => return settings::misconfigured(&refusal),
    };
    let response = match http::read(request, MAX_BODY).await {
        Ok(request) => receiver.respond(&request).await,
        Err(refusal) => stranger(refusal.reason.http_status(), refusal.reason.outside()),
    };
    http::write(response)
}

#[event(queue)]
async fn queue(batch: MessageBatch<String>, env: Env, _context: Context) -> worker::Result<()> {
    match receiver(&env) {
        Ok(receiver) => {
            for wakeup in consume::<Wakeup>(&batch) {
                if let Err(refusal) = receiver.wake(&wakeup).await {
                    let (reason, detail) = (Some(refusal.reason), Some(refusal.detail.as_str()));
                    receiver.journal.record(&Line {
                        event: "wake-up failed",
                        reason,
                        detail,
                        ..Line::default()
                    });
                }
            }
        }
        Err(refusal) => settings::complain(&refusal),
    }
    // Whatever happened: an error here would take the whole isolate down.
    Ok(())
}

/// One source's configuration, sealed.
#[durable_object(fetch)]
pub struct SourceObject {
    host: ObjectHost,
    env: Env,
}

impl DurableObject for SourceObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env), env }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        self.host.serve(sources(&self.env), request).await
    }
}

/// One source's inbox.
#[durable_object(alarm)]
pub struct InboxObject {
    host: ObjectHost,
    env: Env,
}

impl DurableObject for InboxObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env), env }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        self.host.serve(Ok(Inbox), request).await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        let woken = async {
            let wakes = self.host.wake(&Inbox).await?;
            receiver(&self.env)?.announce(self.host.key()?, &wakes).await
        };
        self.host.rung(woken.await).await
    }
}
