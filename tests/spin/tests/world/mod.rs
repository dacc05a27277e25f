//! A deployment of the built components on one database, with the public API in hand.
#![allow(dead_code, reason = "each test file uses a part")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use hookproof_spin_tests::app::Options;
use hookproof_spin_tests::server::Server;
use serde_json::{Value, json};
use tempfile::TempDir;
use xtask::api::{Api, expect};
use xtask::journey::{self, Publisher, SOURCE, SubscriberKey, Subscription, text, until};
use xtask::site::{Answer, Received, Site};

/// Longest wait for anything.
pub const LIMIT: Duration = Duration::from_secs(30);

const ROOT: &str = "root-token-of-this-test-00000000000000000001";
const ADMIN: &str = "admin-token-of-this-test-0000000000000000001";
/// The token of ticks.
pub const TICK: &str = "tick-token-of-this-test-00000000000000000001";

/// A running deployment; its database outlives a restart.
pub struct World {
    folder: TempDir,
    server: Option<Server>,
    variables: BTreeMap<String, String>,
}

/// Where the components are: `HOOKPROOF_SPIN_ARTIFACTS`, else where `spin.toml` says.
fn artifacts() -> Option<PathBuf> {
    std::env::var_os("HOOKPROOF_SPIN_ARTIFACTS").map(PathBuf::from)
}

impl World {
    /// A new deployment.
    pub fn start() -> Result<Self> {
        let listener = Server::reserve()?;
        let url = format!("http://{}", listener.local_addr()?);
        let master = |octet: char| format!("1:{}", octet.to_string().repeat(42) + "A");
        let variables = [
            ("root_token", ROOT.to_owned()),
            ("id_key", "id-key-of-this-test-000000000000000000000001".to_owned()),
            ("master_keys", master('M')),
            ("issuer_keys", master('I')),
            ("receiver_master_keys", master('R')),
            ("tick_token", TICK.to_owned()),
            ("admin_token", ADMIN.to_owned()),
            ("issuer", url.clone()),
            ("receipts_url", format!("{url}/receipts")),
            ("deployment", "development".to_owned()),
            ("danger_loopback_http", "true".to_owned()),
            ("endpoints", "http://127.0.0.1:*".to_owned()),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
        let mut world = Self { folder: TempDir::new()?, server: None, variables };
        world.server = Some(Server::start(&world.options(), listener)?);
        Ok(world)
    }

    fn options(&self) -> Options {
        Options {
            manifest: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spin.toml"),
            variables: self.variables.clone(),
            database: self.folder.path().join("default.db"),
            artifacts: artifacts(),
        }
    }

    /// Another host of the same deployment: the same database and variables, a port of its own.
    pub fn another(&self) -> Result<Server> {
        Server::start(&self.options(), Server::reserve()?)
    }

    /// Ends the host without letting it finish, and starts it again on the same port and database.
    pub fn crash(&mut self) -> Result<()> {
        let address = self.url().trim_start_matches("http://").to_owned();
        self.server = None;
        let listener = until(LIMIT, || Ok(std::net::TcpListener::bind(&address).ok()))?;
        self.server = Some(Server::start(&self.options(), listener.context("the port is not free again")?)?);
        Ok(())
    }

    /// The running host.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("it runs")
    }

    /// Its base URL.
    pub fn url(&self) -> String {
        self.server().url()
    }

    /// The API with a token.
    pub fn api(&self, token: &str) -> Api {
        Api::new(&self.url(), token)
    }

    /// The receiver's own API.
    pub fn receiver(&self) -> Api {
        self.api(ADMIN)
    }

    /// One tick, waited for.
    pub fn tick(&self) -> Result<Value> {
        expect(self.api(TICK).post("/internal/tick", &json!({}))?, &[200], "A tick")
    }

    /// A tenant with a token.
    pub fn publisher(&self, name: &str) -> Result<Publisher> {
        let root = self.api(ROOT);
        let tenant =
            expect(root.post("/v1/tenants", &json!({ "name": name }))?, &[201], "Creating a tenant")?;
        let tenant = text(&tenant, "tenant_id")?;
        let token = root.post("/v1/tokens", &json!({ "tenant_id": tenant, "environment": "test" }))?;
        let token = text(&expect(token, &[201], "Creating a token")?, "token")?;
        Ok(Publisher { api: self.api(&token), tenant, token })
    }

    /// Registers, configures the receiver and waits until the challenge is proved. `endpoint` is where the
    /// subscription points; by default the receiver itself.
    pub fn activate(
        &self,
        publisher: &Publisher,
        endpoint: Option<&str>,
        handler: &Site,
    ) -> Result<Subscription> {
        let own = format!("{}/in/{SOURCE}", self.url());
        let endpoint = endpoint.unwrap_or(&own);
        let key = SubscriberKey::draw()?;
        let receipt = json!({ "alg": "ed25519", "public_key": key.public });
        let subscription = publisher.subscribe(endpoint, &receipt)?;
        let entry = journey::entry(&subscription, endpoint, &key)?;
        journey::configure(&self.receiver(), SOURCE, &handler.url("/"), &[entry])?;
        publisher.challenge(&subscription.id)?;
        let mut last = Value::Null;
        let active = until(LIMIT, || {
            last = publisher.subscription(&subscription.id)?;
            Ok((last["state"] == "ACTIVE").then_some(()))
        })?;
        active.with_context(|| format!("The subscription did not become ACTIVE: {last}"))?;
        Ok(subscription)
    }
}

/// An application that applies every event.
pub fn applying() -> Result<Site> {
    Site::start(|request: &Received| {
        let id = request.field("webhook-id");
        Answer::json(200, &json!({ "operation_id": format!("test-{id}") }))
    })
}
