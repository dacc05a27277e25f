//! A tenant's tokens; root only. Each token's own object decides; the directory lists them.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json};
use hookproof_authority::directory::{AskDirectory, ROOT};
use hookproof_authority::token::{Command, Record, Scope, Stored, Tokens};
use hookproof_core::id::{Environment, TenantId, TokenId};
use hookproof_core::time::Timestamp;
use hookproof_core::token::Token;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Entropy, Journal, Queue, random};
use serde::{Deserialize, Serialize};

use crate::access::Call;
use crate::query::malformed;
use crate::tenants::unknown;
use crate::{Control, Fresh, Objects};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewToken {
    tenant_id: TenantId,
    environment: Environment,
    #[serde(default)]
    scopes: Option<Vec<Scope>>,
    #[serde(default)]
    expires_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct TokenAnswer {
    #[serde(flatten)]
    record: Record,
    token: Option<String>,
    secret_already_shown: bool,
}

#[derive(Serialize)]
struct TokenPage {
    items: Vec<Record>,
    next: Option<TokenId>,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn create_token(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let shape = "{\"tenant_id\", \"environment\": \"live\" or \"test\", \"scopes\"?, \"expires_at\"?}";
        let asked: NewToken = parse_json(call.request.body(), shape)?;
        if !self.settings.id_key.admits(&asked.tenant_id) {
            return Err(unknown());
        }
        let now = self.clock.now();
        if asked.expires_at.is_some_and(|at| at <= now) {
            return Err(Refusal::new(Reason::BodyMalformed, "the token would have ended before it began")
                .at("expires_at", "a time to come"));
        }
        // Asked first, so that a tenant that does not exist leaves no record of the request.
        self.objects.tenant(&asked.tenant_id, asked.environment).await.map_err(no_tenant)?;
        let fresh = TokenId::mint(&self.settings.id_key, now, random(&self.entropy));
        let id = self.id_once(ROOT, call.once.as_ref(), fresh).await?;
        let token = Token::mint(asked.environment, id.clone(), &random(&self.entropy));
        let record = Record {
            token_id: id.clone(),
            tenant_id: asked.tenant_id,
            environment: asked.environment,
            scopes: asked.scopes.unwrap_or_else(|| Scope::ALL.to_vec()),
            created_at: now,
            expires_at: asked.expires_at,
            revoked_at: None,
            portal: None,
        };
        let Stored { record, fresh } = self.store_token(&token, record).await?;
        // After the token's object has decided: a repeat lists what there is.
        self.objects.list_token(record.clone()).await?;
        let token = fresh.then(|| token.show_once());
        Ok(json(201, &TokenAnswer { record, secret_already_shown: token.is_none(), token }))
    }

    /// Stores a token; one of that id that exists stays as it is.
    pub(crate) async fn store_token(&self, token: &Token, record: Record) -> Result<Stored, Refusal> {
        let create = Command::Create { record, digest: token.digest() };
        Ask::<Tokens>::ask(&self.objects, token.id.as_str(), create).await
    }

    pub(crate) async fn list_tokens(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let accepted = "the id of a tenant; with environment=live or environment=test";
        let tenant = call.query.get("tenant_id").ok_or_else(|| malformed("tenant_id", accepted))?;
        let environment = call.query.get("environment").and_then(Environment::parse);
        let environment = environment.ok_or_else(|| malformed("environment", "live or test"))?;
        let (after, limit) = (call.query.cursor()?, call.query.limit()?);
        let tenant = self.known_tenant(tenant)?;
        let items = self.objects.tokens(&tenant, environment, after, limit).await.map_err(no_tenant)?;
        let full = items.len() == limit as usize;
        let next = items.last().filter(|_| full).map(|record| record.token_id.clone());
        Ok(json(200, &TokenPage { items, next }))
    }

    /// Ends a token at once; ending it again changes nothing.
    pub(crate) async fn revoke_token(&self, id: &str) -> Result<Response<Bytes>, Refusal> {
        let unknown = || Refusal::new(Reason::TokenUnknown, "there is no such token");
        let id: TokenId = id.parse().map_err(|_| unknown())?;
        if !self.settings.id_key.admits(&id) {
            return Err(unknown());
        }
        let revoked: Result<Record, _> =
            Ask::<Tokens>::ask(&self.objects, id.as_str(), Command::Revoke).await;
        match revoked {
            Ok(record) => {
                // What was minted for a portal is not listed.
                if record.portal.is_none() {
                    self.objects.list_token(record.clone()).await?;
                }
                Ok(json(200, &record))
            }
            Err(refusal) if refusal.reason == Reason::TokenRefused => Err(unknown()),
            Err(refusal) => Err(refusal),
        }
    }
}

/// The words of a tenant's absence, whoever noticed it.
fn no_tenant(refusal: Refusal) -> Refusal {
    if refusal.reason == Reason::TenantUnknown { unknown() } else { refusal }
}
