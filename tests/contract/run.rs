//! The Workers adapter keeps the promises of the ports, on workerd.

#![expect(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

use hookproof_native::contract_server::ContractServer;
use xtask::api::Api;
use xtask::build::{Mode, build};
use xtask::functions::Worker;
use xtask::progress::Progress;
use xtask::single::Single;
use xtask::toolchain::Tools;
use xtask::workspace::Workspace;

/// Promises in each suite, as `shared/native/tests/contract.rs` counts them: the same on every host.
const STORE: u64 = 12;
const ASK: u64 = 5;
const KV: u64 = 7;
const TRANSPORT: u64 = 9;

fn start() -> Single {
    let (workspace, progress) = (Workspace::locate().unwrap(), Progress::new(false));
    let tools = Tools::prepare(&workspace, &progress).unwrap();
    let folder = workspace.root().join("tests/contract");
    let worker = Worker { name: "contract".into(), package: "hookproof-contract".into(), folder };
    build(&tools, &progress, std::slice::from_ref(&worker), Mode::Quick).unwrap();
    let state = workspace.target().join("contract-state");
    let _ = std::fs::remove_dir_all(&state);
    Single::start(&tools, &worker, &state).unwrap()
}

#[test]
fn workers_keep_the_promises_of_store_objects_cache_and_transport() {
    let worker = start();
    let api = Api::new(worker.url(), "");
    assert_eq!(api.get("/store").unwrap(), (200, STORE.into()));
    assert_eq!(api.get("/ask").unwrap(), (200, ASK.into()));
    assert_eq!(api.get("/kv").unwrap(), (200, KV.into()));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(ContractServer::bind()).unwrap();
    let origin = format!("http://{}", server.address().unwrap());
    runtime.spawn(server.serve());
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let path = format!("/transport?origin={origin}&closed={closed}");
    assert_eq!(api.get(&path).unwrap(), (200, TRANSPORT.into()));
}
