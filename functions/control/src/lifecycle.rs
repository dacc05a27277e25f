//! What becomes of a subscription after its registration: changed, paused, brought back, revoked. The
//! authority decides each; here a request is read and the directory follows.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json};
use hookproof_authority::directory::{AskDirectory, budget};
use hookproof_authority::subscription::{AskAuthority, Changed, Command, Expected};
use hookproof_core::challenge::budget::{PER_DOMAIN, PER_TENANT};
use hookproof_core::endpoint::EndpointUrl;
use hookproof_core::id::{Generation, SubscriptionId};
use hookproof_core::subscription::{OldGenerations, SuspendReason};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Line, Queue};
use serde::{Deserialize, Serialize};
use serde_json::json as object;
use serde_json::value::RawValue;

use crate::access::{Call, Caller};
use crate::revision::{if_match, tagged};
use crate::subscriptions::joined;
use crate::terms::{PATCH_SHAPE, Patch};
use crate::{Control, Fresh, Objects};

/// What an answer that may show a secret has beside the subscription.
#[derive(Serialize)]
struct Shown {
    staged_generation: Option<Generation>,
    secret: Option<String>,
    recovery_credential: Option<String>,
    /// This request came before: then nothing secret is shown.
    secret_already_shown: bool,
    next: Option<&'static str>,
}

const AFTER_CHANGE: &str = "keep secret, it is not shown again; add the new generation to the receiver beside the \
    old one; then POST /v1/subscriptions/{id}/challenge; until it is proved the old generation serves";

