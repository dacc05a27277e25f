//! A party that is active, its endpoint, and the function that sends to it.

use hookproof_authority::directory::Matched;
use hookproof_authority::event::AskEvents;
use hookproof_authority::message::Fresh;
use hookproof_core::digest::Digest;
use hookproof_core::envelope::Draft;
use hookproof_core::id::{DeliveryId, Environment};
use hookproof_dispatch::Dispatch;
use hookproof_native::{Kept, TestClock};

use crate::support::wire::{Dns, Endpoint, egress};
use crate::support::{Party, Reach, Setup, World, now};

pub(crate) struct Case {
    pub(crate) world: World,
    pub(crate) party: Party,
    pub(crate) endpoint: Endpoint,
    pub(crate) dns: Dns,
    pub(crate) journal: Kept,
    pub(crate) dispatch: Dispatch<Reach, Dns, Endpoint, TestClock, Kept>,
}

impl Case {
    pub(crate) fn new(setup: Setup) -> Self {
        let world = World::new();
        let party = world.active(setup);
        let endpoint = Endpoint::new(&world.clock);
        let (dns, egress) = egress(&endpoint);
        let (clock, journal) = (world.clock.clone(), Kept::default());
        let dispatch = Dispatch { objects: world.objects.clone(), egress, clock, journal: journal.clone() };
        Self { world, party, endpoint, dns, journal, dispatch }
    }

    /// Publishes an event whose data is `octets` long, for this party.
    pub(crate) fn publish(&self, id: &str, octets: usize) -> Fresh {
        let matched = self.party.matched();
        self.publish_matched(id, &format!("\"{}\"", "x".repeat(octets)), matched.filter_digests)
    }

    /// Publishes an event that the directory matched against these wants of the party.
    pub(crate) fn publish_matched(&self, id: &str, data: &str, filter_digests: Vec<Digest>) -> Fresh {
        let asked = vec![Matched { subscription_id: self.party.id.clone(), filter_digests }];
        let objects = &self.world.objects;
        let accepted = now(objects.publish(&self.world.tenant, Environment::Test, draft(id, data), asked));
        accepted.unwrap().messages.pop().unwrap()
    }

    pub(crate) fn id(&self, fresh: &Fresh) -> DeliveryId {
        let event = &fresh.event;
        DeliveryId::of(&event.tenant, event.environment, &self.party.id, &event.id, event.accepted_at)
    }

    pub(crate) fn standing(&self, fresh: &Fresh) -> (String, Option<String>) {
        self.world.standing(&self.party, &self.id(fresh))
    }

    pub(crate) fn run(&self, messages: &[Fresh]) {
        now(self.dispatch.fresh(messages.to_vec()));
    }
}

fn draft(id: &str, data: &str) -> Draft {
    Draft {
        id: id.parse().unwrap(),
        kind: "invoice.paid".parse().unwrap(),
        created: None,
        api_version: "1".into(),
        object: None,
        resource_url: None,
        data: data.into(),
    }
}
