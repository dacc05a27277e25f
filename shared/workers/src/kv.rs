//! Workers KV: a cache that other places see a minute later, and that holds a miss as well.

use hookproof_core::Refusal;
use hookproof_ports::Kv;
use worker::Env;
use worker::kv::KvStore;

use crate::fault;

/// A namespace binding.
pub struct WorkersKv<'a> {
    env: &'a Env,
    binding: &'static str,
}

impl<'a> WorkersKv<'a> {
    /// The namespace behind `binding`.
    pub fn new(env: &'a Env, binding: &'static str) -> Self {
        Self { env, binding }
    }

    fn store(&self) -> Result<KvStore, Refusal> {
        self.env.kv(self.binding).map_err(|error| fault::host(self.binding, &error))
    }
}

impl Kv for WorkersKv<'_> {
    async fn get(&self, key: &str) -> Result<Option<String>, Refusal> {
        self.store()?.get(key).text().await.map_err(|error| fault::host(self.binding, &error))
    }

    async fn put(&self, key: &str, value: &str, seconds: u32) -> Result<(), Refusal> {
        let failed = |error| fault::host(self.binding, &error);
        let put = self.store()?.put(key, value).map_err(failed)?.expiration_ttl(seconds.into());
        put.execute().await.map_err(failed)
    }
}
