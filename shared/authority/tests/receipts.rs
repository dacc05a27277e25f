//! A receipt counts once, under its own key and for the attempt it received; whatever else arrives
//! changes nothing, and a contradiction is only kept.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::subscription::{Claimed, ReceiptOutcome, ReceiptRequest, SigningAlg, Wake};
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, Generation, TenantId};
use hookproof_core::ledger::{Outcome, Recorded};
use hookproof_core::receipt::{Receipt, ReceiptResult};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{SigningKey, profile};
use hookproof_core::time::Span;
use support::ledger::{Attempted, answered, attempted};
use support::party::{Contract, sign_receipt};
use support::{Party, RECEIPTS, Setup, World};

struct Case {
    world: World,
    party: Party,
    claimed: Claimed,
    it: Attempted,
}

impl Case {
    fn of(receipt: Contract) -> Self {
        let world = World::new();
        let party = world.active(Setup { receipt, ..Setup::default() });
        let claimed = world.claim(&party, "evt-1");
        let it = attempted(&claimed);
        Self { world, party, claimed, it }
    }

    fn accepted(receipt: Contract) -> Self {
        let case = Self::of(receipt);
        case.world.settle(&case.party, &case.claimed, answered(200)).unwrap();
        case
    }

    fn receipt(&self, operation: &str, result: ReceiptResult) -> Receipt {
        self.party.receipt(&self.world, &self.it, operation, result)
    }

    fn send(&self, receipt: &Receipt) -> Result<ReceiptOutcome, Reason> {
        self.bring(self.party.signed(&self.world, receipt))
    }

    fn bring(&self, request: ReceiptRequest) -> Result<ReceiptOutcome, Reason> {
        self.world.confirm(&self.party, request).map_err(|refusal| refusal.reason)
    }

    fn state(&self) -> String {
        self.world.standing(&self.party, &self.it.delivery_id).0
    }

    fn tier(&self) -> serde_json::Value {
        self.world.delivery(&self.party, &self.it.delivery_id)["application_tier"].clone()
    }

    /// Refused with one of `reasons`, and not a row is different.
    fn refused(&self, request: ReceiptRequest, reasons: &[Reason]) {
        let before = self.world.disk.dump();
        let reason = self.bring(request).unwrap_err();
        assert!(reasons.contains(&reason), "{reason} is none of {reasons:?}");
        assert_eq!(self.world.disk.dump(), before, "{reason} changed something");
    }
}

#[test]
fn a_receipt_counts_once_and_its_repeat_changes_nothing() {
    for (contract, assurance) in [(Contract::Ed25519, "third_party"), (Contract::Hmac, "mutual")] {
        let case = Case::accepted(contract);
        assert_eq!(case.tier(), "PENDING");
        let receipt = case.receipt("op-1", ReceiptResult::Applied);
        let first = case.send(&receipt).unwrap();
        let ReceiptOutcome::Recorded { recorded: Recorded::Confirmed, delivery } = first else {
            panic!("{first:?}")
        };
        assert_eq!((delivery.state.as_str(), case.tier()), ("APPLICATION_CONFIRMED", "APPLIED".into()));
        let view = case.world.delivery(&case.party, &case.it.delivery_id);
        assert_eq!(
            (&view["application"]["assurance"], &view["basis"]),
            (&assurance.into(), &"http_2xx".into())
        );
        let before = case.world.disk.dump();
        for _ in 0..2 {
            let again = case.send(&receipt).unwrap();
            assert!(matches!(again, ReceiptOutcome::Recorded { recorded: Recorded::Duplicate, .. }));
        }
        assert_eq!(case.world.disk.dump(), before);
    }
}

#[test]
fn a_receipt_during_dispatch_confirms_and_a_later_500_is_only_kept() {
    let case = Case::of(Contract::Ed25519);
    assert_eq!(case.state(), "DISPATCHING");
    case.send(&case.receipt("op", ReceiptResult::Applied)).unwrap();
    let view = case.world.delivery(&case.party, &case.it.delivery_id);
    assert_eq!((&view["state"], &view["basis"]), (&"APPLICATION_CONFIRMED".into(), &"receipt".into()));
    assert!(case.world.is_idle(&case.party));
    let settled = case.world.settle(&case.party, &case.claimed, answered(500)).unwrap();
    assert_eq!((settled.state.as_str(), settled.status), ("APPLICATION_CONFIRMED", Some(500)));
}

