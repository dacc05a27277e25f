//! Entry on Cloudflare Workers: the API, and the objects only it asks: directories and tokens.
#![expect(unnameable_types, reason = "the platform reaches objects by their exported names")]

use hookproof_authority::directory::Directory;
use hookproof_authority::token::Tokens;
use hookproof_core::Refusal;
use hookproof_core::digest::Digest;
use hookproof_core::id::IdKey;
use hookproof_workers::{
    ConsoleJournal, ObjectHost, Objects, WorkersClock, WorkersEntropy, WorkersKv, WorkersQueue, http,
    settings,
};
use worker::{Context, DurableObject, Env, Request, Response, State, durable_object, event};

use crate::{Control, KeyDirectory, KnownIssuer, MAX_BODY, Settings};

type WorkersControl<'a> =
    Control<Objects<'a>, WorkersQueue<'a>, WorkersClock, WorkersEntropy, ConsoleJournal>;

thread_local! {
    /// Public keys; an isolate serves many requests.
    static ISSUER: KnownIssuer = KnownIssuer::default();
}

fn control(env: &Env) -> Result<WorkersControl<'_>, Refusal> {
    Ok(Control {
        objects: Objects::new(env),
        fresh: WorkersQueue::new(env, "FRESH"),
        clock: settings::clock(env)?,
        entropy: WorkersEntropy,
        journal: ConsoleJournal,
        settings: Settings {
            root_token: Digest::of(settings::secret(env, "ROOT_TOKEN")?.as_bytes()),
            policy: settings::endpoint_policy(env)?,
            id_key: IdKey::new(settings::secret(env, "ID_KEY")?.as_bytes()),
        },
    })
}

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    let control = match control(&env) {
        Ok(control) => control,
        Err(refusal) => return settings::misconfigured(&refusal),
    };
    let (kv, issuer) = (WorkersKv::new(&env, "KEYS_CACHE"), ISSUER.with(KnownIssuer::clone));
    let directory = KeyDirectory { control: &control, kv: &kv, issuer: &issuer };
    http::write(directory.answer(http::read(request, MAX_BODY).await).await)
}

/// A tenant's subscription index.
#[durable_object(fetch)]
pub struct DirectoryObject {
    host: ObjectHost,
}

impl DurableObject for DirectoryObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env) }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        self.host.serve(Ok(Directory), request).await
    }
}

/// One API token.
#[durable_object(fetch)]
pub struct TokenObject {
    host: ObjectHost,
}

impl DurableObject for TokenObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env) }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        self.host.serve(Ok(Tokens), request).await
    }
}
