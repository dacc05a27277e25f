//! A cache in memory that can be told to lag behind, to fail, or to hold what somebody else put there.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Kv};

/// Values with the time at which each is over.
type Values = BTreeMap<String, (String, Timestamp)>;

/// Clones share their values and their switches.
#[derive(Clone)]
pub struct MemoryKv(Rc<Shared>);

struct Shared {
    clock: Box<dyn Clock>,
    /// What was written.
    written: RefCell<Values>,
    /// What readers see while it lags.
    seen: RefCell<Option<Values>>,
    fails: Cell<bool>,
}

impl MemoryKv {
    /// An empty one; values end by `clock`.
    pub fn new(clock: impl Clock + 'static) -> Self {
        Self(Rc::new(Shared {
            clock: Box::new(clock),
            written: RefCell::default(),
            seen: RefCell::default(),
            fails: Cell::default(),
        }))
    }

    /// From now on readers see what is there now, whatever is written; or, again, what was written last.
    pub fn lag(&self, lags: bool) {
        *self.0.seen.borrow_mut() = lags.then(|| self.0.written.borrow().clone());
    }

    /// From now on every call fails, or none.
    pub fn fail(&self, fails: bool) {
        self.0.fails.set(fails);
    }

    /// Every key that was written, also one whose time is over.
    pub fn keys(&self) -> Vec<String> {
        self.0.written.borrow().keys().cloned().collect()
    }

    fn reached(&self) -> Result<Timestamp, Refusal> {
        if self.0.fails.get() {
            return Err(Refusal::new(Reason::InternalHost, "the cache cannot be reached"));
        }
        Ok(self.0.clock.now())
    }
}

impl Kv for MemoryKv {
    async fn get(&self, key: &str) -> Result<Option<String>, Refusal> {
        let now = self.reached()?;
        let (seen, written) = (self.0.seen.borrow(), self.0.written.borrow());
        let found = seen.as_ref().unwrap_or(&written).get(key);
        Ok(found.filter(|(_, until)| now < *until).map(|(value, _)| value.clone()))
    }

    async fn put(&self, key: &str, value: &str, seconds: u32) -> Result<(), Refusal> {
        let until = self.reached()? + Span::seconds(seconds.into());
        self.0.written.borrow_mut().insert(key.to_owned(), (value.to_owned(), until));
        Ok(())
    }
}

impl fmt::Debug for MemoryKv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryKv({:?})", self.keys())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TestClock;

    #[tokio::test]
    async fn a_value_is_gone_when_its_time_is_over_and_unseen_while_it_lags() {
        let clock = TestClock::at(Timestamp::from_unix(0));
        let kv = MemoryKv::new(clock.clone());
        kv.put("a", "old", 60).await.unwrap();
        kv.lag(true);
        kv.put("a", "new", 120).await.unwrap();
        assert_eq!(kv.get("a").await.unwrap().as_deref(), Some("old"));
        clock.advance(Span::seconds(60));
        assert_eq!(kv.get("a").await.unwrap(), None);
        kv.lag(false);
        assert_eq!(kv.get("a").await.unwrap().as_deref(), Some("new"));
    }
}
