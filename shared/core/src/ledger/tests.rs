use super::*;
use crate::digest::Digest;
use crate::id::{DeliveryId, Environment, Generation, IdKey, SubscriptionId, TenantId};
use crate::keys::KeyGeneration;
use crate::reason::Reason;
use crate::receipt::{Assurance, Receipt, ReceiptResult, TYPE};
use crate::retry::Policy;
use crate::subscription::{Admitted, GenerationState, ReceiptContract, admit};
use crate::time::{Span, Timestamp};

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_800_000_000 + seconds)
}

fn policy() -> Policy {
    Policy::preset("immediate").unwrap()
}

fn admitted() -> Admitted {
    admit(Generation(1), &GenerationState::Active { activated_at: at(-10) }, at(0)).unwrap()
}

fn ids() -> (TenantId, SubscriptionId) {
    let key = IdKey::new(b"k");
    (TenantId::mint(&key, at(0), [1; 10]), SubscriptionId::mint(&key, at(0), [2; 10]))
}

fn planned() -> Delivery {
    let (tenant, subscription) = ids();
    let event = "evt-1".parse().unwrap();
    let id = DeliveryId::of(&tenant, Environment::Test, &subscription, &event, at(0));
    let payload = Payload { digest: Digest::of(b"{}"), length: 2 };
    Delivery::plan((id, event, "invoice.paid".into()), at(0), Generation(1), payload, &policy())
}

fn claim(delivery: Delivery, token: &str, now: Timestamp) -> Delivery {
    let claim = Claim {
        lease: Lease { token: token.into(), until: now + Span::seconds(20) },
        key_id: "key".into(),
        key_generation: KeyGeneration(1),
        signature_digest: Digest::of(token.as_bytes()),
    };
    delivery.claim(&admitted(), claim, now).unwrap()
}

fn settle(
    delivery: Delivery,
    attempt: u32,
    token: &str,
    outcome: Outcome,
    now: Timestamp,
) -> Result<Delivery, Reason> {
    let settled =
        Settled { at: now, outcome, reason: None, assurance: None, lookup: Default::default(), late: false };
    delivery.settle(attempt, token, settled, &policy(), 0)
}

fn answered(status: u16) -> Outcome {
    Outcome::Answered { status, retry_after: None }
}

fn receipt(delivery: &Delivery, attempt: u32, operation: &str, result: ReceiptResult) -> Receipt {
    let (tenant, subscription_id) = ids();
    let made = delivery.attempts.iter().find(|a| a.number == attempt);
    Receipt {
        r#type: TYPE.into(),
        issuer: "https://sender.example".into(),
        tenant,
        environment: Environment::Test,
        subscription_id,
        generation: Generation(1),
        event_id: delivery.event.clone(),
        delivery_id: delivery.id.clone(),
        attempt,
        delivery_signature_digest: made.map_or(Digest([0; 32]), |a| a.signature_digest),
        payload_digest: delivery.payload.digest,
        operation_id: operation.into(),
        result,
        receipt_key_generation: 1,
        issued_at: at(1),
    }
}

fn record(delivery: Delivery, receipt: &Receipt) -> Result<(Delivery, Recorded), Reason> {
    let application = Application {
        operation_id: receipt.operation_id.clone(),
        result: receipt.result,
        payload_digest: receipt.payload_digest,
        attempt: receipt.attempt,
        key_id: "receipt-key".into(),
        assurance: Assurance::ThirdParty,
        receipt_digest: Digest::of(&receipt.to_bytes()),
        at: at(2),
    };
    delivery.record(receipt, application)
}

#[test]
fn a_2xx_proves_acceptance_and_no_more() {
    let delivery = settle(claim(planned(), "t1", at(0)), 1, "t1", answered(204), at(1)).unwrap();
    assert_eq!(delivery.state, State::EndpointAccepted { at: at(1), basis: Basis::Http2xx });
    assert_eq!(delivery.tier(&ReceiptContract::None), ApplicationTier::Unobservable);
    assert_eq!(delivery.tier(&ReceiptContract::HmacSha256), ApplicationTier::Pending);
}

