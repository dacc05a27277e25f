//! A request is remembered by the object that does it, for a day, and a refused one not at all.

mod support;

use hookproof_authority::directory::{AskDirectory, ROOT, Tenant, key};
use hookproof_authority::idempotency::{Once, RETENTION};
use hookproof_authority::subscription::{AskAuthority, Command};
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::Environment;
use hookproof_core::time::Span;
use support::{Setup, World, now};

fn once(key: &str, body: &str) -> Once {
    Once { route: "POST /v1/things".into(), key: key.into(), digest: Digest::of(body.as_bytes()) }
}

#[test]
fn the_first_id_is_given_again_until_a_day_has_passed() {
    let world = World::new();
    let remember = |once: Once, id: &str| now(world.objects.remember(ROOT, once, id.into()));
    assert_eq!(remember(once("k", "b"), "one").unwrap(), "one");
    let before = world.disk.dump();
    world.clock.advance(Span::millis(RETENTION.as_millis() - 1));
    assert_eq!(remember(once("k", "b"), "two").unwrap(), "one");
    assert_eq!(remember(once("k", "c"), "two").unwrap_err().reason, Reason::IdempotencyConflict);
    assert_eq!(world.disk.dump(), before);
    world.clock.advance(Span::millis(1));
    assert_eq!(remember(once("k", "c"), "three").unwrap(), "three");
    assert_eq!(world.disk.rows("SELECT key FROM idempotency").len(), 1, "the old record is gone");
}

#[test]
fn what_is_past_the_retention_is_forgotten_with_the_next() {
    let world = World::new();
    for n in 0..5 {
        now(world.objects.remember(ROOT, once(&format!("k{n}"), "b"), "id".into())).unwrap();
    }
    world.clock.advance(RETENTION);
    now(world.objects.remember(ROOT, once("k9", "b"), "id".into())).unwrap();
    assert_eq!(world.disk.rows("SELECT key FROM idempotency").len(), 1);
}

#[test]
fn directories_and_routes_do_not_share_what_they_remember() {
    let world = World::new();
    let made = |environment| Tenant {
        tenant_id: world.tenant.clone(),
        environment,
        name: "Acme".into(),
        created_at: world.now(),
    };
    let mut directories = vec![ROOT.to_owned()];
    for environment in [Environment::Live, Environment::Test] {
        now(world.objects.create_tenant(made(environment))).unwrap();
        directories.push(key(&world.tenant, environment));
    }
    for (n, directory) in directories.iter().enumerate() {
        let other = Once { route: "POST /v1/others".into(), ..once("k", "x") };
        for once in [once("k", directory), other] {
            let id = format!("id-{n}-{}", once.route);
            assert_eq!(now(world.objects.remember(directory, once, id.clone())).unwrap(), id);
        }
    }
}

#[test]
fn a_directory_of_nobody_remembers_nothing() {
    let world = World::new();
    let before = world.disk.dump();
    let unknown = key(&world.tenant, Environment::Test);
    let refused = now(world.objects.remember(&unknown, once("k", "b"), "id".into())).unwrap_err();
    assert_eq!((refused.reason, world.disk.dump()), (Reason::TenantUnknown, before));
}

#[test]
fn an_authority_does_once_what_it_is_asked_twice_and_remembers_no_refusal() {
    let world = World::new();
    let party = world.register(Setup::default());
    let command = || Command::RequestChallenge { consent: None };
    let ask = |once: &Once| now(world.objects.once(&party.id, Some(once), command()));
    let first = ask(&once("k", "b")).unwrap();
    let before = world.disk.dump();
    world.clock.advance(Span::seconds(1));
    let again = ask(&once("k", "b")).unwrap();
    assert_eq!((again.view.get(), world.disk.dump()), (first.view.get(), before.clone()));
    assert_eq!(ask(&once("k", "c")).unwrap_err().reason, Reason::IdempotencyConflict);
    // A command that is refused leaves no record, and one inside another is none.
    let nested = Command::Once { once: once("n", "b"), command: Box::new(command()) };
    let refused = now(world.objects.once(&party.id, Some(&once("m", "b")), nested));
    assert!(refused.is_err());
    assert_eq!(world.disk.dump(), before);
}
