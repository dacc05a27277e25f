//! The key document says what the authority's rows say, is signed again only when it must be, and shows no
//! secret.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::subscription::{AskAuthority, SigningAlg};
use hookproof_core::Reason;
use hookproof_core::key_document::{KeyDocument, LIFETIME, Pin, RENEWAL};
use hookproof_core::keys::{CredentialState, Issuer};
use hookproof_core::subscription::OldGenerations;
use hookproof_core::time::Span;
use hookproof_native::NativeStore;
use support::{ISSUER, Party, Setup, World, issuer_keys, now};

fn answer(world: &World, party: &Party) -> String {
    now(world.objects.key_document(&party.id)).unwrap()
}

/// What a subscriber reads who pinned the key of its registration.
fn read(world: &World, party: &Party, last_sequence: u64) -> Result<KeyDocument, Reason> {
    let pinned = serde_json::from_value(world.view(party)["issuer_key"].clone()).unwrap();
    let pin = Pin { issuer: ISSUER, subscription_id: &party.id, keys: &[pinned], last_sequence };
    pin.verify(&answer(world, party), world.now()).map_err(|refusal| refusal.reason)
}

/// What the lifecycle's commands do to a credential.
fn set_state(world: &World, party: &Party, from: &str, to: &str) {
    let statement =
        "UPDATE credential SET record = replace(record, '{from}', '{to}') WHERE subscription = '{id}'";
    world
        .disk
        .rows(&statement.replace("{from}", from).replace("{to}", to).replace("{id}", party.id.as_str()));
}

#[test]
fn a_registration_pins_the_key_that_its_document_verifies_under() {
    let world = World::new();
    let party = world.register(Setup::default());
    let document = read(&world, &party, 0).unwrap();
    let entry = &party.entry().keys[0];
    assert_eq!((document.sequence, document.issued_at), (1, world.now()));
    assert_eq!((document.next_update, document.revoked.len()), (world.now() + LIFETIME, 0));
    assert_eq!((document.generation, document.keys.len()), (party.entry().generation, 1));
    let key = &document.keys[0];
    assert_eq!((&key.key_id, &key.public_key), (&entry.key_id, &entry.public_key));
    assert_eq!((key.state, key.generation), (CredentialState::Active, party.entry().generation));
}

#[test]
fn unchanged_content_is_signed_again_after_five_minutes_only_and_keeps_its_sequence() {
    let world = World::new();
    let party = world.active(Setup::default());
    let first = answer(&world, &party);
    let before = world.disk.dump();
    world.clock.advance(RENEWAL + Span::millis(-1));
    assert_eq!(answer(&world, &party), first);
    assert_eq!(world.disk.dump(), before, "an answer that is kept writes nothing");
    world.clock.advance(Span::millis(1));
    let renewed = read(&world, &party, 1).unwrap();
    assert_eq!((renewed.sequence, renewed.issued_at), (1, world.now()));
    assert_ne!(answer(&world, &party), first);
}

#[test]
fn a_revoked_key_is_gone_from_the_next_answer_under_a_higher_sequence() {
    let world = World::new();
    let party = world.active(Setup::default());
    let key_id = party.entry().keys[0].key_id.clone();
    let before = read(&world, &party, 0).unwrap();
    set_state(&world, &party, "ACTIVE", "REVOKED");
    let after = read(&world, &party, before.sequence).unwrap();
    assert_eq!((after.sequence, after.keys.len(), after.revoked), (2, 0, vec![key_id]));
    set_state(&world, &party, "REVOKED", "ACTIVE");
    // The same content as at first is still a change: the sequence only rises.
    assert_eq!(read(&world, &party, 2).unwrap().sequence, 3);
}

#[test]
fn the_keys_of_a_revoked_subscription_are_revoked_in_its_document() {
    let world = World::new();
    let party = world.active(Setup::default());
    assert_eq!(read(&world, &party, 0).unwrap().revoked.len(), 0);
    now(world.objects.revoke(&party.id, None, OldGenerations::Quarantine)).unwrap();
    let after = read(&world, &party, 1).unwrap();
    assert_eq!((after.keys.len(), after.revoked.len(), after.sequence), (0, 1, 2));
}

#[test]
fn an_overlap_that_ends_changes_the_document_without_a_command() {
    let world = World::new();
    let party = world.active(Setup::default());
    let until = world.now() + Span::seconds(30);
    let ends = format!("\"VERIFY_ONLY\",\"verify_until\":\"{until}\"");
    set_state(&world, &party, "\"ACTIVE\"", &ends);
    let during = read(&world, &party, 0).unwrap();
    assert_eq!(during.keys[0].verify_until, Some(until));
    world.clock.advance(Span::seconds(30));
    let after = read(&world, &party, during.sequence).unwrap();
    assert_eq!((after.keys.len(), after.revoked.len(), after.sequence), (0, 1, 2));
}

#[test]
fn an_hmac_key_is_named_and_nothing_of_it_is_shown() {
    let world = World::new();
    let party = world.active(Setup { signing: SigningAlg::HmacSha256, ..Setup::default() });
    let document = read(&world, &party, 0).unwrap();
    let key = &document.keys[0];
    assert_eq!((&key.key_id, &key.public_key), (&party.entry().keys[0].key_id, &None));
    let members: Vec<String> =
        serde_json::to_value(key).unwrap().as_object().unwrap().keys().cloned().collect();
    assert_eq!(members, ["alg", "generation", "key_generation", "key_id", "state"]);
    let answer = answer(&world, &party);
    for hidden in [&party.secret, &party.recovery] {
        assert!(!answer.contains(hidden.as_str()));
    }
    assert!(!answer.contains(party.entry().tenant_id.as_str()), "whose it is, is nobody's business");
}

#[test]
fn a_new_issuer_key_signs_at_once_and_the_old_one_stays_published() {
    let directory = tempfile::tempdir().unwrap();
    let open = |versions| World::issuing(NativeStore::open(directory.path().join("db")).unwrap(), versions);
    let old = open(&[1]);
    let party = old.active(Setup::default());
    let pinned = now(old.objects.issuer()).unwrap();
    assert_eq!(pinned, Issuer { issuer: ISSUER.into(), keys: issuer_keys(&[1]).public().unwrap() });
    let first = answer(&old, &party);
    let new = open(&[1, 2]);
    let all = now(new.objects.issuer()).unwrap();
    assert_eq!((all.keys.len(), &all.keys[1]), (2, &pinned.keys[0]));
    let second = answer(&new, &party);
    let pin = |keys| Pin { issuer: ISSUER, subscription_id: &party.id, keys, last_sequence: 1 };
    assert_eq!(pin(&pinned.keys).verify(&second, new.now()).unwrap_err().reason, Reason::KeyUnknown);
    assert_eq!(pin(&all.keys).verify(&second, new.now()).unwrap().sequence, 1);
    assert_eq!(pin(&all.keys).verify(&first, new.now()).unwrap().sequence, 1);
}

#[test]
fn a_document_is_kept_all_or_not_at_all() {
    let world = World::new();
    let party = world.active(Setup::default());
    let before = world.disk.dump();
    let mut failed = 0;
    for statement in 0.. {
        world.disk.fail_at(Some(statement));
        let answered = now(world.objects.key_document(&party.id));
        world.disk.fail_at(None);
        if answered.is_ok() {
            break;
        }
        assert_eq!(world.disk.dump(), before, "statement {statement}");
        failed += 1;
    }
    assert!(failed > 4, "{failed}");
    assert_eq!(read(&world, &party, 0).unwrap().sequence, 1);
}
