//! The adapters of this crate keep the promises of the ports.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl, Permitted};
use hookproof_core::time::{Span, Timestamp};
use hookproof_native::contract_server::ContractServer;
use hookproof_native::{MemoryKv, NativeStore, NativeTransport, Objects, SeededEntropy, TestClock};
use hookproof_ports::contract::{
    Counter, ask_keeps_its_promises, kv_keeps_its_promises, store_keeps_its_promises,
    transport_keeps_its_promises,
};
use hookproof_ports::{Clock as _, FromRow as _, Sql as _, Store as _};

const LOCAL: EndpointPolicy = EndpointPolicy { allow_8443: false, danger_loopback_http: true };

#[tokio::test]
async fn the_store_keeps_its_promises_in_memory() {
    let store = NativeStore::in_memory().unwrap();
    assert_eq!(store_keeps_its_promises(&store).await, Ok(12));
}

#[tokio::test]
async fn the_store_keeps_its_promises_in_a_file_and_again_after_reopening() {
    let directory = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let store = NativeStore::open(directory.path().join("hookproof.db")).unwrap();
        assert_eq!(store_keeps_its_promises(&store).await, Ok(12));
    }
}

#[tokio::test]
async fn objects_keep_their_promises() {
    let clock = TestClock::at(Timestamp::from_unix(1_800_000_000));
    let store = NativeStore::in_memory().unwrap();
    let objects = Objects::new(Counter, store, clock.clone(), SeededEntropy::new(1));
    let pass = async |span: Span| {
        let end = clock.now() + span;
        while let Some(due) = objects.next_alarm().await.unwrap().filter(|&due| due <= end) {
            let now = clock.advance_to(due);
            for key in objects.due::<Counter>(now).await.unwrap() {
                let woken = objects.fire::<Counter>(&key).await.unwrap();
                assert!(woken.iter().all(|&fired| fired < 100), "an alarm that fires is cleared");
            }
        }
        clock.advance_to(end);
    };
    assert_eq!(ask_keeps_its_promises(&objects, pass).await, Ok(5));
    let left = objects.store().transact(async |sql: &_| {
        sql.query("SELECT (SELECT count(*) FROM alarm) + (SELECT count(*) FROM contract_counter)", &[]).await
    });
    // Neither the questions about unknown objects nor what was forgotten has left a row.
    assert_eq!(left.await.unwrap()[0].integer(0), Ok(0));
}

#[tokio::test]
async fn the_cache_keeps_its_promises_also_when_a_write_is_seen_late() {
    let clock = TestClock::at(Timestamp::from_unix(1_800_000_000));
    let (kv, broken) = (MemoryKv::new(clock.clone()), MemoryKv::new(clock.clone()));
    broken.fail(true);
    for lags in [false, true] {
        kv.lag(lags);
        let pause = async |span: Span| {
            clock.advance(span);
            // What was written up to now is seen.
            kv.lag(lags);
        };
        assert_eq!(kv_keeps_its_promises(&kv, &broken, pause).await, Ok(7));
    }
}

#[tokio::test]
async fn the_transport_keeps_its_promises() {
    let server = ContractServer::bind().await.unwrap();
    let origin = format!("http://{}", server.address().unwrap());
    let serving = tokio::spawn(server.serve());
    let permit = |path: &str| permitted(&format!("{origin}{path}"));
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        permitted(&format!("http://{}/", listener.local_addr().unwrap()))
    };
    let transport = NativeTransport::new().unwrap();
    assert_eq!(transport_keeps_its_promises(&transport, permit, &closed).await, Ok(9));
    serving.abort();
}

fn permitted(url: &str) -> Permitted {
    let url = EndpointUrl::parse(url, &LOCAL).unwrap();
    LOCAL.permit(&url, &[url.literal().unwrap()]).unwrap()
}
