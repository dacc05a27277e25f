//! What is wanted: listed before it can be active, forgotten late, and never planned by a filter that the
//! generation does not have.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::directory::{AskDirectory, Candidate, Matched, Tenant};
use hookproof_authority::subscription::{AskAuthority, PlanItem, Planned};
use hookproof_core::digest::Digest;
use hookproof_core::filter::Filter;
use hookproof_core::id::{Environment, SubscriptionId};
use hookproof_core::subscription::Wants;
use hookproof_core::time::Span;
use serde_json::{Value, json};
use support::{Party, Setup, World, now};

fn world() -> World {
    let world = World::new();
    let tenant = Tenant {
        tenant_id: world.tenant.clone(),
        environment: Environment::Test,
        name: "Acme".into(),
        created_at: world.now(),
    };
    now(world.objects.create_tenant(tenant)).unwrap();
    world
}

fn wants(filter: Option<Value>) -> Wants {
    let filter = filter.map(|filter| Filter::parse(&filter).unwrap());
    Wants { topics: vec!["invoice.*".parse().unwrap()], accepted_versions: Vec::new(), filter }
}

fn above(amount: i64) -> Wants {
    wants(Some(json!({ "data": { "amount": [{ "numeric": [">", amount] }] } })))
}

fn widen(world: &World, id: &SubscriptionId, it: &Wants) {
    now(world.objects.widen(&world.tenant, Environment::Test, id.clone(), it.clone())).unwrap();
}

fn relist(world: &World, id: &SubscriptionId, all: &[Wants]) {
    now(world.objects.relist(&world.tenant, Environment::Test, id.clone(), all.to_vec())).unwrap();
}

fn matching(world: &World, amount: i64) -> Vec<Matched> {
    let data = json!({ "amount": amount }).to_string();
    let candidate = Candidate { r#type: "invoice.paid".into(), api_version: "1".into(), object: None, data };
    now(world.objects.matching(&world.tenant, Environment::Test, candidate)).unwrap()
}

fn digests(world: &World, amount: i64) -> Vec<Digest> {
    let mut matched = matching(world, amount);
    assert!(matched.len() <= 1);
    matched.pop().map_or(Vec::new(), |it| it.filter_digests)
}

fn plan(world: &World, party: &Party, filter_digests: Vec<Digest>) -> Planned {
    let items = vec![PlanItem { event: world.event("evt-1"), filter_digests }];
    now(world.objects.plan_and_claim(&party.id, items)).unwrap().pop().unwrap()
}

#[test]
fn an_event_is_matched_by_its_content_and_says_by_which_wants() {
    let world = world();
    let id = world.mint();
    widen(&world, &id, &above(100));
    assert_eq!(matching(&world, 100), []);
    assert_eq!(digests(&world, 101), [above(100).digest()]);
    // A change is about to be staged: both are asked for, each by its own digest.
    widen(&world, &id, &above(10));
    assert_eq!(digests(&world, 50), [above(10).digest()]);
    assert_eq!(digests(&world, 500).len(), 2);
    let before = world.disk.dump();
    relist(&world, &id, &[above(10), above(100)]);
    assert_eq!(world.disk.dump(), before, "a repair that finds nothing to do writes nothing");
}

#[test]
fn a_repair_that_has_not_seen_a_change_cannot_undo_its_listing() {
    let world = world();
    let id = world.mint();
    widen(&world, &id, &above(100));
    world.clock.advance(Span::hours(2));
    widen(&world, &id, &above(10));
    // It read the subscription before the change was staged.
    relist(&world, &id, &[above(100)]);
    assert_eq!(digests(&world, 50), [above(10).digest()]);
    world.clock.advance(Span::millis(3_599_999));
    relist(&world, &id, &[above(100)]);
    assert_eq!(digests(&world, 50), [above(10).digest()]);
    world.clock.advance(Span::millis(1));
    relist(&world, &id, &[above(100)]);
    assert_eq!(digests(&world, 50), [], "an hour later it is what the repair says");
    assert_eq!(digests(&world, 500), [above(100).digest()]);
}

#[test]
fn listing_again_renews_and_a_repair_also_adds() {
    let world = world();
    let id = world.mint();
    widen(&world, &id, &above(100));
    world.clock.advance(Span::minutes(59));
    widen(&world, &id, &above(100));
    world.clock.advance(Span::minutes(59));
    relist(&world, &id, &[wants(None)]);
    assert_eq!(digests(&world, 1), [wants(None).digest()]);
    assert_eq!(digests(&world, 500).len(), 2);
    world.clock.advance(Span::hours(2));
    relist(&world, &id, &[]);
    assert_eq!(matching(&world, 500), []);
    let listed = now(world.objects.subscriptions(&world.tenant, Environment::Test, None, 10)).unwrap();
    assert_eq!(listed, [id], "a subscription without open generations is still listed");
}

#[test]
fn what_was_matched_by_another_filter_is_not_planned_but_answered_with_the_generations_own() {
    let world = World::new();
    let filter = json!({ "data": { "n": [1] } });
    let party = world.active(Setup { filter: Some(filter), ..Setup::default() });
    let own = party.setup.wants();
    let before = world.disk.dump();
    for digests in [vec![], vec![wants(None).digest()], vec![Digest::of(b""), above(1).digest()]] {
        let planned = plan(&world, &party, digests);
        assert!(matches!(&planned, Planned::Stale { wants } if **wants == own), "{planned:?}");
        assert_eq!(world.disk.dump(), before);
    }
    let planned = plan(&world, &party, vec![wants(None).digest(), own.digest()]);
    assert!(matches!(planned, Planned::Claimed(_)), "{planned:?}");
    // What is planned already is not asked about again.
    let planned = plan(&world, &party, vec![]);
    assert!(matches!(planned, Planned::Settled { .. }), "{planned:?}");
}

#[test]
fn a_view_shows_the_filter_in_its_canonical_form() {
    let world = World::new();
    let filter = json!({ "data": { "n": [{ "anything-but": 2.0 }, 1, 1] } });
    let party = world.register(Setup { filter: Some(filter), ..Setup::default() });
    let generation = &world.view(&party)["generations"][0];
    assert_eq!(generation["filter"], json!({ "data": { "n": [1, { "anything-but": [2] }] } }));
    assert_eq!(
        (&generation["topics"], &generation["accepted_versions"]),
        (&json!(["invoice.*"]), &json!([]))
    );
    let bare = world.register(Setup::default());
    assert_eq!(world.view(&bare)["generations"][0].get("filter"), None);
}
