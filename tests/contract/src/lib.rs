//! The contract suites of the ports, run by a Worker against what every Worker uses: a Durable Object's
//! store, calls to objects with their alarms, and `fetch`.
//!
//! | route | runs |
//! |---|---|
//! | `GET /store` | the store suite, inside an object |
//! | `GET /ask` | the object suite |
//! | `GET /kv` | the cache suite |
//! | `GET /transport?origin=…&closed=…` | the transport suite against the server at `origin` |
//!
//! Each answers 200 and the number of promises kept, or 500 and the first one broken.

#![cfg(all(target_family = "wasm", target_os = "unknown"))]
#![expect(clippy::expect_used, reason = "a suite that is called wrongly may fail loudly")]

use std::time::Duration;

use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl, Permitted};
use hookproof_core::time::Span;
use hookproof_ports::contract::{
    Broken, Counter, ask_keeps_its_promises, kv_keeps_its_promises, store_keeps_its_promises,
    transport_keeps_its_promises,
};
use hookproof_workers::{FetchTransport, ObjectHost, Objects, WorkersKv};
use worker::{Context, Delay, DurableObject, Env, Request, Response, State, durable_object, event};

const LOCAL: EndpointPolicy = EndpointPolicy { allow_8443: false, danger_loopback_http: true };

#[event(fetch)]
async fn fetch(request: Request, env: Env, _context: Context) -> worker::Result<Response> {
    let url = request.url()?;
    let query = |wanted: &str| {
        let pair = url.query_pairs().find(|(name, _)| name == wanted);
        pair.map(|(_, value)| value.into_owned()).unwrap_or_default()
    };
    match url.path() {
        "/store" => {
            env.durable_object("CONTRACT_COUNTER")?
                .get_by_name("contract-store")?
                .fetch_with_str("https://object/store")
                .await
        }
        "/ask" => verdict(ask_keeps_its_promises(&Objects::new(&env), pass).await),
        "/kv" => {
            let (kv, unbound) = (WorkersKv::new(&env, "CONTRACT_KV"), WorkersKv::new(&env, "NOT_BOUND"));
            verdict(kv_keeps_its_promises(&kv, &unbound, pass).await)
        }
        "/transport" => verdict(transport(&query("origin"), &query("closed")).await),
        _ => Response::error("no such suite", 404),
    }
}

/// Alarms fire when their time has come and a little later; nothing here can move the clock.
async fn pass(span: Span) {
    let millis = u64::try_from(span.as_millis()).unwrap_or_default();
    Delay::from(Duration::from_millis(millis + 500)).await;
}

async fn transport(origin: &str, closed: &str) -> Result<u32, Broken> {
    let permit = |path: &str| permitted(&format!("{origin}{path}"));
    transport_keeps_its_promises(&FetchTransport, permit, &permitted(closed)).await
}

fn permitted(url: &str) -> Permitted {
    let url = EndpointUrl::parse(url, &LOCAL).expect("the suite is given loopback URLs");
    LOCAL.permit_unresolved(&url).expect("loopback is open to it")
}

fn verdict(kept: Result<u32, Broken>) -> worker::Result<Response> {
    match kept {
        Ok(promises) => Response::ok(promises.to_string()),
        Err(broken) => Response::error(broken.to_string(), 500),
    }
}

/// The object of the suites.
#[durable_object(alarm)]
pub struct CounterObject {
    host: ObjectHost,
}

impl DurableObject for CounterObject {
    fn new(state: State, env: Env) -> Self {
        Self { host: ObjectHost::new(&state, &env) }
    }

    async fn fetch(&self, request: Request) -> worker::Result<Response> {
        if request.path() == "/store" {
            return verdict(store_keeps_its_promises(self.host.store()).await);
        }
        self.host.serve(Ok(Counter), request).await
    }

    async fn alarm(&self) -> worker::Result<Response> {
        let woken = self.host.wake(&Counter).await.map(|_| ());
        self.host.rung(woken).await
    }
}
