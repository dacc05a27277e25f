//! The key directory is public and believes no cache: what it serves is the issuer's, and a revocation is
//! seen in time whatever the cache does.

use ::http::{Request, Response};
use bytes::Bytes;
use hookproof_control::{KeyDirectory, KnownIssuer};
use hookproof_core::id::SubscriptionId;
use hookproof_core::key_document::{GRACE, KeyDocument, LIFETIME, Pin, RENEWAL};
use hookproof_core::keys::IssuerKey;
use hookproof_core::time::Span;
use hookproof_native::MemoryKv;
use hookproof_ports::Kv as _;
use serde_json::{Value, json};

use crate::support::{ISSUER, now};
use crate::{Answer, Site, read};

const WELL_KNOWN: &str = "/.well-known/http-message-signatures-directory";

struct Public {
    site: Site,
    kv: MemoryKv,
    issuer: KnownIssuer,
    id: SubscriptionId,
    pinned: IssuerKey,
}

impl Public {
    fn new() -> Self {
        let site = Site::new();
        let registered = site.register(&site.publisher());
        let id = registered.text("subscription_id").parse().unwrap();
        let pinned = serde_json::from_value(registered.body["issuer_key"].clone()).unwrap();
        let kv = MemoryKv::new(site.world.clock.clone());
        Self { site, kv, issuer: KnownIssuer::default(), id, pinned }
    }

    fn send(&self, request: Request<Bytes>) -> Response<Bytes> {
        let directory = KeyDirectory { control: &self.site.control, kv: &self.kv, issuer: &self.issuer };
        now(directory.answer(Ok(request)))
    }

    fn get(&self, path: &str) -> Response<Bytes> {
        self.send(Request::builder().uri(path).body(Bytes::new()).unwrap())
    }

    fn get_unless(&self, path: &str, tag: &str) -> Response<Bytes> {
        self.send(Request::builder().uri(path).header("if-none-match", tag).body(Bytes::new()).unwrap())
    }

    fn path(&self) -> String {
        format!("/v1/directory/{}", self.id)
    }

    fn served(&self) -> Response<Bytes> {
        self.get(&self.path())
    }

    /// What the subscriber reads of an answer.
    fn judge(&self, response: &Response<Bytes>) -> KeyDocument {
        let pin = Pin {
            issuer: ISSUER,
            subscription_id: &self.id,
            keys: std::slice::from_ref(&self.pinned),
            last_sequence: 0,
        };
        assert_eq!(response.status(), 200, "{response:?}");
        pin.verify(std::str::from_utf8(response.body()).unwrap(), self.site.world.now()).unwrap()
    }

    fn document(&self) -> KeyDocument {
        self.judge(&self.served())
    }

    /// Puts something in the cache as if it had been stored now.
    fn poison(&self, text: &str) {
        let value = format!("{}\n{text}", self.site.world.now().millis());
        now(self.kv.put(&format!("key-document:{}", self.id), &value, 3600)).unwrap();
    }

    fn revoke(&self) {
        let statement = "UPDATE credential SET record = replace(record, '\"ACTIVE\"', '\"REVOKED\"')";
        self.site.world.disk.rows(statement);
    }

    fn pass(&self, span: Span) {
        self.site.world.clock.advance(span);
    }

    /// How often an object was asked while `work` ran.
    fn asked<T>(&self, work: impl FnOnce() -> T) -> (u32, T) {
        let before = self.site.world.objects.calls();
        let done = work();
        (self.site.world.objects.calls() - before, done)
    }
}

fn field<'a>(response: &'a Response<Bytes>, name: &str) -> &'a str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

fn problem(response: &Response<Bytes>) -> (u16, String) {
    let answer: Answer = read(response);
    (answer.status, answer.problem().1.to_owned())
}

#[test]
fn a_document_is_read_without_a_token_and_only_once_by_whoever_has_it() {
    let public = Public::new();
    let first = public.served();
    assert_eq!(public.judge(&first).keys.len(), 1);
    let fields = ["content-type", "cache-control", "age"].map(|name| field(&first, name).to_owned());
    assert_eq!(fields, ["application/json", "public, max-age=60", ""]);
    assert!(field(&first, "request-id").starts_with("req_"));
    let tag = field(&first, "etag").to_owned();
    assert!(tag.starts_with('"') && tag.len() == 45, "{tag}");
    for given in [tag.clone(), format!("\"other\", W/{tag}"), "*".into()] {
        let again = public.get_unless(&public.path(), &given);
        assert_eq!((again.status().as_u16(), again.body().len()), (304, 0));
        assert_eq!((field(&again, "etag"), field(&again, "cache-control")), (&*tag, "public, max-age=60"));
    }
    let other = public.get_unless(&public.path(), "\"other\"");
    assert_eq!(other.body(), first.body());
}

