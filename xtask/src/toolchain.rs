//! After [`Tools::prepare`] everything needed to build and run the Workers is installed, in known versions,
//! below the cache folder; on the second run it only looks.

use crate::cargo_tools;
use crate::node;
use crate::process::Group;
use crate::progress::{Progress, create};
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Both platforms' targets: Workers, and components for Spin.
pub const WASM_TARGETS: [&str; 2] = ["wasm32-unknown-unknown", "wasm32-wasip2"];
const DEBIAN_SCRIPT: &str = include_str!("wasm-rust.sh");

/// The installed tools and how to call them.
#[derive(Clone, Debug)]
pub struct Tools {
    workspace: Workspace,
    node_modules: PathBuf,
    wasm_bindgen: String,
    /// Only when the `rustc` on the path lacks the WebAssembly targets.
    wasm_rustc: Option<PathBuf>,
}

impl Tools {
    /// Installs what is missing.
    ///
    /// # Errors
    /// A sentence that says what could not be installed and what to do.
    pub fn prepare(workspace: &Workspace, progress: &Progress) -> Result<Self> {
        let started = Instant::now();
        let wasm_bindgen = locked_version(workspace.root(), "wasm-bindgen")?;
        // Two runs at once would install into the same folders.
        let lock_file = workspace.cache().join("lock");
        let lock = create(&lock_file)?;
        if lock.try_lock().is_err() {
            progress.say("  waiting for another set-up to finish");
        }
        lock.lock().with_context(|| format!("{} cannot be locked.", lock_file.display()))?;
        let wasm_rustc = wasm_rustc(workspace, progress)?;
        let node_modules = node::install(workspace, progress)?;
        let tools = Self { workspace: workspace.clone(), node_modules, wasm_bindgen, wasm_rustc };
        cargo_tools::install(&tools, &tools.wasm_bindgen, progress)?;
        progress.done("set-up", started.elapsed());
        Ok(tools)
    }

    /// The clone these tools serve.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// A command in the workspace's root that finds the pinned Node before the system's.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.workspace.root()).env("PATH", self.path(None));
        forget_own_package(&mut command);
        command
    }

    /// Like [`Tools::command`], for cargo and everything that calls it for a WebAssembly target.
    #[must_use]
    pub fn wasm_command(&self, program: &str) -> Command {
        let mut command = self.command(program);
        if let Some(rustc) = &self.wasm_rustc {
            // Cargo reads RUSTC; worker-build asks the `rustc` on the path for its targets.
            command.env("RUSTC", rustc).env("PATH", self.path(rustc.parent()));
        }
        command
    }

    /// Whether clippy can see the WebAssembly targets: it uses the installed toolchain's, never another
    /// rustc's.
    #[must_use]
    pub fn clippy_knows_wasm(&self) -> bool {
        self.wasm_rustc.is_none()
    }

    /// A program of the npm packages, by its command name.
    #[must_use]
    pub fn node_program(&self, name: &str) -> PathBuf {
        self.node_modules.join(".bin").join(name)
    }

    /// A program installed by cargo, by its command name.
    #[must_use]
    pub fn cargo_program(&self, name: &str) -> PathBuf {
        cargo_tools::folder(&self.workspace).join("bin").join(name)
    }

    /// Changes whenever a tool that shapes a build does.
    pub(crate) fn identity(&self) -> String {
        format!("{} {} {}", self.node_modules.display(), cargo_tools::WORKER_BUILD, self.wasm_bindgen)
    }

    fn path(&self, first: Option<&Path>) -> OsString {
        let system = env::var_os("PATH").unwrap_or_default();
        let ours = first.map(Path::to_path_buf).into_iter().chain([self.node_modules.join(".bin")]);
        // Fails only for a folder with a colon in its name; the system's path is then the best there is.
        env::join_paths(ours.chain(env::split_paths(&system))).unwrap_or(system)
    }
}

/// `cargo run` describes this package to its children; nested builds would take it for theirs.
fn forget_own_package(command: &mut Command) {
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        let about_package =
            ["CARGO_PKG_", "CARGO_BIN_", "CARGO_MANIFEST_"].iter().any(|p| text.starts_with(p));
        if about_package || text == "CARGO_CRATE_NAME" || text == "CARGO_PRIMARY_PACKAGE" {
            command.env_remove(&name);
        }
    }
}

/// `None` when the rustc on the path has the targets, otherwise the one to use.
fn wasm_rustc(workspace: &Workspace, progress: &Progress) -> Result<Option<PathBuf>> {
    if env::var_os("HOOKPROOF_WASM_RUST_DEBIAN").is_none() {
        let installed = PathBuf::from(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
        if has_wasm_targets(&installed) || (rustup_adds_targets() && has_wasm_targets(&installed)) {
            return Ok(None);
        }
    }
    let home = workspace.cache().join("rust-wasm");
    let rustc = home.join("bin/rustc");
    if !has_wasm_targets(&rustc) {
        progress.say("  rustup cannot add the WebAssembly targets here; taking them from Debian packages");
        let mut script = Command::new("sh");
        script.arg("-c").arg(DEBIAN_SCRIPT).arg("wasm-rust.sh").arg(&home);
        progress.run("unpack a rustc with WebAssembly targets", &workspace.logs(), &mut script)?;
    }
    if !has_wasm_targets(&rustc) {
        bail!(
            "The rustc in {} lacks {}. Install Rust with rustup and run: rustup target add {}",
            home.display(),
            WASM_TARGETS.join(" or "),
            WASM_TARGETS.join(" ")
        );
    }
    Ok(Some(rustc))
}

fn has_wasm_targets(rustc: &Path) -> bool {
    WASM_TARGETS.iter().all(|target| {
        let Ok(output) = Command::new(rustc).args(["--print", "target-libdir", "--target", target]).output()
        else {
            return false;
        };
        let folder = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
        let Ok(files) = fs::read_dir(folder) else { return false };
        files.flatten().any(|file| {
            let name = file.file_name();
            let name = name.to_string_lossy();
            name.starts_with("libstd-") && name.ends_with(".rlib")
        })
    })
}

/// Bounded: without a network rustup tries again for a long time.
fn rustup_adds_targets() -> bool {
    const LIMIT: std::time::Duration = std::time::Duration::from_secs(180);
    let mut rustup = Command::new("rustup");
    rustup.args(["target", "add"]).args(WASM_TARGETS).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut group) = Group::spawn(&mut rustup) else { return false };
    let deadline = Instant::now() + LIMIT;
    while Instant::now() < deadline {
        match group.try_wait() {
            Ok(None) => std::thread::sleep(std::time::Duration::from_millis(100)),
            Ok(Some(status)) => return status.success(),
            Err(_) => return false,
        }
    }
    false
}

/// The version of a package in the workspace's `Cargo.lock`; wasm-bindgen's CLI must be exactly that one.
fn locked_version(root: &Path, package: &str) -> Result<String> {
    let file = root.join("Cargo.lock");
    let text = fs::read_to_string(&file)
        .with_context(|| format!("{} cannot be read; run: cargo generate-lockfile", file.display()))?;
    let wanted = format!("name = \"{package}\"");
    let mut lines = text.lines().skip_while(|line| *line != wanted);
    let version = lines.nth(1).and_then(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    match version {
        Some(version) => Ok(version.to_owned()),
        None => bail!("{} names no {package}; run: cargo update --workspace", file.display()),
    }
}
