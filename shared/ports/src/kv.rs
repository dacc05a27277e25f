//! A cache that decides nothing: it may be stale, empty or gone, and whoever reads it can do without.

use hookproof_core::Refusal;

/// Keeps small text values by name for a while. A read may miss what was just written, or find what was
/// there before; another place may see a write a minute later.
pub trait Kv {
    /// The value under `key`, if one is known and its time is not over.
    async fn get(&self, key: &str) -> Result<Option<String>, Refusal>;

    /// Keeps `value` under `key` for about `seconds`, at least 60. A key is at most 512 octets of letters,
    /// digits and `:_-`; a value is not empty.
    async fn put(&self, key: &str, value: &str, seconds: u32) -> Result<(), Refusal>;
}
