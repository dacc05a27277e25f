//! Wrangler processes find each other's Workers through a folder with a file per Worker; this keeps that
//! folder true when a process was killed, and tells when the others have read it.

use std::fs;
use std::path::{Path, PathBuf};

/// Removes the entries of killed Workers. Otherwise wrangler takes them for running ones and does not
/// register their successors for 90 seconds.
pub(crate) fn forget(mirror: &Path, registry: &Path, configs: &[String]) {
    for entry in entries(mirror, registry, configs) {
        // It is not there if the process was killed before it registered.
        let _ = fs::remove_file(entry);
    }
}

/// Whether all of these Workers are registered.
pub(crate) fn holds(mirror: &Path, registry: &Path, configs: &[String]) -> bool {
    entries(mirror, registry, configs).all(|entry| entry.is_file())
}

/// Whether the last table of bindings in a wrangler log names none that waits for another process. The
/// registry alone cannot tell: each process reads it a moment later.
pub(crate) fn is_connected(log: &str) -> bool {
    let last_table = log.rsplit("has access to the following bindings").next().unwrap_or_default();
    !last_table.lines().any(|line| line.starts_with("env.") && line.contains("[not connected]"))
}

/// The files of the Workers with these configurations; one without a name has none that could be there.
fn entries(mirror: &Path, registry: &Path, configs: &[String]) -> impl Iterator<Item = PathBuf> {
    configs.iter().map(|config| {
        let text = fs::read_to_string(mirror.join(config)).unwrap_or_default();
        registry.join(worker_name(&text).unwrap_or(config))
    })
}

fn worker_name(config: &str) -> Option<&str> {
    let before_tables = config.lines().take_while(|line| !line.trim_start().starts_with('['));
    before_tables.filter_map(|line| line.split_once('=')).find_map(|(key, value)| {
        (key.trim() == "name")
            .then(|| value.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workers_name_is_the_one_before_all_tables() {
        assert_eq!(
            worker_name("main = \"a\"\nname = \"hookproof\" # front\n[vars]\nname = \"b\""),
            Some("hookproof")
        );
        assert_eq!(worker_name("[vars]\nname = \"b\""), None);
    }

    #[test]
    fn only_the_last_table_counts() {
        let table =
            |state| format!("Your Worker has access to the following bindings:\nenv.A (B)   [{state}]\n");
        let legend = "with their status indicated by [connected] or [not connected]";
        assert!(!is_connected(&format!("{}{legend}", table("not connected"))));
        assert!(is_connected(&format!("{}{}{legend}", table("not connected"), table("connected"))));
        assert!(!is_connected(&format!("{}{}", table("connected"), table("not connected"))));
    }
}
