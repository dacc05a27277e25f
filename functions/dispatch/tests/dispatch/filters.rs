//! No message is planned by a filter that its generation does not have, however late it comes.

use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::AskAuthority;
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::id::DeliveryId;
use hookproof_core::time::Span;
use serde_json::json;

use crate::case::Case;
use crate::support::{Setup, now};

/// A party that wants amounts above 100.
fn picky() -> Case {
    let filter = json!({ "data": { "amount": [{ "numeric": [">", 100] }] } });
    Case::new(Setup { filter: Some(filter), ..Setup::default() })
}

impl Case {
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
    let case = picky();
    let fresh = case.publish_matched("evt-1", &amount(101, 0), case.party.matched().filter_digests);
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
            let case = picky();
            let wanted = case.publish_matched("evt-1", &amount(101, octets), digests.clone());
            let unwanted = case.publish_matched("evt-2", &amount(100, octets), digests);
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
    let case = picky();
    let fresh = case.publish_matched("evt-1", &amount(1, 0), vec![]);
    let forged = fresh.body.clone().unwrap().replace("\"amount\":1", "\"amount\":999");
    case.run(&[Fresh { body: Some(forged), ..fresh.clone() }]);
    assert_eq!((case.endpoint.got().len(), case.is_planned(&fresh), case.unanswered(&fresh)), (0, false, 0));
}

#[test]
fn an_event_whose_bytes_cannot_be_had_now_is_asked_about_again() {
    let case = picky();
    let fresh = case.publish_matched("evt-1", &amount(101, 100_000), vec![]);
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
