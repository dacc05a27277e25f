//! Event objects by name: each command with the type of its reply.

use hookproof_core::Refusal;
use hookproof_core::envelope::Draft;
use hookproof_core::id::{Environment, EventId, TenantId};
use hookproof_ports::Ask;

use crate::directory::Matched;

use super::{Accepted, Answer, Command, EventView, Events, key};

/// Calls to event objects.
#[expect(async_fn_in_trait, reason = "hosts are single-threaded; a Send bound would exclude Workers")]
pub trait AskEvents: Ask<Events> {
    /// Accepts an event for the subscriptions that may want it.
    async fn publish(
        &self,
        tenant: &TenantId,
        environment: Environment,
        draft: Draft,
        subscriptions: Vec<Matched>,
    ) -> Result<Accepted, Refusal> {
        let object = key(tenant, environment, &draft.id);
        let (tenant, draft) = (tenant.clone(), Box::new(draft));
        self.ask(&object, Command::Publish { tenant, environment, draft, subscriptions }).await
    }

    /// Reads an event and how far its fan-out is.
    async fn event(
        &self,
        tenant: &TenantId,
        environment: Environment,
        event: &EventId,
    ) -> Result<EventView, Refusal> {
        self.ask(&key(tenant, environment, event), Command::Describe { event: event.clone() }).await
    }

    /// Reads an event's frozen bytes.
    async fn bytes(
        &self,
        tenant: &TenantId,
        environment: Environment,
        event: &EventId,
    ) -> Result<String, Refusal> {
        self.ask(&key(tenant, environment, event), Command::Bytes { event: event.clone() }).await
    }

    /// Tells the object `object` who has answered.
    async fn answered(&self, object: &str, answers: Vec<Answer>) -> Result<(), Refusal> {
        self.ask(object, Command::Answered { answers }).await
    }
}

impl<T: Ask<Events>> AskEvents for T {}
