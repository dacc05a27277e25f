//! Directories only prefilter within one environment; a token is good until the moment it is not.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::directory::{AskDirectory, Candidate, Tenant};
use hookproof_authority::token::{Command, Record, Scope, Stored, Tokens};
use hookproof_core::digest::Digest;
use hookproof_core::id::{Environment, TenantId, TokenId};
use hookproof_core::subscription::Wants;
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::token::Token;
use hookproof_core::{Reason, Refusal};
use hookproof_ports::{Ask, random};
use support::{World, now};

fn tenant(world: &World, environment: Environment) -> Tenant {
    Tenant { tenant_id: world.tenant.clone(), environment, name: "Acme".into(), created_at: world.now() }
}

fn wants(topics: &[&str], versions: &[&str]) -> Wants {
    Wants {
        topics: topics.iter().map(|topic| topic.parse().unwrap()).collect(),
        accepted_versions: versions.iter().map(|&version| version.to_owned()).collect(),
        filter: None,
    }
}

fn candidate(kind: &str, version: &str) -> Candidate {
    Candidate { r#type: kind.into(), api_version: version.into(), object: None, data: "{}".into() }
}

#[test]
fn a_tenant_is_made_once() {
    let world = World::new();
    let made = now(world.objects.create_tenant(tenant(&world, Environment::Test))).unwrap();
    let before = world.disk.dump();
    world.clock.advance(Span::hours(1));
    assert_eq!(now(world.objects.create_tenant(tenant(&world, Environment::Test))), Ok(made));
    let other = Tenant { name: "Other".into(), ..tenant(&world, Environment::Test) };
    assert_eq!(now(world.objects.create_tenant(other)).unwrap_err().reason, Reason::IdempotencyConflict);
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn an_unknown_directory_writes_nothing() {
    let world = World::new();
    now(world.objects.create_tenant(tenant(&world, Environment::Test))).unwrap();
    let before = world.disk.dump();
    let id = world.mint();
    let unknown = TenantId::mint(&world.ids, world.now(), [9; 10]);
    for (tenant, environment) in [(&world.tenant, Environment::Live), (&unknown, Environment::Test)] {
        let reason = |refusal: Refusal| refusal.reason;
        let read = now(world.objects.tenant(tenant, environment)).map_err(reason);
        assert_eq!(read, Err(Reason::TenantUnknown));
        let listed =
            now(world.objects.widen(tenant, environment, id.clone(), wants(&["*"], &[]))).map_err(reason);
        assert_eq!(listed, Err(Reason::TenantUnknown));
        let matched = now(world.objects.matching(tenant, environment, candidate("invoice.paid", "1")));
        assert_eq!(matched.map_err(reason), Err(Reason::TenantUnknown));
    }
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn a_directory_finds_by_topic_and_major_in_its_own_environment() {
    let world = World::new();
    for environment in [Environment::Live, Environment::Test] {
        now(world.objects.create_tenant(tenant(&world, environment))).unwrap();
    }
    let (all, invoices) = (world.mint(), world.mint());
    let (everything, some) = (wants(&["*"], &[]), wants(&["customer.made", "invoice.*"], &["1", "2026"]));
    for (id, wants) in [(&all, &everything), (&invoices, &some), (&all, &everything)] {
        let listed = world.objects.widen(&world.tenant, Environment::Test, id.clone(), wants.clone());
        now(listed).unwrap();
    }
    let matching = |environment, kind: &str, version: &str| {
        let matched =
            now(world.objects.matching(&world.tenant, environment, candidate(kind, version))).unwrap();
        matched.into_iter().map(|it| it.subscription_id).collect::<Vec<_>>()
    };
    let both = {
        let mut both = vec![all.clone(), invoices];
        both.sort();
        both
    };
    let one = vec![all];
    assert_eq!(matching(Environment::Test, "invoice.paid", "1"), both);
    assert_eq!(matching(Environment::Test, "invoice.paid", "2026-01"), both);
    assert_eq!(matching(Environment::Test, "invoice.paid", "2"), one);
    assert_eq!(matching(Environment::Test, "invoices.paid", "1"), one);
    assert!(matching(Environment::Live, "invoice.paid", "1").is_empty());
}

#[test]
fn subscriptions_come_page_by_page_each_once() {
    let world = World::new();
    now(world.objects.create_tenant(tenant(&world, Environment::Test))).unwrap();
    let mut expected = Vec::new();
    for _ in 0..25 {
        let id = world.mint();
        expected.push(id.clone());
        now(world.objects.widen(&world.tenant, Environment::Test, id, wants(&["*"], &[]))).unwrap();
    }
    expected.sort();
    let mut found = Vec::new();
    loop {
        let after = found.last().cloned();
        let page = now(world.objects.subscriptions(&world.tenant, Environment::Test, after, 10)).unwrap();
        if page.is_empty() {
            break;
        }
        assert!(page.len() <= 10);
        found.extend(page);
    }
    assert_eq!(found, expected);
}

fn ask(world: &World, id: &TokenId, command: Command) -> Result<Record, Reason> {
    now(Ask::<Tokens>::ask(&world.objects, id.as_str(), command)).map_err(|refusal| refusal.reason)
}

fn create(world: &World, id: &TokenId, record: Record, digest: Digest) -> Stored {
    now(Ask::<Tokens>::ask(&world.objects, id.as_str(), Command::Create { record, digest })).unwrap()
}

fn token(world: &World, environment: Environment, expires_at: Option<Timestamp>) -> Token {
    let id = TokenId::mint(&world.ids, world.now(), random(&world.entropy));
    let token = Token::mint(environment, id.clone(), &random(&world.entropy));
    let record = Record {
        token_id: id.clone(),
        tenant_id: world.tenant.clone(),
        environment,
        scopes: vec![Scope::EventsWrite],
        created_at: world.now(),
        expires_at,
        revoked_at: None,
        portal: None,
    };
    assert!(create(world, &id, record, token.digest()).fresh);
    token
}

fn check(world: &World, token: &Token) -> Result<Record, Reason> {
    ask(world, &token.id, Command::Check { digest: token.digest() })
}

#[test]
fn a_token_ends_at_its_expiry_to_the_millisecond() {
    let world = World::new();
    let expires_at = Some(world.now() + Span::hours(1));
    let it = token(&world, Environment::Test, expires_at);
    assert_eq!(check(&world, &it).unwrap().scopes, [Scope::EventsWrite]);
    world.clock.advance(Span::millis(3_599_999));
    assert!(check(&world, &it).is_ok());
    world.clock.advance(Span::millis(1));
    assert_eq!(check(&world, &it), Err(Reason::TokenRefused));
}

#[test]
fn a_revoked_token_is_refused_at_once_and_for_good() {
    let world = World::new();
    let it = token(&world, Environment::Test, None);
    let revoked = ask(&world, &it.id, Command::Revoke).unwrap();
    assert_eq!((revoked.revoked_at, check(&world, &it)), (Some(world.now()), Err(Reason::TokenRefused)));
    let before = world.disk.dump();
    world.clock.advance(Span::hours(1));
    ask(&world, &it.id, Command::Revoke).unwrap();
    assert_eq!(world.disk.dump(), before, "revoking again does not move the time");
}

#[test]
fn every_way_to_be_no_good_token_has_one_answer_and_writes_nothing() {
    let world = World::new();
    let it = token(&world, Environment::Test, None);
    let shown = it.show_once();
    let last = shown.chars().last().unwrap();
    let other_secret = format!("{}{}", &shown[..shown.len() - 1], if last == 'a' { 'b' } else { 'a' });
    let other_environment = shown.replace("hp_test_", "hp_live_");
    let never = TokenId::mint(&world.ids, world.now(), [7; 10]);
    let before = world.disk.dump();
    for wrong in [other_secret, other_environment] {
        let token = Token::parse(&wrong).unwrap();
        assert_eq!(check(&world, &token), Err(Reason::TokenRefused));
    }
    for command in [Command::Check { digest: it.digest() }, Command::Revoke] {
        assert_eq!(ask(&world, &never, command), Err(Reason::TokenRefused));
    }
    assert_eq!(world.disk.dump(), before);
}

#[test]
fn a_token_cannot_be_made_twice_and_its_secret_is_not_stored() {
    let world = World::new();
    let it = token(&world, Environment::Test, None);
    let record = check(&world, &it).unwrap();
    let before = world.disk.dump();
    let again = create(&world, &it.id, record.clone(), Digest::of(b"other"));
    assert_eq!(again, Stored { record, fresh: false });
    assert!(check(&world, &it).is_ok());
    assert_eq!(world.disk.dump(), before);
    let shown = it.show_once();
    let secret = shown.rsplit('_').next().unwrap();
    assert!(secret.len() == 52 && !format!("{before:?}").contains(secret));
}
