//! Entry on Spin: the intake and the receiver's API. What a request leaves to do is done after its answer
//! in the same instance; what is lost with one is found by the tick.

use std::cell::OnceCell;
use std::rc::Rc;

use bytes::Bytes;
use hookproof_authority::api::stranger;
use hookproof_authority::inbox::Inbox;
use hookproof_core::Refusal;
use hookproof_spin::instance::{Slot, shared};
use hookproof_spin::tick::{self, Done, How, Token, Works};
use hookproof_spin::{
    Objects, PlatformResolver, SpinClock, SpinEntropy, SpinQueue, SpinStore, StdoutJournal, Subscriber,
    WasiTransport, http, settings,
};
use spin_sdk::http::{FullBody, Request, Response};
use spin_sdk::http_service;

use crate::{MAX_BODY, Receiver, Settings, Wake, Wakeup};

type SpinReceiver = Receiver<
    Objects<Subscriber>,
    SpinQueue,
    PlatformResolver,
    WasiTransport,
    SpinClock,
    SpinEntropy,
    StdoutJournal,
>;

struct App {
    receiver: SpinReceiver,
    token: Token,
}

thread_local! {
    static APP: Slot<App> = const { OnceCell::new() };
}

async fn app() -> Result<App, Refusal> {
    let (store, clock) = (SpinStore::default(), settings::clock().await?);
    let receiver = Receiver {
        objects: settings::subscriber(store.clone(), clock).await?,
        queue: SpinQueue::new(store, clock, "work"),
        egress: settings::egress().await?,
        clock,
        entropy: SpinEntropy,
        journal: StdoutJournal,
        settings: Settings { admin_token: Some(settings::digest("admin_token").await?) },
    };
    Ok(App { receiver, token: Token::configured().await? })
}

impl App {
    async fn wake(&self, wakeups: Vec<Wakeup>) {
        for wakeup in wakeups {
            if let Err(refusal) = self.receiver.wake(&wakeup).await {
                settings::complain("wake-up failed", &refusal);
            }
        }
    }
}

impl Works for App {
    fn token(&self) -> &Token {
        &self.token
    }

    async fn work(&self, _how: How) -> Done {
        let mut done = Done::default();
        let Receiver { objects, clock, queue, .. } = &self.receiver;
        let announce = async |source: &str, wakes: Vec<Wake>| self.receiver.announce(source, &wakes).await;
        done.add("inbox timers", tick::fire::<Inbox, _>(objects, clock, announce).await);
        done.add("work", queue.drain(async |wakeups| self.wake(wakeups).await).await);
        done
    }
}

async fn respond(app: &Rc<App>, request: Request) -> ::http::Response<Bytes> {
    if let Some(answer) = tick::answer(app, &request).await {
        return answer;
    }
    let reads = request.method().is_safe();
    let answer = match http::read(request, MAX_BODY).await {
        Ok(request) => app.receiver.respond(&request).await,
        Err(refusal) => stranger(refusal.reason.http_status(), refusal.reason.outside()),
    };
    if !reads && answer.status().is_success() {
        tick::soon(app);
    }
    answer
}

#[http_service]
async fn handle(request: Request) -> Response<FullBody<Bytes>> {
    match shared(&APP, app()).await {
        Ok(app) => http::write(respond(&app, request).await),
        Err(refusal) => http::write(settings::misconfigured(&refusal)),
    }
}
