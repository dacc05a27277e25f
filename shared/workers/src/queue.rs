//! Queues. Sending is batched to the platform's limits; receiving never fails a batch, since a
//! consumer that answers `Err` takes its whole isolate down.

use hookproof_core::Refusal;
use hookproof_ports::Queue;
use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::JsValue;
use worker::{Env, MessageBatch, MessageExt, QueueContentType, RawMessageBuilder};

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
            let text = |message| serde_json::to_string(message).map(|text| JsValue::from_str(&text));
            let texts: Result<Vec<JsValue>, _> = chunk.iter().map(text).collect();
            let texts = texts.map_err(|error| fault::host("a message does not serialise", &error))?;
            let messages = texts
                .into_iter()
                .map(|text| RawMessageBuilder::new(text).build_with_content_type(QueueContentType::Text));
            queue
                .send_raw_batch(messages.collect::<Vec<_>>())
                .await
                .map_err(|error| fault::host(self.binding, &error))?;
        }
        Ok(())
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
