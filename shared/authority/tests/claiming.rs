//! A delivery is planned under the generation that served, claimed once, and signed for what it is.

mod support;

use hookproof_authority::subscription::{AskAuthority, Planned, SigningAlg, Wake};
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, TenantId};
use hookproof_core::keys::{Purpose, derive};
use hookproof_core::receiver::Received;
use hookproof_core::retry::Policy;
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Fields, Message, VerifyKey, profile, select};
use hookproof_core::time::Span;
use hookproof_core::{base64, id::DeliveryId};
use support::ledger::{answered, body};
use support::{ENDPOINT, Setup, World, now};

#[test]
fn a_claim_verifies_under_the_published_key_and_for_this_delivery_only() {
    for signing in [SigningAlg::Ed25519, SigningAlg::HmacSha256] {
        let world = World::new();
        let party = world.active(Setup { signing, ..Setup::default() });
        let claimed = world.claim(&party, "evt-1");
        let entry = party.entry();
        let published = &entry.keys[0];
        let key = match &published.public_key {
            Some(text) => VerifyKey::ed25519(&base64::array_from_url::<32>(text).unwrap()).unwrap(),
            None => {
                let secret = Secret::from_base64url(&party.secret).unwrap();
                let (scope, id) = (entry.scope(), &published.key_id);
                VerifyKey::hmac(derive(&secret, Purpose::Deliver, &scope, id, &entry.profile))
            }
        };
        let fields: Fields = claimed.fields.iter().map(|(name, value)| (name, value)).collect();
        let verify = |target: &str, text: &str| {
            let message = Message::request("POST", target, &fields);
            let candidate = select(&profile::DELIVERY, &message)?;
            assert_eq!(candidate.keyid(), published.key_id);
            candidate.verify(&key, text.as_bytes(), world.now().unix())
        };
        let authentic = verify(ENDPOINT, &body("evt-1")).unwrap();
        for (name, value) in [
            ("webhook-id", "evt-1"),
            ("webhook-subscription", party.id.as_str()),
            ("webhook-generation", "1"),
            ("webhook-delivery", claimed.delivery_id.as_str()),
            ("webhook-attempt", "1"),
        ] {
            assert_eq!(authentic.covered(name), Some(value));
        }
        assert_eq!(authentic.expires() - authentic.created(), 300);
        assert_eq!(verify(ENDPOINT, &body("evt-2")).unwrap_err(), Reason::DigestMismatch);
        assert_eq!(
            verify("https://hooks.example.com/in/other", &body("evt-1")).unwrap_err(),
            Reason::SignatureWrong
        );
        let received = party.receive(&world, &claimed.fields, &body("evt-1")).unwrap();
        let Received::Delivery(received) = received else { panic!("a delivery") };
        assert_eq!((received.delivery_id, received.attempt), (claimed.delivery_id, 1));
    }
}

#[test]
fn a_doubled_message_claims_once() {
    let world = World::new();
    let party = world.active(Setup::default());
    let event = world.event("evt-1");
    let planned = world.plan(&party, &[event.clone(), event.clone()]);
    let [Planned::Claimed(first), Planned::Settled { state }] = &planned[..] else { panic!("{planned:?}") };
    assert_eq!((state.as_str(), first.attempt), ("DISPATCHING", 1));
    let before = world.disk.dump();
    for _ in 0..3 {
        let again = world.plan(&party, std::slice::from_ref(&event));
        assert!(matches!(&again[..], [Planned::Settled { state }] if state == "DISPATCHING"), "{again:?}");
        assert!(world.claim_due(&party).is_empty());
    }
    assert_eq!(world.disk.dump(), before);
    world.settle(&party, first, answered(200)).unwrap();
    let after = world.plan(&party, &[event]);
    assert!(matches!(&after[..], [Planned::Settled { state }] if state == "ENDPOINT_ACCEPTED"));
}

