//! `cargo xtask test` is everything that must pass. Its last line counts: a stage that fails without naming a
//! test counts as one failure, so the line never says 0 after something went wrong.

use crate::functions::Function;
use crate::progress::{Progress, log_file};
use crate::toolchain::Tools;
use crate::workspace::Workspace;
use crate::{BUILD_READY, build, check, size};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// The test binaries that run on workerd: the ports' contracts, and the built Workers from end to end.
const ON_WORKERD: [&str; 2] = ["contract", "workers"];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    passed: u64,
    failed: u64,
    ignored: u64,
}

struct Stage {
    title: &'static str,
    took: Duration,
    succeeded: bool,
    count: Count,
}

/// Runs all stages and says whether all succeeded; one that fails does not keep the others from running,
/// unless they build on it.
#[must_use]
pub fn test(workspace: &Workspace, progress: &Progress) -> bool {
    let mut stages = Vec::new();
    let mut tools = None;
    stage(&mut stages, progress, "set-up", || {
        tools = Some(Tools::prepare(workspace, progress)?);
        Ok(Count::default())
    });
    if let Some(tools) = &tools {
        stage(&mut stages, progress, "native tests", || native_tests(tools, progress));
        stage(&mut stages, progress, "documentation tests", || {
            cargo_tests(tools, progress, "documentation tests", &["--workspace", "--doc"], &[])
        });
        stage(&mut stages, progress, "checks", || check::check(tools, progress).map(|()| Count::default()));
        let built = stage(&mut stages, progress, "Workers", || {
            build::build(tools, progress, &Function::workers(workspace), build::Mode::Deploy)
                .map(|()| Count::default())
        });
        if built {
            stage(&mut stages, progress, "size", || sizes(workspace, progress));
            stage(&mut stages, progress, "end to end on workerd", || {
                let mut arguments = vec!["-p", "hookproof-tests"];
                arguments.extend(ON_WORKERD.iter().flat_map(|name| ["--test", name]));
                cargo_tests(tools, progress, "end to end on workerd", &arguments, &["--test-threads=1"])
            });
        }
        stage(&mut stages, progress, "Spin's components", || spin_tests(tools, progress));
    }
    conclude(&stages, progress)
}

fn stage(
    stages: &mut Vec<Stage>,
    progress: &Progress,
    title: &'static str,
    work: impl FnOnce() -> Result<Count>,
) -> bool {
    progress.say(&format!("\n== {title}"));
    let started = Instant::now();
    let outcome = work();
    let took = started.elapsed();
    let (succeeded, count) = match outcome {
        Ok(count) => (count.failed == 0, count),
        Err(error) => {
            progress.say(&format!("{error:#}"));
            (false, Count { failed: 1, ..Count::default() })
        }
    };
    stages.push(Stage { title, took, succeeded, count });
    succeeded
}

/// Every target by name, because cargo can leave out a package but not one test binary.
fn native_tests(tools: &Tools, progress: &Progress) -> Result<Count> {
    let mut arguments = vec!["--workspace".to_owned(), "--lib".to_owned(), "--bins".to_owned()];
    for name in test_binaries(tools)? {
        arguments.extend(["--test".to_owned(), name]);
    }
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    cargo_tests(tools, progress, "native tests", &arguments, &[])
}

fn test_binaries(tools: &Tools) -> Result<BTreeSet<String>> {
    let output = tools
        .command("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cargo cannot be started.")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON.")?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let targets = packages.flat_map(|package| package["targets"].as_array().into_iter().flatten());
    Ok(targets
        .filter(|target| {
            target["kind"].as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "test"))
        })
        .filter_map(|target| target["name"].as_str())
        .filter(|name| !ON_WORKERD.contains(name))
        .map(str::to_owned)
        .collect())
}

fn cargo_tests(
    tools: &Tools,
    progress: &Progress,
    title: &str,
    arguments: &[&str],
    harness: &[&str],
) -> Result<Count> {
    let mut cargo: Command = tools.command("cargo");
    cargo.args(["test", "--no-fail-fast"]).args(arguments).arg("--").args(harness);
    cargo.env(BUILD_READY, "1");
    counted(progress, tools.workspace(), title, &mut cargo)
}

