//! A command commits whole or leaves no trace, whichever of its statements the disk fails at.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a broken premise fails the test")]

mod support;

use hookproof_authority::directory::{AskDirectory, Matched};
use hookproof_authority::event::AskEvents;
use hookproof_authority::subscription::AskAuthority;
use hookproof_core::envelope::Draft;
use hookproof_core::id::Environment;
use hookproof_core::ledger::Outcome;
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::time::Span;
use hookproof_core::{Reason, Refusal};
use support::ledger::{answered, attempted, settlement};
use support::{Setup, World, now};

/// Runs `command` with its first statement failing, then its second and so on to its commit, each time
/// in a world made anew by `arrange`. Returns how many failures were injected.
fn at_every_statement<T>(
    arrange: impl Fn() -> (World, T),
    command: impl Fn(&World, &T) -> Result<(), Refusal>,
) -> u32 {
    for number in 0..1000 {
        let (world, it) = arrange();
        let before = world.disk.dump();
        world.disk.fail_at(Some(number));
        let ran = command(&world, &it);
        world.disk.fail_at(None);
        if ran.is_ok() {
            assert_ne!(world.disk.dump(), before, "the whole command writes something");
            return number;
        }
        assert_eq!(ran.unwrap_err().reason, Reason::InternalStore);
        assert_eq!(world.disk.dump(), before, "after a failure at statement {number}");
        command(&world, &it).unwrap();
        assert_ne!(world.disk.dump(), before, "and afterwards it runs as if nothing had been");
    }
    panic!("the command does not end");
}

fn active() -> (World, support::Party) {
    let world = World::new();
    let party = world.active(Setup::default());
    (world, party)
}

#[test]
fn a_registration_is_all_or_nothing() {
    let arrange = || {
        let world = World::new();
        let id = world.mint();
        (world, id)
    };
    let injected = at_every_statement(arrange, |world, id| {
        now(world.objects.register(id, Setup::default().registration(world))).map(|_| ())
    });
    assert!(injected >= 8, "{injected}");
}

#[test]
fn a_challenge_is_issued_and_judged_all_or_nothing() {
    let asked = || {
        let world = World::new();
        let party = world.register(Setup::default());
        now(world.objects.request_challenge(&party.id)).unwrap();
        (world, party)
    };
    let issued = || {
        let (world, party) = asked();
        let request = world.issue(&party).unwrap();
        let answer = party.answer(&world, &request);
        (world, (party, request, answer))
    };
    let registered = || {
        let world = World::new();
        let party = world.register(Setup::default());
        (world, party)
    };
    at_every_statement(registered, |world, party| {
        now(world.objects.request_challenge(&party.id)).map(|_| ())
    });
    at_every_statement(asked, |world, party| now(world.objects.issue_challenge(&party.id)).map(|_| ()));
    let injected = at_every_statement(issued, |world, (party, request, answer)| {
        world.judge(party, request, answer).map(|reason| assert_eq!(reason, None))
    });
    assert!(injected >= 9, "{injected}");
    at_every_statement(issued, |world, (party, request, _)| world.judge(party, request, "{}").map(|_| ()));
}

#[test]
fn claim_signature_and_lease_are_one_commit() {
    let injected = at_every_statement(active, |world, party| {
        let items = ["evt-1", "evt-2"].map(|id| world.event(id));
        let items = items.map(|event| party.item(event));
        now(world.objects.plan_and_claim(&party.id, items.into())).map(|_| ())
    });
    assert!(injected >= 10, "{injected}");
}

#[test]
fn what_is_due_is_claimed_all_or_nothing() {
    let arrange = || {
        let (world, party) = active();
        for id in ["evt-1", "evt-2"] {
            let claimed = world.claim(&party, id);
            world.settle(&party, &claimed, answered(503)).unwrap();
        }
        // A lost one too: its lease is stepped over by the same claim.
        world.claim(&party, "evt-3");
        world.clock.advance(Span::seconds(60));
        (world, party)
    };
    at_every_statement(arrange, |world, party| now(world.objects.claim_due(&party.id)).map(|_| ()));
}

