//! A [`Stack`] is the five Workers on local workerd, in three wrangler processes on one registry, all of
//! which end with it.
//!
//! Three, because one `wrangler dev` gives only its first Worker a port: the sending side (control,
//! challenge, dispatch), the receipt endpoint, and the receiving side with a state of its own.

use crate::functions::Function;
use crate::leftover;
use crate::mirror;
use crate::ports::{Ports, Urls};
use crate::process::Group;
use crate::progress::{create, tail};
use crate::registry;
use crate::toolchain::Tools;
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(150);
const CONNECT_LIMIT: Duration = Duration::from_secs(30);
const TAIL_LINES: usize = 40;
/// The folder in which the wrangler processes find each other.
const REGISTRY: &str = "registry";

/// One wrangler process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Host {
    /// control, challenge and dispatch.
    Sender,
    /// receipt.
    Receipt,
    /// receiver.
    Receiver,
}

impl Host {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Sender, Self::Receipt, Self::Receiver];

    /// The name of its log and of its state folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Receipt => "receipt",
            Self::Receiver => "receiver",
        }
    }

    fn functions(self) -> &'static [Function] {
        match self {
            Self::Sender => &[Function::Control, Function::Challenge, Function::Dispatch],
            Self::Receipt => &[Function::Receipt],
            Self::Receiver => &[Function::Receiver],
        }
    }

    fn port(self, ports: &Ports) -> u16 {
        match self {
            Self::Sender => ports.sender,
            Self::Receipt => ports.receipt,
            Self::Receiver => ports.receiver,
        }
    }

    fn inspector(self, ports: &Ports) -> u16 {
        let [sender, receipt, receiver] = ports.inspectors;
        match self {
            Self::Sender => sender,
            Self::Receipt => receipt,
            Self::Receiver => receiver,
        }
    }

    fn health(self, urls: &Urls) -> String {
        match self {
            Self::Sender => format!("{}/v1/health", urls.control),
            Self::Receipt => format!("{}/health", urls.receipt),
            Self::Receiver => format!("{}/receiver/health", urls.receiver),
        }
    }
}

/// What the Workers read from their environment.
#[derive(Clone, Default)]
pub struct Settings {
    /// Public settings: name and value, for all Workers.
    pub vars: Vec<(String, String)>,
    /// Secrets: the one Worker that gets it, name and value. They never stand on a command line.
    pub secrets: Vec<(Function, String, String)>,
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let secrets: Vec<_> = self.secrets.iter().map(|(function, name, _)| (function, name)).collect();
        f.debug_struct("Settings").field("vars", &self.vars).field("secrets", &secrets).finish()
    }
}

/// How to start a [`Stack`].
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// Objects, queues, logs and settings; used by one stack at a time.
    pub state: PathBuf,
    /// Chosen before, because the settings name addresses.
    pub ports: Ports,
    /// What the Workers read.
    pub settings: Settings,
    /// How long each host may take until it answers.
    pub start_limit: Duration,
    /// Further Workers for the sender's process, each a folder with a `wrangler.toml`: for tests. The first
    /// gets the port in control's stead; they read the settings and secrets of control.
    pub front: Vec<PathBuf>,
}

impl StackOptions {
    /// With no settings and two minutes to start.
    #[must_use]
    pub fn new(state: impl Into<PathBuf>, ports: Ports) -> Self {
        Self {
            state: state.into(),
            ports,
            settings: Settings::default(),
            start_limit: Duration::from_secs(120),
            front: Vec::new(),
        }
    }
}

/// The running Workers.
#[derive(Debug)]
pub struct Stack {
    tools: Tools,
    options: StackOptions,
    urls: Urls,
    mirror: PathBuf,
    running: BTreeMap<Host, Group>,
    /// Held while the stack lives.
    _state_lock: File,
}