#[test]
fn a_receipt_ends_what_was_retried_unknown_or_dead() {
    for (outcome, state) in [
        (answered(503), "RETRYABLE"),
        (Outcome::Unknown, "UNKNOWN_TRANSPORT"),
        (answered(404), "DEAD_LETTER"),
    ] {
        let case = Case::of(Contract::Hmac);
        case.world.settle(&case.party, &case.claimed, outcome).unwrap();
        assert_eq!(case.state(), state);
        case.send(&case.receipt("op", ReceiptResult::Applied)).unwrap();
        let view = case.world.delivery(&case.party, &case.it.delivery_id);
        assert_eq!((&view["state"], &view["basis"]), (&"APPLICATION_CONFIRMED".into(), &"receipt".into()));
        assert!(case.world.is_idle(&case.party), "nothing is tried again");
        assert!(case.world.claim_due(&case.party).is_empty());
    }
}

#[test]
fn ignored_and_rejected_are_never_confirmed() {
    for (result, tier) in [(ReceiptResult::Ignored, "IGNORED"), (ReceiptResult::Rejected, "REJECTED")] {
        let case = Case::accepted(Contract::Ed25519);
        case.send(&case.receipt("op", result)).unwrap();
        assert_eq!((case.state().as_str(), case.tier()), ("ENDPOINT_ACCEPTED", tier.into()));
        let changed = case.send(&case.receipt("op", ReceiptResult::Applied)).unwrap();
        assert!(matches!(changed, ReceiptOutcome::Quarantined { reason: Reason::ReceiptConflict }));
        assert_eq!((case.state().as_str(), case.tier()), ("ENDPOINT_ACCEPTED", tier.into()));
    }
}

#[test]
fn a_contradiction_is_kept_apart_and_overwrites_nothing() {
    let case = Case::accepted(Contract::Ed25519);
    case.send(&case.receipt("op-1", ReceiptResult::Applied)).unwrap();
    let other_digest =
        Receipt { payload_digest: Digest::of(b"other"), ..case.receipt("op-1", ReceiptResult::Applied) };
    let contradictions = [
        (case.receipt("op-2", ReceiptResult::Applied), Reason::ReceiptSecondEffect),
        (case.receipt("op-2", ReceiptResult::Rejected), Reason::ReceiptSecondEffect),
        (case.receipt("op-1", ReceiptResult::Rejected), Reason::ReceiptConflict),
        (other_digest, Reason::ReceiptConflict),
    ];
    let before = case.world.disk.dump();
    for (receipt, expected) in &contradictions {
        let outcome = case.send(receipt).unwrap();
        assert!(matches!(outcome, ReceiptOutcome::Quarantined { reason } if reason == *expected));
    }
    let mut after = case.world.disk.dump();
    assert_eq!(after["quarantine"].len(), contradictions.len());
    assert_eq!(after["evidence"].len(), before["evidence"].len() + contradictions.len());
    for grown in ["quarantine", "evidence", "subscription"] {
        after.insert(grown.to_owned(), before[grown].clone());
    }
    assert_eq!(after, before, "but for what is kept, nothing is different");
}

#[test]
fn another_digest_is_a_conflict_even_when_it_comes_first() {
    let case = Case::accepted(Contract::Ed25519);
    let wrong = Receipt { payload_digest: Digest::of(b"x"), ..case.receipt("op", ReceiptResult::Applied) };
    // Again and again, and kept once.
    for _ in 0..3 {
        let outcome = case.send(&wrong).unwrap();
        assert!(matches!(outcome, ReceiptOutcome::Quarantined { reason: Reason::ReceiptConflict }));
    }
    assert_eq!(case.world.disk.dump()["quarantine"].len(), 1);
    assert_eq!((case.state().as_str(), case.tier()), ("ENDPOINT_ACCEPTED", "PENDING".into()));
}

