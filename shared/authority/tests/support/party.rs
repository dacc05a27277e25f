//! A subscriber: what it registered, what it was shown, and its own receiver to verify and answer with.

use hookproof_authority::directory::Matched;
use hookproof_authority::message::EventRef;
use hookproof_authority::subscription::{
    AskAuthority, ChallengeOutcome, ChallengeRequest, ChangeRequest, Changed, Described, HeaderField,
    PlanItem, ReceiptRequest, Registered, Registration, SigningAlg,
};
use hookproof_core::base64;
use hookproof_core::digest::Digest;
use hookproof_core::endpoint::EndpointUrl;
use hookproof_core::filter::Filter;
use hookproof_core::id::{Environment, Generation, SubscriptionId, TenantId};
use hookproof_core::receipt::{Receipt, ReceiptResult, TYPE};
use hookproof_core::receiver::{
    Entry, EntryKey, Handler, Intake, ReceiptKey, Receipts, Received, Source, receive,
};
use hookproof_core::retry::Policy;
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Fields, Message, Profile, SigningKey, profile, sign};
use hookproof_core::subscription::{
    Change, OldGenerations, Owner, PROFILE_DELIVERY, ReceiptContract, Terms, Wants,
};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::random;
use serde_json::Value;

use super::ledger::Attempted;
use super::{ENDPOINT, RECEIPTS, World, now};

/// What a test registers.
#[derive(Clone)]
pub struct Setup {
    pub tenant: Option<TenantId>,
    pub environment: Environment,
    pub signing: SigningAlg,
    pub receipt: Contract,
    pub retry: Policy,
    pub endpoint: &'static str,
    pub topics: &'static str,
    pub versions: Vec<String>,
    pub old: OldGenerations,
    pub expires_at: Option<Timestamp>,
    pub filter: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Contract {
    None,
    Hmac,
    Ed25519,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            tenant: None,
            environment: Environment::Test,
            signing: SigningAlg::Ed25519,
            receipt: Contract::Ed25519,
            retry: Policy::preset("immediate").unwrap(),
            endpoint: ENDPOINT,
            topics: "invoice.*",
            versions: Vec::new(),
            old: OldGenerations::Drain,
            expires_at: None,
            filter: None,
        }
    }
}

const RECEIPT_SEED: [u8; 32] = [42; 32];

impl Setup {
    pub fn wants(&self) -> Wants {
        Wants {
            topics: vec![self.topics.parse().unwrap()],
            accepted_versions: self.versions.clone(),
            filter: self.filter.as_ref().map(|filter| Filter::parse(filter).unwrap()),
        }
    }

    pub fn registration(&self, world: &World) -> Registration {
        let public = SigningKey::ed25519(&Secret::new(RECEIPT_SEED)).public().unwrap();
        let receipt = match self.receipt {
            Contract::None => ReceiptContract::None,
            Contract::Hmac => ReceiptContract::HmacSha256,
            Contract::Ed25519 => ReceiptContract::Ed25519 { public_key: base64::url(&public) },
        };
        let terms = Terms {
            endpoint: url(self.endpoint),
            wants: self.wants(),
            profile: PROFILE_DELIVERY.into(),
            receipt,
            owner: Owner { name: "Billing".into(), contact: "billing@example.com".into() },
            retry: self.retry.clone(),
            old_generations: self.old,
        };
        let tenant = self.tenant.clone().unwrap_or_else(|| world.tenant.clone());
        Registration {
            tenant,
            environment: self.environment,
            terms,
            signing: self.signing,
            expires_at: self.expires_at,
        }
    }
}

pub struct Party {
    pub id: SubscriptionId,
    pub setup: Setup,
    pub secret: String,
    pub recovery: String,
    /// What the receiver is configured with.
    pub source: Source,
}

pub fn url(text: &str) -> EndpointUrl {
    EndpointUrl::from_stored(text.to_owned()).unwrap()
}

pub fn view(described: &Described) -> Value {
    serde_json::from_str(described.view.get()).unwrap()
}

impl World {
    pub fn mint(&self) -> SubscriptionId {
        SubscriptionId::mint(&self.ids, self.now(), random(&self.entropy))
    }

