//! Log lines as JSON on standard output, which Spin keeps for each component.

use std::io::{Write as _, stdout};

use hookproof_ports::{Journal, Line};

/// One JSON object a line; a line that cannot be written is lost, never an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct StdoutJournal;

impl Journal for StdoutJournal {
    fn record(&self, line: &Line<'_>) {
        if let Ok(text) = serde_json::to_string(line) {
            let _ = writeln!(stdout().lock(), "{text}");
        }
    }
}
