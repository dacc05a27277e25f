//! Dependencies point one way, core knows no host, and one function only sends to tenant URLs.

use crate::functions::Function;
use crate::toolchain::Tools;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Nothing that decides may see a host, an executor, a clock or a source of randomness.
const DENIED_IN_CORE: [&str; 9] =
    ["worker", "spin-sdk", "wasm-bindgen", "js-sys", "tokio", "hyper", "getrandom", "rand", "rusqlite"];
/// What belongs to one host, and the target in whose dependency table it has to stand.
const HOSTS: [(&[&str], &str); 2] = [
    (
        &["hookproof-workers", "worker", "wasm-bindgen", "wasm-bindgen-futures", "js-sys"],
        "all(target_family = \"wasm\", target_os = \"unknown\")",
    ),
    (&["hookproof-spin", "spin-sdk"], "target_os = \"wasi\""),
];
/// The call that sends to an address a tenant chose.
const SEND_TO_TENANT: &str = ".send_permitted(";

/// Without it a Worker's `fetch` reaches other Workers of the same zone past their security settings.
const STRICTLY_PUBLIC: &str = "global_fetch_strictly_public";
/// These send a request to another host than its URL names, past every check of that name.
const OVERRIDES: [&str; 2] = ["resolveOverride", "resolve_override"];
/// `fetch` follows redirects unless a request says this.
const NO_REDIRECT: &str = "RequestRedirect::Manual";

/// Every check with its outcome; an error says what to do.
pub(crate) fn all(tools: &Tools) -> Vec<(&'static str, Result<()>)> {
    vec![
        ("core depends on no host, executor, clock or randomness", core_is_pure(tools)),
        ("dependencies point core <- ports <- authority <- hosts <- functions", one_way(tools)),
        ("one function only sends to tenant URLs", one_sender(tools.workspace())),
        ("Workers reach public addresses only and follow no redirect", strictly_public(tools.workspace())),
    ]
}

/// The tree of this one package: in the workspace's, other packages' features would speak too.
fn core_is_pure(tools: &Tools) -> Result<()> {
    let mut cargo = tools.command("cargo");
    cargo.args([
        "tree",
        "-p",
        "hookproof-core",
        "-e",
        "normal",
        "--target",
        "all",
        "--prefix",
        "none",
        "-f",
        "{p}",
    ]);
    let tree = output(cargo)?;
    let seen: BTreeSet<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let found: Vec<&str> = DENIED_IN_CORE.into_iter().filter(|name| seen.contains(name)).collect();
    if !found.is_empty() {
        bail!(
            "hookproof-core pulls in {}; see why with `cargo tree -p hookproof-core -e normal -i {}` \
             and pass the value in as an argument instead",
            found.join(", "),
            found.first().copied().unwrap_or_default()
        );
    }
    Ok(())
}

fn one_way(tools: &Tools) -> Result<()> {
    let mut cargo = tools.command("cargo");
    cargo.args(["metadata", "--format-version", "1", "--no-deps"]);
    let metadata: Value = serde_json::from_str(&output(cargo)?).context("cargo metadata gave no JSON")?;
    let mut problems = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let Some(allowed) = allowed(name) else { continue };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            // Tests may use any host.
            if dependency["kind"].as_str() != Some("dev") {
                problems.extend(problem(name, &allowed, dependency));
            }
        }
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("; "));
    }
    Ok(())
}

/// The packages of this workspace that `package` may depend on; `None` for tests and tools, which see
/// everything.
fn allowed(package: &str) -> Option<Vec<&'static str>> {
    const INNER: [&str; 3] = ["hookproof-core", "hookproof-ports", "hookproof-authority"];
    let inner = |count| INNER.into_iter().take(count).collect();
    match package {
        "hookproof-core" => Some(inner(0)),
        "hookproof-verify" => Some(inner(1)),
        "hookproof-cli" => Some(vec!["hookproof-core", "hookproof-verify"]),
        "hookproof-ports" => Some(inner(1)),
        "hookproof-authority" => Some(inner(2)),
        "hookproof-native" | "hookproof-workers" | "hookproof-spin" => Some(inner(3)),
        name if is_function(name) => {
            Some(INNER.into_iter().chain(["hookproof-workers", "hookproof-spin"]).collect())
        }
        _ => None,
    }
}

fn is_function(package: &str) -> bool {
    Function::ALL.iter().any(|function| function.package() == package)
}

fn problem(package: &str, allowed: &[&str], dependency: &Value) -> Option<String> {
    let name = dependency["name"].as_str().unwrap_or_default();
    if name.starts_with("hookproof-") && !allowed.contains(&name) {
        return Some(format!(
            "{package} may not depend on {name}; move what it needs towards hookproof-core"
        ));
    }
    let target = dependency["target"].as_str().unwrap_or_default();
    for (only, host) in HOSTS {
        if is_function(package) && only.contains(&name) && !target.contains(host) {
            return Some(format!(
                "{package} depends on {name} beyond its host; move it to [target.'cfg({host})'.dependencies]"
            ));
        }
    }
    None
}

