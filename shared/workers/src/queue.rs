//! Queues. Sending is batched to the platform's limits; receiving never fails a batch, since a
//! consumer that answers `Err` takes its whole isolate down.

use hookproof_core::Refusal;
use hookproof_ports::Queue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use worker::{Env, MessageBatch, MessageExt};

use crate::fault;

/// Messages in one `sendBatch`; the platform takes 100 messages and 256 KB.
const BATCH: usize = 10;

/// A producer binding. Messages travel as JSON text.
pub struct WorkersQueue<'a> {
    env: &'a Env,
    binding: &'static str,
}

impl<'a> WorkersQueue<'a> {
    /// The queue behind `binding`.
    pub fn new(env: &'a Env, binding: &'static str) -> Self {
        Self { env, binding }
    }
}

impl<M: Serialize> Queue<M> for WorkersQueue<'_> {
    async fn send(&self, messages: &[M]) -> Result<(), Refusal> {
        let queue = self.env.queue(self.binding).map_err(|error| fault::host(self.binding, &error))?;
        for chunk in messages.chunks(BATCH) {
            let texts: Result<Vec<String>, _> = chunk.iter().map(serde_json::to_string).collect();
            let texts = texts.map_err(|error| fault::host("a message does not serialise", &error))?;
            queue.send_batch(texts).await.map_err(|error| fault::host(self.binding, &error))?;
        }
        Ok(())
    }
}

/// The messages of a batch that parse. One that does not is acknowledged and dropped: it can never be
/// understood, and whatever it was about is repaired by its object's timer.
pub fn consume<M: DeserializeOwned>(batch: &MessageBatch<String>) -> Vec<M> {
    let messages = batch.messages().unwrap_or_default();
    let read = messages.iter().filter_map(|message| serde_json::from_str(message.body()).ok()).collect();
    for message in messages {
        message.ack();
    }
    read
}
