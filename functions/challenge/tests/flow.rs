//! A challenge is sent after its decoy, and brings back what the endpoint answered, as it was.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

#[path = "../../../shared/authority/tests/support/mod.rs"]
mod support;

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use hookproof_authority::message::ChallengeDue;
use hookproof_authority::subscription::{AskAuthority, SigningAlg, Wake};
use hookproof_challenge::Challenger;
use hookproof_core::receiver::{Intake, Received, Source, receive};
use hookproof_core::signature::Fields;
use hookproof_core::time::Span;
use hookproof_native::{Kept, TestClock};
use hookproof_ports::{Clock as _, Reply, Resolution, TransportFailure};
use support::party::Contract;
use support::wire::{Answer, Dns, Endpoint, Got, egress, json, reply};
use support::{ENDPOINT, Party, Reach, Setup, World, now};

struct Case {
    world: World,
    party: Party,
    endpoint: Endpoint,
    dns: Dns,
    journal: Kept,
    challenger: Challenger<Reach, Dns, Endpoint, Kept>,
}

impl Case {
    fn new(setup: Setup) -> Self {
        let world = World::new();
        let party = world.register(setup);
        now(world.objects.request_challenge(&party.id)).unwrap();
        let endpoint = Endpoint::new(&world.clock);
        let (dns, egress) = egress(&endpoint);
        let journal = Kept::default();
        let challenger = Challenger { objects: world.objects.clone(), egress, journal: journal.clone() };
        Self { world, party, endpoint, dns, journal, challenger }
    }

    fn run(&self) {
        now(self.challenger.run(vec![ChallengeDue { subscription: self.party.id.clone() }]));
    }

    /// Moves on to the next alarm and does what it announces.
    fn next(&self) {
        for wake in self.world.next(Span::hours(1)).unwrap() {
            assert_eq!(wake, Wake::Challenge(self.party.id.clone()));
            self.run();
        }
    }

    fn receiver(&self) -> impl Fn(&Got) -> Answer + 'static {
        receiver(self.party.source.clone(), self.world.clock.clone())
    }

    fn failure(&self) -> Option<String> {
        let view = self.world.view(&self.party);
        view["generations"][0]["last_challenge_failure"].as_str().map(str::to_owned)
    }

    /// The endpoint answers the genuine challenge with this; its decoy is refused.
    fn fails_with(answer: impl Fn(Reply) -> Answer + 'static, reason: &str) {
        let case = Self::new(Setup::default());
        let honest = case.receiver();
        case.endpoint.always(move |got| match honest(got)? {
            proof if proof.status == 200 => answer(proof),
            refused => Ok(refused),
        });
        case.run();
        assert_eq!(
            (case.world.state(&case.party).as_str(), case.failure().as_deref()),
            ("PENDING_CHALLENGE", Some(reason))
        );
        assert!(case.journal.mentions(reason));
    }
}

/// A subscriber that verifies.
fn receiver(source: Source, clock: TestClock) -> impl Fn(&Got) -> Answer + 'static {
    move |got| {
        let fields: Fields = got.fields.iter().map(|(name, value)| (name, value)).collect();
        let path_and_query = source.entries[0].public_url.path_and_query();
        let intake = Intake { method: "POST", path_and_query, fields: &fields, body: got.body.as_bytes() };
        match receive(&source, &intake, clock.now()) {
            Ok(Received::Challenge { answer }) => Ok(json(answer)),
            Ok(Received::Delivery(_)) | Err(_) => Ok(reply(400)),
        }
    }
}

#[test]
fn a_subscriber_that_verifies_is_activated() {
    for signing in [SigningAlg::Ed25519, SigningAlg::HmacSha256] {
        for receipt in [Contract::None, Contract::Hmac, Contract::Ed25519] {
            let case = Case::new(Setup { signing, receipt, ..Setup::default() });
            case.endpoint.always(case.receiver());
            case.run();
            assert_eq!(case.world.state(&case.party), "ACTIVE", "{:?}", case.journal.lines());
            assert_eq!(case.endpoint.got().len(), 2);
            case.run();
            assert_eq!(case.endpoint.got().len(), 2, "a doubled message sends nothing");
        }
    }
}

