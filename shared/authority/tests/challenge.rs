//! A generation is activated once, by one proof, in time; everything else activates nothing.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::subscription::{AskAuthority, ChallengeOutcome, ChallengeRequest, SigningAlg, Wake};
use hookproof_core::Reason;
use hookproof_core::id::ChallengeId;
use hookproof_core::time::Span;
use support::party::{Contract, ok};
use support::{Party, Setup, World, now};

fn asked(setup: Setup) -> (World, Party, Box<ChallengeRequest>) {
    let world = World::new();
    let party = world.register(setup);
    now(world.objects.request_challenge(&party.id)).unwrap();
    let request = world.issue(&party).unwrap();
    (world, party, request)
}

fn inactive(world: &World, party: &Party) {
    assert_eq!(world.state(party), "PENDING_CHALLENGE");
    assert!(!world.history(party).iter().any(|entry| entry["what"] == "generation_state"));
}

#[test]
fn two_identical_answers_activate_once() {
    for (signing, receipt) in [
        (SigningAlg::Ed25519, Contract::None),
        (SigningAlg::Ed25519, Contract::Hmac),
        (SigningAlg::Ed25519, Contract::Ed25519),
        (SigningAlg::HmacSha256, Contract::None),
        (SigningAlg::HmacSha256, Contract::Hmac),
        (SigningAlg::HmacSha256, Contract::Ed25519),
    ] {
        let (world, party, request) = asked(Setup { signing, receipt, ..Setup::default() });
        let answer = party.answer(&world, &request);
        assert_eq!(world.judge(&party, &request, &answer), Ok(None));
        let after = world.disk.dump();
        assert_eq!(world.judge(&party, &request, &answer), Ok(Some(Reason::ChallengeConsumed)));
        assert_eq!(world.disk.dump(), after, "the second changes nothing");
        assert_eq!(world.state(&party), "ACTIVE");
        let recheck = world.now() + Span::days(30);
        assert_eq!(world.alarm(party.id.as_str()), Some(recheck), "it has to prove itself again");
        let states = world.history(&party);
        assert_eq!(states.iter().filter(|entry| entry["what"] == "generation_state").count(), 1);
    }
}

#[test]
fn a_challenge_is_signed_for_its_endpoint_and_its_decoy_is_not() {
    let (world, party, request) = asked(Setup::default());
    assert!(party.receive(&world, &request.fields, &request.body).is_ok());
    let decoy = party.receive(&world, &request.decoy_fields, &request.decoy_body);
    assert_eq!(decoy.unwrap_err(), Reason::DigestMismatch);
    let names: Vec<&str> = request.fields.iter().map(|(name, _)| name.as_str()).collect();
    let decoy_names: Vec<&str> = request.decoy_fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names, request.body.len()), (decoy_names, request.decoy_body.len()), "they look alike");
    assert!(!request.decoy_body.contains(request.challenge_id.as_str()));
}

#[test]
fn no_byte_a_tenant_chose_is_sent_before_activation() {
    let (_, party, request) = asked(Setup::default());
    let sent = format!("{:?}{}", request.fields, request.body);
    for chosen in ["Billing", "billing@example.com", "invoice", &party.recovery, &party.secret] {
        assert!(!sent.contains(chosen), "{chosen}");
    }
}

#[test]
fn a_late_answer_activates_nothing() {
    let (world, party, request) = asked(Setup::default());
    let answer = party.answer(&world, &request);
    world.clock.advance(Span::seconds(300));
    assert_eq!(world.judge(&party, &request, &answer), Ok(Some(Reason::ChallengeExpired)));
    inactive(&world, &party);
}

#[test]
fn an_answer_in_the_last_moment_still_activates() {
    let (world, party, request) = asked(Setup::default());
    let answer = party.answer(&world, &request);
    world.clock.advance(Span::millis(299_999));
    assert_eq!(world.judge(&party, &request, &answer), Ok(None));
}

