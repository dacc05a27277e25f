//! Tenants; root only.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json};
use hookproof_authority::directory::{AskDirectory, ROOT, Tenant};
use hookproof_core::id::{Environment, TenantId};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Queue, random};
use serde::{Deserialize, Serialize};

use crate::access::Call;
use crate::{Control, Fresh, Objects};

const ENVIRONMENTS: [Environment; 2] = [Environment::Live, Environment::Test];

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

impl From<Tenant> for TenantAnswer {
    fn from(tenant: Tenant) -> Self {
        let Tenant { tenant_id, name, created_at, environment: _ } = tenant;
        Self { tenant_id, name, environments: ENVIRONMENTS, created_at }
    }
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn create_tenant(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let NewTenant { name } = parse_json(call.request.body(), "{\"name\": \"…\"}")?;
        if !(1..=100).contains(&name.chars().count()) {
            return Err(Refusal::new(Reason::BodyMalformed, "the name has no usable length")
                .at("name", "1 to 100 characters"));
        }
        let created_at = self.clock.now();
        let fresh = TenantId::mint(&self.settings.id_key, created_at, random(&self.entropy));
        let tenant_id = self.id_once(ROOT, call.once.as_ref(), fresh).await?;
        let [live, test] = ENVIRONMENTS.map(|environment| Tenant {
            tenant_id: tenant_id.clone(),
            environment,
            name: name.clone(),
            created_at,
        });
        let made = self.objects.create_tenant(live).await?;
        self.objects.create_tenant(test).await?;
        Ok(json(201, &TenantAnswer::from(made)))
    }

    pub(crate) async fn read_tenant(&self, id: &str) -> Result<Response<Bytes>, Refusal> {
        let id = self.known_tenant(id)?;
        let tenant =
            self.objects.tenant(&id, Environment::Live).await.map_err(|refusal| {
                if refusal.reason == Reason::TenantUnknown { unknown() } else { refusal }
            })?;
        Ok(json(200, &TenantAnswer::from(tenant)))
    }

    /// An id that this deployment minted for a tenant.
    pub(crate) fn known_tenant(&self, id: &str) -> Result<TenantId, Refusal> {
        let id = id.parse().map_err(|_| unknown())?;
        if self.settings.id_key.admits(&id) { Ok(id) } else { Err(unknown()) }
    }
}

/// One answer for every id that is no tenant's.
pub(crate) fn unknown() -> Refusal {
    Refusal::new(Reason::TenantUnknown, "there is no such tenant")
        .at("tenant_id", "the id of a tenant of this deployment")
}
