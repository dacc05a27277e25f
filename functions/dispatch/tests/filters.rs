//! No message is planned by a filter that its generation does not have, however late it comes.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

#[path = "../../../shared/authority/tests/support/mod.rs"]
mod support;

use hookproof_authority::directory::Matched;
use hookproof_authority::event::AskEvents;
use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::AskAuthority;
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::envelope::Draft;
use hookproof_core::id::{DeliveryId, Environment};
use hookproof_core::time::Span;
use hookproof_dispatch::Dispatch;
use hookproof_native::{Kept, TestClock};
use serde_json::json;
use support::wire::{Dns, Endpoint, egress};
use support::{Party, Reach, Setup, World, now};

struct Case {
    world: World,
    party: Party,
    endpoint: Endpoint,
    journal: Kept,
    dispatch: Dispatch<Reach, Dns, Endpoint, TestClock, Kept>,
}

impl Case {
    /// A party that wants amounts above 100.
    fn new() -> Self {
        let world = World::new();
        let filter = json!({ "data": { "amount": [{ "numeric": [">", 100] }] } });
        let party = world.active(Setup { filter: Some(filter), ..Setup::default() });
        let endpoint = Endpoint::new(&world.clock);
        let (_, egress) = egress(&endpoint);
        let (clock, journal) = (world.clock.clone(), Kept::default());
        let dispatch = Dispatch { objects: world.objects.clone(), egress, clock, journal: journal.clone() };
        Self { world, party, endpoint, journal, dispatch }
    }

    /// An event that the directory matched against these wants.
    fn publish(&self, id: &str, data: &str, filter_digests: Vec<Digest>) -> Fresh {
        let draft = Draft {
            id: id.parse().unwrap(),
            kind: "invoice.paid".parse().unwrap(),
            created: None,
            api_version: "1".into(),
            object: None,
            resource_url: None,
            data: data.into(),
        };
        let asked = vec![Matched { subscription_id: self.party.id.clone(), filter_digests }];
        let accepted = now(self.world.objects.publish(&self.world.tenant, Environment::Test, draft, asked));
        accepted.unwrap().messages.pop().unwrap()
    }

    fn run(&self, messages: &[Fresh]) {
        now(self.dispatch.fresh(messages.to_vec()));
    }

    fn unanswered(&self, fresh: &Fresh) -> usize {
        let event = &fresh.event;
        now(self.world.objects.event(&event.tenant, event.environment, &event.id)).unwrap().unanswered.len()
    }

    fn is_planned(&self, fresh: &Fresh) -> bool {
        let event = &fresh.event;
        let id =
            DeliveryId::of(&event.tenant, event.environment, &self.party.id, &event.id, event.accepted_at);
        match now(self.world.objects.delivery(&self.party.id, id)) {
            Ok(_) => true,
            Err(refusal) => {
                assert_eq!(refusal.reason, Reason::DeliveryUnknown);
                false
            }
        }
    }
}

fn amount(amount: u32, octets: usize) -> String {
    json!({ "amount": amount, "more": "x".repeat(octets) }).to_string()
}

#[test]
fn a_message_with_the_right_digest_costs_no_question_more() {
    let case = Case::new();
    let fresh = case.publish("evt-1", &amount(101, 0), case.party.matched().filter_digests);
    let asked = case.world.objects.calls();
    case.run(std::slice::from_ref(&fresh));
    assert_eq!(case.world.objects.calls() - asked, 3, "plan and claim, settle, acknowledge");
    assert_eq!((case.endpoint.got().len(), case.unanswered(&fresh)), (1, 0));
}

#[test]
fn a_stale_message_is_matched_again_and_sent_or_answered_as_not_wanted() {
    // Inline and fetched alike; digests of a filter that was, or none at all.
    for octets in [0, 100_000] {
        for digests in [vec![], vec![Digest::of(b"another filter")]] {
            let case = Case::new();
            let wanted = case.publish("evt-1", &amount(101, octets), digests.clone());
            let unwanted = case.publish("evt-2", &amount(100, octets), digests);
            assert_eq!(wanted.body.is_none(), octets > 0);
            case.world.clock.advance(Span::hours(20));
            case.run(&[unwanted.clone(), wanted.clone()]);
            let got = case.endpoint.got();
            assert_eq!((got.len(), got[0].field("webhook-id")), (1, "evt-1"));
            assert_eq!((case.is_planned(&wanted), case.is_planned(&unwanted)), (true, false));
            assert_eq!((case.unanswered(&wanted), case.unanswered(&unwanted)), (0, 0));
            assert!(case.journal.mentions("filter.not_matched"));
            case.run(&[unwanted, wanted]);
            assert_eq!(case.endpoint.got().len(), 1, "a doubled message sends nothing again");
        }
    }
}

#[test]
fn forged_bytes_do_not_get_past_a_filter() {
    let case = Case::new();
    let fresh = case.publish("evt-1", &amount(1, 0), vec![]);
    let forged = fresh.body.clone().unwrap().replace("\"amount\":1", "\"amount\":999");
    case.run(&[Fresh { body: Some(forged), ..fresh.clone() }]);
    assert_eq!((case.endpoint.got().len(), case.is_planned(&fresh), case.unanswered(&fresh)), (0, false, 0));
}

#[test]
fn an_event_whose_bytes_cannot_be_had_now_is_asked_about_again() {
    let case = Case::new();
    let fresh = case.publish("evt-1", &amount(101, 100_000), vec![]);
    let mut failed = 0;
    // The authority answers, and then the event's own object does not.
    for statement in 0..12 {
        case.world.disk.fail_at(Some(statement));
        case.run(std::slice::from_ref(&fresh));
        case.world.disk.fail_at(None);
        failed += usize::from(case.unanswered(&fresh) == 1);
        assert!(case.endpoint.got().len() <= 1, "never twice");
    }
    assert!(failed > 0, "some of them hit before the answer");
    for _ in 0..5 {
        case.world.clock.advance(Span::hours(1));
        case.run(&case.world.ring_events());
    }
    assert_eq!((case.endpoint.got().len(), case.unanswered(&fresh)), (1, 0));
}
