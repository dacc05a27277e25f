//! Portal links: a subscriber's own look at one subscription, made by the tenant for one hour.
//!
//! The link holds a code in its fragment, which no server sees until it is exchanged, once, for a session.
//! A session reads its subscription and may ask for a challenge; it dies with the token that made the
//! link, with the generation, and with the subscription.

use ::http::Response;
use bytes::Bytes;
use hookproof_authority::api::{json, parse_json};
use hookproof_authority::token::{Command, Portal, Record, Scope, Stored};
use hookproof_core::id::{Environment, Generation, SubscriptionId, TokenId};
use hookproof_core::subscription::SuspendReason;
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::token::Token;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Clock, Entropy, Journal, Queue, random};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::access::{Call, refused};
use crate::revision::Glance;
use crate::{Control, Fresh, Objects};

/// How long a link may wait to be opened.
const OPEN: Span = Span::minutes(10);

/// A code is written as a token with this prefix, so that neither passes for the other.
const CODE: &str = "hpc_";
const TOKEN: &str = "hp_";

/// What a session may have of its maker's scopes.
const READS: [Scope; 2] = [Scope::SubscriptionsRead, Scope::DeliveriesRead];

#[derive(Serialize)]
struct Link {
    link_id: TokenId,
    subscription_id: SubscriptionId,
    generation: Generation,
    scopes: Vec<Scope>,
    expires_at: Option<Timestamp>,
    url: Option<String>,
    secret_already_shown: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Exchange {
    code: String,
}

#[derive(Serialize)]
struct Session {
    token: Option<String>,
    token_id: TokenId,
    environment: Environment,
    subscription_id: SubscriptionId,
    generation: Generation,
    scopes: Vec<Scope>,
    expires_at: Option<Timestamp>,
    secret_already_shown: bool,
}

impl<O: Objects, Q: Queue<Fresh>, C: Clock, N: Entropy, J: Journal> Control<O, Q, C, N, J> {
    pub(crate) async fn portal_link(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let caller = call.caller()?;
        let (id, view) = self.owned(caller, call.id()?).await?;
        let shown = Glance::of(&view)?;
        may_open(&shown, &view)?;
        let now = self.clock.now();
        let fresh = TokenId::mint(&self.settings.id_key, now, random(&self.entropy));
        let link_id = self.id_once(&caller.directory(), call.once.as_ref(), fresh).await?;
        let code = Token::mint(caller.environment(), link_id.clone(), &random(&self.entropy));
        let made_by = caller.token();
        let record = Record {
            token_id: link_id,
            tenant_id: made_by.tenant_id.clone(),
            environment: made_by.environment,
            scopes: READS.into_iter().filter(|scope| made_by.scopes.contains(scope)).collect(),
            created_at: now,
            expires_at: Some(now + OPEN),
            revoked_at: None,
            portal: Some(Portal {
                subscription_id: id,
                generation: shown.generation,
                minted_by: made_by.token_id.clone(),
                exchanged: false,
            }),
        };
        let Stored { record, fresh } = self.store_token(&code, record).await?;
        let portal = record.portal.ok_or(Reason::InternalCorrupt)?;
        let url = fresh.then(|| format!("{}/portal#code={}", shown.issuer, as_code(&code)));
        let link = Link {
            link_id: record.token_id,
            subscription_id: portal.subscription_id,
            generation: portal.generation,
            scopes: record.scopes,
            expires_at: record.expires_at,
            secret_already_shown: url.is_none(),
            url,
        };
        Ok(json(201, &link))
    }

    pub(crate) async fn portal_session(&self, call: &Call<'_>) -> Result<Response<Bytes>, Refusal> {
        let Exchange { code } = parse_json(call.request.body(), "{\"code\": \"hpc_…\"}")?;
        let unusable = |refusal: Refusal| {
            if refusal.reason == Reason::TokenRefused { no_code() } else { refusal }
        };
        let code =
            from_code(&code).filter(|code| self.settings.id_key.admits(&code.id)).ok_or_else(no_code)?;
        let session = Token::mint(code.environment, code.id.clone(), &random(&self.entropy));
        let once = call.once.clone();
        let command = Command::Exchange { code: code.digest(), session: session.digest(), once };
        let (caller, fresh) = self.exchange(&code.id, command).await.map_err(unusable)?;
        let portal = caller.portal().ok_or_else(refused)?;
        // Refused here rather than at the session's first use.
        self.owned(&caller, portal.subscription_id.as_str()).await.map_err(unusable)?;
        let (token, record) = (fresh.then(|| session.show_once()), caller.token());
        let answer = Session {
            secret_already_shown: token.is_none(),
            token,
            token_id: record.token_id.clone(),
            environment: record.environment,
            subscription_id: portal.subscription_id.clone(),
            generation: portal.generation,
            scopes: record.scopes.clone(),
            expires_at: record.expires_at,
        };
        Ok(json(201, &answer))
    }
}

/// What is read of a view to know why its generation is suspended.
#[derive(Deserialize)]
struct Suspensions {
    generations: Vec<Suspension>,
}

#[derive(Deserialize)]
struct Suspension {
    generation: Generation,
    state: String,
    #[serde(default)]
    reason: Option<SuspendReason>,
}

/// A subscription that has ended has no portal, and one that only its recovery credential leads on from
/// gets no new link.
fn may_open(shown: &Glance, view: &RawValue) -> Result<(), Refusal> {
    if ["REVOKED", "EXPIRED"].contains(&shown.state.as_str()) {
        let words = format!("a {} subscription has no portal", shown.state);
        return Err(Refusal::new(Reason::StateForbids, words));
    }
    let read: Suspensions =
        serde_json::from_str(view.get()).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
    let closed = |it: &&Suspension| {
        let suspended = it.generation == shown.generation && it.state == "SUSPENDED";
        suspended && it.reason.is_some_and(SuspendReason::needs_recovery)
    };
    match read.generations.iter().find(closed) {
        None => Ok(()),
        Some(_) => Err(Refusal::new(
            Reason::RecoveryRequired,
            "no link is made while only the recovery credential leads on",
        )),
    }
}

fn as_code(token: &Token) -> String {
    token.show_once().replacen(TOKEN, CODE, 1)
}

fn from_code(text: &str) -> Option<Token> {
    Token::parse(&format!("{TOKEN}{}", text.strip_prefix(CODE)?))
}

/// One answer for a code that is unknown, used, late, or whose maker is gone.
fn no_code() -> Refusal {
    Refusal::new(Reason::TokenRefused, "this code opens nothing; a new link is needed")
        .at("code", "the code of a portal link of the last 10 minutes that was not opened yet")
}
