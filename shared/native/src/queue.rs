//! Messages in memory, first in first out. Each passes through JSON, as between two Workers, so that a
//! message that does not survive it shows here.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use hookproof_core::Refusal;
use hookproof_ports::{Queue, json};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A queue that loses and doubles nothing by itself; clones share their messages.
pub struct MemoryQueue<M> {
    messages: Rc<RefCell<VecDeque<String>>>,
    kind: PhantomData<fn(M) -> M>,
}

impl<M: DeserializeOwned> MemoryQueue<M> {
    /// Takes up to `at_most` of the oldest messages; one that cannot be read is gone and refuses them.
    pub fn take(&self, at_most: usize) -> Result<Vec<M>, Refusal> {
        let mut messages = self.messages.borrow_mut();
        let count = at_most.min(messages.len());
        let taken: Vec<String> = messages.drain(..count).collect();
        taken.iter().map(|text| json::read("message", text)).collect()
    }
}

impl<M> MemoryQueue<M> {
    /// How many messages wait.
    pub fn len(&self) -> usize {
        self.messages.borrow().len()
    }

    /// Whether none waits.
    pub fn is_empty(&self) -> bool {
        self.messages.borrow().is_empty()
    }
}

impl<M: Serialize> Queue<M> for MemoryQueue<M> {
    async fn send(&self, messages: &[M]) -> Result<(), Refusal> {
        for message in messages {
            let text = json::write("message", message)?;
            self.messages.borrow_mut().push_back(text);
        }
        Ok(())
    }
}

impl<M> Clone for MemoryQueue<M> {
    fn clone(&self) -> Self {
        Self { messages: Rc::clone(&self.messages), kind: PhantomData }
    }
}

impl<M> Default for MemoryQueue<M> {
    fn default() -> Self {
        Self { messages: Rc::default(), kind: PhantomData }
    }
}

impl<M> fmt::Debug for MemoryQueue<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MemoryQueue({} waiting)", self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookproof_core::Reason;

    #[tokio::test]
    async fn messages_come_out_in_the_order_they_went_in() {
        let queue = MemoryQueue::<u32>::default();
        queue.clone().send(&[1, 2, 3]).await.unwrap();
        assert_eq!(queue.take(2).unwrap(), [1, 2]);
        assert_eq!((queue.len(), queue.take(9).unwrap()), (1, vec![3]));
        assert!(queue.is_empty());
    }

    #[tokio::test]
    async fn a_message_that_does_not_survive_json_is_refused_without_its_values() {
        let queue = MemoryQueue::<f64>::default();
        queue.send(&[f64::NAN]).await.unwrap();
        let refusal = queue.take(1).unwrap_err();
        assert_eq!(refusal.reason, Reason::InternalHost);
        assert_eq!(refusal.detail, "a message does not survive JSON: Data at line 1, column 4");
    }
}
