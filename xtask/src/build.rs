//! A Worker's build is what its sources make with the pinned tools, and is made again only when the compiled
//! module or a tool changed.
//!
//! worker-build turns the module into a Worker (bindings, shim, bundle); it would fetch wasm-bindgen, esbuild
//! and wasm-opt by itself, so all three are given to it or run here, and no build step uses the network.

use crate::functions::Worker;
use crate::node::short_digest;
use crate::progress::Progress;
use crate::toolchain::Tools;
use anyhow::{Context, Result};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// What rustc emits for wasm32-unknown-unknown, and exceptions for wasm-bindgen's catch wrappers. Named one
/// by one so that binaryen never uses an encoding that workerd does not know yet.
const WASM_FEATURES: [&str; 7] = [
    "--enable-mutable-globals",
    "--enable-sign-ext",
    "--enable-nontrapping-float-to-int",
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-reference-types",
    "--enable-exception-handling",
];
/// Smallest code, without names: they are a quarter of a module, and a panic is a fault that no stack trace
/// in production should have to explain.
const WASM_OPT: [&str; 3] = ["-Oz", "--strip-debug", "--strip-producers"];

/// How much a build is worth waiting for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// What is deployed: linked as a whole and optimised for size.
    Deploy,
    /// For work on the code: built in parts and again in seconds, several times larger.
    Quick,
}

impl Mode {
    /// The cargo profile.
    fn profile(self) -> &'static str {
        match self {
            Self::Deploy => "release",
            Self::Quick => "quick",
        }
    }
}

/// Builds `workers`, skipping those whose build is up to date.
///
/// # Errors
/// When a step fails; its output has been printed.
pub fn build(tools: &Tools, progress: &Progress, workers: &[Worker], mode: Mode) -> Result<()> {
    compile(tools, progress, workers, mode)?;
    for worker in workers {
        let stamp = stamp(tools, worker, mode)?;
        let stamp_file = worker.build_folder().join(".stamp");
        let up_to_date = fs::read_to_string(&stamp_file).is_ok_and(|old| old == stamp);
        if up_to_date && worker.module().is_file() {
            continue;
        }
        let _ = fs::remove_file(&stamp_file);
        bind(tools, progress, workers, worker, mode)?;
        if mode == Mode::Deploy {
            optimise(tools, progress, worker)?;
        }
        fs::write(&stamp_file, stamp)
            .with_context(|| format!("{} cannot be written.", stamp_file.display()))?;
    }
    Ok(())
}

/// One cargo call for all: the final link of each module uses one core for a minute, so they run side by
/// side.
fn compile(tools: &Tools, progress: &Progress, workers: &[Worker], mode: Mode) -> Result<()> {
    let names: Vec<&str> = workers.iter().map(|worker| worker.name.as_str()).collect();
    let mut cargo = tools.wasm_command("cargo");
    cargo.args(["build", "--lib", "--profile", mode.profile(), "--target", "wasm32-unknown-unknown"]);
    cargo.args(package_options(workers));
    with_build_environment(tools, &mut cargo);
    progress.run(&format!("compile {}", names.join(", ")), &tools.workspace().logs(), &mut cargo)?;
    Ok(())
}

fn bind(tools: &Tools, progress: &Progress, workers: &[Worker], worker: &Worker, mode: Mode) -> Result<()> {
    let mut worker_build = tools.wasm_command(&tools.cargo_program("worker-build").to_string_lossy());
    worker_build.current_dir(&worker.folder).args(["--profile", mode.profile(), "--no-opt"]);
    // Handed on to its cargo call, which then finds exactly what was compiled before.
    worker_build.args(package_options(workers));
    worker_build.env("WASM_BINDGEN_BIN", tools.cargo_program("wasm-bindgen"));
    // Its own stack trace would push the reason out of sight.
    worker_build.env("RUST_BACKTRACE", "0");
    worker_build.env("ESBUILD_BIN", tools.node_program("esbuild"));
    with_build_environment(tools, &mut worker_build);
    progress.run(&format!("bind {}", worker.name), &tools.workspace().logs(), &mut worker_build)?;
    Ok(())
}

fn optimise(tools: &Tools, progress: &Progress, worker: &Worker) -> Result<()> {
    let module = worker.module();
    let smaller = module.with_extension("wasm.optimised");
    let mut wasm_opt = tools.command(&tools.node_program("wasm-opt").to_string_lossy());
    wasm_opt.args(WASM_OPT).args(WASM_FEATURES).arg(&module).arg("-o").arg(&smaller);
    progress.run(&format!("optimise {}", worker.name), &tools.workspace().logs(), &mut wasm_opt)?;
    fs::rename(&smaller, &module).with_context(|| format!("{} cannot be replaced.", module.display()))
}

/// In the long form: worker-build would take `-p` for the path of the crate.
fn package_options(workers: &[Worker]) -> Vec<String> {
    workers.iter().map(|worker| format!("--package={}", worker.package)).collect()
}

fn with_build_environment(tools: &Tools, command: &mut Command) {
    command.env("CARGO_TARGET_DIR", tools.workspace().wasm_target());
    // worker-build sets it for its own cargo call; wasm-bindgen's macros read it unseen by cargo, so a build
    // without it would be taken for an equal one.
    command.env("WASM_BINDGEN_USE_JS_SYS", "1");
}

/// Names everything a build depends on: the compiled module, the tools (by their versioned paths), the
/// options.
fn stamp(tools: &Tools, worker: &Worker, mode: Mode) -> Result<String> {
    let module: PathBuf = tools
        .workspace()
        .wasm_target()
        .join("wasm32-unknown-unknown")
        .join(mode.profile())
        .join(format!("{}.wasm", worker.package.replace('-', "_")));
    let code = fs::read(&module).with_context(|| {
        format!(
            "{} was not made; {}/Cargo.toml needs [lib] crate-type = [\"cdylib\", \"rlib\"].",
            module.display(),
            worker.folder.display()
        )
    })?;
    let options = [&WASM_OPT[..], &WASM_FEATURES[..]].concat().join(" ");
    let tools = tools.identity();
    Ok(short_digest(&[&code, options.as_bytes(), tools.as_bytes()]))
}
