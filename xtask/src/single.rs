//! A [`Single`] is one Worker on local workerd, in a wrangler process of its own that ends with it: for
//! Workers that only tests use.

use crate::functions::Worker;
use crate::ports::Ports;
use crate::process::Group;
use crate::progress::{create, tail};
use crate::stack::QUIET;
use crate::toolchain::Tools;
use anyhow::{Result, bail};
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long it may take until it takes connections.
const LIMIT: Duration = Duration::from_secs(60);

/// A running Worker.
#[derive(Debug)]
pub struct Single {
    url: String,
    _group: Group,
}

impl Single {
    /// Starts the built `worker` with its state and log in `state`, and waits until it takes connections.
    ///
    /// # Errors
    /// When it does not; the message ends with the end of its log.
    pub fn start(tools: &Tools, worker: &Worker, state: &Path) -> Result<Self> {
        let ports = Ports::free()?;
        fs::create_dir_all(state)?;
        let log_file = state.join(format!("{}.log", worker.name));
        let log = create(&log_file)?;
        let mut wrangler = tools.command(&tools.node_program("wrangler").to_string_lossy());
        wrangler
            .current_dir(&worker.folder)
            .args(["dev", "-c", "wrangler.toml", "--ip", "127.0.0.1", "--show-interactive-dev-session=false"])
            .args(["--port", &ports.sender.to_string()])
            .args(["--inspector-port", &ports.inspectors[0].to_string()])
            .arg("--persist-to")
            .arg(state)
            .env("WRANGLER_REGISTRY_PATH", state.join("registry"))
            .env("WRANGLER_LOG_PATH", state.join("wrangler-logs"))
            .envs(QUIET)
            .stdout(log.try_clone()?)
            .stderr(log);
        let mut group = Group::spawn(&mut wrangler)?;
        let started = Instant::now();
        while TcpStream::connect(("127.0.0.1", ports.sender)).is_err() {
            if group.try_wait()?.is_some() || started.elapsed() > LIMIT {
                bail!(
                    "{} did not start. The end of {}:\n{}",
                    worker.name,
                    log_file.display(),
                    tail(&log_file, 40)
                );
            }
            sleep(Duration::from_millis(100));
        }
        Ok(Self { url: ports.urls().control, _group: group })
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }
}
