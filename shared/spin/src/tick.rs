//! The tick: the one thing that makes a component work without a caller of its own. It is asked for after
//! a request that left work, by the components of each other, and by whatever drives the deployment (a
//! cron trigger, a timer, `curl`). A lost or doubled tick costs time, never truth: work is leased.
//!
//! `POST /internal/tick` with the deployment's own token works and says what it did; with
//! `prefer: respond-async` it answers 202 first and works afterwards.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use hookproof_authority::api::{is_token, json, stranger, unauthorized};
use hookproof_core::digest::Digest;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Clock};
use http::header::AUTHORIZATION;
use http::{Method, Request, Response};
use http_body_util::BodyExt as _;
use serde::{Deserialize, Serialize};
use spin_sdk::http::EmptyBody;
use spin_sdk::wasip3::spawn;

use crate::clock::SpinClock;
use crate::objects::Objects;
use crate::settings::{self, complain};
use crate::transport::options;

/// Its path, in every component that has work.
pub const PATH: &str = "/internal/tick";
/// How long a component waits for another's tick: for its 202, or for its work.
const PATIENCE: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(100)];
/// What asks for the 202.
const SOON: &str = "respond-async";

/// The deployment's token, held by those who may ask for ticks.
pub struct Token {
    text: String,
    digest: Digest,
}

impl Token {
    /// Reads the variable `tick_token`.
    pub async fn configured() -> Result<Self, Refusal> {
        let text = settings::variable("tick_token").await?;
        Ok(Self { digest: Digest::of(text.as_bytes()), text })
    }
}

/// What a tick did: alarms that fired and messages worked off, by their name.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Done(BTreeMap<String, usize>);

impl Done {
    /// Adds `count` to what `name` has. A refusal is written to the log: the next tick tries again.
    pub fn add(&mut self, name: &str, count: Result<usize, Refusal>) {
        match count {
            Ok(count) => *self.0.entry(name.to_owned()).or_default() += count,
            Err(refusal) => complain("tick failed", &refusal),
        }
    }

    /// How often `name` was counted.
    pub fn of(&self, name: &str) -> usize {
        self.0.get(name).copied().unwrap_or_default()
    }
}

/// How a tick is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Whoever asks waits for the work and hears what was done.
    Now,
    /// Whoever asks knows of work, and hears 202 before it begins.
    Soon,
}

/// A component with work of its own.
#[expect(async_fn_in_trait, reason = "components are single-threaded")]
pub trait Works {
    /// Whose ticks it takes.
    fn token(&self) -> &Token;
    /// Does what is due and says what it was.
    async fn work(&self, how: How) -> Done;
}

/// Answers a request for a tick; `None` if it is for something else. Whoever lacks the token learns nothing.
pub async fn answer<T>(app: &Rc<impl Works + 'static>, request: &Request<T>) -> Option<Response<Bytes>> {
    if request.uri().path() != PATH {
        return None;
    }
    if *request.method() != Method::POST {
        return Some(stranger(405, Reason::MethodNotAllowed.outside()));
    }
    if !is_token(request.headers(), &app.token().digest) {
        return Some(unauthorized());
    }
    if request.headers().get("prefer").is_some_and(|value| value == SOON) {
        soon(app);
        return Some(json(202, &Done::default()));
    }
    Some(json(200, &app.work(How::Now).await))
}

/// Works after the answer to the present request is given.
pub fn soon(app: &Rc<impl Works + 'static>) {
    let app = Rc::clone(app);
    spawn(async move {
        app.work(How::Soon).await;
    });
}

/// Fires every alarm of the objects `A` that is due and gives what it asks for to `queue`. Returns how many
/// fired. An object that cannot be woken holds up no other, and its alarm is still set.
pub async fn fire<A: Aggregate, D: AsRef<A>>(
    objects: &Objects<D>,
    clock: &SpinClock,
    queue: impl AsyncFn(&str, Vec<A::Wake>) -> Result<(), Refusal>,
) -> Result<usize, Refusal> {
    let due = objects.due::<A>(clock.now()).await?;
    for key in &due {
        let woken = match objects.fire::<A>(key).await {
            Ok(wakes) => queue(key, wakes).await,
            Err(refusal) => Err(refusal),
        };
        if let Err(refusal) = woken {
            complain("timer failed", &refusal);
        }
    }
    Ok(due.len())
}

/// Asks `component` of this app for a tick. With [`How::Soon`] the answer is empty and comes at once.
pub async fn ask(component: &str, token: &Token, how: How) -> Done {
    match send(component, token, how).await {
        Ok(done) => done,
        Err(refusal) => {
            complain("tick not asked for", &refusal);
            Done::default()
        }
    }
}

async fn send(component: &str, token: &Token, how: How) -> Result<Done, Refusal> {
    let failed = |words: String| Refusal::new(Reason::InternalHost, format!("{component}: {words}"));
    let [soon, now] = PATIENCE;
    let limit = if how == How::Soon { soon } else { now };
    let options = options(limit).ok_or_else(|| failed("no time limit can be set".to_owned()))?;
    let mut request = Request::post(format!("http://{component}.spin.internal{PATH}"))
        .header(AUTHORIZATION, format!("Bearer {}", token.text))
        .extension(options);
    if how == How::Soon {
        request = request.header("prefer", SOON);
    }
    let request = request.body(EmptyBody::new()).map_err(|error| failed(error.to_string()))?;
    let response = spin_sdk::http::send(request).await.map_err(|error| failed(error.to_string()))?;
    let (status, body) = (response.status().as_u16(), response.into_body());
    let body = body.collect().await.map_err(|error| failed(error.to_string()))?.to_bytes();
    match status {
        200 | 202 => serde_json::from_slice(&body).map_err(|error| failed(error.to_string())),
        status => Err(failed(format!("answered {status}"))),
    }
}
