//! A name that suddenly answers with addresses never seen for it does not go unnoticed: each answer is
//! judged against what the name answered in the last 30 days.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::lookup::Lookup;
use crate::time::Timestamp;

/// How long an address that is not seen again is remembered.
const WINDOW: i64 = 30;

/// Most addresses remembered: those seen last.
const REMEMBERED: usize = 64;

/// What an answer means beside the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Every address is known, or the host showed none.
    Unchanged,
    /// Some are known and some are new, or nothing was known yet.
    Widened,
    /// None is known: the name points elsewhere.
    Disjoint,
    /// Some address is not public.
    NotPublic,
}

/// The addresses that a generation's endpoint has had, each with the day (since 1970) it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct History(Vec<(IpAddr, i64)>);

impl History {
    /// Whether nothing was ever seen.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Judges the answer of an attempt at `now`.
    ///
    /// Where nothing was seen within 30 days the addresses seen last count: silence does not make a
    /// stranger known, nor an old acquaintance a stranger.
    pub fn judge(&self, lookup: &Lookup, now: Timestamp) -> Change {
        if lookup.is_not_public() {
            return Change::NotPublic;
        }
        let quiet = !self.0.iter().any(|&(_, seen)| is_recent(seen, now));
        let known = |address: &&IpAddr| {
            self.0.iter().any(|(old, seen)| old == *address && (quiet || is_recent(*seen, now)))
        };
        let (all, known) = (lookup.addresses().len(), lookup.addresses().iter().filter(known).count());
        match known {
            known if known == all => Change::Unchanged,
            0 if !self.is_empty() => Change::Disjoint,
            _ => Change::Widened,
        }
    }

    /// Adds a vetted answer; true when that changed anything, at most once a day for the same answer.
    pub fn learn(&mut self, lookup: &Lookup, now: Timestamp) -> bool {
        if lookup.detail().is_some() || lookup.addresses().is_empty() {
            return false;
        }
        let (before, today) = (self.0.clone(), day(now));
        self.0.retain(|(old, seen)| is_recent(*seen, now) && !lookup.addresses().contains(old));
        self.0.extend(lookup.addresses().iter().map(|&address| (address, today)));
        self.0.sort_unstable_by_key(|&(address, seen)| (-seen, address));
        self.0.truncate(REMEMBERED);
        self.0 != before
    }
}

fn day(at: Timestamp) -> i64 {
    at.unix().div_euclid(86_400)
}

fn is_recent(seen: i64, now: Timestamp) -> bool {
    seen + WINDOW >= day(now)
}

#[cfg(test)]
mod tests {
    use super::super::{AddressRefusal, EndpointRefusal};
    use super::*;
    use crate::time::Span;

    fn lookup(list: &[&str]) -> Lookup {
        let addresses: Vec<IpAddr> = list.iter().map(|text| text.parse().unwrap()).collect();
        Lookup::of(&addresses)
    }

    fn start() -> Timestamp {
        Timestamp::from_unix(1_800_000_000)
    }

    fn known(list: &[&str]) -> History {
        let mut history = History::default();
        assert!(history.learn(&lookup(list), start()));
        history
    }

    #[test]
    fn each_answer_is_one_of_four_things() {
        let history = known(&["1.1.1.1", "1.0.0.1"]);
        let judge = |list: &[&str]| history.judge(&lookup(list), start());
        assert_eq!(judge(&["1.0.0.1", "1.1.1.1"]), Change::Unchanged);
        assert_eq!(judge(&["1.1.1.1"]), Change::Unchanged);
        assert_eq!(judge(&["1.1.1.1", "8.8.8.8"]), Change::Widened);
        assert_eq!(judge(&["8.8.8.8", "2606:4700::1"]), Change::Disjoint);
        assert_eq!(judge(&[]), Change::Unchanged);
        let private = EndpointRefusal::DnsMixed(AddressRefusal::V4PrivateUse);
        let refused = lookup(&["1.1.1.1", "10.0.0.1"]).refused(private);
        assert_eq!(history.judge(&refused, start()), Change::NotPublic);
        assert_eq!(History::default().judge(&refused, start()), Change::NotPublic);
        assert_eq!(history.judge(&Lookup::unresolved(), start()), Change::Unchanged);
    }

    #[test]
    fn the_first_answer_is_no_stranger() {
        assert_eq!(History::default().judge(&lookup(&["1.1.1.1"]), start()), Change::Widened);
        assert!(History::default().is_empty());
    }

    #[test]
    fn the_same_answer_changes_nothing_within_a_day() {
        let mut history = known(&["1.1.1.1", "1.0.0.1"]);
        let day_begins = Timestamp::from_unix(start().unix().div_euclid(86_400) * 86_400);
        for hour in 0..24 {
            assert!(!history.learn(&lookup(&["1.0.0.1", "1.1.1.1"]), day_begins + Span::hours(hour)));
        }
        assert!(history.learn(&lookup(&["1.0.0.1", "1.1.1.1"]), day_begins + Span::days(1)));
    }

    #[test]
    fn an_address_counts_for_thirty_days() {
        let mut history = known(&["1.1.1.1"]);
        history.learn(&lookup(&["1.0.0.1"]), start() + Span::days(5));
        let judge = |days| history.judge(&lookup(&["1.1.1.1"]), start() + Span::days(days));
        assert_eq!((judge(30), judge(31)), (Change::Unchanged, Change::Disjoint));
        history.learn(&lookup(&["1.0.0.1"]), start() + Span::days(31));
        assert_eq!(history.0.len(), 1, "what is older is forgotten");
    }

    #[test]
    fn silence_makes_no_stranger_of_the_last_answer_and_no_friend_of_a_new_one() {
        let history = known(&["1.1.1.1"]);
        let later = start() + Span::days(400);
        assert_eq!(history.judge(&lookup(&["1.1.1.1"]), later), Change::Unchanged);
        assert_eq!(history.judge(&lookup(&["8.8.8.8"]), later), Change::Disjoint);
    }

    #[test]
    fn nothing_is_learned_from_what_was_refused_or_unseen() {
        let mut history = known(&["1.1.1.1"]);
        let before = history.clone();
        let private = EndpointRefusal::DnsPrivate(AddressRefusal::V4PrivateUse);
        for nothing in [Lookup::default(), Lookup::unresolved(), lookup(&["10.0.0.1"]).refused(private)] {
            assert!(!history.learn(&nothing, start() + Span::days(9)));
            assert_eq!(history, before);
        }
    }

    #[test]
    fn the_memory_is_bounded_and_keeps_what_was_seen_last() {
        let mut history = History::default();
        for n in 0..=255_u8 {
            history.learn(&lookup(&[&format!("1.1.1.{n}")]), start() + Span::hours(i64::from(n)));
        }
        assert_eq!(history.0.len(), 64);
        let now = start() + Span::hours(256);
        assert_eq!(history.judge(&lookup(&["1.1.1.255"]), now), Change::Unchanged);
        assert_eq!(history.judge(&lookup(&["1.1.1.0"]), now), Change::Disjoint);
    }

    #[test]
    fn json_is_a_list_of_addresses_and_days() {
        let history = known(&["2606:4700::1", "1.1.1.1"]);
        let json = serde_json::to_string(&history).unwrap();
        assert_eq!(json, r#"[["1.1.1.1",20833],["2606:4700::1",20833]]"#);
        assert_eq!(serde_json::from_str::<History>(&json).unwrap(), history);
    }
}
