//! The subscriber's side at the edge: nothing is answered 2xx that is not durable, nothing reaches the
//! handler that did not verify, and no receipt is sent before its effect.
//!
//! | in | out |
//! |---|---|
//! | `POST /in/{source}` | a challenge's answer, or 200 once the delivery is in the inbox |
//! | [`Wakeup`] from the queue | due events to the handler, due receipts to the sender |
//! | `/receiver/…` with the receiver's own token | sources, inbox, dead letters, metrics |
//!
//! The inbox's own timer asks for a [`Wakeup`] whenever one was lost.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod api;
mod confirm;
mod handle;
mod http;
mod intake;
mod join;
mod source;

#[cfg(target_os = "wasi")]
mod spin;
#[cfg(all(target_family = "wasm", target_os = "unknown"))]
mod workers;

pub use hookproof_authority::inbox::{Wake, Wakeup};

use hookproof_authority::inbox::{Command, Inbox, Reply, SourceCommand, SourceReply, Sources};
use hookproof_core::digest::Digest;
use hookproof_core::receiver::Source;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Egress, Entropy, Journal, Line, Queue, Resolver, Transport};

/// Largest request body an entry has to read; of a longer one it may hand in one octet more and stop.
pub const MAX_BODY: usize = hookproof_core::receiver::MAX_BODY;

/// Events or receipts that are on the wire at a time: what a platform allows in one invocation.
const AT_A_TIME: u32 = 6;

/// Items given up at a time when their source is gone.
const ABANDONED_AT_A_TIME: u32 = 100;

/// What a deployment decides.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// SHA-256 of the receiver's own API token; without one the API refuses everybody.
    pub admin_token: Option<Digest>,
}

/// The objects the receiver asks.
pub trait Objects: Ask<Sources> + Ask<Inbox> {}

impl<O: Ask<Sources> + Ask<Inbox>> Objects for O {}

/// The receiver and the host it runs on.
pub struct Receiver<O, Q, R, T, C, N, J> {
    /// Sources and inboxes.
    pub objects: O,
    /// Wakes this function again.
    pub queue: Q,
    /// The one way out: to handlers and to receipts URLs.
    pub egress: Egress<R, T>,
    /// The time.
    pub clock: C,
    /// Request ids.
    pub entropy: N,
    /// Log lines.
    pub journal: J,
    /// What the deployment decides.
    pub settings: Settings,
}

impl<O, Q, R, T, C, N, J> Receiver<O, Q, R, T, C, N, J>
where
    O: Objects,
    Q: Queue<Wakeup>,
    R: Resolver,
    T: Transport,
    C: Clock,
    N: Entropy,
    J: Journal,
{
    /// Does what a queue message asks for. An error is worth a later try; the inbox's timer makes one
    /// anyway.
    pub async fn wake(&self, wakeup: &Wakeup) -> Result<(), Refusal> {
        let name = wakeup.source.as_str();
        let source = match self.source(name).await {
            Ok(source) => source,
            Err(gone) if gone.reason == Reason::SourceUnknown => return self.abandon(name).await,
            Err(refusal) => return Err(refusal),
        };
        match wakeup.kind {
            Wake::Handle => self.handle(name, &source).await,
            Wake::Receipts => self.confirm(name, &source).await,
        }
    }

    /// Puts what an inbox's timer asked for on the queue.
    pub async fn announce(&self, source: &str, wakes: &[Wake]) -> Result<(), Refusal> {
        let message = |&kind: &Wake| Wakeup { source: source.to_owned(), kind };
        let messages: Vec<_> = wakes.iter().map(message).collect();
        if messages.is_empty() { Ok(()) } else { self.queue.send(&messages).await }
    }

    /// Announces without insisting: the inbox's timer repairs a lost message.
    async fn hint(&self, source: &str, wake: Wake) {
        if let Err(refusal) = self.announce(source, &[wake]).await {
            self.note("wake-up not queued", source, &refusal);
        }
    }

    async fn abandon(&self, name: &str) -> Result<(), Refusal> {
        let line = Line {
            event: "source gone, its due events are dead letters",
            reason: Some(Reason::SourceUnknown),
            detail: Some(name),
            ..Line::default()
        };
        self.journal.record(&line);
        self.inbox(name, Command::Abandon { limit: ABANDONED_AT_A_TIME }).await.map(drop)
    }

    async fn source(&self, name: &str) -> Result<Source, Refusal> {
        match self.sources(name, SourceCommand::Get).await? {
            SourceReply::Source(source) => Ok(*source),
            SourceReply::Public { .. } | SourceReply::Deleted => Err(odd_reply()),
        }
    }

    async fn sources(&self, name: &str, command: SourceCommand) -> Result<SourceReply, Refusal> {
        Ask::<Sources>::ask(&self.objects, name, command).await
    }

    async fn inbox(&self, name: &str, command: Command) -> Result<Reply, Refusal> {
        Ask::<Inbox>::ask(&self.objects, name, command).await
    }

    fn note(&self, event: &str, source: &str, refusal: &Refusal) {
        let detail = format!("source {source}: {}", refusal.detail);
        let line = Line { event, reason: Some(refusal.reason), detail: Some(&detail), ..Line::default() };
        self.journal.record(&line);
    }
}

/// An object answered with a reply of another command.
fn odd_reply() -> Refusal {
    Refusal::new(Reason::InternalHost, "an object gave a reply that does not fit its command")
}
