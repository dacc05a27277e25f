//! Node, wrangler, esbuild and binaryen in exactly the versions of `xtask/node/package-lock.json`, in a cache
//! folder named after that file's digest, so that two clones never disturb each other.

use crate::progress::{Progress, create};
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest Node whose npm reads the lock file; what runs afterwards is the pinned Node.
const OLDEST_NPM_HOST: u32 = 20;
/// Wrangler's own demand, for machines that the pinned Node is not published for.
const OLDEST_WRANGLER_HOST: u32 = 22;

/// Installs the packages unless they are there; gives back their `node_modules`.
pub(crate) fn install(workspace: &Workspace, progress: &Progress) -> Result<PathBuf> {
    let source = workspace.root().join("xtask/node");
    let manifest = read(&source.join("package.json"))?;
    let lock = read(&source.join("package-lock.json"))?;
    let folder = workspace.cache().join(format!("node-{}", short_digest(&[&manifest, &lock])));
    let modules = folder.join("node_modules");
    let complete = folder.join("complete");
    if !complete.is_file() {
        require_node(OLDEST_NPM_HOST)?;
        for (name, content) in [("package.json", &manifest), ("package-lock.json", &lock)] {
            create(&folder.join(name))?.write_all(content).context("The npm manifest cannot be copied.")?;
        }
        // No install scripts: everything needed is a plain file, and the lock pins the digest of each.
        let mut npm = Command::new("npm");
        npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"])
            .current_dir(&folder);
        progress.run("install wrangler and Node packages", &workspace.logs(), &mut npm)?;
        create(&complete)?;
    }
    if !modules.join(".bin/node").exists() {
        require_node(OLDEST_WRANGLER_HOST)?;
    }
    Ok(modules)
}

fn require_node(oldest: u32) -> Result<()> {
    let Ok(output) = Command::new("node").arg("--version").output() else {
        bail!("Node is not installed; install Node {oldest} or newer with npm (https://nodejs.org).");
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version.trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= oldest => Ok(()),
        Some(_) | None => bail!("Node is {version}, but {oldest} or newer is needed; install a newer Node."),
    }
}

fn read(file: &Path) -> Result<Vec<u8>> {
    fs::read(file).with_context(|| format!("{} cannot be read; is the clone complete?", file.display()))
}

/// Enough of a SHA-256 to name a folder after its content.
pub(crate) fn short_digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(u64::try_from(part.len()).unwrap_or(u64::MAX).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
