//! What a local stack runs is a copy, made when it starts: configurations, builds and generated settings
//! below its state folder. So a build meanwhile changes nothing under a running test, two stacks never share
//! settings, and no secret is ever written into the source tree.
//!
//! Settings go into a `.dev.vars` beside each configuration, also the public ones: with several `-c`,
//! wrangler hands `--var` and `--env-file` to the first Worker only.

use crate::functions::Function;
use crate::secrets::write_private;
use crate::stack::Settings;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Makes the copy below `state` and gives back its root, which mirrors the repository's. The folders in
/// `front` come beside it and read what control reads.
pub(crate) fn make(
    workspace: &Workspace,
    state: &Path,
    settings: &Settings,
    front: &[PathBuf],
) -> Result<PathBuf> {
    let mirror = state.join("workers");
    remove(&mirror)?;
    for function in Function::ALL {
        let config = mirror.join(function.config());
        copy(&workspace.root().join(function.config()), &config)?;
        let build = Path::new("functions").join(function.name()).join("build");
        if !function.module(workspace).is_file() {
            bail!("functions/{} is not built; run: cargo xtask build", function.name());
        }
        copy_folder(&workspace.root().join(&build), &mirror.join(&build))?;
        write_private(&config.with_file_name(".dev.vars"), env_file(settings, function)?.as_bytes())?;
    }
    for folder in front {
        let config = mirror.join(front_config(folder));
        copy_folder(folder, config.parent().unwrap_or(&mirror))?;
        let vars = env_file(settings, Function::Control)?;
        write_private(&config.with_file_name(".dev.vars"), vars.as_bytes())?;
    }
    Ok(mirror)
}

/// The configuration of a front Worker, relative to the copy's root.
pub(crate) fn front_config(folder: &Path) -> String {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    format!("front/{name}/wrangler.toml")
}

fn env_file(settings: &Settings, function: Function) -> Result<String> {
    let vars = settings.vars.iter().map(|(name, value)| (name, value));
    let secrets = settings
        .secrets
        .iter()
        .filter(|(owner, _, _)| *owner == function)
        .map(|(_, name, value)| (name, value));
    let mut text = String::new();
    for (name, value) in vars.chain(secrets) {
        let _ = writeln!(text, "{name}={}", quoted(name, value)?);
    }
    Ok(text)
}

/// dotenv knows no escapes inside single quotes or backticks, so such a value arrives as it is.
fn quoted(name: &str, value: &str) -> Result<String> {
    match ['\'', '`'].into_iter().find(|quote| !value.contains(*quote)) {
        Some(quote) if !value.contains('\r') => Ok(format!("{quote}{value}{quote}")),
        Some(_) | None => {
            bail!("The setting {name} cannot be written to an env file; avoid ', ` and carriage returns.")
        }
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be created.", folder.display()))?;
    }
    fs::copy(from, to)
        .with_context(|| format!("{} cannot be copied to {}.", from.display(), to.display()))?;
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let entries = fs::read_dir(from).with_context(|| format!("{} cannot be read.", from.display()))?;
    for entry in entries.flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &target)?;
        } else {
            copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Removes a folder and everything in it, if it is there.
pub(crate) fn remove(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be removed.", folder.display()))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_reaches_its_function_only_and_a_variable_all() {
        let settings = Settings {
            vars: vec![("ISSUER".into(), "http://127.0.0.1:8787".into())],
            secrets: vec![(Function::Dispatch, "MASTER_KEY".into(), r#"{"a":"b"}"#.into())],
        };
        let control = env_file(&settings, Function::Control).unwrap();
        assert_eq!(control, "ISSUER='http://127.0.0.1:8787'\n");
        let dispatch = env_file(&settings, Function::Dispatch).unwrap();
        assert_eq!(dispatch, "ISSUER='http://127.0.0.1:8787'\nMASTER_KEY='{\"a\":\"b\"}'\n");
    }

    #[test]
    fn a_value_that_would_change_on_its_way_is_refused() {
        assert_eq!(quoted("A", "it's").unwrap(), "`it's`");
        assert!(quoted("A", "'`").is_err());
        assert!(quoted("A", "a\rb").is_err());
    }
}
