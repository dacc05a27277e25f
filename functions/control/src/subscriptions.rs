//! Subscriptions: registered, read, challenged. The authority decides; the directory is told first, so
//! that no event can be published past a subscription that is about to become active. One that is listed
//! and was never registered costs a message and nothing else.

use std::str::FromStr;

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json};
use hookproof_authority::directory::AskDirectory;
use hookproof_authority::subscription::{AskAuthority, Registered, Registration};
use hookproof_core::filter::Filter;
use hookproof_core::id::SubscriptionId;
use hookproof_core::subscription::{TopicPattern, Wants};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue, random};
use serde::{Deserialize, Serialize};
use serde_json::json as object;
use serde_json::value::RawValue;

use crate::access::{Call, Caller};
use crate::revision::{self, tagged};
use crate::terms::{Asked, SHAPE};
use crate::{Control, Fresh, Objects};

/// What a registration's answer has beside the subscription itself.
#[derive(Serialize)]
struct Once {
    secret: Option<String>,
    recovery_credential: Option<String>,
    secret_already_shown: bool,
    next: &'static str,
}

/// What control reads of a view to tell the directory.
#[derive(Deserialize)]
struct Wanted {
    generations: Vec<WantedGeneration>,
}

#[derive(Deserialize)]
struct WantedGeneration {
    state: String,
    topics: Vec<TopicPattern>,
    accepted_versions: Vec<String>,
    #[serde(default)]
    filter: Option<Filter>,
}

impl Wanted {
    fn of(view: &RawValue) -> Result<Self, Refusal> {
        serde_json::from_str(view.get()).map_err(|_| Reason::InternalCorrupt.into())
    }

    /// What those generations want that may still plan.
    fn open(self) -> Vec<Wants> {
        let open = self.generations.into_iter().filter(|it| !it.has_ended());
        open.map(|WantedGeneration { topics, accepted_versions, filter, .. }| Wants {
            topics,
            accepted_versions,
            filter,
        })
        .collect()
    }
}

impl WantedGeneration {
    fn has_ended(&self) -> bool {
        ["CLOSED", "REVOKED", "EXPIRED"].contains(&self.state.as_str())
    }
}

const NEXT: &str = "keep secret and recovery_credential, they are not shown again; configure the receiver with \
    issuer, generation, secret and keys; then POST /v1/subscriptions/{id}/challenge";

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn register(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let caller = call.caller()?;
        let asked: Asked = parse_json(call.request.body(), SHAPE)?;
        let expires_at = asked.expires_at;
        let (terms, signing) = asked.terms(&self.settings.policy)?;
        let fresh = SubscriptionId::mint(&self.settings.id_key, self.clock.now(), random(&self.entropy));
        let id = self.id_once(&caller.directory(), call.once.as_ref(), fresh).await?;
        let wants = terms.wants.clone();
        let registration = Registration {
            tenant: caller.tenant().clone(),
            environment: caller.environment(),
            terms,
            signing,
            expires_at,
        };
        self.objects.widen(caller.tenant(), caller.environment(), id.clone(), wants).await?;
        let registered = self.objects.register(&id, registration).await?;
        let state = Some(registered.subscription.state.as_str());
        self.journal.record(&Line {
            event: "registered",
            subscription: Some(id.as_str()),
            state,
            ..Line::default()
        });
        let Registered { subscription, secret, recovery_credential } = registered;
        let once = Once { secret_already_shown: secret.is_none(), secret, recovery_credential, next: NEXT };
        tagged(201, &subscription.view, &joined(&subscription.view, &once)?)
    }

    pub(crate) async fn read_subscription(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let caller = call.caller()?;
        let (id, view) = self.owned(caller, call.id()?).await?;
        if Wanted::of(&view)?.generations.iter().any(WantedGeneration::has_ended) {
            self.narrow(caller, &id, &view).await;
        }
        revision::read(call.request.headers(), &view)
    }

    /// Lets the directory forget what only generations wanted that have ended. A repair that decides
    /// nothing: until it succeeds, an authority is asked about events it will not plan.
    async fn narrow(&self, caller: &Caller, id: &SubscriptionId, view: &RawValue) {
        let relisted = self.relist(caller, id, view).await;
        if let Err(refusal) = relisted {
            let (subscription, reason) = (Some(id.as_str()), Some(refusal.reason));
            self.journal.record(&Line { event: "narrowing failed", subscription, reason, ..Line::default() });
        }
    }

    pub(crate) async fn list_subscriptions(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let (caller, after, limit) = (call.caller()?, call.query.cursor()?, call.query.limit()?);
        let ids = self.objects.subscriptions(caller.tenant(), caller.environment(), after, limit).await?;
        let next = if ids.len() == limit as usize { ids.last().cloned() } else { None };
        Ok(json(200, &object!({ "items": ids, "next": next })))
    }

    /// Tells the directory what the subscription's generations want, from its own view: before any of them
    /// can become active, and again after they have ended.
    pub(crate) async fn relist(
        &self,
        caller: &Caller,
        id: &SubscriptionId,
        view: &RawValue,
    ) -> Result<(), Refusal> {
        let wants = Wanted::of(view)?.open();
        self.objects.relist(caller.tenant(), caller.environment(), id.clone(), wants).await
    }

    pub(crate) async fn evidence(&self, caller: &Caller, id: &str) -> Result<Response<Bytes>, Refusal> {
        let (id, _) = self.owned(caller, id).await?;
        let bundle = self.objects.evidence(&id).await?;
        Ok(json(200, &bundle))
    }

    /// The caller's own subscription; anybody else's does not exist.
    pub(crate) async fn owned(
        &self,
        caller: &Caller,
        id: &str,
    ) -> Result<(SubscriptionId, Box<RawValue>), Refusal> {
        let unknown = || Refusal::new(Reason::SubscriptionUnknown, "there is no such subscription");
        let id = SubscriptionId::from_str(id).map_err(|_| unknown())?;
        if !self.settings.id_key.admits(&id) {
            return Err(unknown());
        }
        // The same words, or somebody else's subscription would be told from none.
        let alike = |refusal: Refusal| {
            if refusal.reason == Reason::SubscriptionUnknown { unknown() } else { refusal }
        };
        let it = self.objects.describe(&id).await.map_err(alike)?;
        let ours = it.tenant_id == *caller.tenant() && it.environment == caller.environment();
        if ours && caller.sees(&id, &it.view)? { Ok((id, it.view)) } else { Err(unknown()) }
    }
}

/// One JSON object with the members of `view` and then those of `more`.
pub(crate) fn joined(view: &RawValue, more: &impl Serialize) -> Result<Box<RawValue>, Refusal> {
    let more = serde_json::to_string(more).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
    let parts = view.get().strip_suffix('}').zip(more.strip_prefix('{'));
    let (head, tail) = parts.ok_or(Reason::InternalCorrupt)?;
    RawValue::from_string(format!("{head},{tail}")).map_err(|_| Reason::InternalCorrupt.into())
}
