//! Which events a generation wants: topics, majors and a content filter, and one digest for all three.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::TopicPattern;
use crate::digest::Digest;
use crate::envelope::major;
use crate::filter::{Filter, Subject};
use crate::tuple::Tuple;

/// Which events are wanted; all three must let an event through.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wants {
    /// Which types.
    pub topics: Vec<TopicPattern>,
    /// Which `api_version` majors are understood; empty takes all.
    pub accepted_versions: Vec<String>,
    /// What must stand in the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<Filter>,
}

impl Wants {
    /// Whether an event is wanted.
    pub fn matches(&self, event: &Subject) -> bool {
        let version = major(event.api_version());
        self.topics.iter().any(|topic| topic.matches(event.kind()))
            && (self.accepted_versions.is_empty() || self.accepted_versions.iter().any(|v| v == version))
            && self.filter.as_ref().is_none_or(|filter| filter.matches(event))
    }

    /// Names what is wanted: SHA-256 over the sorted topics, the sorted majors and the canonical filter,
    /// length-prefixed. What two spellings of the same lists and filter share.
    pub fn digest(&self) -> Digest {
        let topics: BTreeSet<String> = self.topics.iter().map(ToString::to_string).collect();
        let versions: BTreeSet<&str> = self.accepted_versions.iter().map(String::as_str).collect();
        let counted = |tuple: Tuple, count: usize| tuple.u32(u32::try_from(count).unwrap_or(u32::MAX));
        let mut tuple = counted(Tuple::new("hookproof-wants-v1"), topics.len());
        for topic in &topics {
            tuple = tuple.field(topic);
        }
        tuple = counted(tuple, versions.len());
        for version in &versions {
            tuple = tuple.field(version);
        }
        // No filter is not an empty one: a canonical form is never empty text.
        let filter = self.filter.as_ref().map(|filter| filter.canonical().to_string());
        Digest(tuple.field(filter.unwrap_or_default()).sha256())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn wants(topics: &[&str], versions: &[&str], filter: Option<serde_json::Value>) -> Wants {
        Wants {
            topics: topics.iter().map(|topic| topic.parse().unwrap()).collect(),
            accepted_versions: versions.iter().map(|&version| version.to_owned()).collect(),
            filter: filter.map(|filter| Filter::parse(&filter).unwrap()),
        }
    }

    fn event(kind: &str, version: &str, data: &str) -> Subject {
        Subject::new(kind, version, None, data).unwrap()
    }

    #[test]
    fn topic_major_and_filter_must_all_let_an_event_through() {
        let it = wants(&["invoice.*"], &["2026"], Some(json!({ "data": { "n": [1] } })));
        assert!(it.matches(&event("invoice.paid", "2026-01", "{\"n\":1}")));
        for (kind, version, data) in [
            ("order.paid", "2026-01", "{\"n\":1}"),
            ("invoice.paid", "2025-12", "{\"n\":1}"),
            ("invoice.paid", "2026-01", "{\"n\":2}"),
        ] {
            assert!(!it.matches(&event(kind, version, data)), "{kind} {version} {data}");
        }
        assert!(wants(&["*"], &[], None).matches(&event("order.paid", "9", "null")), "everything");
    }

    #[test]
    fn the_digest_names_the_sets_and_not_their_order() {
        let filter = json!({ "data": { "a": [1, 2], "b": ["x"] } });
        let it = wants(&["a.b", "c.*"], &["1", "2"], Some(filter));
        let same = wants(
            &["c.*", "a.b", "a.b"],
            &["2", "1"],
            Some(json!({ "data": { "b": ["x"], "a": [2.0, 1] } })),
        );
        assert_eq!(it.digest(), same.digest());
        let others = [
            wants(&["a.b", "c.*"], &["1", "2"], None),
            wants(&["a.b", "c.*"], &["1"], it.filter.clone().map(|it| it.canonical())),
            wants(&["a.b"], &["1", "2"], it.filter.clone().map(|it| it.canonical())),
            wants(&["a.b", "c.*"], &["1", "2"], Some(json!({ "data": { "a": [1, 2] } }))),
        ];
        let mut digests: Vec<_> = others.iter().map(Wants::digest).chain([it.digest()]).collect();
        digests.sort();
        digests.dedup();
        assert_eq!(digests.len(), 5);
    }

    #[test]
    fn the_digest_is_fixed() {
        let digest = wants(&["invoice.*"], &[], None).digest().to_string();
        assert_eq!(digest, "sha-256:GH06e3XzSO8k3yR4M0gZv2KJg83pUR7llK7Jsm0wjr0");
    }

    proptest! {
        #[test]
        fn what_was_stored_has_the_digest_it_had(a in -1000i64..1000, text in "[a-z]{0,5}", shift in 0u32..4) {
            let number: serde_json::Value = serde_json::from_str(&format!("{a}e-{shift}")).unwrap();
            let it = wants(&["*"], &[], Some(json!({ "data": { "n": [number, { "prefix": text }] } })));
            let read: Wants = serde_json::from_str(&serde_json::to_string(&it).unwrap()).unwrap();
            prop_assert_eq!(read.digest(), it.digest());
            prop_assert_eq!(read, it);
        }
    }
}
