//! The ports on an ordinary machine: for tests, simulation, benches and local work without wasm.
//!
//! | module | port | with |
//! |---|---|---|
//! | [`sql`] | `Store`, `Sql` | rusqlite: one connection, WAL, `synchronous=FULL` |
//! | [`objects`] | `Ask` | a transaction in process; alarms in a table beside the objects' own |
//! | [`clock`] | `Clock` | the system's time, or a test's |
//! | [`entropy`] | `Entropy` | the system's generator, or a seed |
//! | [`transport`] | `Transport` | hyper and rustls, to the vetted address |
//! | [`resolver`] | `Resolver` | the system's resolver, or a list |
//! | [`journal`] | `Journal` | JSON lines |
//! | [`kv`] | `Kv` | memory, with switches |
//! | [`queue`] | `Queue` | memory |
//!
//! They carry and decide nothing. Like the hosts they stand in for they are single-threaded: share them
//! with `Rc`, drive them on a current-thread runtime.

#![cfg(not(target_family = "wasm"))]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod clock;
pub mod contract_server;
pub mod entropy;
pub mod journal;
pub mod kv;
pub mod objects;
pub mod queue;
pub mod resolver;
pub mod sql;
pub mod transport;

pub use clock::{SystemClock, TestClock};
pub use entropy::{SeededEntropy, SystemEntropy};
pub use journal::{JsonLines, Kept};
pub use kv::MemoryKv;
pub use objects::Objects;
pub use queue::MemoryQueue;
pub use resolver::{FixedResolver, SystemResolver};
pub use sql::NativeStore;
pub use transport::NativeTransport;
