//! Entry on Spin: the API. What a change leaves to do is done by `dispatch`, which is asked for it after
//! the answer.

use std::cell::OnceCell;

use bytes::Bytes;
use hookproof_core::Refusal;
use hookproof_spin::instance::{Slot, shared};
use hookproof_spin::tick::{self, How, Token};
use hookproof_spin::{
    Objects, Sender, SpinClock, SpinEntropy, SpinKv, SpinQueue, SpinStore, StdoutJournal, http, settings,
    spawn,
};
use spin_sdk::http::{FullBody, Request, Response};
use spin_sdk::http_service;

use crate::{Control, KeyDirectory, KnownIssuer, MAX_BODY, Settings};

type SpinControl = Control<Objects<Sender>, SpinQueue, SpinClock, SpinEntropy, StdoutJournal>;

struct App {
    control: SpinControl,
    kv: SpinKv,
    issuer: KnownIssuer,
    token: Token,
}

thread_local! {
    static APP: Slot<App> = const { OnceCell::new() };
}

async fn app() -> Result<App, Refusal> {
    let (store, clock) = (SpinStore::default(), settings::clock().await?);
    let control = Control {
        objects: settings::sender(store.clone(), clock).await?,
        fresh: SpinQueue::new(store, clock, "fresh"),
        clock,
        entropy: SpinEntropy,
        journal: StdoutJournal,
        settings: Settings {
            root_token: settings::digest("root_token").await?,
            policy: settings::endpoint_policy().await?,
            id_key: settings::id_key().await?,
        },
    };
    let (kv, issuer) = (SpinKv::new("default", clock), KnownIssuer::default());
    Ok(App { control, kv, issuer, token: Token::configured().await? })
}

#[http_service]
async fn handle(request: Request) -> Response<FullBody<Bytes>> {
    let app = match shared(&APP, app()).await {
        Ok(app) => app,
        Err(refusal) => return http::write(settings::misconfigured(&refusal)),
    };
    let reads = request.method().is_safe();
    let directory = KeyDirectory { control: &app.control, kv: &app.kv, issuer: &app.issuer };
    let answer = directory.answer(http::read(request, MAX_BODY).await).await;
    if !reads && answer.status().is_success() {
        spawn(async move {
            tick::ask("dispatch", &app.token, How::Soon).await;
        });
    }
    http::write(answer)
}