/// Runs tests and counts them from their log; a run that fails without a failing test is an error.
fn counted(progress: &Progress, workspace: &Workspace, title: &str, cargo: &mut Command) -> Result<Count> {
    let outcome = progress.run(title, &workspace.logs(), cargo);
    let count = count(&log_file(&workspace.logs(), title));
    match outcome {
        Err(error) if count.failed == 0 => Err(error),
        Ok(_) | Err(_) => Ok(count),
    }
}

/// Builds the five components and runs them under the host in tests/spin, a package of its own.
fn spin_tests(tools: &Tools, progress: &Progress) -> Result<Count> {
    let workspace = tools.workspace();
    let artifacts = workspace.wasm_target().join("wasm32-wasip2/release");
    let mut build = tools.wasm_command("cargo");
    build.args(["build", "--release", "--target", "wasm32-wasip2"]);
    build.args(Function::ALL.map(|function| format!("--package={}", function.package())));
    build.env("CARGO_TARGET_DIR", workspace.wasm_target());
    progress.run("components", &workspace.logs(), &mut build)?;
    let title = "Spin's components";
    let mut cargo = tools.command("cargo");
    cargo.args([
        "test",
        "--no-fail-fast",
        "--manifest-path",
        "tests/spin/Cargo.toml",
        "--",
        "--test-threads=1",
    ]);
    // Outside the clone: a host made of wasmtime takes minutes to build and seldom changes.
    cargo.env("CARGO_TARGET_DIR", workspace.cache().join("spin-target"));
    cargo.env("HOOKPROOF_SPIN_ARTIFACTS", artifacts);
    counted(progress, workspace, title, &mut cargo)
}

fn count(log: &Path) -> Count {
    let text = fs::read(log).unwrap_or_default();
    String::from_utf8_lossy(&text).lines().filter_map(summary).fold(Count::default(), |sum, one| Count {
        passed: sum.passed + one.passed,
        failed: sum.failed + one.failed,
        ignored: sum.ignored + one.ignored,
    })
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; …`
fn summary(line: &str) -> Option<Count> {
    let rest = line.strip_prefix("test result: ")?.split_once(". ")?.1;
    let mut count = Count::default();
    for part in rest.split("; ") {
        match part.split_once(' ') {
            Some((number, "passed")) => count.passed = number.parse().ok()?,
            Some((number, "failed")) => count.failed = number.parse().ok()?,
            Some((number, "ignored")) => count.ignored = number.parse().ok()?,
            Some(_) | None => {}
        }
    }
    Some(count)
}

fn sizes(workspace: &Workspace, progress: &Progress) -> Result<Count> {
    let (table, within_budgets) = size::table(&size::measure(workspace)?);
    progress.say(&table);
    if within_budgets { Ok(Count::default()) } else { bail!("A Worker is above its budget.") }
}

/// Nothing is printed after this: the count is the last line.
fn conclude(stages: &[Stage], progress: &Progress) -> bool {
    let mut text =
        format!("\n{:<24}{:>8}{:>9}{:>9}{:>9}\n", "stage", "minutes", "passed", "failed", "ignored");
    let (mut passed, mut failed) = (0, 0);
    for Stage { title, took, succeeded, count } in stages {
        let verdict = if *succeeded { "" } else { "  FAILED" };
        let minutes = took.as_secs_f32() / 60.0;
        let Count { passed: p, failed: f, ignored: i } = count;
        let _ = writeln!(text, "{title:<24}{minutes:>8.1}{p:>9}{f:>9}{i:>9}{verdict}");
        passed += p;
        failed += f;
    }
    let failures: Vec<&str> =
        stages.iter().filter(|stage| !stage.succeeded).map(|stage| stage.title).collect();
    if !failures.is_empty() {
        let _ = writeln!(text, "\nThese stages failed, see above: {}", failures.join(", "));
    }
    progress.say(&text);
    progress.say(&format!("{passed} passed, {failed} failed"));
    failures.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_line_is_counted_and_no_other() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 2 filtered out";
        assert_eq!(summary(line), Some(Count { passed: 12, failed: 3, ignored: 1 }));
        assert_eq!(summary("test a::b ... ok"), None);
    }
}
