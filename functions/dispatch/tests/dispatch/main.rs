//! Dispatch over native objects, with names and endpoints that a test scripts.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise fails the test")]

mod case;
mod crash;
mod dns;
mod filters;
mod flow;

#[path = "../../../../shared/authority/tests/support/mod.rs"]
mod support;
