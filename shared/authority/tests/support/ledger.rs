//! Events, claims and what became of them.

use hookproof_authority::message::EventRef;
use hookproof_authority::subscription::{
    AskAuthority, Claimed, PlanItem, Planned, ReceiptOutcome, ReceiptRequest, SettleItem, Standing,
};
use hookproof_core::base64;
use hookproof_core::digest::Digest;
use hookproof_core::filter::Subject;
use hookproof_core::id::DeliveryId;
use hookproof_core::ledger::Outcome;
use hookproof_core::{Reason, Refusal};
use serde_json::Value;

use super::{Party, World, now};

/// An attempt, as its receiver knows it.
#[derive(Clone)]
pub struct Attempted {
    pub event: EventRef,
    pub delivery_id: DeliveryId,
    pub attempt: u32,
    pub signature_digest: Digest,
}

/// The frozen bytes of the event `id`.
pub fn body(id: &str) -> String {
    format!(
        "{{\"id\":\"{id}\",\"type\":\"invoice.paid\",\"created\":\"2027-01-15T08:00:00.000Z\",\
         \"api_version\":\"1\",\"data\":{{\"n\":1}}}}"
    )
}

pub fn answered(status: u16) -> Outcome {
    Outcome::Answered { status, retry_after: None }
}

pub fn attempted(claimed: &Claimed) -> Attempted {
    let signature = claimed.fields.iter().find(|(name, _)| name == "signature").unwrap();
    let text = signature.1.strip_prefix("hookproof=:").unwrap().strip_suffix(':').unwrap();
    Attempted {
        event: claimed.event.clone(),
        delivery_id: claimed.delivery_id.clone(),
        attempt: claimed.attempt,
        signature_digest: Digest::of(&base64::from_standard(text).unwrap()),
    }
}

pub fn settlement(claimed: &Claimed, outcome: Outcome) -> SettleItem {
    SettleItem {
        delivery_id: claimed.delivery_id.clone(),
        attempt: claimed.attempt,
        lease_token: claimed.lease_token.clone(),
        outcome,
        assurance: None,
        lookup: Default::default(),
    }
}

impl World {
    /// An event of the tenant, accepted now.
    pub fn event(&self, id: &str) -> EventRef {
        let body = body(id);
        EventRef {
            tenant: self.tenant.clone(),
            environment: hookproof_core::id::Environment::Test,
            id: id.parse().unwrap(),
            r#type: "invoice.paid".into(),
            api_version: "1".into(),
            accepted_at: self.now(),
            payload_digest: Digest::of(body.as_bytes()),
            length: body.len() as u64,
        }
    }

    pub fn plan(&self, party: &Party, events: &[EventRef]) -> Vec<Planned> {
        let ask = |items| now(self.objects.plan_and_claim(&party.id, items)).unwrap();
        let mut planned = ask(events.iter().map(|event| party.item(event.clone())).collect());
        // What dispatch does with a message that was matched against other wants.
        for (outcome, event) in planned.iter_mut().zip(events) {
            let Planned::Stale { wants } = outcome else { continue };
            let it = Subject::new(&event.r#type, &event.api_version, None, "{\"n\":1}").unwrap();
            let filter_digests = vec![wants.digest()];
            *outcome = if wants.matches(&it) {
                ask(vec![PlanItem { event: event.clone(), filter_digests }]).pop().unwrap()
            } else {
                Planned::NotWanted { reason: Reason::FilterNotMatched }
            };
        }
        planned
    }

    /// Plans and claims a new event.
    pub fn claim(&self, party: &Party, id: &str) -> Claimed {
        match self.plan(party, &[self.event(id)]).pop() {
            Some(Planned::Claimed(claimed)) => *claimed,
            other => panic!("not claimed: {other:?}"),
        }
    }

    pub fn claim_due(&self, party: &Party) -> Vec<Claimed> {
        now(self.objects.claim_due(&party.id)).unwrap()
    }

    pub fn settle(&self, party: &Party, claimed: &Claimed, outcome: Outcome) -> Result<Standing, Reason> {
        let settled = now(self.objects.settle(&party.id, vec![settlement(claimed, outcome)]));
        settled.map(|mut standings| standings.pop().unwrap()).map_err(|refusal| refusal.reason)
    }

    pub fn confirm(&self, party: &Party, request: ReceiptRequest) -> Result<ReceiptOutcome, Refusal> {
        now(self.objects.receipt(&party.id, request))
    }

    /// The delivery's view.
    pub fn delivery(&self, party: &Party, id: &DeliveryId) -> Value {
        let view = now(self.objects.delivery(&party.id, id.clone())).unwrap();
        serde_json::from_str(view.get()).unwrap()
    }

    /// The delivery's state and, where it is a dead letter, why.
    pub fn standing(&self, party: &Party, id: &DeliveryId) -> (String, Option<String>) {
        let view = self.delivery(party, id);
        (view["state"].as_str().unwrap().to_owned(), view["reason"].as_str().map(str::to_owned))
    }

    pub fn bundle(&self, party: &Party) -> Value {
        serde_json::from_str(now(self.objects.evidence(&party.id)).unwrap().get()).unwrap()
    }

    /// What the evidence says happened, in order.
    pub fn history(&self, party: &Party) -> Vec<Value> {
        let bundle = self.bundle(party);
        let entries = bundle["entries"].as_array().unwrap();
        entries.iter().map(|entry| serde_json::from_str(entry.as_str().unwrap()).unwrap()).collect()
    }
}
