//! No process started here outlives this tool: each leads a process group of its own, and the whole group is
//! ended on drop, on Ctrl-C and on a termination signal. No foreign process is ever signalled.

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a group may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(5);
const POLL: Duration = Duration::from_millis(50);

static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());
static INTERRUPT_HANDLER: Once = Once::new();

fn live() -> MutexGuard<'static, BTreeSet<i32>> {
    // A set of numbers is whole even if a thread panicked while it held the lock.
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A child process and everything it started, except what left the group on purpose.
#[derive(Debug)]
pub struct Group {
    child: Child,
    id: Pid,
    reaped: Option<ExitStatus>,
}

impl Group {
    /// Starts `command` as the leader of a new process group, with no standard input.
    ///
    /// # Errors
    /// When the program cannot be started; the message names it.
    pub fn spawn(command: &mut Command) -> Result<Self> {
        end_children_on_interrupt();
        command.stdin(Stdio::null()).process_group(0);
        // Held across the spawn: an interrupt in between must already know the new group.
        let mut groups = live();
        let child = command.spawn().with_context(|| {
            format!("{} cannot be started; is it installed?", command.get_program().to_string_lossy())
        })?;
        let id =
            Pid::from_raw(i32::try_from(child.id()).context("The system gave a process id out of range.")?);
        groups.insert(id.as_raw());
        Ok(Self { child, id, reaped: None })
    }

    /// The number of the process group.
    #[must_use]
    pub fn id(&self) -> i32 {
        self.id.as_raw()
    }

    /// The leader's exit status, once it has ended.
    ///
    /// # Errors
    /// When the system cannot tell.
    pub fn try_wait(&mut self) -> Result<Option<ExitStatus>> {
        if self.reaped.is_none() {
            self.reaped = self.child.try_wait().context("The state of a child process cannot be read.")?;
        }
        Ok(self.reaped)
    }

    /// Asks the group to end, and kills what is left after a few seconds.
    pub fn stop(&mut self) {
        let _ = killpg(self.id, Signal::SIGTERM);
        let deadline = Instant::now() + GRACE;
        while group_exists(self.id) && Instant::now() < deadline {
            // Reaping the leader lets the group disappear.
            let _ = self.try_wait();
            sleep(POLL);
        }
        self.kill();
    }

    /// Kills the whole group at once, without any chance to finish work: what a crash looks like.
    pub fn kill(&mut self) {
        let _ = killpg(self.id, Signal::SIGKILL);
        if self.reaped.is_none() {
            self.reaped = self.child.wait().ok();
        }
        live().remove(&self.id.as_raw());
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if live().contains(&self.id.as_raw()) {
            self.kill();
        }
    }
}

/// Kills a group that an earlier run of this tool started, and waits until it is gone.
pub(crate) fn kill_group(group: i32) {
    let id = Pid::from_raw(group);
    let deadline = Instant::now() + GRACE;
    while killpg(id, Signal::SIGKILL).is_ok() && Instant::now() < deadline {
        sleep(POLL);
    }
}

fn group_exists(id: Pid) -> bool {
    killpg(id, None).is_ok()
}

/// Ctrl-C reaches only the terminal's foreground group, which the children have left.
fn end_children_on_interrupt() {
    INTERRUPT_HANDLER.call_once(|| {
        // Fails only if the program around this library installed a handler of its own, which then decides.
        let _ = ctrlc::set_handler(|| {
            let groups: Vec<Pid> = live().iter().copied().map(Pid::from_raw).collect();
            for id in &groups {
                let _ = killpg(*id, Signal::SIGTERM);
            }
            let deadline = Instant::now() + GRACE;
            while groups.iter().any(|id| group_exists(*id)) && Instant::now() < deadline {
                sleep(POLL);
            }
            for id in live().iter() {
                let _ = killpg(Pid::from_raw(*id), Signal::SIGKILL);
            }
            std::process::exit(130);
        });
    });
}
