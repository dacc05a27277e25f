//! The Spin adapter keeps the promises of the ports, inside the host.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use hookproof_native::contract_server::ContractServer;
use hookproof_spin_tests::app::Options;
use hookproof_spin_tests::server::Server;
use xtask::api::Api;

/// Builds the probe and serves it on a database of its own.
fn probe() -> Result<(Server, tempfile::TempDir)> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = package.join("probe");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| package.join("target"), PathBuf::from);
    let built = Command::new(env!("CARGO"))
        .current_dir(&folder)
        .args(["build", "--quiet", "--target", "wasm32-wasip2", "--target-dir"])
        .arg(&target)
        .status()?;
    ensure!(built.success(), "the probe was not built");
    let database = tempfile::tempdir()?;
    let options = Options {
        manifest: folder.join("spin.toml"),
        variables: BTreeMap::new(),
        database: database.path().join("default.db"),
        artifacts: Some(target.join("wasm32-wasip2/debug")),
    };
    Ok((Server::start(&options, Server::reserve()?)?, database))
}

#[test]
fn the_adapter_keeps_the_promises_of_the_ports() -> Result<()> {
    let (server, _database) = probe()?;
    let api = Api::new(&server.url(), "");
    let suite = |path: &str| -> Result<String> {
        let (status, words) = api.get(path)?;
        ensure!(status == 200, "{path}: {words}");
        Ok(words.to_string())
    };
    // Twice: the second time on a database, and an instance, that have seen the first.
    for _ in 0..2 {
        assert_eq!(suite("/store")?, "12");
        assert_eq!(suite("/ask")?, "5");
        assert_eq!(suite("/kv")?, "7");
        assert_eq!(suite("/queue")?, "1");
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let endpoint = runtime.block_on(ContractServer::bind())?;
    let origin = endpoint.address()?;
    runtime.spawn(endpoint.serve());
    let closed = {
        let listener = Server::reserve()?;
        listener.local_addr().context("it has an address")?
    };
    assert_eq!(suite(&format!("/transport/{origin}/{closed}"))?, "9");
    assert_eq!(server.app().traps(), 0);
    Ok(())
}
