//! What a lookup for one attempt gave is kept with that attempt, bounded, refused or not.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::address;
use super::refusal::EndpointRefusal;
use crate::time::Span;

/// Most addresses kept of one answer; the policy judges all of them.
const KEPT: usize = 16;

/// The detail of a lookup that gave no usable answer.
const UNRESOLVED: &str = "dns_unresolved";

/// The longest time a lookup may take before the name counts as unresolved.
pub const LOOKUP_LIMIT: Span = Span::seconds(3);

/// The most addresses one name may have. An answer with more is no answer: it cannot be kept or judged
/// for change.
pub const MAX_ADDRESSES: usize = 64;

/// The addresses of one answer and what the policy said to them; empty where the host shows no address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lookup {
    /// Up to 16: what is not public first, then in order, so that a rotated answer is kept alike.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    addresses: Vec<IpAddr>,
    /// The exact code of the refusal (`dns_mixed`), or `dns_unresolved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    detail: Option<String>,
}

impl Lookup {
    /// An answer, in any order.
    #[must_use]
    pub fn of(answer: &[IpAddr]) -> Self {
        let mut addresses = answer.to_vec();
        addresses.sort_unstable_by_key(|&address| (address::classify(address).is_ok(), address));
        addresses.dedup();
        addresses.truncate(KEPT);
        Self { addresses, detail: None }
    }

    /// No answer: the name does not resolve, or nobody could be asked.
    #[must_use]
    pub fn unresolved() -> Self {
        Self { addresses: Vec::new(), detail: Some(UNRESOLVED.to_owned()) }
    }

    /// The same, refused by the policy.
    #[must_use]
    pub fn refused(self, why: EndpointRefusal) -> Self {
        Self { detail: Some(why.code().to_owned()), ..self }
    }

    /// The addresses kept.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// The refusal's code.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Whether there is nothing to keep.
    pub fn is_empty(&self) -> bool {
        self.addresses.is_empty() && self.detail.is_none()
    }

    /// Whether the name resolves, in whole or in part, to what is not public.
    pub fn is_not_public(&self) -> bool {
        matches!(self.detail(), Some("dns_private" | "dns_mixed"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::AddressRefusal;
    use super::*;

    fn addresses(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn a_rotated_answer_is_kept_alike_and_bounded() {
        let mut many: Vec<IpAddr> = (0..40).map(|n| IpAddr::from([1, 1, 1, n])).collect();
        let kept = Lookup::of(&many);
        many.rotate_left(23);
        many.extend_from_slice(&many.clone());
        assert_eq!(Lookup::of(&many), kept);
        assert_eq!(kept.addresses().len(), 16);
    }

    #[test]
    fn the_address_that_was_refused_is_always_among_those_kept() {
        let mut many: Vec<IpAddr> = (0..40).map(|n| IpAddr::from([1, 1, 1, n])).collect();
        many.push("192.168.0.1".parse().unwrap());
        let why = EndpointRefusal::DnsMixed(AddressRefusal::V4PrivateUse);
        let refused = Lookup::of(&many).refused(why);
        assert_eq!((refused.addresses()[0], refused.detail()), (many[40], Some("dns_mixed")));
        assert!(refused.is_not_public());
    }

    #[test]
    fn only_what_the_answer_itself_was_refused_for_is_not_public() {
        let answer = Lookup::of(&addresses(&["10.0.0.1"]));
        let refused = |why| answer.clone().refused(why).is_not_public();
        assert!(refused(EndpointRefusal::DnsPrivate(AddressRefusal::V4PrivateUse)));
        assert!(refused(EndpointRefusal::DnsMixed(AddressRefusal::V4PrivateUse)));
        assert!(!refused(EndpointRefusal::DnsEmpty) && !refused(EndpointRefusal::PortNotAllowed));
        assert!(!Lookup::unresolved().is_not_public() && !Lookup::default().is_not_public());
    }

    #[test]
    fn json_is_short_and_comes_back() {
        let lookup = Lookup::of(&addresses(&["2606:4700::1", "1.1.1.1"]));
        let json = serde_json::to_string(&lookup).unwrap();
        assert_eq!(json, r#"{"addresses":["1.1.1.1","2606:4700::1"]}"#);
        assert_eq!(serde_json::from_str::<Lookup>(&json).unwrap(), lookup);
        assert_eq!(serde_json::to_string(&Lookup::unresolved()).unwrap(), r#"{"detail":"dns_unresolved"}"#);
        assert!(serde_json::from_str::<Lookup>("{}").unwrap().is_empty());
    }
}
