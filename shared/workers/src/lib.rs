//! The Cloudflare Workers adapter. Every port, carried to what workerd offers; nothing is decided here.
//!
//! Traps this crate keeps away from everybody else: an `Err` does not roll a Durable Object back
//! (only `transactionSync` does), a panic leaves its caller waiting for ever (so every call to an
//! object has a time limit), `fetch` follows redirects unless told not to, and booleans are stored as
//! text.

#![cfg(all(target_family = "wasm", target_os = "unknown"))]
#![warn(missing_docs)]

mod clock;
mod entropy;
mod fault;
pub mod http;
mod journal;
mod kv;
mod object;
mod objects;
mod queue;
mod resolver;
pub mod settings;
mod sql;
mod transport;

pub use clock::WorkersClock;
pub use entropy::WorkersEntropy;
pub use journal::ConsoleJournal;
pub use kv::WorkersKv;
pub use object::ObjectHost;
pub use objects::Objects;
pub use queue::{WorkersQueue, consume};
pub use resolver::PlatformResolver;
pub use sql::{DurableStore, DurableTx};
pub use transport::FetchTransport;
