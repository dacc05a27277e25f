//! What the functions need of a host, one narrow capability a trait.
//!
//! | port | promises |
//! |---|---|
//! | [`Clock`] | the host's wall clock |
//! | [`Entropy`] | unpredictable octets |
//! | [`Sql`], [`Store`] | one serialisable transaction: all of it or nothing |
//! | [`Ask`] | a command to the one object that decides it, and its reply |
//! | [`Queue`] | at most a hint: messages may be lost, doubled and reordered |
//! | [`Kv`] | at most a cache: values may be stale, missing or gone |
//! | [`Resolver`] | the addresses of a name, or that the platform resolves by itself |
//! | [`Transport`] | one request, no redirect, one outcome |
//! | [`Journal`] | structured log lines without secrets |
//!
//! [`Objects`] is [`Ask`] for every host that keeps its objects in one database of its own: native and Spin.
//!
//! Hosts are single-threaded, so no trait asks for `Send`. [`contract`] holds the suites that every
//! adapter must pass.

#![forbid(unsafe_code)]
#![warn(missing_docs)]
#![expect(async_fn_in_trait, reason = "hosts are single-threaded; a Send bound would exclude Workers")]

mod ask;
mod clock;
pub mod contract;
mod egress;
mod entropy;
mod journal;
pub mod json;
mod kv;
mod objects;
mod queue;
mod resolver;
mod sql;
mod transport;

pub use ask::{Aggregate, Alarm, Ask, Commit, Context};
pub use clock::Clock;
pub use egress::{Egress, SendFailure, Sent};
pub use entropy::{Entropy, random};
pub use journal::{Journal, Line};
pub use kv::Kv;
pub use objects::Objects;
pub use queue::Queue;
pub use resolver::{Resolution, Resolver};
pub use sql::{FromRow, Row, Sql, Store, Value};
pub use transport::{Outbound, Reply, Transport, TransportFailure};
