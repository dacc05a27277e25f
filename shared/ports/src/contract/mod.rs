//! Suites every adapter must pass. Each is an `async fn` that returns the first promise it saw broken;
//! natively a test awaits it, on Workers an object runs it against its own storage.

mod ask;
mod kv;
mod store;
mod transport;

pub use ask::{Counted, Counter, CounterCommand, ask_keeps_its_promises};
pub use kv::kv_keeps_its_promises;
pub use store::store_keeps_its_promises;
pub use transport::{GZIP, transport_keeps_its_promises};

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(pub String);

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

fn expect(kept: bool, promise: &str) -> Result<(), Broken> {
    if kept { Ok(()) } else { Err(Broken(promise.to_owned())) }
}
