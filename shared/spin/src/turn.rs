//! Turns: of the transactions of one instance one runs at a time, in the order they came.
//!
//! Those who wait look again after a while instead of being woken: a future of one request cannot count on
//! waking that of another. Who is further back waits longer, so that a long line costs no more than a
//! short one. Whoever has a turn is to be polled until it ends: left alone while something else of the
//! same task is awaited, it holds up everybody.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;

use spin_sdk::time::sleep;

/// How long the next in line waits before it looks again.
const LOOK: Duration = Duration::from_millis(1);

/// A line of those who wait.
#[derive(Default)]
pub(crate) struct Line(RefCell<Waiting>);

#[derive(Default)]
struct Waiting {
    tickets: VecDeque<u64>,
    next: u64,
}

/// A place in the line; leaving it, also by being dropped while waiting, lets the next one on.
pub(crate) struct Turn<'a> {
    line: &'a Line,
    ticket: u64,
}

impl Line {
    /// Waits until everyone before has left.
    pub(crate) async fn turn(&self) -> Turn<'_> {
        let ticket = {
            let mut waiting = self.0.borrow_mut();
            let ticket = waiting.next;
            waiting.next += 1;
            waiting.tickets.push_back(ticket);
            ticket
        };
        let turn = Turn { line: self, ticket };
        loop {
            let ahead = turn.ahead();
            if ahead == 0 {
                return turn;
            }
            sleep(LOOK * ahead).await;
        }
    }
}

impl Turn<'_> {
    fn ahead(&self) -> u32 {
        let waiting = self.line.0.borrow();
        let at = waiting.tickets.iter().position(|&ticket| ticket == self.ticket);
        at.and_then(|at| u32::try_from(at).ok()).unwrap_or_default()
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.line.0.borrow_mut().tickets.retain(|&ticket| ticket != self.ticket);
    }
}
