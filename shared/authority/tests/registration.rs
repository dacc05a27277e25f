//! A registration is one commit; what it shows is shown once and kept sealed; made-up ids leave nothing.

mod support;

use hookproof_authority::subscription::{AskAuthority, Authority, ChallengeOutcome, Command, SigningAlg};
use hookproof_core::id::{IdKey, SubscriptionId};
use hookproof_core::keys::{Purpose, derive};
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::secret::Secret;
use hookproof_core::subscription::ReceiptContract;
use hookproof_core::{Reason, base64};
use hookproof_native::NativeStore;
use hookproof_ports::Ask;
use support::ledger::{answered, attempted, settlement};
use support::party::Contract;
use support::{ENDPOINT, RECEIPTS, Setup, World, now};

#[test]
fn a_registration_shows_its_secrets_once_and_its_repeat_none() {
    let world = World::new();
    let (id, setup) = (world.mint(), Setup::default());
    let first = now(world.objects.register(&id, setup.registration(&world))).unwrap();
    let (secret, recovery) = (first.secret.unwrap(), first.recovery_credential.unwrap());
    assert!(Secret::from_base64url(&secret).is_some());
    assert!(recovery.starts_with("hp_recovery_"));
    assert_eq!(first.subscription.state, "PENDING_CHALLENGE");

    let before = world.disk.dump();
    let again = now(world.objects.register(&id, setup.registration(&world))).unwrap();
    assert_eq!((again.secret, again.recovery_credential), (None, None));
    assert_eq!(again.subscription.view.get(), first.subscription.view.get());
    let other = Setup { topics: "*", ..setup };
    let refused = now(world.objects.register(&id, other.registration(&world))).unwrap_err();
    assert_eq!(refused.reason, Reason::IdempotencyConflict);
    assert_eq!(world.disk.dump(), before, "a repeat writes nothing");
    for shown in [&secret, &recovery] {
        assert!(!first.subscription.view.get().contains(shown.as_str()));
    }
}

#[test]
fn a_view_names_what_the_subscriber_configures() {
    let world = World::new();
    let party = world.register(Setup::default());
    let view = world.view(&party);
    let generation = &view["generations"][0];
    assert_eq!((&view["revision"], &view["receipts_url"]), (&1.into(), &RECEIPTS.into()));
    assert_eq!((&generation["generation"], &generation["endpoint"]), (&1.into(), &ENDPOINT.into()));
    assert_eq!(generation["endpoint_digest"], support::party::url(ENDPOINT).digest().to_string());
    assert_eq!(
        (&generation["keys"][0]["state"], &generation["challenge_tries"]),
        (&"ACTIVE".into(), &0.into())
    );
    assert_eq!(world.alarm(party.id.as_str()), None, "nothing is due before a challenge is asked for");
}

#[test]
fn a_receipt_key_that_is_weak_or_published_is_refused_and_nothing_is_stored() {
    let world = World::new();
    let before = world.disk.dump();
    let published = base64::url(&{
        let seed = Secret::from_base64url("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A").unwrap();
        hookproof_core::signature::SigningKey::ed25519(&seed).public().unwrap()
    });
    for (public_key, reason) in [
        (base64::url(&[0; 32]), Reason::KeyWeak),
        (base64::url(&[255; 32]), Reason::KeyWeak),
        ("short".into(), Reason::KeyWeak),
        (published, Reason::KeyReserved),
    ] {
        let mut registration = Setup::default().registration(&world);
        registration.terms.receipt = ReceiptContract::Ed25519 { public_key };
        let refused = now(world.objects.register(&world.mint(), registration)).unwrap_err();
        assert_eq!((refused.reason, refused.field.as_deref()), (reason, Some("receipt.public_key")));
        assert_eq!(world.disk.dump(), before);
    }
}

