//! `worker-build` and `wasm-bindgen` are below the cache folder in exactly the wanted versions, compiled by
//! Rust alone: neither brings TLS or a library of the system, because neither downloads anything here.

use crate::progress::Progress;
use crate::toolchain::Tools;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Follows the `worker` crate's version.
pub(crate) const WORKER_BUILD: &str = "0.8.7";
/// What `worker-build` gets instead, see xtask/stand-ins: its HTTP client with OpenSSL, which it needs only
/// for tools that it is given here, and a crate that it declares and never calls.
const STAND_INS: [&str; 2] = ["ureq", "binary-install"];
const PATCH_UNUSED: &str = "was not used in the crate graph";

/// One program of one package.
struct CargoTool<'a> {
    program: &'a str,
    package: &'a str,
    version: &'a str,
    options: Vec<String>,
}

/// Installs what is missing; on the second run it only looks.
pub(crate) fn install(tools: &Tools, wasm_bindgen: &str, progress: &Progress) -> Result<()> {
    let wanted = [
        CargoTool {
            program: "worker-build",
            package: "worker-build",
            version: WORKER_BUILD,
            options: stand_ins(tools.workspace().root())?,
        },
        CargoTool {
            program: "wasm-bindgen",
            package: "wasm-bindgen-cli",
            version: wasm_bindgen,
            // TLS serves its test runner, which is left out.
            options: vec!["--no-default-features".to_owned()],
        },
    ];
    let missing: Vec<&CargoTool<'_>> = wanted.iter().filter(|tool| !tool.answers(tools)).collect();
    for tool in &missing {
        tool.install(tools, progress)?;
    }
    if !missing.is_empty() {
        // Hundreds of megabytes that nothing reads again.
        let _ = fs::remove_dir_all(target(tools.workspace()));
    }
    Ok(())
}

/// Where cargo installs them.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.cache().join("tools")
}

/// One for both: they share a third of their dependencies.
fn target(workspace: &Workspace) -> PathBuf {
    workspace.cache().join("tools-target")
}

/// A patch on cargo's command line; JSON's strings are TOML's.
fn stand_ins(root: &Path) -> Result<Vec<String>> {
    let mut options = Vec::new();
    for name in STAND_INS {
        let folder = root.join("xtask/stand-ins").join(name);
        let path =
            serde_json::to_string(&folder).context("The clone's path is not Unicode; move the clone.")?;
        options.extend(["--config".to_owned(), format!("patch.crates-io.{name}.path={path}")]);
    }
    Ok(options)
}

impl CargoTool<'_> {
    /// Asks the program itself: a folder of the right name proves nothing after an interrupted install.
    fn answers(&self, tools: &Tools) -> bool {
        let answer =
            Command::new(tools.cargo_program(self.program)).arg("--version").stderr(Stdio::null()).output();
        answer.is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).split_whitespace().any(|word| word == self.version)
        })
    }

    fn install(&self, tools: &Tools, progress: &Progress) -> Result<()> {
        let workspace = tools.workspace();
        let wanted = format!("{}@{}", self.package, self.version);
        let mut cargo = tools.command("cargo");
        // Away from the workspace: its .cargo/config.toml is not meant for these.
        cargo.current_dir(workspace.cache());
        // Not `--locked`: a lock file does not fit beside a stand-in, and that of wasm-bindgen-cli follows later
        // than its release.
        cargo.args(["install", "--force", "--debug", &wanted, "--bin", self.program]).args(&self.options);
        cargo.arg("--root").arg(folder(workspace)).env("CARGO_TARGET_DIR", target(workspace));
        // Both run for a second or two, so time is saved by compiling quickly. Without a lock file, a dependency
        // must still be one that this compiler can read.
        cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
        cargo.env("CARGO_RESOLVER_INCOMPATIBLE_RUST_VERSIONS", "fallback");
        let title = format!("install {} {}", self.package, self.version);
        let log = progress.run(&title, &workspace.logs(), &mut cargo)?;
        // Cargo only warns of a patch that fits no dependency, and compiles the real one.
        if fs::read_to_string(&log).is_ok_and(|text| text.contains(PATCH_UNUSED)) {
            let _ = fs::remove_file(tools.cargo_program(self.program));
            bail!(
                "{title}: a stand-in was not used; give it the version that {} asks for, in xtask/stand-ins. \
                 The whole output is in {}",
                self.package,
                log.display()
            );
        }
        if !self.answers(tools) {
            bail!(
                "{} was installed and does not answer --version with {}.",
                tools.cargo_program(self.program).display(),
                self.version
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stand_in_is_handed_to_cargo_and_is_a_crate_of_that_name() -> Result<()> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let options = stand_ins(&root)?;
        assert_eq!(options.len(), 2 * STAND_INS.len());
        for (name, option) in STAND_INS.iter().zip(options.iter().skip(1).step_by(2)) {
            let folder = root.join("xtask/stand-ins").join(name);
            assert_eq!(*option, format!("patch.crates-io.{name}.path=\"{}\"", folder.display()));
            let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
            assert!(manifest.lines().any(|line| line == format!("name = \"{name}\"")), "{manifest}");
        }
        Ok(())
    }
}
