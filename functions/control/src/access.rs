//! Who is asking: the root token, or a tenant's token with the scope the route needs.

use ::http::HeaderMap;
use bytes::Bytes;
use hookproof_authority::api::{bearer, is_token, query_pairs};
use hookproof_authority::token::{Command, Record, Scope, Tokens};
use hookproof_core::token::Token;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Entropy, Journal, Queue};

use crate::routes::{Access, Route};
use crate::{Control, Fresh, Objects};

/// A request that its route admits.
pub(crate) struct Call<'r> {
    /// Which route.
    pub(crate) route: &'static Route,
    /// The request.
    pub(crate) request: &'r Request,
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

/// A tenant's caller. One constructor: [`Control::admit`].
pub(crate) struct Caller(Record);

impl Caller {
    pub(crate) fn tenant(&self) -> &hookproof_core::id::TenantId {
        &self.0.tenant_id
    }

    pub(crate) fn environment(&self) -> hookproof_core::id::Environment {
        self.0.environment
    }
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    /// Checks that the caller may use the route.
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
            Access::Scope(scope) => Some(self.caller(request.headers(), scope).await?),
        };
        Ok(Call { route, request, ids, caller })
    }

    /// The tenant behind the request's token, if it has `scope` now. One answer for every way to fail.
    async fn caller(&self, headers: &HeaderMap, scope: Scope) -> Result<Caller, Refusal> {
        let refused = || {
            Refusal::new(
                Reason::TokenRefused,
                "a valid token for this route is needed: Authorization: Bearer hp_…",
            )
        };
        let token = bearer(headers).and_then(Token::parse).ok_or_else(refused)?;
        if !self.settings.id_key.admits(&token.id) {
            return Err(refused());
        }
        let check = Command::Check { digest: token.digest() };
        let asked: Result<Record, _> = Ask::<Tokens>::ask(&self.objects, token.id.as_str(), check).await;
        let record = asked
            .map_err(|refusal| if refusal.reason == Reason::TokenRefused { refused() } else { refusal })?;
        if record.environment != token.environment {
            return Err(refused());
        }
        if !record.scopes.contains(&scope) {
            let name = serde_json::to_string(&scope).unwrap_or_default();
            return Err(Refusal::new(Reason::ScopeMissing, format!("this token lacks the scope {name}")));
        }
        Ok(Caller(record))
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

/// The pairs of a request's query.
pub(crate) fn query(request: &Request) -> Result<Vec<(String, String)>, Refusal> {
    let pairs = query_pairs(request.uri().query().unwrap_or(""));
    pairs.ok_or_else(|| Refusal::new(Reason::BodyMalformed, "the query is not percent-encoded UTF-8"))
}