#[test]
fn each_answer_leads_where_the_table_says() {
    let after = |outcome| settle(claim(planned(), "t1", at(0)), 1, "t1", outcome, at(1)).unwrap();
    assert_eq!(after(answered(500)).state, State::Retryable);
    assert_eq!(after(answered(500)).due, Some(at(6)), "immediate waits 5 s before the second attempt");
    assert_eq!(after(answered(429)).state, State::Retryable);
    assert_eq!(after(Outcome::NotSent).state, State::Retryable);
    assert_eq!(after(Outcome::Unknown).state, State::UnknownTransport { since: at(1) });
    let dead = |reason| State::DeadLetter { at: at(1), reason };
    assert_eq!(after(answered(307)).state, dead(Reason::RedirectRefused));
    assert_eq!(after(answered(304)).state, dead(Reason::RedirectRefused));
    assert_eq!(after(answered(400)).state, dead(Reason::EndpointBadRequest));
    assert_eq!(after(answered(410)).state, dead(Reason::EndpointGone));
    assert_eq!(after(Outcome::Refused).state, dead(Reason::EndpointRefused));
    let released = after(Outcome::Released);
    assert_eq!(released.due, Some(at(6)), "not at once: what cannot be sent now would spin");
    assert_eq!((released.state.name(), released.round.attempts, released.attempt), ("RETRYABLE", 0, 1));
}

#[test]
fn an_attempt_is_claimed_once() {
    let delivery = claim(planned(), "t1", at(0));
    assert!(!delivery.is_claimable(at(100)), "not even after its lease: that is expire_lease's to say");
    let again = Claim {
        lease: Lease { token: "t2".into(), until: at(200) },
        key_id: "key".into(),
        key_generation: KeyGeneration(1),
        signature_digest: Digest::of(b"t2"),
    };
    assert_eq!(delivery.claim(&admitted(), again, at(100)).unwrap_err(), Reason::StateForbids);
}

#[test]
fn a_lost_worker_leaves_an_unknown_outcome_and_the_same_identity() {
    let delivery = claim(planned(), "t1", at(0));
    let id = delivery.id.clone();
    assert_eq!(delivery.clone().expire_lease(&policy(), at(19), 0), delivery, "the lease still runs");
    let lost = delivery.expire_lease(&policy(), at(20), 0);
    assert_eq!(lost.state, State::UnknownTransport { since: at(20) });
    assert_eq!(lost.attempts[0].settled.as_ref().unwrap().reason, Some(Reason::TransportWorkerLost));
    let again = claim(lost, "t2", at(25));
    assert_eq!((again.id, again.attempt), (id, 2));
}

#[test]
fn only_a_complete_2xx_of_the_unclaimed_attempt_moves_late() {
    let lost = claim(planned(), "t1", at(0)).expire_lease(&policy(), at(20), 0);
    let accepted = settle(lost.clone(), 1, "t1", answered(200), at(21)).unwrap();
    assert_eq!(accepted.state.name(), "ENDPOINT_ACCEPTED");
    assert!(accepted.attempts[0].settled.as_ref().unwrap().late);
    let failed = settle(lost.clone(), 1, "t1", answered(500), at(21)).unwrap();
    assert_eq!(failed.state, lost.state, "recorded, and moves nothing");
    assert_eq!(settle(lost.clone(), 1, "guess", answered(200), at(21)), Err(Reason::LeaseStale));
    let reclaimed = claim(lost, "t2", at(25));
    let late = settle(reclaimed.clone(), 1, "t1", answered(200), at(26)).unwrap();
    assert_eq!(late.state, reclaimed.state, "another attempt is on the wire");
}

#[test]
fn settling_twice_changes_nothing() {
    let once = settle(claim(planned(), "t1", at(0)), 1, "t1", answered(200), at(1)).unwrap();
    assert_eq!(settle(once.clone(), 1, "t1", answered(500), at(2)).unwrap(), once);
}

#[test]
fn a_round_ends_in_the_dead_letters() {
    let mut delivery = planned();
    for attempt in 1..=6 {
        let due = delivery.due.unwrap();
        delivery = claim(delivery, "t", due);
        delivery = settle(delivery, attempt, "t", answered(503), due).unwrap();
    }
    assert!(matches!(delivery.state, State::DeadLetter { reason: Reason::DeadlineExhausted, .. }));
    assert_eq!((delivery.attempt, delivery.due), (6, None));
}

