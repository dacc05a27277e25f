//! Hosts that outlived a stack which was itself killed are ended before the next one starts on the same
//! state; otherwise two runtimes would write the same databases. Only a process whose command line names this
//! very state folder is touched.

use crate::process;
use crate::stack::Host;
use std::fs;
use std::path::{Path, PathBuf};

/// Notes the process group of a host.
pub(crate) fn remember(state: &Path, host: Host, group: i32) {
    // Without the note nothing is lost but this clean-up.
    let _ = fs::write(note(state, host), group.to_string());
}

/// Ends what an earlier stack left behind. Needs `/proc`; elsewhere nothing is done.
pub(crate) fn end(state: &Path) {
    for host in Host::ALL {
        let note = note(state, host);
        let group = fs::read_to_string(&note).ok().and_then(|text| text.trim().parse().ok());
        if let Some(group) = group.filter(|group| is_ours(*group, &state.join(host.name()))) {
            process::kill_group(group);
        }
        let _ = fs::remove_file(&note);
    }
}

fn is_ours(leader: i32, persisted: &Path) -> bool {
    let Ok(arguments) = fs::read(format!("/proc/{leader}/cmdline")) else { return false };
    let arguments = String::from_utf8_lossy(&arguments);
    let mut arguments = arguments.split('\0');
    arguments.any(|argument| argument == "--persist-to")
        && arguments.next().is_some_and(|folder| Path::new(folder) == persisted)
}

fn note(state: &Path, host: Host) -> PathBuf {
    state.join(format!("{}.pid", host.name()))
}