#[test]
fn a_young_copy_saves_the_authority_the_asking_and_says_its_age() {
    let public = Public::new();
    let (calls, first) = public.asked(|| public.served());
    assert_eq!((calls, public.kv.keys().len()), (1, 1));
    public.pass(Span::seconds(59));
    let (calls, copy) = public.asked(|| public.served());
    // The one call is for the issuer's keys, which check the copy.
    assert_eq!((calls, field(&copy, "age"), copy.body()), (1, "59", first.body()));
    let (calls, copy) = public.asked(|| public.served());
    assert_eq!((calls, field(&copy, "age")), (0, "59"));
    public.pass(Span::seconds(1));
    let (calls, fresh) = public.asked(|| public.served());
    assert_eq!((calls, field(&fresh, "age")), (1, ""), "the authority is asked again");
}

#[test]
fn a_revoked_key_disappears_within_a_minute_even_if_the_cache_never_learns_of_it() {
    for lags in [false, true] {
        let public = Public::new();
        let before = public.document();
        public.kv.lag(lags);
        public.revoke();
        public.pass(Span::seconds(59));
        assert_eq!(public.document(), before, "this is the most that a copy may lag");
        public.pass(Span::seconds(1));
        let after = public.document();
        assert_eq!((after.keys.len(), after.revoked.len()), (0, 1));
        assert!(after.sequence > before.sequence);
        assert_eq!(public.document(), after);
    }
}

#[test]
fn a_cache_that_fails_is_done_without() {
    let public = Public::new();
    public.kv.fail(true);
    let first = public.document();
    public.revoke();
    assert_eq!(public.document().sequence, first.sequence + 1, "each answer is the authority's");
    assert!(public.site.journal.mentions("key document cache failed"));
}

#[test]
fn a_poisoned_copy_is_not_served() {
    let public = Public::new();
    let genuine = public.served();
    let genuine = std::str::from_utf8(genuine.body()).unwrap();
    let site = &public.site;
    let other = site.register(&site.publisher()).text("subscription_id");
    let of_another = public.get(&format!("/v1/directory/{other}"));
    let of_another = std::str::from_utf8(of_another.body()).unwrap();
    let forged = genuine.replace("\\\"sequence\\\":1", "\\\"sequence\\\":9");
    assert_ne!(forged, genuine);
    public.revoke();
    for poison in ["", "{}", &forged, of_another] {
        public.poison(poison);
        let (calls, served) = public.asked(|| public.served());
        assert!(calls >= 1, "{poison}");
        assert_eq!((public.judge(&served).revoked.len(), field(&served, "age")), (1, ""), "{poison}");
    }
    now(public.kv.put(&format!("key-document:{}", public.id), "no time", 3600)).unwrap();
    assert_eq!(public.document().revoked.len(), 1);
    assert!(site.journal.mentions("signature.wrong"));
}

#[test]
fn a_genuine_document_that_is_put_back_counts_no_longer_than_its_signed_time_allows() {
    let public = Public::new();
    let old = String::from_utf8(public.served().body().to_vec()).unwrap();
    public.revoke();
    public.pass(RENEWAL + Span::seconds(60));
    public.poison(&old);
    assert_eq!(public.document().revoked.len(), 1);
    // Nor does one count whose copy claims to be written later than now.
    let public = Public::new();
    let old = String::from_utf8(public.served().body().to_vec()).unwrap();
    public.revoke();
    let later = public.site.world.now().millis() + 1;
    now(public.kv.put(&format!("key-document:{}", public.id), &format!("{later}\n{old}"), 3600)).unwrap();
    assert_eq!(public.document().revoked.len(), 1);
}