#[test]
fn the_same_event_with_other_bytes_is_not_planned_again() {
    let world = World::new();
    let party = world.active(Setup::default());
    let claimed = world.claim(&party, "evt-1");
    let before = world.disk.dump();
    let mut other = claimed.event.clone();
    other.payload_digest = Digest::of(b"other bytes");
    let planned = world.plan(&party, &[other]);
    assert!(matches!(&planned[..], [Planned::NotWanted { reason: Reason::EventConflict }]), "{planned:?}");
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn only_a_generation_that_served_when_the_event_was_accepted_plans_it() {
    let world = World::new();
    let party = world.register(Setup::default());
    let early = world.event("evt-early");
    let not_serving = |planned: &[Planned]| {
        matches!(planned, [Planned::NotWanted { reason: Reason::GenerationNotServing }])
    };
    let before = world.disk.dump();
    assert!(not_serving(&world.plan(&party, std::slice::from_ref(&early))), "never active: plans nothing");
    assert_eq!(world.disk.dump(), before);

    world.clock.advance(Span::seconds(1));
    now(world.objects.request_challenge(&party.id)).unwrap();
    let request = world.issue(&party).unwrap();
    assert_eq!(world.judge(&party, &request, &party.answer(&world, &request)), Ok(None));
    let before = world.disk.dump();
    assert!(not_serving(&world.plan(&party, &[early])), "accepted a second before the activation");
    assert_eq!(world.disk.dump(), before);
    world.claim(&party, "evt-in-time");
}

#[test]
fn another_tenants_event_is_never_planned() {
    let world = World::new();
    let party = world.active(Setup::default());
    let mut foreign = world.event("evt-1");
    foreign.tenant = TenantId::mint(&world.ids, world.now(), [9; 10]);
    let mut live = world.event("evt-1");
    live.environment = Environment::Live;
    let before = world.disk.dump();
    let planned = world.plan(&party, &[foreign, live]);
    assert!(planned.iter().all(|it| matches!(it, Planned::NotWanted { .. })), "{planned:?}");
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn the_first_wait_of_the_policy_is_kept_by_the_alarm() {
    let world = World::new();
    let party = world.active(Setup { retry: Policy::preset("standard").unwrap(), ..Setup::default() });
    let event = world.event("evt-1");
    let due = world.now() + Span::seconds(1);
    let planned = world.plan(&party, std::slice::from_ref(&event));
    assert!(matches!(&planned[..], [Planned::Later { at: Some(at) }] if *at == due), "{planned:?}");
    assert_eq!(world.alarm(party.id.as_str()), Some(due));
    assert!(world.claim_due(&party).is_empty(), "not before its time");
    assert_eq!(world.next(Span::seconds(1)), Some(vec![Wake::Deliveries(party.id.clone())]));
    let claimed = world.claim_due(&party);
    assert_eq!((claimed.len(), &claimed[0].event), (1, &event));
}

#[test]
fn a_claim_takes_six_and_the_alarm_the_rest_at_once() {
    let world = World::new();
    let party = world.active(Setup::default());
    let events: Vec<_> = (0..20).map(|n| world.event(&format!("evt-{n}"))).collect();
    let planned = world.plan(&party, &events);
    let claimed = planned.iter().filter(|it| matches!(it, Planned::Claimed(_))).count();
    let later = planned.iter().filter(|it| matches!(it, Planned::Later { at: Some(_) })).count();
    assert_eq!((claimed, later), (6, 14));
    assert_eq!(world.alarm(party.id.as_str()), Some(world.now()));
    let mut rest = Vec::new();
    while rest.len() < 14 {
        assert_eq!(world.next(Span::ZERO), Some(vec![Wake::Deliveries(party.id.clone())]));
        rest.extend(world.claim_due(&party).into_iter().map(|it| it.event.id));
    }
    rest.sort();
    rest.dedup();
    assert_eq!(rest.len(), 14, "each once");
}

#[test]
fn a_lease_covers_its_request_and_never_two_minutes() {
    let slow = Policy {
        name: "custom".into(),
        waits: vec![Span::ZERO; 3],
        timeout: Span::seconds(30),
        deadline: Span::hours(1),
    };
    for retry in [Policy::preset("immediate").unwrap(), slow] {
        let world = World::new();
        let party = world.active(Setup { retry: retry.clone(), ..Setup::default() });
        let events: Vec<_> = (0..6).map(|n| world.event(&format!("evt-{n}"))).collect();
        for it in world.plan(&party, &events) {
            let Planned::Claimed(it) = it else { panic!("{it:?}") };
            let lease = it.lease_until - world.now();
            assert!(lease >= retry.timeout && lease.as_millis() + retry.timeout.as_millis() <= 120_000);
        }
    }
}

#[test]
fn a_delivery_id_is_a_function_of_subscription_and_event() {
    let world = World::new();
    let (one, two) = (world.active(Setup::default()), world.active(Setup::default()));
    let event = world.event("evt-1");
    let ids: Vec<DeliveryId> =
        [&one, &two].map(|party| world.claim(party, "evt-1").delivery_id).into_iter().collect();
    let expected = [&one, &two].map(|party| {
        DeliveryId::of(&world.tenant, Environment::Test, &party.id, &event.id, event.accepted_at)
    });
    assert_eq!(ids, expected);
    assert_ne!(ids[0], ids[1]);
}

#[test]
fn a_lease_token_is_shown_to_nobody_but_its_worker() {
    let world = World::new();
    let party = world.active(Setup::default());
    let claimed = world.claim(&party, "evt-1");
    let view = world.delivery(&party, &claimed.delivery_id);
    assert_eq!(view["state"], "DISPATCHING");
    assert!(!view.to_string().contains(&claimed.lease_token), "{view}");
    assert!(!world.bundle(&party).to_string().contains(&claimed.lease_token));
}
