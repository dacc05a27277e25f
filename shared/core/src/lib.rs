//! Every decision Hookproof takes, as pure functions of their arguments.
//!
//! Nothing here reads a clock, draws randomness, or touches a network or a disk: time, nonces and
//! bytes arrive as arguments and what should happen leaves as a value. The same code therefore runs
//! in a Durable Object, in a Spin component, natively and in a simulation.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod base64;
pub mod challenge;
pub mod decimal;
pub mod digest;
pub mod endpoint;
pub mod envelope;
pub mod evidence;
pub mod filter;
pub mod id;
pub mod json;
pub mod key_document;
pub mod keys;
pub mod ledger;
pub mod pointer;
pub mod reason;
pub mod receipt;
pub mod receiver;
pub mod retry;
pub mod schema;
pub mod secret;
pub mod signature;
pub mod subscription;
pub mod time;
pub mod token;
pub mod tuple;

pub use reason::{Reason, Refusal};
