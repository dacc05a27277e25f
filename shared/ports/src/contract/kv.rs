//! What [`Kv`] promises: whole values, sooner or later the newest, and refusals instead of panics.

use hookproof_core::time::Span;

use super::{Broken, expect};
use crate::kv::Kv;

/// Polls this often for what may take a while to be seen.
const POLLS: u32 = 60;
const PAUSE: Span = Span::seconds(1);
const SECONDS: u32 = 3600;

/// Runs the whole suite on `kv`, under keys of its own, which an earlier run may have used. `broken` is one
/// that cannot be reached; `pause` lets time pass. Returns the number of promises checked.
pub async fn kv_keeps_its_promises<K: Kv, B: Kv>(
    kv: &K,
    broken: &B,
    pause: impl AsyncFn(Span),
) -> Result<u32, Broken> {
    let missing = kv.get("contract:never-written").await;
    expect(missing == Ok(None), "a key that was never written has no value")?;
    let hard = format!("\u{e9}\u{1f511} \"quoted\"\\\r\n{{}}{}", "x".repeat(16 * 1024));
    keeps(kv, "contract:one", &hard, &pause, "a value comes back as it was written").await?;
    keeps(kv, "contract:two", "another", &pause, "keys do not share a value").await?;
    let first = kv.get("contract:one").await;
    expect(first == Ok(Some(hard)), "writing one key leaves another alone")?;
    keeps(kv, "contract:one", "newer", &pause, "a newer value replaces an older one").await?;
    expect(broken.get("contract:one").await.is_err(), "a read that fails is reported")?;
    expect(broken.put("contract:one", "x", SECONDS).await.is_err(), "a write that fails is reported")?;
    Ok(7)
}

async fn keeps<K: Kv>(
    kv: &K,
    key: &str,
    value: &str,
    pause: &impl AsyncFn(Span),
    promise: &str,
) -> Result<(), Broken> {
    let written = kv.put(key, value, SECONDS).await;
    written.map_err(|refusal| Broken(format!("{promise}: it cannot be written: {refusal}")))?;
    for _ in 0..POLLS {
        let read = kv.get(key).await;
        let read = read.map_err(|refusal| Broken(format!("{promise}: it cannot be read: {refusal}")))?;
        if read.as_deref() == Some(value) {
            return Ok(());
        }
        pause(PAUSE).await;
    }
    Err(Broken(promise.to_owned()))
}
