//! Log lines as JSON on the console.

use hookproof_ports::{Journal, Line};

/// One JSON object a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConsoleJournal;

impl Journal for ConsoleJournal {
    fn record(&self, line: &Line<'_>) {
        if let Ok(text) = serde_json::to_string(line) {
            worker::console_log!("{text}");
        }
    }
}