impl Stack {
    /// Starts all hosts and waits until each answers its health check.
    ///
    /// # Errors
    /// When a Worker is not built, the state is in use, or a host does not answer in time; the message ends
    /// with the end of that host's log. Whatever was started has been ended then.
    pub fn start(tools: &Tools, mut options: StackOptions) -> Result<Self> {
        options.state = std::path::absolute(&options.state)
            .with_context(|| format!("{} is not a usable path.", options.state.display()))?;
        let state_lock = lock(&options.state)?;
        leftover::end(&options.state);
        let mirror = mirror::make(tools.workspace(), &options.state, &options.settings, &options.front)?;
        // Entries of processes that were killed would be taken for running ones.
        mirror::remove(&options.state.join(REGISTRY))?;
        let urls = options.ports.urls();
        let running = BTreeMap::new();
        let mut stack =
            Self { tools: tools.clone(), options, urls, mirror, running, _state_lock: state_lock };
        for host in Host::ALL {
            stack.spawn(host)?;
        }
        for host in Host::ALL {
            stack.wait_until_healthy(host)?;
        }
        stack.wait_until_connected()?;
        Ok(stack)
    }

    /// Where the Workers listen.
    #[must_use]
    pub fn urls(&self) -> &Urls {
        &self.urls
    }

    /// The ports in use.
    #[must_use]
    pub fn ports(&self) -> &Ports {
        &self.options.ports
    }

    /// The state folder.
    #[must_use]
    pub fn state(&self) -> &Path {
        &self.options.state
    }

    /// The file with everything a host has written since the stack was started, over all its restarts.
    #[must_use]
    pub fn log_file(&self, host: Host) -> PathBuf {
        self.options.state.join("logs").join(format!("{}.log", host.name()))
    }

    /// The content of [`Stack::log_file`]; empty if it cannot be read.
    #[must_use]
    pub fn log(&self, host: Host) -> String {
        fs::read(self.log_file(host))
            .map_or_else(|_| String::new(), |log| String::from_utf8_lossy(&log).into_owned())
    }

    /// Whether a host was started and not killed since.
    #[must_use]
    pub fn is_running(&self, host: Host) -> bool {
        self.running.contains_key(&host)
    }

    /// Kills a host at once, workerd included, with no chance to finish anything: a crash. It stays down
    /// until [`Stack::restart`]; what it had committed is in its state.
    pub fn kill(&mut self, host: Host) {
        if let Some(mut group) = self.running.remove(&host) {
            group.kill();
            registry::forget(&self.mirror, &self.registry(), &self.configs(host));
        }
    }

    /// Ends a host in order, if it runs, starts it again on the same state and port, and waits until it
    /// answers.
    ///
    /// # Errors
    /// As for [`Stack::start`].
    pub fn restart(&mut self, host: Host) -> Result<()> {
        if let Some(mut group) = self.running.remove(&host) {
            group.stop();
            registry::forget(&self.mirror, &self.registry(), &self.configs(host));
        }
        self.spawn(host)?;
        self.wait_until_healthy(host)?;
        self.wait_until_connected()
    }

    fn spawn(&mut self, host: Host) -> Result<()> {
        let path = self.log_file(host);
        let again = path.exists();
        let mut log = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .with_context(|| format!("{} cannot be written.", path.display()))?;
        if again {
            let _ = writeln!(log, "--- started again ---");
        }
        let errors = log.try_clone().with_context(|| format!("{} cannot be written.", path.display()))?;
        let mut wrangler = self.wrangler(host);
        wrangler.stdout(log).stderr(errors);
        let group = Group::spawn(&mut wrangler)?;
        leftover::remember(&self.options.state, host, group.id());
        self.running.insert(host, group);
        Ok(())
    }

    fn wrangler(&self, host: Host) -> Command {
        let state = &self.options.state;
        let mut wrangler = self.tools.command(&self.tools.node_program("wrangler").to_string_lossy());
        wrangler.current_dir(&self.mirror).arg("dev");
        for config in self.configs(host) {
            wrangler.arg("-c").arg(config);
        }
        wrangler
            .args(["--ip", "127.0.0.1", "--show-interactive-dev-session=false"])
            .args(["--port", &host.port(&self.options.ports).to_string()])
            .args(["--inspector-port", &host.inspector(&self.options.ports).to_string()])
            .arg("--persist-to")
            .arg(state.join(host.name()))
            .env("WRANGLER_REGISTRY_PATH", self.registry())
            .env("WRANGLER_LOG_PATH", state.join("logs/wrangler"))
            .envs(QUIET);
        wrangler
    }

