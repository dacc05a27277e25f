//! The public key directory: what anybody may read without a token. A key-value store saves the authority
//! the asking and decides nothing: a copy counts only while it is young and the issuer's signature holds.

use std::cell::RefCell;
use std::rc::Rc;
use std::str::FromStr;

use ::http::header::{AGE, CACHE_CONTROL, CONTENT_TYPE, ETAG, HeaderMap, HeaderValue, IF_NONE_MATCH};
use ::http::{Response, StatusCode};
use bytes::Bytes;
use hookproof_authority::api::{problem, with_request_id};
use hookproof_authority::subscription::AskAuthority;
use hookproof_core::digest::sha256;
use hookproof_core::id::SubscriptionId;
use hookproof_core::key_document::{GRACE, LIFETIME, Pin, RENEWAL};
use hookproof_core::keys::Issuer;
use hookproof_core::reason::Fault;
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal, base64};
use hookproof_ports::{Clock, Entropy, Journal, Kv, Line, Queue};
use serde::Serialize;

use crate::access::Request;
use crate::query::Query;
use crate::routes::{Action, find};
use crate::{Control, Fresh, Objects};

/// How long a copy may stand for the authority's answer.
const YOUNG: Span = Span::seconds(60);

/// How long a copy is kept: as long as somebody may go by it.
const KEPT_SECONDS: u32 = 25 * 60;

/// How long whoever asks may keep an answer.
const CACHED: &str = "public, max-age=60";

/// The issuer as it was last learned from an authority; clones share it. It outlives a request.
#[derive(Clone, Debug, Default)]
pub struct KnownIssuer(Rc<RefCell<Option<(Timestamp, Issuer)>>>);

/// The directory before the API whose ports it uses; what it does not serve it hands on.
pub struct KeyDirectory<'a, T, K> {
    /// The API.
    pub control: &'a T,
    /// The cache.
    pub kv: &'a K,
    /// Who signs.
    pub issuer: &'a KnownIssuer,
}

/// An answer's octets, and how old they are where they come from a copy.
struct Found {
    kind: &'static str,
    text: String,
    age: Option<Span>,
}

/// What the cache holds for a subscription.
enum Held {
    /// Nothing that can be believed.
    Nothing,
    /// A document that was genuine and is too old to go by.
    Stale,
    /// A genuine document.
    Genuine { text: String, stored_at: Timestamp, issued_at: Timestamp },
}

#[derive(Serialize)]
struct Jwks {
    keys: Vec<Jwk>,
}

/// A public key (RFC 8037 §2).
#[derive(Serialize)]
struct Jwk {
    kty: &'static str,
    crv: &'static str,
    kid: String,
    x: String,
    r#use: &'static str,
}

