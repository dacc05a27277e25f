//! What the compiler alone does not promise: format, lints on every target, documentation, and that
//! dependencies point one way.

use crate::directions;
use crate::functions::Function;
use crate::progress::Progress;
use crate::toolchain::Tools;
use anyhow::{Result, bail};
use std::process::Command;

const WORKERS_TARGET: &str = "wasm32-unknown-unknown";
const SPIN_TARGET: &str = "wasm32-wasip2";

/// Runs all checks, also after one has failed, and prints a line for each.
///
/// # Errors
/// When at least one failed.
pub fn check(tools: &Tools, progress: &Progress) -> Result<()> {
    let mut failed = 0_usize;
    for (title, remedy, mut command) in cargo_checks(tools) {
        if progress.run(&title, &tools.workspace().logs(), &mut command).is_err() {
            progress.say(&format!("     -> {remedy}"));
            failed += 1;
        }
    }
    for (title, outcome) in directions::all(tools) {
        match outcome {
            Ok(()) => progress.say(&format!("  ok            {title}")),
            Err(problem) => {
                progress.say(&format!("  FAILED        {title}\n     -> {problem:#}"));
                failed += 1;
            }
        }
    }
    if failed > 0 {
        bail!("{failed} checks failed; each says above what to do.");
    }
    Ok(())
}

fn cargo_checks(tools: &Tools) -> Vec<(String, &'static str, Command)> {
    let cargo = |arguments: &[&str]| {
        let mut command = tools.command("cargo");
        command.args(arguments);
        command
    };
    let mut documentation = cargo(&["doc", "--no-deps", "--workspace"]);
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    vec![
        (
            "format".to_owned(),
            "run: cargo fmt",
            cargo(&["fmt", "--all", "--check", "--", "--color", "never"]),
        ),
        (
            "clippy, native".to_owned(),
            "mend what clippy names, or allow it with a reason",
            cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
        ),
        wasm_lints(tools, WORKERS_TARGET, &["hookproof-workers", "hookproof-verify"]),
        wasm_lints(
            tools,
            SPIN_TARGET,
            &["hookproof-core", "hookproof-ports", "hookproof-authority", "hookproof-verify"],
        ),
        ("documentation".to_owned(), "mend what rustdoc names", documentation),
    ]
}

/// With Debian's rustc there is no clippy that knows the target; the compiler's own lints are then what can
/// be had.
fn wasm_lints(tools: &Tools, target: &str, shared: &[&str]) -> (String, &'static str, Command) {
    let tool = if tools.clippy_knows_wasm() { "clippy" } else { "check" };
    let mut command = tools.wasm_command("cargo");
    command.args([tool, "--lib", "--target", target]);
    for package in shared {
        command.args(["-p", package]);
    }
    for function in Function::ALL {
        command.args(["-p", &function.package()]);
    }
    if tools.clippy_knows_wasm() {
        command.args(["--", "-D", "warnings"]);
    } else {
        command.env("RUSTFLAGS", "-D warnings");
    }
    (format!("{tool}, {target}"), "mend what is named; the same code must build for every target", command)
}
