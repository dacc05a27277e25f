//! Queues wake; they never decide.

use hookproof_core::Refusal;

/// Sends messages that may be lost, doubled, reordered and delayed without harm.
pub trait Queue<M> {
    /// Sends all of `messages`; on an error any of them may have been sent.
    async fn send(&self, messages: &[M]) -> Result<(), Refusal>;
}
