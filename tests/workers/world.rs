//! The running stack, and what the facts have in common: tenants, secrets to look for, logs to show.

use crate::names::Names;
use anyhow::{Context, Result, bail};
use hookproof_core::time::Timestamp;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use xtask::api::{Api, expect};
use xtask::journey::{self, Publisher};
use xtask::ports::{Ports, Urls};
use xtask::secrets::Secrets;
use xtask::stack::{Host, Stack, StackOptions};

/// How long anything may take that needs no timer.
pub(crate) const SOON: Duration = Duration::from_secs(15);

/// Lines of a host's log that a failure shows.
const SHOWN: usize = 30;

/// What a log must never hold: what it is, and its text.
pub(crate) type Secret = (String, String);

/// The stack and what was learned about it.
pub(crate) struct World {
    stack: Mutex<Option<Stack>>,
    urls: Urls,
    state: PathBuf,
    secrets: Mutex<Vec<Secret>>,
    names: Names,
}

/// How long each host's log was.
pub(crate) type Mark = Vec<(Host, usize)>;

impl World {
    /// Starts the stack on a state of its own, with the probe before control.
    pub(crate) fn start() -> Result<Self> {
        let tools = xtask::ready()?;
        let state = std::env::temp_dir().join(format!("hookproof-workers-{}", std::process::id()));
        let ports = Ports::free()?;
        let mut options = StackOptions::new(&state, ports);
        let mut secrets = Secrets::open(&state)?;
        options.settings = xtask::run::settings(&ports, &mut secrets)?;
        let names = Names::start()?;
        options.settings.vars.push(("DOH_URL".to_owned(), names.url()));
        let root = tools.workspace().root();
        options.front = vec![root.join("tests/workers/probe"), losing_control(root, &state)?];
        let mut known = Vec::new();
        for (owner, name, value) in &options.settings.secrets {
            known.push((format!("{name} of {}", owner.name()), value.trim_start_matches("1:").to_owned()));
        }
        let stack = Stack::start(&tools, options)?;
        let urls = stack.urls().clone();
        Ok(Self { stack: Mutex::new(Some(stack)), urls, state, secrets: Mutex::new(known), names })
    }

    /// Ends the stack; its state stays where something failed.
    pub(crate) fn end(&self, succeeded: bool) {
        drop(lock(&self.stack).take());
        if succeeded {
            let _ = fs::remove_dir_all(&self.state);
        } else {
            println!("The state and the logs of this run are in {}", self.state.display());
        }
    }

    /// Where the Workers listen.
    pub(crate) fn urls(&self) -> &Urls {
        &self.urls
    }

    /// The resolver that the Workers ask.
    pub(crate) fn names(&self) -> &Names {
        &self.names
    }

    /// The stack's folder.
    pub(crate) fn state(&self) -> &Path {
        &self.state
    }

    /// Does something with the stack itself.
    pub(crate) fn with_stack<T>(&self, work: impl FnOnce(&mut Stack) -> Result<T>) -> Result<T> {
        work(lock(&self.stack).as_mut().context("The stack was ended.")?)
    }

    /// A tenant with a token of its own.
    pub(crate) fn publisher(&self, name: &str) -> Result<Publisher> {
        let publisher = self.with_stack(|stack| journey::publisher(stack, name))?;
        self.conceal(format!("token of {name}"), &publisher.token);
        Ok(publisher)
    }

    /// The API as root.
    pub(crate) fn root(&self) -> Result<Api> {
        self.with_stack(|stack| journey::root(stack))
    }

    /// The receiver's API.
    pub(crate) fn receiver(&self) -> Result<Api> {
        self.with_stack(|stack| journey::receiver(stack))
    }

    /// The same tenant, but what its calls put on a queue is lost.
    pub(crate) fn losing(&self, publisher: &Publisher) -> Publisher {
        let api = Api::new(&format!("{}/__probe/losing", self.urls.control), &publisher.token);
        Publisher { api, ..publisher.clone() }
    }

    /// Puts messages on one of the queues `fresh`, `retry` and `challenge`.
    pub(crate) fn queue(&self, queue: &str, messages: &[String]) -> Result<()> {
        let path = format!("/__probe/queue/{queue}");
        let texts: Value = messages.into();
        expect(Api::new(&self.urls.control, "").post(&path, &texts)?, &[200], "Queueing").map(|_| ())
    }

    /// Remembers what must never be seen.
    pub(crate) fn conceal(&self, what: impl Into<String>, value: &str) {
        lock(&self.secrets).push((what.into(), value.to_owned()));
    }

    /// What must never be seen.
    pub(crate) fn concealed(&self) -> Vec<Secret> {
        lock(&self.secrets).clone()
    }

    /// Where the logs stand.
    pub(crate) fn mark(&self) -> Mark {
        Host::ALL.into_iter().map(|host| (host, self.log(host).len())).collect()
    }

    /// The end of what the hosts have logged since.
    pub(crate) fn since(&self, mark: &Mark) -> String {
        let mut text = String::new();
        for (host, start) in mark {
            let log = self.log(*host);
            let lines: Vec<&str> =
                log.get(*start..).unwrap_or(&log).lines().filter(|l| !l.is_empty()).collect();
            let shown = lines.len().saturating_sub(SHOWN);
            text.push_str(&format!("--- {} logged {} lines, at last:\n", host.name(), lines.len()));
            text.push_str(&lines[shown..].join("\n"));
            text.push('\n');
        }
        text
    }

    /// A host's log.
    pub(crate) fn log(&self, host: Host) -> String {
        lock(&self.stack).as_ref().map(|stack| stack.log(host)).unwrap_or_default()
    }

    /// Starts again what a fact that failed has killed.
    pub(crate) fn mend(&self) -> Result<()> {
        self.with_stack(|stack| {
            for host in Host::ALL {
                if !stack.is_running(host) {
                    stack.restart(host)?;
                }
            }
            Ok(())
        })
    }
}

/// control once more, under another name and with a queue that nobody consumes: what it puts there is lost,
/// as on a platform that loses messages. Made from control's own configuration, so that it never differs.
fn losing_control(root: &Path, state: &Path) -> Result<PathBuf> {
    let mut config = fs::read_to_string(root.join("wrangler.toml")).context("control's wrangler.toml")?;
    for (from, to) in [
        ("name = \"hookproof-control\"", "name = \"hookproof-losing\""),
        ("main = \"functions/", "main = \"../../functions/"),
        ("queue = \"hookproof-local-fresh\"", "queue = \"hookproof-lost\""),
        // The objects are control's own.
        ("\"DirectoryObject\"\n", "\"DirectoryObject\"\nscript_name = \"hookproof-control\"\n"),
        ("\"TokenObject\"\n", "\"TokenObject\"\nscript_name = \"hookproof-control\"\n"),
        ("[[migrations]]\ntag = \"v1\"\nnew_sqlite_classes = [\"DirectoryObject\", \"TokenObject\"]\n", ""),
    ] {
        if config.matches(from).count() != 1 {
            bail!("control's wrangler.toml does not hold {from:?} exactly once; adapt losing_control.");
        }
        config = config.replace(from, to);
    }
    let folder = state.join("losing");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("wrangler.toml"), config)?;
    Ok(folder)
}

/// Now.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// A lock that a failed fact cannot poison.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
