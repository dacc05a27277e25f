//! The operator's side: sources, inbox, dead letters and metrics, for whoever bears the receiver's token.

use bytes::Bytes;
use hookproof_authority::api::json;
use hookproof_authority::inbox::{Command, Reply, SourceCommand, SourceReply, StateFilter, Wake, Wakeup};
use hookproof_core::receiver::SourceName;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue, Resolver, Transport};
use http::{Response, StatusCode};
use serde_json::json as value;

use crate::{Objects, Receiver, odd_reply, source};

/// What the API can be asked, read from method, path and query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Call {
    /// Creates or replaces a source.
    PutSource(SourceName),
    /// Shows a source without its secrets.
    ShowSource(SourceName),
    /// Forgets a source; its inbox stays.
    DeleteSource(SourceName),
    /// Items, the newest first.
    List(SourceName, Page, Option<StateFilter>),
    /// Dead letters, the newest first.
    DeadLetters(SourceName, Page),
    /// What contradicted the inbox.
    Quarantine(SourceName, Page),
    /// One item.
    Item(SourceName, String),
    /// A dead letter once more.
    Replay(SourceName, String),
    /// Counts and latencies.
    Metrics(SourceName),
}

/// Which part of a list.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) cursor: Option<String>,
    pub(crate) limit: u32,
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
    /// Answers one call.
    pub(crate) async fn call(&self, call: Call, body: &Bytes) -> Result<Response<Bytes>, Refusal> {
        match call {
            Call::PutSource(name) => self.put_source(&name, body).await,
            Call::ShowSource(name) => match self.sources(name.as_str(), SourceCommand::Show).await? {
                SourceReply::Public { source, .. } => Ok(json(200, &source)),
                SourceReply::Source(_) | SourceReply::Deleted => Err(odd_reply()),
            },
            Call::DeleteSource(name) => {
                self.sources(name.as_str(), SourceCommand::Delete).await?;
                self.told("source deleted", &name);
                Ok(empty(StatusCode::NO_CONTENT))
            }
            Call::List(name, Page { cursor, limit }, state) => {
                self.look(&name, Command::List { cursor, limit, state }).await
            }
            Call::DeadLetters(name, Page { cursor, limit }) => {
                self.look(&name, Command::ListDeadLetters { cursor, limit }).await
            }
            Call::Quarantine(name, Page { limit, .. }) => {
                self.look(&name, Command::ListQuarantine { limit }).await
            }
            Call::Item(name, id) => self.look(&name, Command::Show { id }).await,
            Call::Metrics(name) => self.look(&name, Command::Metrics).await,
            Call::Replay(name, id) => {
                let answer = self.look(&name, Command::Replay { id }).await?;
                self.hint(name.as_str(), Wake::Handle).await;
                self.told("dead letter replayed", &name);
                Ok(answer)
            }
        }
    }

    async fn put_source(&self, name: &SourceName, body: &Bytes) -> Result<Response<Bytes>, Refusal> {
        let source = source::read(body)?;
        source::check_urls(name, &source, &self.egress.policy)?;
        match self.sources(name.as_str(), SourceCommand::Put(Box::new(source))).await? {
            SourceReply::Public { created, source } => {
                self.told(if created { "source created" } else { "source replaced" }, name);
                Ok(json(if created { 201 } else { 200 }, &source))
            }
            SourceReply::Source(_) | SourceReply::Deleted => Err(odd_reply()),
        }
    }

    /// Asks the inbox of a source that is configured.
    async fn look(&self, name: &SourceName, command: Command) -> Result<Response<Bytes>, Refusal> {
        self.sources(name.as_str(), SourceCommand::Show).await?;
        match self.inbox(name.as_str(), command).await? {
            Reply::Page(listed) => Ok(json(200, &listed)),
            Reply::Quarantine(items) => Ok(json(200, &value!({"items": items, "next": null}))),
            Reply::Item(item) => Ok(json(200, &item)),
            Reply::Replayed(item) => Ok(json(202, &item)),
            Reply::Metrics(metrics) => Ok(json(200, &metrics)),
            Reply::Stored { .. }
            | Reply::Taken { .. }
            | Reply::Reported { .. }
            | Reply::Receipts { .. }
            | Reply::Done => Err(odd_reply()),
        }
    }

    fn told(&self, event: &str, name: &SourceName) {
        self.journal.record(&Line { event, detail: Some(name.as_str()), ..Line::default() });
    }
}

fn empty(status: StatusCode) -> Response<Bytes> {
    let mut answer = Response::new(Bytes::new());
    *answer.status_mut() = status;
    answer
}

impl Call {
    /// Whether its request carries a body.
    pub(crate) fn takes_body(&self) -> bool {
        matches!(self, Self::PutSource(_))
    }
}

/// The source named in a path or query.
pub(crate) fn source_name(text: &str) -> Result<SourceName, Refusal> {
    let words = "this is not a source's name";
    SourceName::parse(text)
        .ok_or_else(|| Refusal::new(Reason::BodyMalformed, words).at("source", SourceName::ACCEPTED))
}