#[test]
fn before_any_attempt_there_is_nothing_to_confirm() {
    let case = Case::accepted(Contract::Ed25519);
    let suspended = case.world.claim(&case.party, "evt-2");
    case.world.settle(&case.party, &suspended, answered(410)).unwrap();
    let event = case.world.event("evt-held");
    case.world.plan(&case.party, std::slice::from_ref(&event));
    let delivery_id = hookproof_core::id::DeliveryId::of(
        &event.tenant,
        event.environment,
        &case.party.id,
        &event.id,
        event.accepted_at,
    );
    let held = Receipt {
        event_id: event.id.clone(),
        delivery_id: delivery_id.clone(),
        payload_digest: event.payload_digest,
        attempt: 0,
        ..case.receipt("op", ReceiptResult::Applied)
    };
    let never = Receipt { event_id: "evt-never".parse().unwrap(), ..held.clone() };
    for receipt in [&held, &Receipt { attempt: 1, ..held.clone() }, &never] {
        case.refused(case.party.signed(&case.world, receipt), &[Reason::ReceiptBeforeAttempt]);
    }
    assert_eq!(case.world.standing(&case.party, &delivery_id).0, "PLANNED");
}

#[test]
fn a_receipt_about_anything_but_its_own_attempt_is_refused() {
    let case = Case::accepted(Contract::Ed25519);
    let second = case.world.claim(&case.party, "evt-2");
    let good = case.receipt("op", ReceiptResult::Applied);
    let unbound = |change: &dyn Fn(&mut Receipt)| {
        let mut receipt = good.clone();
        change(&mut receipt);
        case.refused(case.party.signed(&case.world, &receipt), &[Reason::ReceiptUnbound]);
    };
    unbound(&|it| it.issuer = "https://another.example.com".into());
    unbound(&|it| it.tenant = TenantId::mint(&case.world.ids, case.world.now(), [9; 10]));
    unbound(&|it| it.environment = Environment::Live);
    unbound(&|it| it.subscription_id = case.world.mint());
    unbound(&|it| it.generation = Generation(2));
    unbound(&|it| it.generation = Generation(0));
    unbound(&|it| it.event_id = second.event.id.clone());
    unbound(&|it| it.delivery_id = second.delivery_id.clone());
    unbound(&|it| it.attempt = 2);
    unbound(&|it| it.attempt = 0);
    unbound(&|it| it.delivery_signature_digest = Digest::of(b"a guess"));
    unbound(&|it| it.delivery_signature_digest = attempted(&second).signature_digest);
    assert_eq!(case.tier(), "PENDING");
}

#[test]
fn a_receipt_names_the_generation_of_its_key() {
    let case = Case::accepted(Contract::Hmac);
    for receipt_key_generation in [0, 2, u64::MAX] {
        let wrong = Receipt { receipt_key_generation, ..case.receipt("op", ReceiptResult::Applied) };
        case.refused(case.party.signed(&case.world, &wrong), &[Reason::ReceiptUnbound]);
    }
}

#[test]
fn a_forged_receipt_changes_nothing() {
    for contract in [Contract::Ed25519, Contract::Hmac] {
        let case = Case::accepted(contract);
        let receipt = case.receipt("op", ReceiptResult::Applied);
        let (key, key_id, _) = case.party.entry().receipt_key().unwrap();
        let at = case.world.now().unix();
        let sign = |kind, target: &str, key: &SigningKey, key_id: &str, at| {
            sign_receipt(&receipt, kind, target, (key, key_id), at)
        };
        let forger = SigningKey::ed25519(&Secret::new([9; 32]));
        let mac = SigningKey::hmac(Secret::new([9; 32]));
        let key_faults = [Reason::SignatureWrong, Reason::KeyNotUsable, Reason::SignatureMalformed];
        for key in [&forger, &mac] {
            case.refused(sign(&profile::RECEIPT, RECEIPTS, key, &key_id, at), &key_faults);
            case.refused(sign(&profile::RECEIPT, RECEIPTS, key, "unknown", at), &[Reason::KeyUnknown]);
        }
        let elsewhere = sign(&profile::RECEIPT, "https://other.example.com/receipts", &key, &key_id, at);
        case.refused(elsewhere, &[Reason::SignatureWrong]);
        let late = sign(&profile::RECEIPT, RECEIPTS, &key, &key_id, at - 300);
        case.refused(late, &[Reason::TimestampOutsideWindow]);
        let early = sign(&profile::RECEIPT, RECEIPTS, &key, &key_id, at + 61);
        case.refused(early, &[Reason::TimestampOutsideWindow]);
        let good = sign(&profile::RECEIPT, RECEIPTS, &key, &key_id, at);
        let unsigned = ReceiptRequest { fields: good.fields[..2].to_vec(), ..good.clone() };
        case.refused(unsigned, &[Reason::SignatureMalformed]);
        let bent = ReceiptRequest { body: good.body.replace("\"op\"", "\"oq\""), ..good.clone() };
        case.refused(bent, &[Reason::DigestMismatch]);
        let more = ReceiptRequest { body: good.body.replacen('{', "{\"x\":1,", 1), ..good.clone() };
        case.refused(more, &[Reason::BodyMalformed]);
        let twice = ReceiptRequest { body: good.body.replacen('{', "{\"attempt\":1,", 1), ..good.clone() };
        case.refused(twice, &[Reason::BodyMalformed]);
        assert_eq!(case.tier(), "PENDING");
        assert!(case.bring(good).is_ok(), "the genuine one still counts");
    }
}