const AFTER_RECOVERY: &str = "keep secret and recovery_credential, they are not shown again and the old ones are \
    void; give the receiver the new secret and key; the challenge is on its way";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Suspension {
    reason: SuspendReason,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recovery {
    recovery_credential: String,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Consent {
    key_change_signature: Option<String>,
}

/// What control reads of a view to ration challenges.
#[derive(Deserialize)]
struct Endpoints {
    generations: Vec<Endpoint>,
}

#[derive(Deserialize)]
struct Endpoint {
    state: String,
    endpoint: EndpointUrl,
}

#[derive(Deserialize)]
struct Generations<'a> {
    #[serde(borrow)]
    generations: &'a RawValue,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn change(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let patch: Patch = parse_json(call.request.body(), PATCH_SHAPE)?;
        let mut asked = patch.change(&self.settings.policy)?;
        asked.expected = expected(call)?;
        let (id, _) = self.owned(call.caller()?, call.id()?).await?;
        let changed = self.objects.change(&id, asked).await?;
        self.relist(call.caller()?, &id, &changed.subscription.view).await?;
        let next = changed.generation.map(|_| AFTER_CHANGE);
        self.changed("changed", &id, changed, false, next)
    }

    pub(crate) async fn pause(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        self.act_on(call, "paused", Command::Suspend { reason: SuspendReason::Operator }).await
    }

    pub(crate) async fn suspend(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let accepted = "\"operator\", \"ownership_changed\" or \"certificate_changed\"";
        let Suspension { reason } =
            parse_json(call.request.body(), "{\"reason\": \"operator\"}").map_err(|refusal| {
                if refusal.field.is_some() { refusal } else { refusal.at("reason", accepted) }
            })?;
        match reason {
            SuspendReason::Operator | SuspendReason::OwnershipChanged | SuspendReason::CertificateChanged => {
            }
            SuspendReason::ClockSkew
            | SuspendReason::Compromised
            | SuspendReason::DnsChanged
            | SuspendReason::DnsPrivate
            | SuspendReason::EndpointGone
            | SuspendReason::HealthLimit
            | SuspendReason::OwnerChanged
            | SuspendReason::RecheckFailed => {
                let words = format!("{} is found by the system, not told to it", reason.name());
                return Err(Refusal::new(Reason::BodyMalformed, words).at("reason", accepted));
            }
        }
        self.act_on(call, "suspended", Command::Suspend { reason }).await
    }

    pub(crate) async fn resume(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let (_, view) = self.owned(call.caller()?, call.id()?).await?;
        self.ration(call.caller()?, &view, "SUSPENDED").await?;
        self.act_on(call, "resumed", Command::Resume).await
    }

    pub(crate) async fn recover(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let shape = "{\"recovery_credential\": \"hp_recovery_…\"}";
        let Recovery { recovery_credential } = parse_json(call.request.body(), shape)?;
        let (id, _) = self.owned(call.caller()?, call.id()?).await?;
        let command = Command::Recover { credential: recovery_credential };
        let changed = self.objects.changed_once(&id, call.once.as_ref(), command).await?;
        let repeated = changed.secret.is_none();
        let changed = Changed { generation: None, ..changed };
        self.changed("recovered", &id, changed, repeated, Some(AFTER_RECOVERY))
    }

    /// Asking for a challenge: the directory first, so that nothing can become active that no event finds.
    pub(crate) async fn request_challenge(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let Consent { key_change_signature: consent } = match call.request.body() {
            body if body.is_empty() => Consent::default(),
            body => parse_json(body, "{} or {\"key_change_signature\": \"…\"}")?,
        };
        let (id, view) = self.owned(call.caller()?, call.id()?).await?;
        self.relist(call.caller()?, &id, &view).await?;
        self.ration(call.caller()?, &view, "PENDING_CHALLENGE").await?;
        let command = Command::RequestChallenge { consent };
        let it = self.objects.once(&id, call.once.as_ref(), command).await?;
        tagged(202, &it.view, &it.view)
    }

    pub(crate) async fn revoke(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let registered = match call.query.get("registered") {
            None | Some("quarantine") => OldGenerations::Quarantine,
            Some("drain") => OldGenerations::Drain,
            Some(_) => {
                let words = "what becomes of deliveries that are registered already is not one of the two";
                return Err(
                    Refusal::new(Reason::BodyMalformed, words).at("registered", "quarantine or drain")
                );
            }
        };
        let expected = expected(call)?;
        let (id, _) = self.owned(call.caller()?, call.id()?).await?;
        let it = self.objects.revoke(&id, expected, registered).await?;
        self.note("revoked", &id, &it.state);
        tagged(200, &it.view, &it.view)
    }

    pub(crate) async fn generations(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let (_, view) = self.owned(call.caller()?, call.id()?).await?;
        let of: Generations<'_> =
            serde_json::from_str(view.get()).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        Ok(json(200, &object!({ "items": of.generations, "next": null })))
    }

    /// Uses up a little of what the tenant and the domain of each endpoint in `state` may be challenged. What
    /// is asked for in vain, because it was asked for already, is not told apart.
    async fn ration(&self, caller: &Caller, view: &RawValue, state: &str) -> Result<(), Refusal> {
        let asked: Endpoints =
            serde_json::from_str(view.get()).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        let waiting: Vec<_> = asked.generations.iter().filter(|it| it.state == state).collect();
        if waiting.is_empty() {
            return Ok(());
        }
        let tenant = budget::of_tenant(caller.tenant(), caller.environment());
        self.objects.spend(&tenant, PER_TENANT).await?;
        for it in waiting {
            // In local development everybody's endpoint is this machine.
            if !self.settings.policy.is_own_machine(&it.endpoint) {
                self.objects.spend(&budget::of_host(it.endpoint.host()), PER_DOMAIN).await?;
            }
        }
        Ok(())
    }

    async fn act_on(
        &self,
        call: &Call<'_>,
        event: &str,
        command: Command,
    ) -> Result<Response<Bytes>, Refusal> {
        let (id, _) = self.owned(call.caller()?, call.id()?).await?;
        let it = self.objects.once(&id, call.once.as_ref(), command).await?;
        self.note(event, &id, &it.state);
        tagged(200, &it.view, &it.view)
    }

    fn changed(
        &self,
        event: &str,
        id: &SubscriptionId,
        changed: Changed,
        secret_already_shown: bool,
        next: Option<&'static str>,
    ) -> Result<Response<Bytes>, Refusal> {
        let Changed { subscription, generation, secret, recovery_credential } = changed;
        self.note(event, id, &subscription.state);
        let staged_generation = generation;
        let shown = Shown { staged_generation, secret, recovery_credential, secret_already_shown, next };
        tagged(200, &subscription.view, &joined(&subscription.view, &shown)?)
    }

    fn note(&self, event: &str, id: &SubscriptionId, state: &str) {
        let (subscription, state) = (Some(id.as_str()), Some(state));
        self.journal.record(&Line { event, subscription, state, ..Line::default() });
    }
}

fn expected(call: &Call<'_>) -> Result<Option<Expected>, Refusal> {
    let named = if_match(call.request.headers())?;
    Ok(named.map(|(generation, revision)| Expected { generation, revision }))
}
