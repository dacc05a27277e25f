//! The ports' contract suites against the Spin adapter, each at a path. The answer is 200 and how many
//! promises were checked, or 500 and the first one that was broken.

#![cfg(target_os = "wasi")]

use bytes::Bytes;
use hookproof_core::Refusal;
use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl, Permitted};
use hookproof_core::time::Span;
use hookproof_ports::contract::{
    Broken, Counter, ask_keeps_its_promises, kv_keeps_its_promises, store_keeps_its_promises,
    transport_keeps_its_promises,
};
use hookproof_ports::{Objects, Queue as _};
use hookproof_spin::{SpinClock, SpinEntropy, SpinKv, SpinQueue, SpinStore, WasiTransport, http, tick};
use spin_sdk::http::{FullBody, Request, Response};
use spin_sdk::http_service;
use spin_sdk::time::sleep;

const LOCAL: EndpointPolicy = EndpointPolicy { allow_8443: false, danger_loopback_http: true };

async fn ask() -> Result<u32, Broken> {
    let clock = SpinClock::default();
    let objects = Objects::new(Counter, SpinStore::default(), clock, SpinEntropy);
    let pass = async |span: Span| {
        sleep(std::time::Duration::from_millis(span.as_millis().cast_unsigned())).await;
        // An alarm that sets itself again is due at once.
        for _ in 0..4 {
            let fired = tick::fire::<Counter, _>(&objects, &clock, async |_, _| Ok(())).await;
            assert!(fired.is_ok(), "{fired:?}");
            sleep(std::time::Duration::from_millis(2)).await;
        }
    };
    ask_keeps_its_promises(&objects, pass).await
}

async fn kv() -> Result<u32, Broken> {
    let clock = SpinClock::default();
    let (kv, not_granted) = (SpinKv::new("default", clock), SpinKv::new("not-granted", clock));
    let pause = async |span: Span| {
        sleep(std::time::Duration::from_millis(span.as_millis().cast_unsigned())).await;
    };
    kv_keeps_its_promises(&kv, &not_granted, pause).await
}

async fn queue() -> Result<u32, Broken> {
    let queue = SpinQueue::new(SpinStore::default(), SpinClock::default(), "probe");
    let broken = |refusal: Refusal| Broken(refusal.to_string());
    let numbers: Vec<u32> = (0..50).collect();
    queue.send(&numbers).await.map_err(broken)?;
    let seen = std::cell::RefCell::new(Vec::new());
    let work = async |batch: Vec<u32>| {
        sleep(std::time::Duration::from_millis(20)).await;
        seen.borrow_mut().extend(batch);
    };
    let count = queue.drain(&work).await.map_err(broken)?;
    let again = queue.drain(&work).await.map_err(broken)?;
    let mut seen = seen.into_inner();
    seen.sort_unstable();
    if (count, again) == (50, 0) && seen == numbers {
        Ok(1)
    } else {
        Err(Broken(format!("{count} {seen:?}")))
    }
}

fn permitted(url: &str) -> Permitted {
    let url = EndpointUrl::parse(url, &LOCAL).expect("a URL of the test");
    LOCAL.permit_unresolved(&url).expect("it is this machine")
}

async fn transport(origin: &str, closed: &str) -> Result<u32, Broken> {
    let permit = |path: &str| permitted(&format!("http://{origin}{path}"));
    let closed = permitted(&format!("http://{closed}/"));
    transport_keeps_its_promises(&WasiTransport, permit, &closed).await
}

#[http_service]
async fn handle(request: Request) -> Response<FullBody<Bytes>> {
    let path = request.uri().path().to_owned();
    let kept = match path.split('/').skip(1).collect::<Vec<_>>().as_slice() {
        ["store"] => store_keeps_its_promises(&SpinStore::default()).await,
        ["ask"] => ask().await,
        ["kv"] => kv().await,
        ["queue"] => queue().await,
        ["transport", origin, closed] => transport(origin, closed).await,
        _ => Err(Broken("there is no such suite".to_owned())),
    };
    let (status, words) = match kept {
        Ok(count) => (200, count.to_string()),
        Err(broken) => (500, broken.to_string()),
    };
    let mut answer = ::http::Response::new(Bytes::from(words));
    *answer.status_mut() = ::http::StatusCode::from_u16(status).expect("a status");
    http::write(answer)
}
