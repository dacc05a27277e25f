//! Spin's key-value store. It knows no expiry, so each value has the time of its end in front.

use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Kv};
use spin_sdk::key_value::Store;

use crate::clock::SpinClock;
use crate::fault;

/// A store that `spin.toml` grants the component, opened for each call.
pub struct SpinKv {
    label: &'static str,
    clock: SpinClock,
}

impl SpinKv {
    /// The store with this label.
    pub fn new(label: &'static str, clock: SpinClock) -> Self {
        Self { label, clock }
    }

    async fn store(&self) -> Result<Store, Refusal> {
        Store::open(self.label).await.map_err(|error| fault::host("opening the key-value store", &error))
    }
}

impl Kv for SpinKv {
    async fn get(&self, key: &str) -> Result<Option<String>, Refusal> {
        let read = self.store().await?.get(key).await;
        let Some(octets) = read.map_err(|error| fault::host("reading the key-value store", &error))? else {
            return Ok(None);
        };
        let text = String::from_utf8(octets)
            .map_err(|_| Refusal::new(Reason::InternalHost, "a value of the key-value store is no text"))?;
        // What is not written as below was not written here.
        let Some((until, value)) = text.split_once('\n') else { return Ok(None) };
        let until = until.parse().ok().map(Timestamp::from_millis);
        Ok(until.filter(|&until| self.clock.now() < until).map(|_| value.to_owned()))
    }

    async fn put(&self, key: &str, value: &str, seconds: u32) -> Result<(), Refusal> {
        let until = self.clock.now() + Span::seconds(seconds.into());
        let written = self.store().await?.set(key, format!("{}\n{value}", until.millis())).await;
        written.map_err(|error| fault::host("writing the key-value store", &error))
    }
}
