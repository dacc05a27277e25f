//! Tenants and their tokens; root only.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json};
use hookproof_authority::directory::{AskDirectory, Tenant};
use hookproof_authority::token::{Command, Record, Scope, Tokens};
use hookproof_core::id::{Environment, TenantId, TokenId};
use hookproof_core::time::Timestamp;
use hookproof_core::token::Token;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, Clock, Entropy, Journal, Queue, random};
use serde::{Deserialize, Serialize};

use crate::access::Request;
use crate::{Control, Fresh, Objects};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct NewTenant {
    name: String,
}

#[derive(Serialize)]
struct TenantAnswer {
    tenant_id: TenantId,
    name: String,
    environments: [Environment; 2],
    created_at: Timestamp,
}

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
    token: String,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn create_tenant(&self, request: &Request) -> Result<Response<Bytes>, Refusal> {
        let NewTenant { name } = parse_json(request.body(), "{\"name\": \"…\"}")?;
        if !(1..=100).contains(&name.chars().count()) {
            return Err(Refusal::new(Reason::BodyMalformed, "the name has no usable length")
                .at("name", "1 to 100 characters"));
        }
        let now = self.clock.now();
        let tenant_id = TenantId::mint(&self.settings.id_key, now, random(&self.entropy));
        let environments = [Environment::Live, Environment::Test];
        for environment in environments {
            let tenant =
                Tenant { tenant_id: tenant_id.clone(), environment, name: name.clone(), created_at: now };
            self.objects.create_tenant(tenant).await?;
        }
        Ok(json(201, &TenantAnswer { tenant_id, name, environments, created_at: now }))
    }

    pub(crate) async fn create_token(&self, request: &Request) -> Result<Response<Bytes>, Refusal> {
        let shape = "{\"tenant_id\", \"environment\": \"live\" or \"test\", \"scopes\"?, \"expires_at\"?}";
        let asked: NewToken = parse_json(request.body(), shape)?;
        let unknown = || {
            Refusal::new(Reason::TenantUnknown, "there is no such tenant")
                .at("tenant_id", "the id of a tenant of this deployment")
        };
        if !self.settings.id_key.admits(&asked.tenant_id) {
            return Err(unknown());
        }
        self.objects.tenant(&asked.tenant_id, asked.environment).await?;
        let now = self.clock.now();
        let id = TokenId::mint(&self.settings.id_key, now, random(&self.entropy));
        let token = Token::mint(asked.environment, id.clone(), &random(&self.entropy));
        let record = Record {
            token_id: id.clone(),
            tenant_id: asked.tenant_id,
            environment: asked.environment,
            scopes: asked.scopes.unwrap_or_else(|| Scope::ALL.to_vec()),
            created_at: now,
            expires_at: asked.expires_at,
            revoked_at: None,
        };
        let create = Command::Create { record, digest: token.digest() };
        let record: Record = Ask::<Tokens>::ask(&self.objects, id.as_str(), create).await?;
        Ok(json(201, &TokenAnswer { record, token: token.show_once() }))
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
            Ok(record) => Ok(json(200, &record)),
            Err(refusal) if refusal.reason == Reason::TokenRefused => Err(unknown()),
            Err(refusal) => Err(refusal),
        }
    }
}
