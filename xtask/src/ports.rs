//! Ports on the loopback interface for one local stack, chosen before it starts, because each Worker's
//! settings name the others' addresses.

use anyhow::{Context, Result};
use std::net::{Ipv4Addr, TcpListener};

/// The ports of `cargo xtask run`, so that addresses can be kept in notes and scripts.
const FIXED: [u16; 3] = [8787, 8788, 8789];

/// Where the three local hosts listen, and their inspectors.
#[derive(Clone, Copy, Debug)]
pub struct Ports {
    /// The API of the sending side.
    pub sender: u16,
    /// The receipt endpoint.
    pub receipt: u16,
    /// The receiving side.
    pub receiver: u16,
    pub(crate) inspectors: [u16; 3],
}

impl Ports {
    /// Six ports that were free a moment ago; for tests, which may run beside a developer's own stack.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn free() -> Result<Self> {
        // All held at once, otherwise the system may give one twice.
        let listeners = (0..6).map(|_| listen(0)).collect::<Result<Vec<_>>>()?;
        let mut ports = [0; 6];
        for (port, listener) in ports.iter_mut().zip(&listeners) {
            *port = listener.local_addr().context("A free port cannot be read.")?.port();
        }
        let [sender, receipt, receiver, a, b, c] = ports;
        Ok(Self { sender, receipt, receiver, inspectors: [a, b, c] })
    }

    /// 8787, 8788 and 8789, and for each that is taken a free one and a sentence that says so.
    ///
    /// # Errors
    /// When the system gives no port.
    pub fn fixed_or_free() -> Result<(Self, Vec<String>)> {
        let mut ports = Self::free()?;
        let mut notes = Vec::new();
        for (fixed, chosen) in
            FIXED.into_iter().zip([&mut ports.sender, &mut ports.receipt, &mut ports.receiver])
        {
            if listen(fixed).is_ok() {
                *chosen = fixed;
            } else {
                notes.push(format!("Port {fixed} is taken by another program; {chosen} is used instead."));
            }
        }
        Ok((ports, notes))
    }

    /// The addresses that belong to these ports.
    #[must_use]
    pub fn urls(&self) -> Urls {
        let url = |port| format!("http://127.0.0.1:{port}");
        Urls { control: url(self.sender), receipt: url(self.receipt), receiver: url(self.receiver) }
    }
}

/// Base addresses without a trailing slash.
#[derive(Clone, Debug)]
pub struct Urls {
    /// The API.
    pub control: String,
    /// The receipt endpoint.
    pub receipt: String,
    /// The receiving side.
    pub receiver: String,
}

fn listen(port: u16) -> Result<TcpListener> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port))
        .with_context(|| format!("Port {port} of 127.0.0.1 is not free."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_replaced_and_named() {
        let held = listen(FIXED[0]);
        let (ports, notes) = Ports::fixed_or_free().unwrap();
        assert_ne!(ports.sender, FIXED[0]);
        assert!(notes.iter().any(|note| note.contains("8787")));
        drop(held);
    }

    #[test]
    fn free_ports_differ() {
        let ports = Ports::free().unwrap();
        let [a, b, c] = ports.inspectors;
        let distinct: std::collections::BTreeSet<u16> =
            [ports.sender, ports.receipt, ports.receiver, a, b, c].into_iter().collect();
        assert_eq!(distinct.len(), 6);
    }
}
