//! After [`Tools::prepare`] everything needed to build and run the Workers is installed, in known versions,
//! below the cache folder; on the second run it only looks.

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
/// Follows the `worker` crate's version.
const WORKER_BUILD: &str = "0.8.7";
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
        tools.install_cargo_tools(progress)?;
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
        self.cargo_tools().join("bin").join(name)
    }

    /// Changes whenever a tool that shapes a build does.
    pub(crate) fn identity(&self) -> String {
        format!("{} {WORKER_BUILD} {}", self.node_modules.display(), self.wasm_bindgen)
    }

    fn cargo_tools(&self) -> PathBuf {
        self.workspace.cache().join("tools")
    }

    fn path(&self, first: Option<&Path>) -> OsString {
        let system = env::var_os("PATH").unwrap_or_default();
        let ours = first.map(Path::to_path_buf).into_iter().chain([self.node_modules.join(".bin")]);
        // Fails only for a folder with a colon in its name; the system's path is then the best there is.
        env::join_paths(ours.chain(env::split_paths(&system))).unwrap_or(system)
    }

    fn install_cargo_tools(&self, progress: &Progress) -> Result<()> {
        let worker_build = self.missing("worker-build", WORKER_BUILD);
        let wasm_bindgen = self.missing("wasm-bindgen", &self.wasm_bindgen);
        if worker_build {
            require_openssl()?;
            self.cargo_install(progress, "worker-build", WORKER_BUILD, true)?;
        }
        if wasm_bindgen {
            // Not `--locked`: its lock file follows later than its release, and the CLI's version is what
            // counts.
            self.cargo_install(progress, "wasm-bindgen-cli", &self.wasm_bindgen, false)?;
        }
        if worker_build || wasm_bindgen {
            // Gigabytes that nothing reads again.
            let _ = fs::remove_dir_all(self.install_target());
        }
        Ok(())
    }

    /// Asks the program itself: a folder of the right name proves nothing after an interrupted install.
    fn missing(&self, program: &str, version: &str) -> bool {
        let answer =
            Command::new(self.cargo_program(program)).arg("--version").stderr(Stdio::null()).output();
        !answer.is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout).split_whitespace().any(|word| word == version)
        })
    }

    fn cargo_install(&self, progress: &Progress, name: &str, version: &str, locked: bool) -> Result<()> {
        let mut cargo = self.command("cargo");
        // Away from the workspace: its .cargo/config.toml is not meant for these.
        cargo.current_dir(self.workspace.cache());
        // A debug build takes half the time and both tools run for a second or two.
        cargo.args(["install", "--debug", "--force"]).arg(format!("{name}@{version}"));
        if locked {
            cargo.arg("--locked");
        }
        cargo.arg("--root").arg(self.cargo_tools()).env("CARGO_TARGET_DIR", self.install_target());
        progress.run(&format!("install {name} {version}"), &self.workspace.logs(), &mut cargo)?;
        Ok(())
    }

    /// One for both tools: they share a third of their dependencies.
    fn install_target(&self) -> PathBuf {
        self.workspace.cache().join("tools-target")
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

/// worker-build downloads through the system's OpenSSL, though it is never asked to download here.
fn require_openssl() -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(());
    }
    let found = Command::new("pkg-config").args(["--exists", "openssl"]).status().is_ok_and(|s| s.success());
    if found || env::var_os("OPENSSL_DIR").is_some() {
        return Ok(());
    }
    bail!(
        "worker-build is compiled against OpenSSL, whose headers are not here. \
         Install them (Debian, Ubuntu: apt-get install pkg-config libssl-dev; \
         Fedora: dnf install pkgconf openssl-devel)."
    )
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
