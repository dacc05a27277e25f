//! The objects that hold the truth. Each is a set of commands and replies over one SQLite transaction
//! a command: load, let the core decide, write what it decided. The same code and the same schema run
//! in a Durable Object, on Spin and natively.
//!
//! | object | key | decides |
//! |---|---|---|
//! | [`subscription::Authority`] | subscription id | generations, credentials, challenges, deliveries, evidence |
//! | [`event::Events`] | tenant, environment, shard | an event's frozen bytes and who still has to be asked |
//! | [`directory::Directory`] | tenant, environment | which subscriptions may want an event |
//! | [`token::Tokens`] | token id | what a token may do |
//! | [`inbox::Sources`], [`inbox::Inbox`] | source | the subscriber's side |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod api;
pub mod directory;
pub mod event;
pub mod idempotency;
pub mod inbox;
pub mod message;
pub mod subscription;
pub mod token;

mod rows;