#[test]
fn an_id_without_a_valid_check_is_refused_and_leaves_nothing() {
    let world = World::new();
    let before = world.disk.dump();
    let foreign = SubscriptionId::mint(&IdKey::new(b"another deployment"), world.now(), [3; 10]);
    let ours = world.mint();
    let mut bent = ours.as_str().to_owned();
    let last = bent.pop().unwrap();
    bent.push(if last == '0' { '1' } else { '0' });
    for id in [foreign, bent.parse().unwrap()] {
        let refused = now(world.objects.register(&id, Setup::default().registration(&world))).unwrap_err();
        assert_eq!(refused.reason, Reason::SubscriptionUnknown);
        assert_eq!(world.disk.dump(), before);
    }
    let registration = Box::new(Setup::default().registration(&world));
    let asked: Result<serde_json::Value, _> =
        now(Ask::<Authority>::ask(&world.objects, "no id at all", Command::Register(registration)));
    assert_eq!(asked.unwrap_err().reason, Reason::SubscriptionUnknown);
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn an_unknown_id_is_answered_unknown_writes_nothing_and_arms_nothing() {
    let world = World::new();
    let known = world.active(Setup::default());
    let claimed = world.claim(&known, "evt-1");
    let receipt = known.receipt(&world, &attempted(&claimed), "op", ReceiptResult::Applied);
    let (item, event) = (settlement(&claimed, answered(200)), claimed.event.clone());
    let (delivery_id, challenge_id) = (
        claimed.delivery_id.clone(),
        hookproof_core::id::ChallengeId::mint(&world.ids, world.now(), [1; 10]),
    );
    let commands = [
        Command::Describe,
        Command::RequestChallenge { consent: None },
        Command::IssueChallenge,
        Command::JudgeChallenge {
            challenge_id,
            outcome: ChallengeOutcome::DecoyAnswered,
            lookup: Default::default(),
        },
        Command::PlanAndClaim { items: vec![known.item(event)] },
        Command::ClaimDue,
        Command::Settle { items: vec![item] },
        Command::Receipt(Box::new(known.signed(&world, &receipt))),
        Command::Delivery { delivery_id: delivery_id.clone() },
        Command::Deliveries { after: None, limit: 10, state: None },
        Command::Evidence,
        Command::KeyDocument,
    ];
    let before = world.disk.dump();
    let unknown = world.mint();
    for command in commands {
        let words = format!("{command:?}");
        let asked: Result<serde_json::Value, _> =
            now(Ask::<Authority>::ask(&world.objects, unknown.as_str(), command));
        assert_eq!(asked.unwrap_err().reason, Reason::SubscriptionUnknown, "{words}");
        assert_eq!(world.disk.dump(), before, "{words}");
    }
    assert_eq!(world.alarm(unknown.as_str()), None);
}

/// Every spelling in which 32 octets could stand in a file.
fn spellings(octets: &[u8]) -> Vec<Vec<u8>> {
    let hex: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let list = octets.iter().map(u8::to_string).collect::<Vec<_>>().join(",");
    let texts = [base64::url(octets), base64::standard(octets), hex.to_uppercase(), hex, list];
    let mut all: Vec<Vec<u8>> = texts.into_iter().map(String::into_bytes).collect();
    all.push(octets.to_vec());
    all
}

#[test]
fn no_secret_no_seed_and_no_recovery_credential_is_in_the_database_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hookproof.db");
    let world = World::on(NativeStore::open(&path).unwrap());
    let mut hidden = Vec::new();
    for (signing, receipt) in
        [(SigningAlg::Ed25519, Contract::Ed25519), (SigningAlg::HmacSha256, Contract::Hmac)]
    {
        let party = world.active(Setup { signing, receipt, ..Setup::default() });
        let claimed = world.claim(&party, "evt-1");
        world.settle(&party, &claimed, answered(200)).unwrap();
        let receipt = party.receipt(&world, &attempted(&claimed), "op", ReceiptResult::Applied);
        world.confirm(&party, party.signed(&world, &receipt)).unwrap();

        let secret = Secret::from_base64url(&party.secret).unwrap();
        hidden.extend(spellings(secret.expose()));
        let key_id = &party.entry().keys[0].key_id;
        let scope = party.entry().scope();
        for purpose in [Purpose::Deliver, Purpose::Challenge, Purpose::Status, Purpose::Receipt] {
            let key = derive(&secret, purpose, &scope, key_id, &party.entry().profile);
            hidden.extend(spellings(key.expose()));
        }
        hidden.push(party.recovery.clone().into_bytes());
        hidden.extend(spellings(
            &base64::from_url(party.recovery.strip_prefix("hp_recovery_").unwrap()).unwrap(),
        ));
        let signature = &claimed.fields.iter().find(|(name, _)| name == "signature").unwrap().1;
        hidden.push(signature.trim_start_matches("hookproof=:").trim_end_matches(':').as_bytes().to_vec());
    }
    // The master key, and whatever the entropy of this world gave: seeds of signing keys are among it.
    hidden.extend(spellings(&[7; 32]));
    let mut files = Vec::new();
    for file in std::fs::read_dir(directory.path()).unwrap() {
        files.extend(std::fs::read(file.unwrap().path()).unwrap());
    }
    let holds = |needle: &[u8]| files.windows(needle.len()).any(|window| window == needle);
    assert!(holds(b"billing@example.com"), "the files that were read are the database");
    for needle in &hidden {
        assert!(!holds(needle), "{} is stored in the open", String::from_utf8_lossy(needle));
    }
}

#[test]
fn the_seed_of_a_signing_key_is_not_in_the_database() {
    let world = World::new();
    let stream = world.entropy.clone();
    let party = world.register(Setup::default());
    let dump = format!("{:?}", world.disk.dump());
    let public = party.entry().keys[0].public_key.clone().unwrap();
    // Replays the world's entropy and finds the seed by the key it makes.
    let replay = hookproof_native::SeededEntropy::new(1);
    let seed = (0..200)
        .map(|_| Secret::new(hookproof_ports::random(&replay)))
        .find(|seed| {
            let key = hookproof_core::signature::SigningKey::ed25519(seed);
            base64::url(&key.public().unwrap()) == public
        })
        .unwrap();
    drop(stream);
    let octets = format!("{:?}", seed.expose());
    assert!(!dump.contains(octets.trim_matches(['[', ']'])) && !dump.contains(&seed.show_once()));
}