#[test]
fn a_receipt_confirms_only_what_was_attempted_and_received() {
    let before = planned();
    assert_eq!(
        record(before.clone(), &receipt(&before, 1, "op", ReceiptResult::Applied)),
        Err(Reason::ReceiptBeforeAttempt)
    );
    let sent = claim(before, "t1", at(0));
    let mut forged = receipt(&sent, 1, "op", ReceiptResult::Applied);
    forged.delivery_signature_digest = Digest::of(b"a guess");
    assert_eq!(record(sent.clone(), &forged), Err(Reason::ReceiptUnbound));
    let mut wrong = receipt(&sent, 1, "op", ReceiptResult::Applied);
    wrong.generation = Generation(2);
    assert_eq!(record(sent.clone(), &wrong), Err(Reason::ReceiptUnbound));
    let (confirmed, recorded) =
        record(sent.clone(), &receipt(&sent, 1, "op", ReceiptResult::Applied)).unwrap();
    assert_eq!(recorded, Recorded::Confirmed);
    assert_eq!(confirmed.state, State::ApplicationConfirmed { at: at(2), basis: Basis::Receipt });
    let late = settle(confirmed.clone(), 1, "t1", answered(500), at(3)).unwrap();
    assert_eq!(late.state, confirmed.state, "a later settle never moves it back");
    assert_eq!(late.attempts[0].settled.as_ref().unwrap().outcome, answered(500));
}

#[test]
fn a_contradicting_receipt_never_overwrites() {
    let sent = settle(claim(planned(), "t1", at(0)), 1, "t1", answered(200), at(1)).unwrap();
    let first = receipt(&sent, 1, "op", ReceiptResult::Applied);
    let (confirmed, _) = record(sent, &first).unwrap();
    assert_eq!(record(confirmed.clone(), &first).unwrap(), (confirmed.clone(), Recorded::Duplicate));
    let second = receipt(&confirmed, 1, "another", ReceiptResult::Applied);
    assert_eq!(record(confirmed.clone(), &second), Err(Reason::ReceiptSecondEffect));
    let other = receipt(&confirmed, 1, "op", ReceiptResult::Rejected);
    assert_eq!(record(confirmed.clone(), &other), Err(Reason::ReceiptConflict));
    let mut digest = first;
    digest.payload_digest = Digest::of(b"other bytes");
    assert_eq!(record(confirmed, &digest), Err(Reason::ReceiptConflict));
}

#[test]
fn rejected_and_ignored_are_never_application_confirmed() {
    for (result, tier) in [
        (ReceiptResult::Ignored, ApplicationTier::Ignored),
        (ReceiptResult::Rejected, ApplicationTier::Rejected),
    ] {
        let sent = claim(planned(), "t1", at(0));
        let (recorded, _) = record(sent.clone(), &receipt(&sent, 1, "op", result)).unwrap();
        assert_eq!(recorded.state.name(), "ENDPOINT_ACCEPTED");
        assert_eq!(recorded.tier(&ReceiptContract::HmacSha256), tier);
    }
}

#[test]
fn a_held_delivery_waits_until_the_hold_limit() {
    let due = planned().due.unwrap();
    let held = planned().hold(due + Span::seconds(5));
    assert_eq!((held.state.name(), held.due), ("PLANNED", Some(due + HOLD_LIMIT)));
    assert_eq!(held.clone().hold(at(90)), held, "looking again does not lengthen it");
    let over = held.hold(due + HOLD_LIMIT);
    assert!(matches!(over.state, State::DeadLetter { reason: Reason::HoldLimit, .. }));
}

#[test]
fn what_can_never_be_sent_ends_with_its_rounds_deadline() {
    let mut delivery = planned();
    let mut attempts = 0;
    while let Some(due) = delivery.due {
        attempts += 1;
        delivery = claim(delivery, "t", due);
        delivery = settle(delivery, attempts, "t", Outcome::Released, due).unwrap();
    }
    assert!(matches!(delivery.state, State::DeadLetter { reason: Reason::DeadlineExhausted, .. }));
    assert_eq!(attempts, 900, "every 5 s for 75 minutes");
}