#[test]
fn while_the_authority_is_down_a_copy_serves_until_its_grace_ends() {
    let public = Public::new();
    let first = public.document();
    assert_eq!(public.get(WELL_KNOWN).status(), 200);
    // The cache itself would have forgotten by then.
    let text = String::from_utf8(public.served().body().to_vec()).unwrap();
    let value = format!("{}\n{text}", public.site.world.now().millis());
    now(public.kv.put(&format!("key-document:{}", public.id), &value, 7200)).unwrap();
    public.pass(LIFETIME + GRACE + Span::seconds(-1));
    // Learned again just before the end, so that it is known when nobody can be asked.
    assert_eq!(public.get(WELL_KNOWN).status(), 200);
    public.site.world.disk.fail_at(Some(0));
    let late = public.served();
    assert_eq!((public.judge(&late), field(&late, "age")), (first, "1499"));
    public.pass(Span::seconds(2));
    assert_eq!(problem(&public.served()), (503, "directory.stale".into()));
    public.site.world.disk.fail_at(None);
    assert_eq!(public.document().sequence, 1);
}

#[test]
fn without_a_copy_or_a_way_to_check_it_an_outage_is_an_outage() {
    let public = Public::new();
    public.site.world.disk.fail_at(Some(0));
    assert_eq!(problem(&public.served()), (503, "internal.store".into()));
    public.site.world.disk.fail_at(None);
    public.document();
    public.pass(Span::seconds(60));
    public.site.world.disk.fail_at(Some(0));
    // A copy is there, but nobody ever told this place who signs.
    assert_eq!(problem(&public.served()), (503, "internal.store".into()));
    public.site.world.disk.fail_at(None);
    assert_eq!(public.get(WELL_KNOWN).status(), 200);
    public.site.world.disk.fail_at(Some(0));
    assert_eq!(field(&public.served(), "age"), "60");
}

#[test]
fn an_id_that_is_made_up_asks_nobody_and_looks_like_one_that_is_unknown() {
    let public = Public::new();
    let unknown = public.get(&format!("/v1/directory/{}", public.site.world.mint()));
    let mut made_up = public.id.to_string();
    let last = made_up.pop().unwrap();
    made_up.push(if last == '0' { '1' } else { '0' });
    for id in [made_up.as_str(), "x", "sub_", "%2e"] {
        let (calls, answer) = public.asked(|| public.get(&format!("/v1/directory/{id}")));
        assert_eq!((calls, answer.body()), (0, unknown.body()), "{id}");
        assert_eq!(problem(&answer), (404, "subscription.unknown".into()));
        assert_eq!(field(&answer, "cache-control"), "no-store");
    }
    assert_eq!(public.kv.keys(), Vec::<String>::new());
}

#[test]
fn the_issuers_own_keys_are_a_jwks_and_asked_for_once_a_minute() {
    let public = Public::new();
    let (calls, first) = public.asked(|| public.get(WELL_KNOWN));
    let jwks: Value = serde_json::from_slice(first.body()).unwrap();
    let key = &public.pinned;
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "kid": key.key_id, "x": key.public_key, "use": "sig" });
    assert_eq!((calls, jwks), (1, json!({ "keys": [jwk] })));
    let fields = ["content-type", "cache-control", "age"].map(|name| field(&first, name));
    let kind = "application/http-message-signatures-directory+json";
    assert_eq!(fields, [kind, "public, max-age=60", ""]);
    public.pass(Span::seconds(59));
    let (calls, again) = public.asked(|| public.get_unless(WELL_KNOWN, field(&first, "etag")));
    assert_eq!((calls, again.status().as_u16(), field(&again, "age")), (0, 304, "59"));
    public.pass(Span::seconds(1));
    assert_eq!(public.asked(|| public.get(WELL_KNOWN)).0, 1);
}

#[test]
fn the_directory_is_only_read_and_hands_on_what_is_not_its_own() {
    let public = Public::new();
    for path in [public.path().as_str(), WELL_KNOWN] {
        let request = Request::builder().method("POST").uri(path).body(Bytes::new()).unwrap();
        let answer = public.send(request);
        assert_eq!(problem(&answer), (405, "method.not_allowed".into()));
        assert_eq!(field(&answer, "allow"), "GET");
    }
    assert_eq!(public.get("/v1/health").status(), 200);
    assert_eq!(problem(&public.get("/v1/directory")), (404, "route.unknown".into()));
    assert_eq!(problem(&public.get("/v1/subscriptions")), (401, "token.refused".into()));
}