#[test]
fn an_answer_that_was_refused_cannot_be_replayed_to_the_next_challenge() {
    let (world, party, first) = asked(Setup::default());
    let answer = party.answer(&world, &first);
    assert_eq!(world.judge(&party, &first, "{}"), Ok(Some(Reason::ChallengeAnswerMalformed)));
    world.clock.advance(Span::seconds(5));
    world.ring();
    let second = world.issue(&party).unwrap();
    assert_ne!(first.challenge_id, second.challenge_id);
    assert_eq!(world.judge(&party, &first, &answer), Ok(Some(Reason::ChallengeConsumed)));
    assert_eq!(world.judge(&party, &second, &answer), Ok(Some(Reason::ChallengeUnknown)));
    let renamed = answer.replace(first.challenge_id.as_str(), second.challenge_id.as_str());
    world.clock.advance(Span::seconds(5));
    world.ring();
    let third = world.issue(&party).unwrap();
    let relabelled = renamed.replace(second.challenge_id.as_str(), third.challenge_id.as_str());
    let refused = world.judge(&party, &third, &relabelled).unwrap();
    assert!(matches!(refused, Some(Reason::ChallengeProofWrong | Reason::ChallengeVerifierAbsent)));
    inactive(&world, &party);
}

#[test]
fn a_proof_of_another_subscription_activates_nothing() {
    for receipt in [Contract::Ed25519, Contract::Hmac] {
        let (world, party, request) = asked(Setup { receipt, ..Setup::default() });
        let other = world.register(Setup { receipt, ..Setup::default() });
        now(world.objects.request_challenge(&other.id)).unwrap();
        let theirs = world.issue(&other).unwrap();
        let proof = other.answer(&world, &theirs);
        let named = proof.replace(theirs.challenge_id.as_str(), request.challenge_id.as_str());
        let refused = world.judge(&party, &request, &named).unwrap();
        assert!(matches!(refused, Some(Reason::ChallengeProofWrong | Reason::ChallengeVerifierAbsent)));
        inactive(&world, &party);
        let made_up = ChallengeId::mint(&world.ids, world.now(), [8; 10]);
        let judged =
            now(world.objects.judge_challenge(&other.id, made_up, ok(&proof), Default::default())).unwrap();
        assert_eq!(judged, Some(Reason::ChallengeConsumed));
        assert_eq!(world.judge(&other, &theirs, &proof), Ok(None), "its own is untouched");
    }
}

#[test]
fn each_way_to_fail_has_its_reason_and_activates_nothing() {
    let json = || Some("application/json".to_owned());
    for (reason, outcome) in [
        (Reason::ChallengeVerifierAbsent, ChallengeOutcome::DecoyAnswered),
        (Reason::EndpointRefused, ChallengeOutcome::Failed { reason: Reason::EndpointRefused }),
        (Reason::TransportUnknown, ChallengeOutcome::Failed { reason: Reason::TransportUnknown }),
        (
            Reason::RedirectRefused,
            ChallengeOutcome::Answered { status: 307, content_type: json(), body: Some("PROOF".into()) },
        ),
        (
            Reason::ChallengeNoAnswer,
            ChallengeOutcome::Answered { status: 201, content_type: json(), body: Some("PROOF".into()) },
        ),
        (
            Reason::ChallengeNoAnswer,
            ChallengeOutcome::Answered { status: 500, content_type: json(), body: Some("PROOF".into()) },
        ),
        (
            Reason::ChallengeNoAnswer,
            ChallengeOutcome::Answered { status: 200, content_type: None, body: Some("PROOF".into()) },
        ),
        (
            Reason::ChallengeNoAnswer,
            ChallengeOutcome::Answered {
                status: 200,
                content_type: Some("text/html".into()),
                body: Some("PROOF".into()),
            },
        ),
        (
            Reason::ChallengeNoAnswer,
            ChallengeOutcome::Answered { status: 200, content_type: json(), body: None },
        ),
        (
            Reason::ChallengeEchoed,
            ChallengeOutcome::Answered { status: 200, content_type: json(), body: Some("ECHO".into()) },
        ),
        (
            Reason::ChallengeEchoed,
            ChallengeOutcome::Answered {
                status: 200,
                content_type: Some("text/plain".into()),
                body: Some("ECHO".into()),
            },
        ),
    ] {
        let (world, party, request) = asked(Setup::default());
        let filled = match outcome {
            ChallengeOutcome::Answered { status, content_type, body } => {
                let body = body.map(|body| match body.as_str() {
                    "PROOF" => party.answer(&world, &request),
                    _ => request.body.clone(),
                });
                ChallengeOutcome::Answered { status, content_type, body }
            }
            other @ (ChallengeOutcome::DecoyAnswered | ChallengeOutcome::Failed { .. }) => other,
        };
        let judged = now(world.objects.judge_challenge(
            &party.id,
            request.challenge_id.clone(),
            filled,
            Default::default(),
        ))
        .unwrap();
        assert_eq!(judged, Some(reason));
        inactive(&world, &party);
        assert_eq!(world.view(&party)["generations"][0]["last_challenge_failure"], reason.code());
    }
}

