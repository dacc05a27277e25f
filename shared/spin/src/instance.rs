//! What an instance keeps between its requests: built by the first one, from settings read once.
//!
//! Spin gives an instance at most some hundred requests and drops it when idle, so a changed setting is
//! seen soon.

use std::cell::OnceCell;
use std::rc::Rc;
use std::thread::LocalKey;

use hookproof_core::Refusal;

/// Where a component keeps its value.
pub type Slot<T> = OnceCell<Rc<T>>;

/// The value in `slot`, made by `make` if there is none yet. Of two requests that make one at the same
/// time both get the first; a refusal is kept for nobody.
pub async fn shared<T: 'static>(
    slot: &'static LocalKey<Slot<T>>,
    make: impl Future<Output = Result<T, Refusal>>,
) -> Result<Rc<T>, Refusal> {
    if let Some(made) = slot.with(|slot| slot.get().cloned()) {
        return Ok(made);
    }
    let made = Rc::new(make.await?);
    Ok(slot.with(|slot| Rc::clone(slot.get_or_init(|| made))))
}