#[test]
fn keys_of_other_purposes_and_of_other_subscriptions_sign_no_receipt() {
    use hookproof_core::keys::Purpose;
    let case = Case::accepted(Contract::Hmac);
    let receipt = case.receipt("op", ReceiptResult::Applied);
    let entry = case.party.entry();
    let key_id = entry.keys[0].key_id.clone();
    let at = case.world.now().unix();
    for purpose in [Purpose::Deliver, Purpose::Challenge, Purpose::Status] {
        let key = SigningKey::hmac(entry.derived(purpose, &key_id).unwrap());
        let request = sign_receipt(&receipt, &profile::RECEIPT, RECEIPTS, (&key, &key_id), at);
        case.refused(request, &[Reason::SignatureWrong]);
    }
    let other = case.world.active(Setup { receipt: Contract::Hmac, ..Setup::default() });
    let (key, other_id, _) = other.entry().receipt_key().unwrap();
    for id in [&other_id, &key_id] {
        let request = sign_receipt(&receipt, &profile::RECEIPT, RECEIPTS, (&key, id), at);
        case.refused(request, &[Reason::SignatureWrong, Reason::KeyUnknown]);
    }
}

#[test]
fn without_a_receipt_contract_the_application_stays_unobservable() {
    let setup = Setup { receipt: Contract::None, signing: SigningAlg::HmacSha256, ..Setup::default() };
    let world = World::new();
    let party = world.active(setup);
    let claimed = world.claim(&party, "evt-1");
    let it = attempted(&claimed);
    let receipt = party.receipt(&world, &it, "op", ReceiptResult::Applied);
    let derived =
        party.entry().derived(hookproof_core::keys::Purpose::Receipt, &party.entry().keys[0].key_id);
    let key = SigningKey::hmac(derived.unwrap());
    let id = &party.entry().keys[0].key_id;
    let request = sign_receipt(&receipt, &profile::RECEIPT, RECEIPTS, (&key, id), world.now().unix());
    let case = Case { world, party, claimed, it };
    case.refused(request, &[Reason::ReceiptNotContracted]);
    assert_eq!(case.tier(), "UNOBSERVABLE");
}

#[test]
fn a_receipt_for_an_earlier_attempt_still_counts() {
    let case = Case::of(Contract::Ed25519);
    case.world.settle(&case.party, &case.claimed, Outcome::Unknown).unwrap();
    let woken = case.world.next(Span::seconds(5));
    assert_eq!(woken, Some(vec![Wake::Deliveries(case.party.id.clone())]));
    let second = case.world.claim_due(&case.party).pop().unwrap();
    case.send(&case.receipt("op", ReceiptResult::Applied)).unwrap();
    assert_eq!(case.state(), "APPLICATION_CONFIRMED");
    let again = case.party.receipt(&case.world, &attempted(&second), "op", ReceiptResult::Applied);
    let outcome = case.send(&again).unwrap();
    assert!(matches!(outcome, ReceiptOutcome::Recorded { recorded: Recorded::Duplicate, .. }));
    assert_eq!(
        case.world.settle(&case.party, &second, answered(500)).unwrap().state,
        "APPLICATION_CONFIRMED"
    );
}