#[test]
fn a_media_type_is_compared_without_case_and_parameters() {
    for kind in ["application/json; charset=utf-8", "Application/JSON"] {
        let (world, party, request) = asked(Setup::default());
        let body = Some(party.answer(&world, &request));
        let outcome = ChallengeOutcome::Answered { status: 200, content_type: Some(kind.into()), body };
        let id = request.challenge_id.clone();
        assert_eq!(
            now(world.objects.judge_challenge(&party.id, id, outcome, Default::default())),
            Ok(None),
            "{kind}"
        );
    }
}

#[test]
fn after_the_third_try_nothing_is_sent_until_somebody_asks_again() {
    let (world, party, first) = asked(Setup::default());
    let mut request = first;
    for tries in 1..=3 {
        assert_eq!(world.view(&party)["generations"][0]["challenge_tries"], tries);
        assert_eq!(world.judge(&party, &request, "{}"), Ok(Some(Reason::ChallengeAnswerMalformed)));
        if tries < 3 {
            assert_eq!(world.alarm(party.id.as_str()), Some(world.now() + Span::seconds(5)));
            assert!(world.issue(&party).is_none(), "not before its wait");
            assert_eq!(world.next(Span::hours(1)), Some(vec![Wake::Challenge(party.id.clone())]));
            request = world.issue(&party).unwrap();
        }
    }
    assert_eq!(world.alarm(party.id.as_str()), None);
    let proof = party.answer(&world, &request);
    assert_eq!(world.judge(&party, &request, &proof), Ok(Some(Reason::ChallengeConsumed)));
    world.clock.advance(Span::days(1));
    assert!(world.issue(&party).is_none());
    inactive(&world, &party);

    now(world.objects.request_challenge(&party.id)).unwrap();
    let request = world.issue(&party).unwrap();
    assert_eq!(world.judge(&party, &request, &party.answer(&world, &request)), Ok(None));
}

#[test]
fn a_lost_challenge_is_a_failed_try_and_is_announced_again() {
    let (world, party, lost) = asked(Setup::default());
    let proof = party.answer(&world, &lost);
    for tries in 1..=3 {
        assert!(world.issue(&party).is_none(), "a doubled message finds nothing due");
        assert_eq!(world.next(Span::seconds(60)), Some(vec![]), "it counts as failed");
        let history = world.history(&party);
        let judged: Vec<_> = history.iter().filter(|entry| entry["what"] == "challenge_judged").collect();
        assert_eq!(
            (judged.len(), &judged[judged.len() - 1]["reason"]),
            (tries, &"challenge.no_answer".into())
        );
        if tries < 3 {
            assert_eq!(world.next(Span::seconds(5)), Some(vec![Wake::Challenge(party.id.clone())]));
            world.issue(&party).unwrap();
        }
    }
    assert_eq!(world.alarm(party.id.as_str()), None);
    assert_eq!(world.judge(&party, &lost, &proof), Ok(Some(Reason::ChallengeConsumed)));
    inactive(&world, &party);
}

#[test]
fn a_lost_announcement_is_made_again_after_a_minute() {
    let world = World::new();
    let party = world.register(Setup::default());
    now(world.objects.request_challenge(&party.id)).unwrap();
    for _ in 0..3 {
        assert_eq!(world.next(Span::seconds(60)), Some(vec![Wake::Challenge(party.id.clone())]));
    }
    assert!(world.issue(&party).is_some());
}

#[test]
fn asking_again_while_an_answer_is_on_its_way_changes_nothing() {
    let (world, party, request) = asked(Setup::default());
    let before = world.disk.dump();
    now(world.objects.request_challenge(&party.id)).unwrap();
    assert_eq!(world.disk.dump(), before);
    assert!(world.ring().is_empty() && world.issue(&party).is_none(), "no second one is sent");
    assert_eq!(world.judge(&party, &request, &party.answer(&world, &request)), Ok(None));
}

#[test]
fn asking_again_once_it_is_active_changes_nothing() {
    let world = World::new();
    let party = world.active(Setup::default());
    let before = world.disk.dump();
    assert_eq!(now(world.objects.request_challenge(&party.id)).unwrap().state, "ACTIVE");
    assert!(world.issue(&party).is_none());
    assert_eq!(world.disk.dump(), before);
}
