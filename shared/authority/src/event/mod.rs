//! Event objects: an event is accepted once, its bytes frozen, and everybody who may want it is asked
//! until they have answered. Losing any message costs a minute.
//!
//! Sharded by event id, so that one id is always decided by one object.

mod client;
mod store;

pub use client::AskEvents;

use hookproof_core::digest::Digest;
use hookproof_core::envelope::{Draft, Sealed};
use hookproof_core::id::{Environment, EventId, SubscriptionId, TenantId};
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Aggregate, Alarm, Commit, Context, Sql};
use serde::{Deserialize, Serialize};

use crate::directory::Matched;
use crate::message::{EventRef, Fresh, INLINE_LIMIT};
use store::{Page, Stored, Tables};

/// Shards of a (tenant, environment); fixed for ever.
const SHARDS: u8 = 16;

/// Subscriptions on one fan-out page.
const PAGE: usize = 100;

/// Waits before unanswered subscriptions are asked again; the last repeats.
const REPEATS: [Span; 3] = [Span::seconds(60), Span::minutes(5), Span::hours(1)];

/// The event objects' code.
pub struct Events;

/// A command to an event object.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Accepts an event for the subscriptions that may want it.
    Publish {
        /// The tenant, from its token.
        tenant: TenantId,
        /// The token's environment.
        environment: Environment,
        /// What was handed in.
        draft: Box<Draft>,
        /// Who may want it.
        subscriptions: Vec<Matched>,
    },
    /// Reads an event and how far its fan-out is.
    Describe {
        /// Which.
        event: EventId,
    },
    /// Reads the frozen bytes.
    Bytes {
        /// Which.
        event: EventId,
    },
    /// These subscriptions' authorities have answered.
    Answered {
        /// Event, page and subscription, one each.
        answers: Vec<Answer>,
    },
}

/// A subscription's authority knows of an event, whatever it decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The event.
    pub event: EventId,
    /// The page the message named.
    pub page: u32,
    /// Who answered.
    pub subscription: SubscriptionId,
}

/// A reply of an event object, sent bare: [`AskEvents`] knows its type.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// To `Publish`.
    Accepted(Box<Accepted>),
    /// To `Describe`.
    Event(Box<EventView>),
    /// To `Bytes`.
    Bytes(String),
    /// To `Answered`.
    Noted(()),
}

/// An accepted event, and the messages to send for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Accepted {
    /// The event.
    pub event: EventRef,
    /// It was accepted before; no message is needed.
    pub duplicate: bool,
    /// One for each subscription; the object sends them again if they are lost.
    pub messages: Vec<Fresh>,
}

/// An event and its fan-out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EventView {
    /// The event.
    pub event: EventRef,
    /// Everybody who was asked.
    pub asked: Vec<SubscriptionId>,
    /// Who has not answered yet; their deliveries read PLANNED.
    pub unanswered: Vec<SubscriptionId>,
}

/// The key of the object that decides about an event.
pub fn key(tenant: &TenantId, environment: Environment, event: &EventId) -> String {
    let hash = Digest::of(event.as_str().as_bytes());
    format!("{tenant}.{environment}.{}", hash.0[0] % SHARDS)
}

impl Aggregate for Events {
    const NAME: &'static str = "event";
    const SCHEMA: &'static [&'static str] = store::SCHEMA;
    type Command = Command;
    type Reply = Reply;
    type Wake = Fresh;

    async fn handle<S: Sql>(
        &self,
        context: &Context<'_>,
        sql: &S,
        command: Command,
    ) -> Result<Commit<Reply>, Refusal> {
        let tables = Tables { sql, object: context.key };
        match command {
            Command::Publish { tenant, environment, draft, subscriptions } => {
                publish(context, &tables, (tenant, environment), &draft, &subscriptions).await
            }
            Command::Describe { event } => {
                Ok(Commit::keep(Reply::Event(Box::new(describe(&tables, &event).await?))))
            }
            Command::Bytes { event } => {
                let stored = tables.event(&event).await?.ok_or(Reason::EventUnknown)?;
                Ok(Commit::keep(Reply::Bytes(stored.body)))
            }
            Command::Answered { answers } => {
                for answer in &answers {
                    tables.answered(answer).await?;
                }
                let alarm = tables.next_due().await?.map_or(Alarm::Clear, Alarm::At);
                Ok(Commit { reply: Reply::Noted(()), alarm })
            }
        }
    }

    async fn wake<S: Sql>(&self, context: &Context<'_>, sql: &S) -> Result<Commit<Vec<Fresh>>, Refusal> {
        let tables = Tables { sql, object: context.key };
        let mut messages = Vec::new();
        for mut page in tables.due_pages(context.now).await? {
            let stored = tables.event(&page.event).await?.ok_or(Reason::InternalCorrupt)?;
            messages.extend(fresh(&stored, &page));
            page.tries += 1;
            let wait = REPEATS[(page.tries as usize).min(REPEATS.len() - 1)];
            page.due = Some(context.now + wait);
            tables.put_page(&page).await?;
        }
        let alarm = tables.next_due().await?.map_or(Alarm::Clear, Alarm::At);
        Ok(Commit { reply: messages, alarm })
    }
}

