//! A state folder's secrets are made once, kept readable by its owner only, and the same after every restart,
//! because sealed rows in that state can be opened by no others.

use anyhow::{Context, Result};
use base64ct::{Base64UrlUnpadded, Encoding};
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The secrets of one state folder, by name.
pub struct Secrets {
    file: PathBuf,
    values: BTreeMap<String, String>,
}

impl Secrets {
    /// Opens the secrets in `state`, none if there are none yet.
    ///
    /// # Errors
    /// When the file is there but cannot be read.
    pub fn open(state: &Path) -> Result<Self> {
        let file = state.join("secrets.json");
        let values = match fs::read(&file) {
            Ok(text) => serde_json::from_slice(&text).with_context(|| {
                format!("{} is damaged; remove {} to begin anew.", file.display(), state.display())
            })?,
            Err(error) if error.kind() == ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error).with_context(|| format!("{} cannot be read.", file.display())),
        };
        Ok(Self { file, values })
    }

    /// The secret of this name: 32 random bytes in base64url without padding, made on the first call.
    ///
    /// # Errors
    /// When a new one cannot be made or kept.
    pub fn get(&mut self, name: &str) -> Result<String> {
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)
            .map_err(|error| anyhow::anyhow!("The system gives no random bytes: {error}"))?;
        let value = Base64UrlUnpadded::encode_string(&bytes);
        self.values.insert(name.to_owned(), value.clone());
        let text =
            serde_json::to_vec_pretty(&self.values).context("The secrets cannot be written as JSON.")?;
        write_private(&self.file, &text)?;
        Ok(value)
    }
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").field("names", &self.values.keys()).finish_non_exhaustive()
    }
}

/// Replaces `file` as a whole by one that only its owner can read.
pub(crate) fn write_private(file: &Path, content: &[u8]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder)?;
        }
        // Not with_extension: `.dev.vars` would lose its ending.
        let mut name = file.as_os_str().to_owned();
        name.push(".new");
        let new = PathBuf::from(name);
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            Ok(()) | Err(_) => {}
        }
        let mut out = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        out.write_all(content)?;
        fs::rename(&new, file)
    };
    write().with_context(|| format!("{} cannot be written.", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_is_made_once_and_only_for_its_owner() {
        let state = std::env::temp_dir().join(format!("hookproof-secrets-{}", std::process::id()));
        let first = Secrets::open(&state).unwrap().get("MASTER_KEY").unwrap();
        let mut reopened = Secrets::open(&state).unwrap();
        assert_eq!(reopened.get("MASTER_KEY").unwrap(), first);
        assert_ne!(reopened.get("OTHER").unwrap(), first);
        assert!(!format!("{reopened:?}").contains(&first));
        let mode = fs::metadata(state.join("secrets.json")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        fs::remove_dir_all(state).unwrap();
    }
}
