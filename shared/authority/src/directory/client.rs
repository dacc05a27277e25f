//! Directories by name: each command with the type of its reply.

use hookproof_core::Refusal;
use hookproof_core::envelope::EventType;
use hookproof_core::id::{Environment, SubscriptionId, TenantId, TokenId};
use hookproof_core::subscription::Wants;
use hookproof_ports::Ask;
use serde_json::value::RawValue;

use crate::idempotency::Once;
use crate::token::Record;

use super::catalogue::{Publication, Published};
use super::{Candidate, Command, Directory, Matched, Tenant, key};

/// Calls to directories.
#[expect(async_fn_in_trait, reason = "hosts are single-threaded; a Send bound would exclude Workers")]
pub trait AskDirectory: Ask<Directory> {
    /// Creates a tenant in one of its environments.
    async fn create_tenant(&self, tenant: Tenant) -> Result<Tenant, Refusal> {
        self.ask(&key(&tenant.tenant_id, tenant.environment), Command::CreateTenant(tenant)).await
    }

    /// Reads a tenant.
    async fn tenant(&self, tenant: &TenantId, environment: Environment) -> Result<Tenant, Refusal> {
        self.ask(&key(tenant, environment), Command::Tenant).await
    }

    /// Lists what a subscription may want from now on, beside what it wants already.
    async fn widen(
        &self,
        tenant: &TenantId,
        environment: Environment,
        subscription_id: SubscriptionId,
        wants: Wants,
    ) -> Result<(), Refusal> {
        let wants = Box::new(wants);
        self.ask(&key(tenant, environment), Command::Widen { subscription_id, wants }).await
    }

    /// Lists what all generations that may still plan want, and what was listed of late.
    async fn relist(
        &self,
        tenant: &TenantId,
        environment: Environment,
        subscription_id: SubscriptionId,
        wants: Vec<Wants>,
    ) -> Result<(), Refusal> {
        self.ask(&key(tenant, environment), Command::Relist { subscription_id, wants }).await
    }

    /// Which subscriptions may want an event that the catalogue takes.
    async fn matching(
        &self,
        tenant: &TenantId,
        environment: Environment,
        candidate: Candidate,
    ) -> Result<Vec<Matched>, Refusal> {
        self.ask(&key(tenant, environment), Command::Match(Box::new(candidate))).await
    }

    /// Subscriptions in id order.
    async fn subscriptions(
        &self,
        tenant: &TenantId,
        environment: Environment,
        after: Option<SubscriptionId>,
        limit: u32,
    ) -> Result<Vec<SubscriptionId>, Refusal> {
        self.ask(&key(tenant, environment), Command::Subscriptions { after, limit }).await
    }

    /// The id that a request makes: `id`, or that of its first coming. `directory` is a tenant's
    /// [`key`] or [`super::ROOT`].
    async fn remember(&self, directory: &str, once: Once, id: String) -> Result<String, Refusal> {
        self.ask(directory, Command::Remember { once, id }).await
    }

    /// Uses one of the ration that `object` counts.
    async fn spend(&self, object: &str, limit: u32) -> Result<(), Refusal> {
        self.ask(object, Command::Spend { limit }).await
    }

    /// Lists a token, before it can be used, or what has become of it.
    async fn list_token(&self, record: Record) -> Result<(), Refusal> {
        self.ask(&key(&record.tenant_id, record.environment), Command::ListToken(record)).await
    }

    /// Tokens in id order.
    async fn tokens(
        &self,
        tenant: &TenantId,
        environment: Environment,
        after: Option<TokenId>,
        limit: u32,
    ) -> Result<Vec<Record>, Refusal> {
        self.ask(&key(tenant, environment), Command::Tokens { after, limit }).await
    }

    /// Publishes a version of an event type.
    async fn publish_type(
        &self,
        tenant: &TenantId,
        environment: Environment,
        publication: Publication,
    ) -> Result<Published, Refusal> {
        self.ask(&key(tenant, environment), Command::PublishType(Box::new(publication))).await
    }

    /// All versions of an event type.
    async fn event_type(
        &self,
        tenant: &TenantId,
        environment: Environment,
        r#type: EventType,
    ) -> Result<Vec<Box<RawValue>>, Refusal> {
        self.ask(&key(tenant, environment), Command::EventType { r#type }).await
    }

    /// The catalogue by type and version, without schemas and samples.
    async fn event_types(
        &self,
        tenant: &TenantId,
        environment: Environment,
        after: (String, String),
        limit: u32,
    ) -> Result<Vec<Box<RawValue>>, Refusal> {
        self.ask(&key(tenant, environment), Command::EventTypes { after, limit }).await
    }

    /// Whether only catalogued events are taken; changes it if `require` says so.
    async fn require_catalogue(
        &self,
        tenant: &TenantId,
        environment: Environment,
        require: Option<bool>,
    ) -> Result<bool, Refusal> {
        self.ask(&key(tenant, environment), Command::RequireCatalogue { require }).await
    }
}

impl<T: Ask<Directory>> AskDirectory for T {}
