//! Lines as JSON, one each: to stderr, or kept for a test to read.

use std::cell::RefCell;
use std::io::{Write as _, stderr};
use std::rc::Rc;

use hookproof_ports::{Journal, Line};

/// Writes each line to stderr; a line that cannot be written is lost, never an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonLines;

impl Journal for JsonLines {
    fn record(&self, line: &Line<'_>) {
        if let Ok(text) = serde_json::to_string(line) {
            let _ = writeln!(stderr().lock(), "{text}");
        }
    }
}

/// Keeps every line in memory; clones keep into one list.
#[derive(Clone, Debug, Default)]
pub struct Kept(Rc<RefCell<Vec<String>>>);

impl Kept {
    /// All lines so far, as JSON.
    pub fn lines(&self) -> Vec<String> {
        self.0.borrow().clone()
    }

    /// Whether some line contains `text`.
    pub fn mentions(&self, text: &str) -> bool {
        self.0.borrow().iter().any(|line| line.contains(text))
    }
}

impl Journal for Kept {
    fn record(&self, line: &Line<'_>) {
        self.0.borrow_mut().extend(serde_json::to_string(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookproof_core::Reason;

    #[test]
    fn a_line_is_json_without_what_is_absent() {
        let kept = Kept::default();
        let line =
            Line { event: "settled", attempt: Some(2), reason: Some(Reason::LeaseStale), ..Line::default() };
        kept.clone().record(&line);
        assert_eq!(kept.lines(), [r#"{"event":"settled","attempt":2,"reason":"lease.stale"}"#]);
        assert!(kept.mentions("lease.stale") && !kept.mentions("delivery"));
    }
}