fn strictly_public(workspace: &Workspace) -> Result<()> {
    let mut problems = Vec::new();
    for function in Function::ALL {
        let path = workspace.root().join(function.config());
        let config = read(&path)?;
        if !has_flag(&config, STRICTLY_PUBLIC) {
            problems.push(format!("{} lacks the compatibility flag {STRICTLY_PUBLIC}", path.display()));
        }
        problems.extend(override_in(&path, &config));
    }
    let mut sources = Vec::new();
    collect(&workspace.root().join("shared").join("workers").join("src"), &mut sources)?;
    for function in Function::ALL {
        collect(&function.worker(workspace).folder.join("src"), &mut sources)?;
    }
    for path in sources {
        let source = read(&path)?;
        problems.extend(override_in(&path, &source));
        if source.contains("Fetch::Request(") && !source.contains(NO_REDIRECT) {
            problems.push(format!("{} sends without {NO_REDIRECT}", path.display()));
        }
    }
    if !problems.is_empty() {
        bail!("{}", problems.join("; "));
    }
    Ok(())
}

/// Whether the flag stands in the list itself and not in a comment.
fn has_flag(config: &str, flag: &str) -> bool {
    let quoted = format!("\"{flag}\"");
    config.lines().any(|line| line.starts_with("compatibility_flags") && line.contains(&quoted))
}

fn override_in(path: &Path, text: &str) -> Option<String> {
    let found = OVERRIDES.into_iter().find(|name| text.contains(name))?;
    Some(format!("{} holds {found}; leave the address to the name in the URL", path.display()))
}

fn collect(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("{} cannot be read", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, sources)?;
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            sources.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

/// Adapters implement the call and tests may make it; of everything else exactly one file does.
fn one_sender(workspace: &Workspace) -> Result<()> {
    let mut senders = Vec::new();
    for function in Function::ALL {
        find_senders(&function.worker(workspace).folder.join("src"), &mut senders)?;
    }
    for shared in ["core", "ports", "authority", "verify"] {
        find_senders(&workspace.root().join("shared").join(shared).join("src"), &mut senders)?;
    }
    match senders.as_slice() {
        [_] => Ok(()),
        [] => bail!(
            "no file calls `{SEND_TO_TENANT}`; if the call has a new name, tell xtask/src/directions.rs"
        ),
        several => {
            let names: Vec<String> = several.iter().map(|file| file.display().to_string()).collect();
            bail!(
                "these all call `{SEND_TO_TENANT}`: {}; leave one and ask it from the others",
                names.join(", ")
            )
        }
    }
}

fn find_senders(folder: &Path, senders: &mut Vec<PathBuf>) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", folder.display())),
    };
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "tests" && name != "contract") {
                find_senders(&path, senders)?;
            }
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && path.file_name().is_none_or(|n| n != "tests.rs")
        {
            let source =
                fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
            // By custom a file's tests are its end.
            let product = source.split("#[cfg(test)]").next().unwrap_or_default();
            if product.contains(SEND_TO_TENANT) {
                senders.push(path);
            }
        }
    }
    Ok(())
}

fn output(mut command: std::process::Command) -> Result<String> {
    let output = command.output().context("cargo cannot be started")?;
    if !output.status.success() {
        bail!("cargo failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depends(package: &str, on: &str) -> bool {
        let dependency = serde_json::json!({ "name": on, "target": null });
        problem(package, &allowed(package).unwrap(), &dependency).is_none()
    }

    #[test]
    fn subscribers_and_the_command_line_see_no_host() {
        assert!(depends("hookproof-verify", "hookproof-core"));
        assert!(depends("hookproof-cli", "hookproof-core") && depends("hookproof-cli", "hookproof-verify"));
        for host in ["hookproof-ports", "hookproof-authority", "hookproof-native", "hookproof-workers"] {
            assert!(!depends("hookproof-verify", host) && !depends("hookproof-cli", host), "{host}");
        }
        assert!(!depends("hookproof-core", "hookproof-verify"));
    }

    #[test]
    fn a_flag_in_a_comment_is_none() {
        assert!(has_flag("compatibility_flags = [\"x\", \"global_fetch_strictly_public\"]", STRICTLY_PUBLIC));
        assert!(!has_flag("# compatibility_flags = [\"global_fetch_strictly_public\"]", STRICTLY_PUBLIC));
        assert!(!has_flag("compatibility_flags = []\n# global_fetch_strictly_public", STRICTLY_PUBLIC));
    }

    #[test]
    fn a_request_to_another_host_than_its_name_is_found() {
        let path = Path::new("x.rs");
        assert!(override_in(path, "cf: { resolveOverride: host }").is_some());
        assert!(override_in(path, "properties.resolve_override = host").is_some());
        assert!(override_in(path, "fn resolve(&self)").is_none());
    }

    #[test]
    fn the_workers_of_this_repository_are_strict() {
        let outcome = Workspace::locate().and_then(|workspace| strictly_public(&workspace));
        assert!(outcome.is_ok(), "{outcome:?}");
    }
}