    pub fn register(&self, setup: Setup) -> Party {
        let id = self.mint();
        let registered = now(self.objects.register(&id, setup.registration(self))).unwrap();
        Party::new(setup, id, &registered)
    }

    /// A registered party with one proof accepted.
    pub fn active(&self, setup: Setup) -> Party {
        let party = self.register(setup);
        now(self.objects.request_challenge(&party.id)).unwrap();
        let request = self.issue(&party).unwrap();
        assert_eq!(self.judge(&party, &request, &party.answer(self, &request)), Ok(None));
        party
    }

    /// Changes what binds and returns who answers for the staged generation.
    pub fn stage(&self, party: &Party, change: Change) -> Party {
        let asked = ChangeRequest { change, ..ChangeRequest::default() };
        let changed = now(self.objects.change(&party.id, asked)).unwrap();
        Party::changed(party, &changed)
    }

    /// Moves an endpoint.
    pub fn stage_endpoint(&self, party: &Party, endpoint: &str) -> Party {
        self.stage(party, Change { endpoint: Some(url(endpoint)), ..Change::default() })
    }

    /// Proves whatever generation of the subscription is due, as `party`.
    pub fn prove(&self, party: &Party) {
        now(self.objects.request_challenge(&party.id)).unwrap();
        let request = self.issue(party).unwrap();
        assert_eq!(self.judge(party, &request, &party.answer(self, &request)), Ok(None));
    }

    pub fn issue(&self, party: &Party) -> Option<Box<ChallengeRequest>> {
        now(self.objects.issue_challenge(&party.id)).unwrap()
    }

    pub fn judge(
        &self,
        party: &Party,
        request: &ChallengeRequest,
        answer: &str,
    ) -> Result<Option<Reason>, Refusal> {
        now(self.objects.judge_challenge(
            &party.id,
            request.challenge_id.clone(),
            ok(answer),
            Default::default(),
        ))
    }

    pub fn state(&self, party: &Party) -> String {
        now(self.objects.describe(&party.id)).unwrap().state
    }

    pub fn view(&self, party: &Party) -> Value {
        view(&now(self.objects.describe(&party.id)).unwrap())
    }
}

/// A complete JSON answer.
pub fn ok(body: &str) -> ChallengeOutcome {
    let (content_type, body) = (Some("application/json".into()), Some(body.to_owned()));
    ChallengeOutcome::Answered { status: 200, content_type, body }
}

impl Party {
    /// Who answers after a change or a recovery that showed a secret.
    pub fn changed(before: &Self, changed: &Changed) -> Self {
        let recovery = changed.recovery_credential.clone().unwrap_or_else(|| before.recovery.clone());
        let secret = changed.secret.clone().unwrap();
        let number = changed.generation.unwrap();
        Self::of(number, before.setup.clone(), before.id.clone(), &changed.subscription, secret, recovery)
    }

    /// As the directory finds it, for an event that fits.
    pub fn matched(&self) -> Matched {
        Matched { subscription_id: self.id.clone(), filter_digests: vec![self.setup.wants().digest()] }
    }

    /// An event that was found to fit.
    pub fn item(&self, event: EventRef) -> PlanItem {
        PlanItem { event, filter_digests: self.matched().filter_digests }
    }

    fn new(setup: Setup, id: SubscriptionId, registered: &Registered) -> Self {
        let secret = registered.secret.clone().unwrap();
        let recovery = registered.recovery_credential.clone().unwrap();
        Self::of(Generation::FIRST, setup, id, &registered.subscription, secret, recovery)
    }

