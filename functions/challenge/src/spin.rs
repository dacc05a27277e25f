//! Entry on Spin: a private route on which `dispatch` announces challenges.

use std::cell::OnceCell;

use bytes::Bytes;
use hookproof_authority::api::stranger;
use hookproof_core::{Reason, Refusal};
use hookproof_spin::instance::{Slot, shared};
use hookproof_spin::tick::{self, Done, How, Token, Works};
use hookproof_spin::{
    Objects, PlatformResolver, Sender, SpinQueue, SpinStore, StdoutJournal, WasiTransport, http, settings,
};
use spin_sdk::http::{FullBody, Request, Response};
use spin_sdk::http_service;

use crate::Challenger;

struct App {
    challenger: Challenger<Objects<Sender>, PlatformResolver, WasiTransport, StdoutJournal>,
    challenges: SpinQueue,
    token: Token,
}

thread_local! {
    static APP: Slot<App> = const { OnceCell::new() };
}

async fn app() -> Result<App, Refusal> {
    let (store, clock) = (SpinStore::default(), settings::clock().await?);
    let objects = settings::sender(store.clone(), clock).await?;
    let challenger = Challenger { objects, egress: settings::egress().await?, journal: StdoutJournal };
    let challenges = SpinQueue::new(store, clock, "challenge");
    Ok(App { challenger, challenges, token: Token::configured().await? })
}

impl Works for App {
    fn token(&self) -> &Token {
        &self.token
    }

    async fn work(&self, how: How) -> Done {
        let mut done = Done::default();
        done.add(
            "challenge",
            self.challenges.drain(async |messages| self.challenger.run(messages).await).await,
        );
        if how == How::Soon && done.of("challenge") > 0 {
            // An activation may have set held deliveries free.
            tick::ask("dispatch", &self.token, How::Soon).await;
        }
        done
    }
}

#[http_service]
async fn handle(request: Request) -> Response<FullBody<Bytes>> {
    let app = match shared(&APP, app()).await {
        Ok(app) => app,
        Err(refusal) => return http::write(settings::misconfigured(&refusal)),
    };
    let answer = tick::answer(&app, &request).await;
    http::write(answer.unwrap_or_else(|| stranger(404, Reason::RouteUnknown.outside())))
}