impl<O, Q, C, N, J, K> KeyDirectory<'_, Control<O, Q, C, N, J>, K>
where
    O: Objects,
    Q: Queue<Fresh>,
    C: Clock,
    N: Entropy,
    J: Journal,
    K: Kv,
{
    /// Answers a request, the API's as well. `Err` in `read` is a request that could not be read whole.
    pub async fn answer(&self, read: Result<Request, Refusal>) -> Response<Bytes> {
        let Ok(request) = &read else { return self.control.answer(read).await };
        let Ok((route, ids)) = find(request.method().as_str(), request.uri().path()) else {
            return self.control.answer(read).await;
        };
        if ![Action::KeyDocument, Action::IssuerKeys].contains(&route.action) {
            return self.control.answer(read).await;
        }
        let found = match (Query::read(request, route.query), ids.as_slice()) {
            (Ok(_), [id]) => self.document(id).await,
            (Ok(_), _) => self.issuers_own().await,
            (Err(refusal), _) => Err(refusal),
        };
        let response = match found {
            Ok(found) => conditional(request.headers(), found),
            Err(refusal) => {
                self.note("refused", None, &refusal);
                problem(&refusal)
            }
        };
        with_request_id(response, &self.control.entropy)
    }

    /// A subscription's document: a young copy, else the authority's answer, else, while the authority
    /// cannot be asked, a copy that its readers may still go by.
    async fn document(&self, id: &str) -> Result<Found, Refusal> {
        let unknown = || Refusal::new(Reason::SubscriptionUnknown, "there is no such subscription");
        let id = SubscriptionId::from_str(id).map_err(|_| unknown())?;
        if !self.control.settings.id_key.admits(&id) {
            return Err(unknown());
        }
        let now = self.control.clock.now();
        let held = self.held(&id, now).await;
        let copy = |text: String, stored_at: Timestamp| Found {
            kind: "application/json",
            text,
            age: Some((now - stored_at).max(Span::ZERO)),
        };
        let held = match held {
            Held::Genuine { text, stored_at, issued_at } if is_young(stored_at, issued_at, now) => {
                return Ok(copy(text, stored_at));
            }
            Held::Genuine { .. } | Held::Nothing | Held::Stale => held,
        };
        let refusal = match self.control.objects.key_document(&id).await {
            Ok(text) => {
                self.keep(&id, &text, now).await;
                return Ok(Found { kind: "application/json", text, age: None });
            }
            Err(refusal) if refusal.reason == Reason::SubscriptionUnknown => return Err(unknown()),
            Err(refusal) => refusal,
        };
        match (refusal.reason.fault(), held) {
            (Fault::Ours, Held::Genuine { text, stored_at, .. }) => {
                self.note("key document served from its copy", Some(&id), &refusal);
                Ok(copy(text, stored_at))
            }
            (Fault::Ours, Held::Stale) => {
                self.note("key document is stale", Some(&id), &refusal);
                Err(Refusal::new(Reason::DirectoryStale, "no key document can be had that is not too old"))
            }
            (Fault::Ours, Held::Nothing) | (Fault::Theirs, _) => Err(refusal),
        }
    }

    /// What the cache has, once the issuer's signature is checked: anybody may have written there.
    async fn held(&self, id: &SubscriptionId, now: Timestamp) -> Held {
        let value = match self.kv.get(&key(id)).await {
            Ok(Some(value)) => value,
            Ok(None) => return Held::Nothing,
            Err(refusal) => {
                self.note("key document cache failed", Some(id), &refusal);
                return Held::Nothing;
            }
        };
        let judged = async {
            let malformed = || Refusal::new(Reason::BodyMalformed, "a copy has no time");
            let (stored_at, text) = value.split_once('\n').ok_or_else(malformed)?;
            let stored_at: i64 = stored_at.parse().map_err(|_| malformed())?;
            let stored_at = Timestamp::from_millis(stored_at);
            let (_, issuer) = self.known_issuer().await?;
            let pin =
                Pin { issuer: &issuer.issuer, subscription_id: id, keys: &issuer.keys, last_sequence: 0 };
            let issued_at = pin.verify(text, now)?.issued_at;
            Ok(Held::Genuine { text: text.to_owned(), stored_at, issued_at })
        };
        judged.await.unwrap_or_else(|refusal: Refusal| {
            if refusal.reason == Reason::DirectoryStale {
                return Held::Stale;
            }
            self.note("key document copy not used", Some(id), &refusal);
            Held::Nothing
        })
    }

    /// Writes the copy; without one the authority is asked again, which is all that is lost.
    async fn keep(&self, id: &SubscriptionId, text: &str, now: Timestamp) {
        let value = format!("{}\n{text}", now.millis());
        if let Err(refusal) = self.kv.put(&key(id), &value, KEPT_SECONDS).await {
            self.note("key document cache failed", Some(id), &refusal);
        }
    }

    /// The issuer, and when that was learned: asked for once a minute. While it cannot be asked, what was
    /// learned holds as long as a document may be gone by.
    async fn known_issuer(&self) -> Result<(Timestamp, Issuer), Refusal> {
        let now = self.control.clock.now();
        let known = self.issuer.0.borrow().clone();
        let age = known.as_ref().map(|(at, _)| now - *at);
        if let (Some(known), Some(_)) = (&known, age.filter(|&age| age < YOUNG)) {
            return Ok(known.clone());
        }
        match (self.control.objects.issuer().await, known) {
            (Ok(issuer), _) => {
                *self.issuer.0.borrow_mut() = Some((now, issuer.clone()));
                Ok((now, issuer))
            }
            (Err(refusal), Some(known)) if age.is_some_and(|age| age < LIFETIME + GRACE) => {
                self.note("issuer keys not refreshed", None, &refusal);
                Ok(known)
            }
            (Err(refusal), Some(_) | None) => Err(refusal),
        }
    }

    /// The issuer's own keys as a JWKS.
    async fn issuers_own(&self) -> Result<Found, Refusal> {
        let (learned_at, issuer) = self.known_issuer().await?;
        let jwk = |key: hookproof_core::keys::IssuerKey| Jwk {
            kty: "OKP",
            crv: "Ed25519",
            kid: key.key_id,
            x: key.public_key,
            r#use: "sig",
        };
        let jwks = Jwks { keys: issuer.keys.into_iter().map(jwk).collect() };
        let text = serde_json::to_string(&jwks).map_err(|_| Refusal::from(Reason::InternalCorrupt))?;
        let age = (self.control.clock.now() - learned_at).max(Span::ZERO);
        let kind = "application/http-message-signatures-directory+json";
        Ok(Found { kind, text, age: Some(age).filter(|&age| age > Span::ZERO) })
    }

    fn note(&self, event: &str, id: Option<&SubscriptionId>, refusal: &Refusal) {
        self.control.journal.record(&Line {
            event,
            subscription: id.map(SubscriptionId::as_str),
            reason: Some(refusal.reason),
            detail: Some(&refusal.detail),
            ..Line::default()
        });
    }
}

fn key(id: &SubscriptionId) -> String {
    format!("key-document:{id}")
}

/// Whether a copy may stand for the authority's answer. Its time of writing is not signed, so the signed
/// time bounds it as well: an authority never answers with a document older than [`RENEWAL`].
fn is_young(stored_at: Timestamp, issued_at: Timestamp, now: Timestamp) -> bool {
    let age = now - stored_at;
    age >= Span::ZERO && age < YOUNG && now - issued_at < RENEWAL + YOUNG
}

/// The answer with a strong tag over its octets; 304 where the caller has these octets.
fn conditional(asked: &HeaderMap, found: Found) -> Response<Bytes> {
    let tag = format!("\"{}\"", base64::url(&sha256(found.text.as_bytes())));
    let has_it = |value: &HeaderValue| {
        let tags = value.to_str().unwrap_or_default().split(',').map(str::trim);
        tags.map(|given| given.strip_prefix("W/").unwrap_or(given)).any(|given| given == "*" || given == tag)
    };
    let unchanged = asked.get_all(IF_NONE_MATCH).iter().any(has_it);
    let mut response = Response::new(if unchanged { Bytes::new() } else { Bytes::from(found.text) });
    if unchanged {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    if !unchanged {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(found.kind));
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(CACHED));
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    if let Some(age) = found.age {
        headers.insert(AGE, (age.as_millis() / 1000).into());
    }
    response
}
