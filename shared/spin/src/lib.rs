//! The Spin adapter. Every port, carried to what Spin 4.1 offers; nothing is decided here.
//!
//! Traps this crate keeps away from everybody else: SQLite tells of a failure only in the future behind
//! the rows, its journal is neither WAL nor `synchronous=FULL` unless told to, outbound HTTP waits ten
//! minutes unless told otherwise, statics are shared by every request of an instance, and nothing wakes a
//! component but a request: queues are rows, and `tick` works them off.

#![cfg(target_os = "wasi")]
#![warn(missing_docs)]

mod clock;
mod entropy;
mod fault;
pub mod http;
pub mod instance;
mod journal;
mod kv;
mod objects;
mod queue;
mod resolver;
pub mod settings;
mod sql;
pub mod tick;
mod transport;
mod turn;

pub use clock::SpinClock;
pub use entropy::SpinEntropy;
pub use journal::StdoutJournal;
pub use kv::SpinKv;
pub use objects::{Objects, Sender, Subscriber};
pub use queue::SpinQueue;
pub use resolver::PlatformResolver;
pub use spin_sdk::wasip3::spawn;
pub use sql::{SpinStore, SpinTx};
pub use transport::WasiTransport;
