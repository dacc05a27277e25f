//! Queues. Sending is batched to the platform's limits; receiving never fails a batch, since a
//! consumer that answers `Err` takes its whole isolate down.

use hookproof_core::Refusal;
use hookproof_ports::Queue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{Env, MessageBatch, MessageExt, QueueContentType, RawMessageBuilder};

use crate::fault;

/// Messages and octets in one `sendBatch`; the platform takes 100 messages and 256 KB, its own framing
/// included. A body full of quotes doubles as JSON text, so octets are counted and not guessed.
const BATCH: (usize, usize) = (100, 200 * 1024);

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

    async fn flush(&self, queue: &worker::Queue, batch: Vec<String>) -> Result<(), Refusal> {
        let as_message = |text: String| {
            RawMessageBuilder::new(JsValue::from_str(&text)).build_with_content_type(QueueContentType::Text)
        };
        let messages: Vec<_> = batch.into_iter().map(as_message).collect();
        queue.send_raw_batch(messages).await.map_err(|error| fault::host(self.binding, &error))
    }
}

impl<M: Serialize> Queue<M> for WorkersQueue<'_> {
    async fn send(&self, messages: &[M]) -> Result<(), Refusal> {
        let queue = self.env.queue(self.binding).map_err(|error| fault::host(self.binding, &error))?;
        let mut batch: Vec<String> = Vec::new();
        let mut octets = 0;
        for message in messages {
            let text = serde_json::to_string(message)
                .map_err(|error| fault::host("a message does not serialise", &error))?;
            let full = batch.len() == BATCH.0 || octets + text.len() > BATCH.1;
            if full && !batch.is_empty() {
                self.flush(&queue, std::mem::take(&mut batch)).await?;
                octets = 0;
            }
            octets += text.len();
            batch.push(text);
        }
        if batch.is_empty() { Ok(()) } else { self.flush(&queue, batch).await }
    }
}

/// The messages of a batch that parse. One that does not is acknowledged and dropped: it can never be
/// understood, and whatever it was about is repaired by its object's timer.
pub fn consume<M: DeserializeOwned>(batch: &MessageBatch<String>) -> Vec<M> {
    let mut read = Vec::new();
    for message in batch.raw_iter() {
        read.extend(message.body().as_string().and_then(|text| serde_json::from_str(&text).ok()));
        message.ack();
    }
    read
}
