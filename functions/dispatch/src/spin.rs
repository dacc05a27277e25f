//! Entry on Spin: the tick. It fires the timers of authorities and events, works off their queues, and
//! passes a periodic tick on to the other components that have work.

use std::cell::OnceCell;

use bytes::Bytes;
use futures_util::future::join;
use hookproof_authority::api::stranger;
use hookproof_authority::event::Events;
use hookproof_authority::message::{ChallengeDue, Due};
use hookproof_authority::subscription::{Authority, Wake};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::Queue;
use hookproof_spin::instance::{Slot, shared};
use hookproof_spin::tick::{self, Done, How, Token, Works};
use hookproof_spin::{
    Objects, PlatformResolver, Sender, SpinClock, SpinQueue, SpinStore, StdoutJournal, WasiTransport, http,
    settings,
};
use spin_sdk::http::{FullBody, Request, Response};
use spin_sdk::http_service;

use crate::Dispatch;

type SpinDispatch = Dispatch<Objects<Sender>, PlatformResolver, WasiTransport, SpinClock, StdoutJournal>;

struct App {
    dispatch: SpinDispatch,
    fresh: SpinQueue,
    retry: SpinQueue,
    challenges: SpinQueue,
    token: Token,
}

thread_local! {
    static APP: Slot<App> = const { OnceCell::new() };
}

async fn app() -> Result<App, Refusal> {
    let (store, clock) = (SpinStore::default(), settings::clock().await?);
    let queue = |name| SpinQueue::new(store.clone(), clock, name);
    let objects = settings::sender(store.clone(), clock).await?;
    Ok(App {
        dispatch: Dispatch { objects, egress: settings::egress().await?, clock, journal: StdoutJournal },
        fresh: queue("fresh"),
        retry: queue("retry"),
        challenges: queue("challenge"),
        token: Token::configured().await?,
    })
}

impl App {
    /// Fires the timers that are due; what they ask for goes on the queues.
    async fn timers(&self, done: &mut Done) {
        let Dispatch { objects, clock, .. } = &self.dispatch;
        let authorities = async |_: &str, wakes: Vec<Wake>| {
            for wake in wakes {
                match wake {
                    Wake::Deliveries(subscription) => self.retry.send(&[Due { subscription }]).await?,
                    Wake::Challenge(subscription) => {
                        self.challenges.send(&[ChallengeDue { subscription }]).await?;
                    }
                }
            }
            Ok(())
        };
        done.add("subscription timers", tick::fire::<Authority, _>(objects, clock, authorities).await);
        let events = async |_: &str, messages: Vec<_>| self.fresh.send(&messages).await;
        done.add("event timers", tick::fire::<Events, _>(objects, clock, events).await);
    }

    async fn queues(&self, done: &mut Done) {
        let fresh = self.fresh.drain(async |messages| self.dispatch.fresh(messages).await);
        let due = self.retry.drain(async |messages| self.dispatch.due(messages).await);
        let (fresh, due) = join(fresh, due).await;
        done.add("fresh", fresh);
        done.add("due", due);
    }
}

impl Works for App {
    fn token(&self) -> &Token {
        &self.token
    }

    async fn work(&self, how: How) -> Done {
        let mut done = Done::default();
        self.timers(&mut done).await;
        match how {
            How::Now => {
                let others =
                    join(tick::ask("challenge", &self.token, how), tick::ask("receiver", &self.token, how));
                let ((), (challenge, receiver)) = join(self.queues(&mut done), others).await;
                done.add("challenge", Ok(challenge.of("challenge")));
                for name in ["inbox timers", "work"] {
                    done.add(name, Ok(receiver.of(name)));
                }
            }
            How::Soon => {
                if done.of("subscription timers") > 0 {
                    tick::ask("challenge", &self.token, how).await;
                }
                self.queues(&mut done).await;
            }
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
