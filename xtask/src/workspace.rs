//! Where things are: every path this tool writes is below the workspace's target folder, a state folder
//! the caller names, or one cache folder of its own.

use anyhow::{Context, Result, bail};
use std::env;
use std::path::{Path, PathBuf};

/// The folders of one clone of this repository.
#[derive(Clone, Debug)]
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
    cache: PathBuf,
}

impl Workspace {
    /// Finds the workspace at or above the current folder.
    ///
    /// # Errors
    /// When the current folder is outside the repository, or no home folder is known for the cache.
    pub fn locate() -> Result<Self> {
        let here =
            env::current_dir().context("The current folder cannot be read; change to the repository.")?;
        let Some(root) = here.ancestors().find(|folder| is_workspace_root(folder)) else {
            bail!("{} is not inside the repository; run this from a folder of the clone.", here.display());
        };
        let target = match env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        Ok(Self { root: root.to_path_buf(), target, cache: cache_folder()? })
    }

    /// The folder of the workspace's `Cargo.toml`.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target folder for native builds.
    #[must_use]
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// The target folder all Workers share, apart from native builds so that neither waits for the other.
    #[must_use]
    pub fn wasm_target(&self) -> PathBuf {
        self.target.join("wasm")
    }

    /// Full output of every step.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.target.join("xtask-logs")
    }

    /// What a second run finds again; removing it costs time only.
    #[must_use]
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// The state of `cargo xtask run`: objects, queues, secrets, logs.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.root.join(".hookproof")
    }
}

fn is_workspace_root(folder: &Path) -> bool {
    std::fs::read_to_string(folder.join("Cargo.toml"))
        .is_ok_and(|manifest| manifest.lines().any(|line| line.trim() == "[workspace]"))
        && folder.join("xtask").is_dir()
}

fn cache_folder() -> Result<PathBuf> {
    let set = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(folder) = set("HOOKPROOF_CACHE") {
        return std::path::absolute(&folder).with_context(|| {
            format!("HOOKPROOF_CACHE is {}, which is not a usable path.", folder.display())
        });
    }
    if let Some(folder) = set("XDG_CACHE_HOME").filter(|folder| folder.is_absolute()) {
        return Ok(folder.join("hookproof"));
    }
    match set("HOME") {
        Some(home) => Ok(home.join(".cache/hookproof")),
        None => {
            bail!("Neither HOOKPROOF_CACHE nor HOME is set; set one so that tools can be kept between runs.")
        }
    }
}