#[test]
fn settling_is_all_or_nothing_and_so_is_the_suspension_by_a_410() {
    let arrange = || {
        let (world, party) = active();
        let claimed = ["evt-1", "evt-2", "evt-3"].map(|id| world.claim(&party, id));
        (world, (party, claimed))
    };
    let injected = at_every_statement(arrange, |world, (party, claimed)| {
        let [accepted, lost, gone] = claimed;
        let items = vec![
            settlement(accepted, answered(200)),
            settlement(lost, Outcome::Unknown),
            settlement(gone, answered(410)),
        ];
        now(world.objects.settle(&party.id, items)).map(|_| ())
    });
    assert!(injected >= 10, "{injected}");
}

#[test]
fn a_receipt_and_a_contradiction_are_kept_all_or_nothing() {
    let accepted = || {
        let (world, party) = active();
        let claimed = world.claim(&party, "evt-1");
        let it = attempted(&claimed);
        let receipt = party.receipt(&world, &it, "op", ReceiptResult::Applied);
        let request = party.signed(&world, &receipt);
        (world, (party, it, request))
    };
    let confirmed = || {
        let (world, (party, it, request)) = accepted();
        world.confirm(&party, request).unwrap();
        let second = party.receipt(&world, &it, "op-2", ReceiptResult::Applied);
        let request = party.signed(&world, &second);
        (world, (party, it, request))
    };
    at_every_statement(accepted, |world, (party, _, request)| {
        world.confirm(party, request.clone()).map(|_| ())
    });
    at_every_statement(confirmed, |world, (party, _, request)| {
        world.confirm(party, request.clone()).map(|_| ())
    });
}

#[test]
fn a_timer_that_fails_is_still_armed_and_has_done_nothing() {
    let lost_lease = || {
        let (world, party) = active();
        world.claim(&party, "evt-1");
        world.clock.advance(Span::minutes(5));
        (world, party)
    };
    let lost_challenge = || {
        let world = World::new();
        let party = world.register(Setup::default());
        now(world.objects.request_challenge(&party.id)).unwrap();
        world.issue(&party).unwrap();
        world.clock.advance(Span::minutes(5));
        (world, party)
    };
    at_every_statement(lost_lease, |world, party| world.fire(party).map(|_| ()));
    at_every_statement(lost_challenge, |world, party| world.fire(party).map(|_| ()));
}

#[test]
fn an_event_and_its_pages_are_accepted_all_or_nothing() {
    let arrange = || {
        let world = World::new();
        let matched = |subscription_id| Matched { subscription_id, filter_digests: Vec::new() };
        let ids: Vec<_> = (0..150).map(|_| matched(world.mint())).collect();
        (world, ids)
    };
    let draft = || Draft {
        id: "evt-1".parse().unwrap(),
        kind: "invoice.paid".parse().unwrap(),
        created: None,
        api_version: "1".into(),
        object: None,
        resource_url: None,
        data: "{}".into(),
    };
    let injected = at_every_statement(arrange, |world, ids| {
        let published = world.objects.publish(&world.tenant, Environment::Test, draft(), ids.clone());
        now(published).map(|_| ())
    });
    assert!(injected >= 5, "{injected}");
}

#[test]
fn a_directory_listing_is_all_or_nothing() {
    let arrange = || {
        let world = World::new();
        let tenant = hookproof_authority::directory::Tenant {
            tenant_id: world.tenant.clone(),
            environment: Environment::Test,
            name: "Acme".into(),
            created_at: world.now(),
        };
        now(world.objects.create_tenant(tenant)).unwrap();
        let id = world.mint();
        (world, id)
    };
    at_every_statement(arrange, |world, id| {
        let wants = Setup::default().wants();
        now(world.objects.widen(&world.tenant, Environment::Test, id.clone(), wants))
    });
}
