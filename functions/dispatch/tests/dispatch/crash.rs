//! A worker may be lost at any await: what it leaves is finished by the timer, under the same identity.

use std::ops::Deref;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use hookproof_authority::message::{Due, Fresh};
use hookproof_authority::subscription::Wake;
use hookproof_core::id::DeliveryId;
use hookproof_core::time::Span;

use crate::case::Case;
use crate::support::{Setup, now};

/// A case whose events are published and not yet sent.
struct Published {
    case: Case,
    messages: Vec<Fresh>,
}

impl Deref for Published {
    type Target = Case;
    fn deref(&self) -> &Case {
        &self.case
    }
}

/// Three events for one party, one of them too large for its message.
fn published() -> Published {
    let case = Case::new(Setup::default());
    let events = [("evt-1", 10), ("evt-2", 10), ("evt-3", 20_000)];
    let messages = events.map(|(id, octets)| case.publish(id, octets)).to_vec();
    Published { case, messages }
}

/// Polls `future` so often and then drops it; whether it came to its end.
fn drop_after<F: Future>(future: F, polls: u32) -> bool {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    (0..polls).any(|_| matches!(future.as_mut().poll(&mut context), Poll::Ready(_)))
}

impl Published {
    fn waits(&self, waits: bool) {
        self.world.objects.waits.set(waits);
        self.endpoint.waits.set(waits);
    }

    fn ids(&self) -> Vec<DeliveryId> {
        self.messages.iter().map(|fresh| self.id(fresh)).collect()
    }

    /// Only timers and what they announce, until nothing is due any more.
    fn repair(&self) {
        for _ in 0..50 {
            let Some(wakes) = self.world.next(Span::hours(3)) else { return };
            for wake in wakes {
                let Wake::Deliveries(subscription) = wake else { panic!("{wake:?}") };
                now(self.dispatch.due(vec![Due { subscription }]));
            }
            now(self.dispatch.fresh(self.world.ring_events()));
        }
        panic!("the timers never end");
    }

    fn all_is_delivered(&self, lost_at: u32) {
        for id in self.ids() {
            let view = self.world.delivery(&self.party, &id);
            assert_eq!(view["state"], "ENDPOINT_ACCEPTED", "lost at {lost_at}: {view}");
            let sent =
                self.endpoint.got().into_iter().filter(|got| got.field("webhook-delivery") == id.as_str());
            let sent: Vec<_> = sent.collect();
            let attempts: Vec<u64> =
                sent.iter().map(|got| got.field("webhook-attempt").parse().unwrap()).collect();
            assert!(attempts.windows(2).all(|pair| pair[0] < pair[1]), "lost at {lost_at}: {attempts:?}");
            assert!(attempts.iter().all(|&attempt| attempt <= view["attempt"].as_u64().unwrap()));
            assert!(sent.iter().all(|got| got.body == sent[0].body), "the same bytes each time");
            let known: Vec<&serde_json::Value> = view["attempts"].as_array().unwrap().iter().collect();
            assert!(known.iter().all(|attempt| attempt["settled"].is_object()), "lost at {lost_at}: {view}");
        }
        let soon = self.world.now() + Span::days(20);
        let left = self.world.disk.rows(&format!("SELECT key FROM alarm WHERE due < {}", soon.millis()));
        assert!(left.is_empty(), "lost at {lost_at}: {left:?}; only the periodic challenge is far away");
    }
}

#[test]
fn a_worker_lost_at_any_await_of_a_fresh_batch_loses_nothing() {
    let mut lost = 0;
    loop {
        let case = published();
        case.waits(true);
        let ended = drop_after(case.dispatch.fresh(case.messages.clone()), lost);
        case.waits(false);
        case.repair();
        case.all_is_delivered(lost);
        if ended {
            break;
        }
        lost += 1;
    }
    assert!(lost >= 10, "{lost} awaits");
}

#[test]
fn a_worker_lost_at_any_await_of_a_due_batch_loses_nothing() {
    let mut lost = 0;
    loop {
        let case = published();
        case.endpoint.answers((0..3).map(|_| Ok(crate::support::wire::reply(503))));
        now(case.dispatch.fresh(case.messages.clone()));
        case.world.next(Span::hours(1)).unwrap();
        case.world.clock.advance(Span::seconds(1));
        case.waits(true);
        let due = vec![Due { subscription: case.party.id.clone() }];
        let ended = drop_after(case.dispatch.due(due), lost);
        case.waits(false);
        case.repair();
        case.all_is_delivered(lost);
        if ended {
            break;
        }
        lost += 1;
    }
    assert!(lost >= 8, "{lost} awaits");
}

#[test]
fn a_message_nobody_ever_worked_off_is_repaired_by_the_event_object() {
    let case = published();
    case.repair();
    case.all_is_delivered(0);
}

#[test]
fn two_workers_with_the_same_batch_send_each_delivery_once() {
    // Both run side by side, one poll each in turn, from every offset.
    for offset in 0..20 {
        let case = published();
        case.waits(true);
        {
            let mut one = pin!(case.dispatch.fresh(case.messages.clone()));
            let mut two = pin!(case.dispatch.fresh(case.messages.clone()));
            let mut context = Context::from_waker(Waker::noop());
            let (mut first, mut second) = (false, false);
            for turn in 0..200 {
                first = first || one.as_mut().poll(&mut context).is_ready();
                if turn >= offset {
                    second = second || two.as_mut().poll(&mut context).is_ready();
                }
            }
            assert!(first && second);
        }
        case.waits(false);
        assert_eq!(case.endpoint.got().len(), 3, "offset {offset}");
        case.all_is_delivered(offset);
    }
}
