//! A change of a subscription: what it binds makes the next generation, the rest only a revision.

use serde::{Deserialize, Serialize};

use super::{OldGenerations, Owner, ReceiptContract, Terms, TopicPattern};
use crate::endpoint::EndpointUrl;
use crate::filter::Filter;
use crate::retry::Policy;
use crate::time::Timestamp;

/// What a caller wants to be different; what is absent stays.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Change {
    /// Where deliveries go. Binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<EndpointUrl>,
    /// Which types are wanted. Binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub topics: Option<Vec<TopicPattern>>,
    /// Which majors are understood. Binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_versions: Option<Vec<String>>,
    /// What must stand in an event. Binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filtering: Option<Filtering>,
    /// How deliveries are signed. Binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// How receipts are signed, the subscriber's key included. Binds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<ReceiptContract>,
    /// Whom to tell. Binds, and suspends what serves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// When attempts are made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry: Option<Policy>,
    /// What becomes of deliveries when the next generation takes over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_generations: Option<OldGenerations>,
    /// When the subscription ends by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiry: Option<Expiry>,
}

/// An end, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expiry {
    /// When; none for never.
    pub at: Option<Timestamp>,
}

/// A filter, or none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filtering {
    /// Which; none for no filter.
    pub filter: Option<Filter>,
}

impl Change {
    /// The terms after the change.
    pub fn apply(&self, terms: &Terms) -> Terms {
        let mut changed = terms.clone();
        let Self { endpoint, topics, accepted_versions, filtering, profile, receipt, owner, .. } =
            self.clone();
        set(&mut changed.endpoint, endpoint);
        set(&mut changed.wants.topics, topics);
        set(&mut changed.wants.accepted_versions, accepted_versions);
        set(&mut changed.wants.filter, filtering.map(|it| it.filter));
        set(&mut changed.profile, profile);
        set(&mut changed.receipt, receipt);
        set(&mut changed.owner, owner);
        self.revise(&mut changed);
        changed
    }

    /// Changes what is part of the revision only, in place.
    pub fn revise(&self, terms: &mut Terms) {
        set(&mut terms.retry, self.retry.clone());
        set(&mut terms.old_generations, self.old_generations);
    }
}

fn set<T>(slot: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *slot = value;
    }
}

impl Terms {
    /// Whether `other` binds the same, so that both may be one generation.
    pub fn binds_as(&self, other: &Self) -> bool {
        let Self { endpoint, wants, profile, receipt, owner, retry: _, old_generations: _ } = self;
        *endpoint == other.endpoint
            && *wants == other.wants
            && *profile == other.profile
            && *receipt == other.receipt
            && *owner == other.owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subscription::terms::sample;

    #[test]
    fn what_binds_makes_another_generation_and_the_rest_does_not() {
        let terms = sample();
        let url = EndpointUrl::from_stored("https://new.example.com/in".to_owned()).unwrap();
        let filter = Filter::parse(&serde_json::json!({ "data": { "n": [1] } })).unwrap();
        let binding = [
            Change { endpoint: Some(url), ..Change::default() },
            Change { topics: Some(vec!["order.*".parse().unwrap()]), ..Change::default() },
            Change { accepted_versions: Some(vec!["2".to_owned()]), ..Change::default() },
            Change { filtering: Some(Filtering { filter: Some(filter) }), ..Change::default() },
            Change { profile: Some("other".to_owned()), ..Change::default() },
            Change { receipt: Some(ReceiptContract::HmacSha256), ..Change::default() },
            Change {
                owner: Some(Owner { name: "New".to_owned(), contact: "n@example.com".to_owned() }),
                ..Change::default()
            },
        ];
        for change in binding {
            assert!(!change.apply(&terms).binds_as(&terms), "{change:?}");
        }
        let revising = [
            Change { retry: Policy::preset("immediate"), ..Change::default() },
            Change { old_generations: Some(OldGenerations::Quarantine), ..Change::default() },
            Change { expiry: Some(Expiry { at: None }), ..Change::default() },
        ];
        for change in revising {
            assert!(change.apply(&terms).binds_as(&terms), "{change:?}");
        }
        assert_eq!(Change::default().apply(&terms), terms);
    }
}