    fn wait_until_healthy(&mut self, host: Host) -> Result<()> {
        let url = host.health(&self.urls);
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(Duration::from_secs(5)))
            .http_status_as_error(false)
            .build()
            .into();
        let deadline = Instant::now() + self.options.start_limit;
        let mut last = "no answer yet".to_owned();
        while Instant::now() < deadline {
            if let Some(status) = self.running.get_mut(&host).map(Group::try_wait).transpose()?.flatten() {
                bail!(
                    "The {} host ended while it started ({status}). {}",
                    host.name(),
                    self.end_of_log(host)
                );
            }
            match agent.get(&url).call() {
                Ok(answer) if answer.status().is_success() => return Ok(()),
                Ok(answer) => last = format!("status {}", answer.status().as_u16()),
                Err(error) => last = error.to_string(),
            }
            sleep(POLL);
        }
        let limit = self.options.start_limit.as_secs();
        bail!("{url} is not healthy after {limit} s ({last}). {}", self.end_of_log(host))
    }

    /// A host that is healthy may still not know the others' addresses.
    fn wait_until_connected(&self) -> Result<()> {
        let registry = self.registry();
        let deadline = Instant::now() + CONNECT_LIMIT;
        loop {
            let unregistered = Host::ALL
                .into_iter()
                .filter(|host| self.running.contains_key(host))
                .find(|host| !registry::holds(&self.mirror, &registry, &self.configs(*host)));
            let unconnected = [Host::Receipt, Host::Receiver]
                .into_iter()
                .find(|host| self.running.contains_key(host) && !registry::is_connected(&self.log(*host)));
            let Some(host) = unregistered.or(unconnected) else { return Ok(()) };
            if Instant::now() > deadline {
                bail!(
                    "The {} host runs but is not connected to the others; do the names in its wrangler.toml \
                     match theirs? {}",
                    host.name(),
                    self.end_of_log(host)
                );
            }
            sleep(POLL);
        }
    }

    /// The configurations a host runs, relative to the mirror. The first is the one that gets the port.
    fn configs(&self, host: Host) -> Vec<String> {
        let front = if host == Host::Sender { self.options.front.as_slice() } else { &[] };
        let front = front.iter().map(|folder| mirror::front_config(folder));
        front.chain(host.functions().iter().map(|function| function.config())).collect()
    }

    fn registry(&self) -> PathBuf {
        self.options.state.join(REGISTRY)
    }

    fn end_of_log(&self, host: Host) -> String {
        let file = self.log_file(host);
        format!("The end of {}:\n{}", file.display(), tail(&file, TAIL_LINES))
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // Asked all at once, so that it takes as long as the slowest.
        std::thread::scope(|threads| {
            for group in self.running.values_mut() {
                threads.spawn(|| group.stop());
            }
        });
    }
}

/// Nothing is reported to anybody, nothing is fetched, nobody is asked.
pub(crate) const QUIET: [(&str, &str); 8] = [
    ("CLOUDFLARE_CF_FETCH_ENABLED", "false"),
    ("DO_NOT_TRACK", "1"),
    ("NO_COLOR", "1"),
    ("WRANGLER_HIDE_BANNER", "true"),
    ("WRANGLER_NO_SKILLS_UPDATE_PROMPTS", "true"),
    ("WRANGLER_SEND_ERROR_REPORTS", "false"),
    ("WRANGLER_SEND_METRICS", "false"),
    ("CI", "1"),
];

/// Two stacks on one state would each believe to own its databases.
fn lock(state: &Path) -> Result<File> {
    let logs = state.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("{} cannot be created.", logs.display()))?;
    let file = create(&state.join("lock"))?;
    if file.try_lock().is_err() {
        bail!("{} is used by another running stack; stop that one, or name another folder.", state.display());
    }
    // A stack's logs begin with it.
    mirror::remove(&logs)?;
    fs::create_dir_all(&logs).with_context(|| format!("{} cannot be created.", logs.display()))?;
    Ok(file)
}