    /// Who answers for a generation, under its newest key.
    pub fn of(
        number: Generation,
        setup: Setup,
        id: SubscriptionId,
        described: &Described,
        secret: String,
        recovery: String,
    ) -> Self {
        let view = view(described);
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let generations = view["generations"].as_array().unwrap();
        let newest = generations.iter().find(|it| it["generation"] == number.0).unwrap();
        let keys = newest["keys"].as_array().unwrap();
        let key = keys.iter().max_by_key(|key| key["key_generation"].as_u64()).unwrap();
        let key = EntryKey {
            key_id: text(&key["key_id"]),
            alg: serde_json::from_value(key["alg"].clone()).unwrap(),
            public_key: key["public_key"].as_str().map(str::to_owned),
        };
        let receipt_key = match setup.receipt {
            Contract::None => None,
            Contract::Hmac => Some(ReceiptKey::HmacSha256),
            Contract::Ed25519 => {
                Some(ReceiptKey::Ed25519 { seed: Secret::new(RECEIPT_SEED).show_once(), generation: 1 })
            }
        };
        let entry = Entry {
            issuer: text(&view["issuer"]),
            tenant_id: described.tenant_id.clone(),
            environment: described.environment,
            subscription_id: id.clone(),
            generation: number,
            profile: PROFILE_DELIVERY.into(),
            public_url: url(newest["endpoint"].as_str().unwrap()),
            keys: vec![key],
            secret: secret.clone(),
            receipts: receipt_key.map(|key| Receipts { url: url(RECEIPTS), key }),
        };
        let handler = Handler { url: url("https://app.example.com/") };
        let source = Source { handler, entries: vec![entry] };
        Self { id, setup, secret, recovery, source }
    }

    pub fn entry(&self) -> &Entry {
        &self.source.entries[0]
    }

    /// What the subscriber's own receiver makes of a request.
    pub fn receive(&self, world: &World, fields: &[HeaderField], body: &str) -> Result<Received, Reason> {
        let fields: Fields = fields.iter().map(|(name, value)| (name, value)).collect();
        let path_and_query = self.entry().public_url.path_and_query();
        let intake = Intake { method: "POST", path_and_query, fields: &fields, body: body.as_bytes() };
        receive(&self.source, &intake, world.now())
    }

    /// The proof for a challenge.
    pub fn answer(&self, world: &World, request: &ChallengeRequest) -> String {
        match self.receive(world, &request.fields, &request.body) {
            Ok(Received::Challenge { answer }) => String::from_utf8(answer).unwrap(),
            other => panic!("no challenge: {other:?}"),
        }
    }

    /// The receipt for an attempt, not signed yet.
    pub fn receipt(&self, world: &World, it: &Attempted, operation: &str, result: ReceiptResult) -> Receipt {
        let entry = self.entry();
        Receipt {
            r#type: TYPE.into(),
            issuer: entry.issuer.clone(),
            tenant: entry.tenant_id.clone(),
            environment: entry.environment,
            subscription_id: self.id.clone(),
            generation: entry.generation,
            event_id: it.event.id.clone(),
            delivery_id: it.delivery_id.clone(),
            attempt: it.attempt,
            delivery_signature_digest: it.signature_digest,
            payload_digest: it.event.payload_digest,
            operation_id: operation.into(),
            result,
            receipt_key_generation: 1,
            issued_at: world.now(),
        }
    }

    /// A receipt signed with the right key.
    pub fn signed(&self, world: &World, receipt: &Receipt) -> ReceiptRequest {
        let (key, key_id, _) = self.entry().receipt_key().unwrap();
        sign_receipt(receipt, &profile::RECEIPT, RECEIPTS, (&key, &key_id), world.now().unix())
    }
}

/// A receipt signed with any key, for any target, at any time.
pub fn sign_receipt(
    receipt: &Receipt,
    kind: &Profile<'_>,
    target: &str,
    (key, key_id): (&SigningKey, &str),
    at: i64,
) -> ReceiptRequest {
    let body = receipt.to_bytes();
    let mut fields: Vec<HeaderField> = vec![
        ("content-type".into(), "application/json".into()),
        ("content-digest".into(), Digest::of(&body).content_digest()),
    ];
    let lines: Fields = fields.iter().map(|(name, value)| (name, value)).collect();
    let message = Message::request("POST", target, &lines);
    let headers = sign(kind, &message, at, at + 300, key_id, key).unwrap();
    fields.push(("signature-input".into(), headers.signature_input));
    fields.push(("signature".into(), headers.signature));
    ReceiptRequest { fields, body: String::from_utf8(body).unwrap() }
}