async fn publish<S: Sql>(
    context: &Context<'_>,
    tables: &Tables<'_, S>,
    owner: (TenantId, Environment),
    draft: &Draft,
    subscriptions: &[Matched],
) -> Result<Commit<Reply>, Refusal> {
    let request_digest = draft.request_digest();
    if let Some(known) = tables.event(&draft.id).await? {
        if known.request_digest != request_digest {
            let words =
                "this event id was published before with other content; publish a new event under a new id";
            return Err(Refusal::new(Reason::EventConflict, words).at("id", "an id that was not used before"));
        }
        let accepted = Accepted { event: known.event, duplicate: true, messages: Vec::new() };
        return Ok(Commit::keep(Reply::Accepted(Box::new(accepted))));
    }
    let sealed = draft.seal(context.now)?;
    let stored = freeze(owner, draft, request_digest, sealed, context.now)?;
    tables.put_event(&stored).await?;
    let mut messages = Vec::with_capacity(subscriptions.len());
    for (number, chunk) in (0u32..).zip(subscriptions.chunks(PAGE)) {
        let due = Some(context.now + REPEATS[0]);
        let page =
            Page { event: draft.id.clone(), page: number, asked: chunk.to_vec(), answered: 0, tries: 0, due };
        tables.put_page(&page).await?;
        messages.extend(fresh(&stored, &page));
    }
    let alarm = tables.next_due().await?.map_or(Alarm::Keep, Alarm::At);
    let accepted = Accepted { event: stored.event, duplicate: false, messages };
    Ok(Commit { reply: Reply::Accepted(Box::new(accepted)), alarm })
}

fn freeze(
    owner: (TenantId, Environment),
    draft: &Draft,
    request_digest: Digest,
    sealed: Sealed,
    now: Timestamp,
) -> Result<Stored, Refusal> {
    let length = sealed.bytes.len() as u64;
    let body = String::from_utf8(sealed.bytes).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
    let event = EventRef {
        tenant: owner.0,
        environment: owner.1,
        id: draft.id.clone(),
        r#type: draft.kind.to_string(),
        api_version: draft.api_version.clone(),
        accepted_at: now,
        payload_digest: sealed.digest,
        length,
    };
    Ok(Stored { event, request_digest, body })
}

/// The messages for everybody on `page` who has not answered.
fn fresh(stored: &Stored, page: &Page) -> Vec<Fresh> {
    let body = (stored.body.len() <= INLINE_LIMIT).then(|| stored.body.clone());
    let message = |it: &Matched| Fresh {
        subscription: it.subscription_id.clone(),
        event: stored.event.clone(),
        page: page.page,
        filter_digests: it.filter_digests.clone(),
        body: body.clone(),
    };
    page.unanswered().map(message).collect()
}

async fn describe<S: Sql>(tables: &Tables<'_, S>, event: &EventId) -> Result<EventView, Refusal> {
    let stored = tables.event(event).await?.ok_or(Reason::EventUnknown)?;
    let pages = tables.pages(event).await?;
    let unanswered = pages.iter().flat_map(Page::unanswered).map(|it| it.subscription_id.clone()).collect();
    let asked = pages.into_iter().flat_map(|page| page.asked).map(|it| it.subscription_id).collect();
    Ok(EventView { event: stored.event, asked, unanswered })
}