#[test]
fn an_endpoint_that_has_not_refused_the_decoy_is_not_asked_the_question() {
    let silent: Answer = Err(TransportFailure::Unknown);
    for (fails, reason) in [(silent, "transport.unknown"), (Ok(reply(503)), "challenge.no_answer")] {
        let case = Case::new(Setup::default());
        case.endpoint.always(move |_| fails.clone());
        case.run();
        assert_eq!((case.failure().as_deref(), case.endpoint.got().len()), (Some(reason), 1));
    }
}

#[test]
fn the_decoy_goes_first_and_cannot_be_told_by_its_look() {
    let case = Case::new(Setup::default());
    case.endpoint.always(case.receiver());
    case.run();
    let got = case.endpoint.got();
    assert!(got.iter().all(|got| got.url == ENDPOINT));
    let verifies = |got: &Got| case.party.receive(&case.world, &got.fields, &got.body).is_ok();
    assert_eq!(got.iter().map(verifies).collect::<Vec<_>>(), [false, true]);
    let names = |got: &Got| got.fields.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    let shape = |got: &Got| {
        let body: serde_json::Value = serde_json::from_str(&got.body).unwrap();
        body.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    assert_eq!((names(&got[0]), shape(&got[0])), (names(&got[1]), shape(&got[1])));
    assert_ne!(got[0].field("webhook-id"), got[1].field("webhook-id"));
    assert!(got[0].body.contains(got[0].field("webhook-id")), "the decoy agrees with its own fields");
}

#[test]
fn whoever_answers_the_decoy_has_no_verifier_and_is_not_asked_the_question() {
    let case = Case::new(Setup::default());
    // Answers whatever it is asked, in the right form.
    case.endpoint.always(|got| {
        let body: serde_json::Value = serde_json::from_str(&got.body).unwrap();
        let answer = serde_json::json!({
            "type": "subscription.challenge.answer.v1", "challenge_id": body["challenge_id"],
            "proof_key_id": body["key_id"], "probes": 1, "proof": "AAAA",
        });
        Ok(json(answer.to_string()))
    });
    for _ in 0..3 {
        case.run();
        assert_eq!(case.failure().as_deref(), Some("challenge.verifier_absent"));
        case.world.clock.advance(Span::seconds(5));
    }
    assert_eq!(case.endpoint.got().len(), 3, "one decoy a try, and three tries");
    case.run();
    assert_eq!((case.endpoint.got().len(), case.world.state(&case.party).as_str()), (3, "PENDING_CHALLENGE"));
}

#[test]
fn an_answer_in_any_wrong_form_activates_nothing() {
    Case::fails_with(|proof| Ok(Reply { status: 302, ..proof }), "redirect_refused");
    Case::fails_with(|proof| Ok(Reply { status: 308, ..proof }), "redirect_refused");
    Case::fails_with(|proof| Ok(Reply { status: 204, ..proof }), "challenge.no_answer");
    Case::fails_with(|proof| Ok(Reply { status: 503, ..proof }), "challenge.no_answer");
    Case::fails_with(|proof| Ok(Reply { truncated: true, ..proof }), "challenge.no_answer");
    Case::fails_with(|proof| Ok(Reply { content_type: None, ..proof }), "challenge.no_answer");
    Case::fails_with(
        |proof| Ok(Reply { content_type: Some("text/html".into()), ..proof }),
        "challenge.no_answer",
    );
    Case::fails_with(|_| Ok(json("")), "challenge.answer_malformed");
    Case::fails_with(|_| Ok(json("[]")), "challenge.answer_malformed");
    Case::fails_with(|_| Ok(json(Bytes::from_static(b"\xff\xfe"))), "challenge.no_answer");
    Case::fails_with(
        |proof| Ok(json([&proof.body[..proof.body.len() - 1], b",\"extra\":1}"].concat())),
        "challenge.answer_malformed",
    );
    Case::fails_with(
        |proof| Ok(json([&b"\n\n"[..], &proof.body, b" x"].concat())),
        "challenge.answer_malformed",
    );
    Case::fails_with(|_| Err(TransportFailure::Unknown), "transport.unknown");
    Case::fails_with(|_| Err(TransportFailure::NotSent), "transport.not_sent");
}

#[test]
fn an_echo_proves_nothing() {
    let case = Case::new(Setup::default());
    case.endpoint.always(|got| Ok(json(got.body.clone())));
    case.run();
    assert_eq!(case.failure().as_deref(), Some("challenge.echoed"));
    let case = Case::new(Setup::default());
    case.endpoint.always(|got| Ok(Reply { body: Bytes::from(got.body.clone()), ..reply(200) }));
    case.run();
    assert_eq!(case.failure().as_deref(), Some("challenge.echoed"));
}

#[test]
fn a_challenge_relayed_to_somebody_elses_receiver_is_not_answered() {
    let case = Case::new(Setup::default());
    let mut elsewhere = case.party.source.clone();
    elsewhere.entries[0].public_url = support::party::url("https://hooks.example.com/in/other");
    case.endpoint.always(receiver(elsewhere, case.world.clock.clone()));
    case.run();
    assert_eq!(case.failure().as_deref(), Some("challenge.no_answer"));
}

#[test]
fn a_private_address_gets_no_byte() {
    let case = Case::new(Setup::default());
    *case.dns.0.borrow_mut() = Resolution::Addresses(vec!["10.0.0.1".parse().unwrap()]);
    case.endpoint.always(case.receiver());
    case.run();
    assert_eq!((case.endpoint.got().len(), case.failure().as_deref()), (0, Some("endpoint.refused")));
}

#[test]
fn the_addresses_of_the_proof_begin_the_generations_history() {
    let case = Case::new(Setup::default());
    let both = ["1.1.1.1", "2606:4700::1"].map(|text| text.parse().unwrap());
    *case.dns.0.borrow_mut() = Resolution::Beforehand(both.to_vec());
    case.endpoint.always(case.receiver());
    case.run();
    assert_eq!(case.world.state(&case.party), "ACTIVE");
    let kept = format!("{:?}", case.world.disk.dump()["generation"]);
    assert!(kept.contains("1.1.1.1") && kept.contains("2606:4700::1"), "{kept}");
}

#[test]
fn a_failed_try_is_made_again_and_the_third_is_the_last() {
    let case = Case::new(Setup::default());
    let honest = case.receiver();
    let down = Rc::new(RefCell::new(true));
    let is_down = Rc::clone(&down);
    case.endpoint.always(move |got| if *is_down.borrow() { Ok(reply(503)) } else { honest(got) });
    case.next();
    case.next();
    assert_eq!(case.world.view(&case.party)["generations"][0]["challenge_tries"], 2);
    *down.borrow_mut() = false;
    case.next();
    assert_eq!((case.world.state(&case.party).as_str(), case.failure()), ("ACTIVE", None));
    assert!(case.world.is_idle(&case.party));
}

#[test]
fn the_journal_names_the_key_and_never_a_proof_or_a_signature() {
    let case = Case::new(Setup::default());
    let honest = case.receiver();
    let answers = Rc::new(RefCell::new(Vec::new()));
    let kept = Rc::clone(&answers);
    case.endpoint.always(move |got| {
        let answer = honest(got)?;
        kept.borrow_mut().push(String::from_utf8(answer.body.to_vec()).unwrap());
        Ok(answer)
    });
    case.run();
    assert!(case.journal.mentions("challenge proved"));
    assert!(case.journal.mentions(&case.party.entry().keys[0].key_id));
    let proof: serde_json::Value = serde_json::from_str(&answers.borrow()[1]).unwrap();
    let question = &case.endpoint.got()[1];
    let nonce: serde_json::Value = serde_json::from_str(&question.body).unwrap();
    let signature = question.field("signature").trim_start_matches("hookproof=:").trim_end_matches(':');
    for hidden in
        [proof["proof"].as_str().unwrap(), signature, nonce["nonce"].as_str().unwrap(), &case.party.secret]
    {
        assert!(!case.journal.mentions(hidden), "{hidden}");
    }
}

#[test]
fn one_broken_subscription_does_not_hold_up_the_others() {
    let case = Case::new(Setup::default());
    case.endpoint.always(case.receiver());
    let never = ChallengeDue { subscription: case.world.mint() };
    let ours = ChallengeDue { subscription: case.party.id.clone() };
    now(case.challenger.run(vec![never, ours]));
    assert_eq!(case.world.state(&case.party), "ACTIVE");
    assert!(case.journal.mentions("subscription.unknown"));
}
