//! Every step shows that it runs, how long it took, and, when it fails, the end of its output and the file
//! with all of it.

use crate::process::Group;
use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io::{IsTerminal, Read, Seek, SeekFrom, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(100);
/// Without a terminal a step that is not short says after this time that it runs, and then this often.
const FIRST_SIGN: Duration = Duration::from_secs(3);
const STILL_RUNNING: Duration = Duration::from_secs(60);
const TAIL_LINES: usize = 40;

/// Writes one line per step to standard output.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    verbose: bool,
    terminal: bool,
}

impl Progress {
    /// With `verbose` the output of each step is shown while it runs.
    #[must_use]
    pub fn new(verbose: bool) -> Self {
        Self { verbose, terminal: stdout().is_terminal() }
    }

    /// Whether the output of steps is shown while they run.
    #[must_use]
    pub fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// A line of information.
    pub fn say(&self, line: &str) {
        print(&format!("{line}\n"));
    }

    /// The line that a finished step leaves.
    pub fn done(&self, title: &str, took: Duration) {
        print(&format!("{}  ok {:>7.1} s  {title}\n", self.line_start(), took.as_secs_f32()));
    }

    /// Does work of this program, with the same lines as a step.
    ///
    /// # Errors
    /// Those of the work.
    pub fn during<T>(&self, title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let started = Instant::now();
        let (finished, watch) = channel::<()>();
        let outcome = std::thread::scope(|threads| {
            threads.spawn(move || {
                let mut next_sign = FIRST_SIGN;
                while watch.recv_timeout(POLL) == Err(RecvTimeoutError::Timeout) {
                    self.sign(title, started.elapsed(), &mut next_sign, || "still at it".to_owned());
                }
            });
            let outcome = work();
            drop(finished);
            outcome
        });
        if outcome.is_ok() {
            self.done(title, started.elapsed());
        } else {
            self.failed(title, started.elapsed());
        }
        outcome
    }

    /// Runs `command` to its end; its output goes to a file in `logs`, whose path is given back.
    ///
    /// # Errors
    /// When the program cannot be started or ends with a failure; the end of its output has been printed.
    pub fn run(&self, title: &str, logs: &Path, command: &mut Command) -> Result<PathBuf> {
        let log = log_file(logs, title);
        let (success, status, took) = self.run_to_file(title, &log, command)?;
        if success {
            self.done(title, took);
            return Ok(log);
        }
        self.failed(title, took);
        if !self.verbose {
            print(&indent(&tail(&log, TAIL_LINES)));
        }
        bail!("{title}: {status}. The whole output is in {}", log.display())
    }

    fn run_to_file(
        &self,
        title: &str,
        log: &Path,
        command: &mut Command,
    ) -> Result<(bool, String, Duration)> {
        let started = Instant::now();
        let output = create(log)?;
        let errors = output.try_clone().with_context(|| format!("{} cannot be written.", log.display()))?;
        command.stdout(output).stderr(errors);
        let mut group = Group::spawn(command)?;
        let mut shown = File::open(log).with_context(|| format!("{} cannot be read.", log.display()))?;
        let mut next_sign = FIRST_SIGN;
        loop {
            let ended = group.try_wait()?;
            self.show_new_output(&mut shown);
            if let Some(status) = ended {
                group.kill();
                return Ok((status.success(), status.to_string(), started.elapsed()));
            }
            self.sign(title, started.elapsed(), &mut next_sign, || tail(log, 1).trim().to_owned());
            sleep(POLL);
        }
    }

    fn failed(&self, title: &str, took: Duration) {
        print(&format!("{}  FAILED {:>3.1} s  {title}\n", self.line_start(), took.as_secs_f32()));
    }

    /// A sign of life: the seconds on a terminal, otherwise a line now and then.
    fn sign(&self, title: &str, elapsed: Duration, next: &mut Duration, doing: impl FnOnce() -> String) {
        if self.terminal && !self.verbose {
            print(&format!("{}  .. {:>7.0} s  {title}", self.line_start(), elapsed.as_secs_f32()));
        } else if elapsed >= *next {
            print(&format!("  .. {:>7} s  {title}: {}\n", elapsed.as_secs(), doing()));
            *next = elapsed + STILL_RUNNING;
        }
    }

    fn show_new_output(&self, shown: &mut File) {
        if self.verbose {
            let mut text = Vec::new();
            let _ = shown.read_to_end(&mut text);
            print(&String::from_utf8_lossy(&text));
        }
    }

    /// Takes back the ticking line, if there is one.
    fn line_start(&self) -> &'static str {
        if self.terminal && !self.verbose { "\r\x1b[2K" } else { "" }
    }
}

/// Where [`Progress::run`] keeps the output of the step with this title.
#[must_use]
pub fn log_file(logs: &Path, title: &str) -> PathBuf {
    let words = title.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    logs.join(format!("{}.log", words.collect::<Vec<_>>().join("-").to_ascii_lowercase()))
}

/// The last `lines` lines of a file, or why it cannot be read.
#[must_use]
pub fn tail(file: &Path, lines: usize) -> String {
    const ENOUGH: u64 = 64 * 1024;
    let read = || -> std::io::Result<String> {
        let mut file = File::open(file)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(ENOUGH)))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    match read() {
        Ok(text) => {
            let all: Vec<&str> = text.lines().collect();
            all.get(all.len().saturating_sub(lines)..).unwrap_or_default().join("\n")
        }
        Err(error) => format!("({} cannot be read: {error})", file.display()),
    }
}

/// Creates a file and the folders above it.
pub(crate) fn create(file: &Path) -> Result<File> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).with_context(|| format!("{} cannot be created.", folder.display()))?;
    }
    File::create(file).with_context(|| format!("{} cannot be written.", file.display()))
}

/// A reader that went away (`| head`) is no reason to stop, let alone to panic as `print!` does.
fn print(text: &str) {
    let mut out = stdout().lock();
    let _ = out.write_all(text.as_bytes());
    let _ = out.flush();
}

fn indent(text: &str) -> String {
    text.lines().map(|line| format!("     | {line}\n")).collect()
}
