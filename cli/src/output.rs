//! What is printed is safe to show on a terminal, and a reader that goes away is no fault.

use std::io::{self, BufWriter, IsTerminal as _, StdoutLock, Write as _};

use serde::Serialize;

use crate::Stop;
use crate::verdict::Verdict;

const GREEN: &str = "\u{1b}[32m";
const RED: &str = "\u{1b}[31m";
const PLAIN: &str = "\u{1b}[0m";

/// Standard output, as JSON or for a person.
pub(crate) struct Output {
    to: BufWriter<StdoutLock<'static>>,
    json: bool,
    colours: bool,
    /// Whether each verdict is to be seen at once.
    interactive: bool,
}

impl Output {
    /// Colours only on a terminal that does not ask to be left without (`NO_COLOR`).
    pub(crate) fn new(json: bool) -> Self {
        let interactive = io::stdout().is_terminal();
        let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let to = BufWriter::new(io::stdout().lock());
        Self { to, json, colours: interactive && !unwanted, interactive }
    }

    /// Prints one verdict.
    pub(crate) fn verdict(&mut self, verdict: &Verdict) -> Result<(), Stop> {
        let text = if self.json { json(verdict)? } else { self.prose(verdict) };
        self.to.write_all(text.as_bytes()).map_err(stop)?;
        if self.interactive { self.finish() } else { Ok(()) }
    }

    /// Prints text that the reader's program is to take as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Stop> {
        self.to.write_all(text.as_bytes()).map_err(stop)
    }

    /// A word in its colour.
    pub(crate) fn word(&self, accepted: bool) -> String {
        let (word, colour) = if accepted { ("accepted", GREEN) } else { ("refused ", RED) };
        let (on, off) = if self.colours { (colour, PLAIN) } else { ("", "") };
        format!("{on}{word}{off}")
    }

    /// Everything has been printed.
    pub(crate) fn finish(&mut self) -> Result<(), Stop> {
        self.to.flush().map_err(stop)
    }

    fn prose(&self, verdict: &Verdict) -> String {
        let mut text = format!("{}  {}\n", self.word(verdict.is_accepted()), visible(verdict.input()));
        for line in verdict.lines() {
            text.push_str("          ");
            text.push_str(&visible(&line));
            text.push('\n');
        }
        text
    }
}

pub(crate) fn json(verdict: &impl Serialize) -> Result<String, Stop> {
    let text = serde_json::to_string(verdict)
        .map_err(|error| Stop::Misuse(format!("the verdict cannot be written as JSON ({error})")))?;
    Ok(text + "\n")
}

/// With control characters and direction marks escaped: an input must not steer the terminal.
pub(crate) fn visible(text: &str) -> String {
    let steers = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) { out.extend(c.escape_unicode()) } else { out.push(c) }
    }
    out
}

/// Says on standard error what to do otherwise; if that cannot be written either, the exit code remains.
pub(crate) fn complain(what: &str) {
    let _ = writeln!(io::stderr(), "error: {}", visible(what));
}

#[expect(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn stop(error: io::Error) -> Stop {
    if error.kind() == io::ErrorKind::BrokenPipe {
        return Stop::BrokenPipe;
    }
    Stop::Misuse(format!("standard output cannot be written ({error})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_cannot_steer_the_terminal() {
        assert_eq!(
            visible("https://a\u{1b}[2J.example/\r\u{202e}"),
            "https://a\\u{1b}[2J.example/\\u{d}\\u{202e}"
        );
        assert_eq!(visible("https://münchen.de/"), "https://münchen.de/");
    }
}
