//! Who is asking: the root token, or a tenant's token with the scope the route needs.

use ::http::HeaderMap;
use bytes::Bytes;
use hookproof_authority::api::{bearer, is_token};
use hookproof_authority::directory;
use hookproof_authority::idempotency::Once;
use hookproof_authority::token::{Command, Portal, Record, Scope, Stored, Tokens};
use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, SubscriptionId, TenantId, TokenId};
use hookproof_core::token::{Token, same_digest};
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Entropy, Journal, Queue};
use serde_json::value::RawValue;

use crate::once::once;
use crate::query::Query;
use crate::revision::Glance;
use crate::routes::{Access, Portals, Route};
use crate::{Control, Fresh, Objects};

/// A request that its route admits.
pub(crate) struct Call<'r> {
    /// Which route.
    pub(crate) route: &'static Route,
    /// The request.
    pub(crate) request: &'r Request,
    /// Its query, of the names the route takes.
    pub(crate) query: Query,
    /// Its key, where it may come twice.
    pub(crate) once: Option<Once>,
    ids: Vec<&'r str>,
    caller: Option<Caller>,
}

impl Call<'_> {
    /// The tenant that calls. A row that admits others has no action that asks.
    pub(crate) fn caller(&self) -> Result<&Caller, Refusal> {
        self.caller.as_ref().ok_or_else(|| Reason::InternalCorrupt.into())
    }

    /// The first id in the path. A row without one has no action that asks.
    pub(crate) fn id(&self) -> Result<&str, Refusal> {
        self.ids.first().copied().ok_or_else(|| Reason::InternalCorrupt.into())
    }
}

/// A tenant's caller, or a subscriber's at the portal. Its constructors are here.
pub(crate) struct Caller(Record);

impl Caller {
    pub(crate) fn tenant(&self) -> &TenantId {
        &self.0.tenant_id
    }

    pub(crate) fn environment(&self) -> Environment {
        self.0.environment
    }

    /// The key of the tenant's directory.
    pub(crate) fn directory(&self) -> String {
        directory::key(self.tenant(), self.environment())
    }

    /// The token.
    pub(crate) fn token(&self) -> &Record {
        &self.0
    }

    /// What a session at the portal is bound to; none for a tenant's own token.
    pub(crate) fn portal(&self) -> Option<&Portal> {
        self.0.portal.as_ref()
    }

    /// Whether this caller may see the subscription: a session sees its own, while it is what it was
    /// when the link was made. The one place where that is decided.
    pub(crate) fn sees(&self, id: &SubscriptionId, view: &RawValue) -> Result<bool, Refusal> {
        let Some(portal) = self.portal() else { return Ok(true) };
        if portal.subscription_id != *id {
            return Ok(false);
        }
        let now = Glance::of(view)?;
        let ended = ["REVOKED", "EXPIRED"].contains(&now.state.as_str());
        if ended || now.generation != portal.generation {
            return Err(refused());
        }
        Ok(true)
    }

    fn may(&self, scope: Scope, portal: Portals) -> Result<(), Refusal> {
        let words = match (self.portal(), portal) {
            (Some(_), Portals::Never) => "a portal session may not call this route".to_owned(),
            // Asking for a challenge is what a session may do beside reading.
            (Some(_), Portals::Acts) => return Ok(()),
            (Some(_), Portals::Reads) | (None, Portals::Never | Portals::Acts | Portals::Reads) => {
                if self.0.scopes.contains(&scope) {
                    return Ok(());
                }
                format!("this token lacks the scope {:?}", scope.name())
            }
        };
        Err(Refusal::new(Reason::ScopeMissing, words))
    }
}

/// One answer for every way to be no good token.
pub(crate) fn refused() -> Refusal {
    Refusal::new(Reason::TokenRefused, "a valid token for this route is needed: Authorization: Bearer hp_…")
}

/// The same words for every failure behind a token; a fault of ours stays one.
fn alike(refusal: Refusal) -> Refusal {
    if refusal.reason == Reason::TokenRefused { refused() } else { refusal }
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    /// Checks that the caller may use the route, and that the request is one for it.
    pub(crate) async fn admit<'r>(
        &self,
        route: &'static Route,
        ids: Vec<&'r str>,
        request: &'r Request,
    ) -> Result<Call<'r>, Refusal> {
        let caller = match route.access {
            Access::Public => None,
            Access::Root => {
                self.root(request.headers())?;
                None
            }
            Access::Scope(scope, portals) => {
                let caller = self.caller(request.headers()).await?;
                caller.may(scope, portals)?;
                Some(caller)
            }
        };
        let (query, once) = (Query::read(request, route.query)?, once(route, request)?);
        Ok(Call { route, request, query, once, ids, caller })
    }

    /// The tenant behind the request's token, if it is good now.
    async fn caller(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let presented =
            bearer(headers).and_then(Token::parse).filter(|it| self.settings.id_key.admits(&it.id));
        let Some(token) = presented else {
            // The comparison that a good token would have had.
            same_digest(&Digest::of(bearer(headers).unwrap_or("").as_bytes()), &Digest([0; 32]));
            return Err(refused());
        };
        let check = Command::Check { digest: token.digest() };
        let record = self.token(&token.id, check).await?;
        if record.environment != token.environment {
            return Err(refused());
        }
        if let Some(portal) = &record.portal {
            self.token(&portal.minted_by, Command::Alive).await?;
        }
        Ok(Caller(record))
    }

    async fn token(&self, id: &TokenId, command: Command) -> Result<Record, Refusal> {
        Ask::<Tokens>::ask(&self.objects, id.as_str(), command).await.map_err(alike)
    }

    /// Exchanges a portal code; the session's caller, and whether this call made it.
    pub(crate) async fn exchange(&self, id: &TokenId, command: Command) -> Result<(Caller, bool), Refusal> {
        let asked: Result<Stored, _> = Ask::<Tokens>::ask(&self.objects, id.as_str(), command).await;
        let Stored { record, fresh } = asked.map_err(alike)?;
        if let Some(portal) = &record.portal {
            self.token(&portal.minted_by, Command::Alive).await?;
        }
        Ok((Caller(record), fresh))
    }

    /// Whether the request bears the root token.
    fn root(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if is_token(headers, &self.settings.root_token) {
            return Ok(());
        }
        Err(Refusal::new(Reason::TokenRefused, "this route takes the root token only"))
    }
}

/// A request, read whole.
pub(crate) type Request = ::http::Request<Bytes>;
