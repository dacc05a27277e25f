//! A registration as written by a caller, and the terms it becomes: every field is judged before
//! anything is stored.

use hookproof_authority::subscription::{ChangeRequest, SigningAlg};
use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl};
use hookproof_core::filter::Filter;
use hookproof_core::retry::Policy;
use hookproof_core::subscription::{
    Change, Expiry, Filtering, OldGenerations, Owner, PROFILE_DELIVERY, ReceiptContract, Terms, TopicPattern,
    Wants,
};
use hookproof_core::time::Timestamp;
use hookproof_core::{Reason, Refusal};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The body of `POST /v1/subscriptions`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    endpoint: String,
    topics: Vec<String>,
    #[serde(deserialize_with = "hookproof_core::json::object")]
    owner: Owner,
    #[serde(default)]
    accepted_versions: Vec<String>,
    #[serde(default)]
    filter: Option<Value>,
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    signing: SigningAlg,
    #[serde(default, deserialize_with = "hookproof_core::json::optional")]
    receipt: Option<ReceiptContract>,
    #[serde(default)]
    retry_policy: Option<Value>,
    #[serde(default)]
    old_generations: Option<OldGenerations>,
    #[serde(default)]
    pub(crate) expires_at: Option<Timestamp>,
}

pub(crate) const SHAPE: &str = "{\"endpoint\", \"topics\": [\"invoice.*\"], \"owner\": {\"name\", \"contact\"}, \
    \"accepted_versions\"?, \"filter\"?, \"profile\"?, \"signing\"?, \"receipt\"?, \"retry_policy\"?, \
    \"old_generations\"?, \"expires_at\"?}";

impl Asked {
    /// The terms and the signing algorithm, or the first field that does not fit.
    pub(crate) fn terms(self, policy: &EndpointPolicy) -> Result<(Terms, SigningAlg), Refusal> {
        let endpoint = endpoint(&self.endpoint, policy)?;
        let profile = profile(self.profile.unwrap_or_else(|| PROFILE_DELIVERY.to_owned()))?;
        let receipt = self.receipt.unwrap_or(ReceiptContract::None);
        receipt.check()?;
        let terms = Terms {
            endpoint,
            wants: Wants {
                topics: topics(&self.topics)?,
                accepted_versions: versions(self.accepted_versions)?,
                filter: self.filter.as_ref().map(Filter::parse).transpose()?,
            },
            profile,
            receipt,
            owner: owner(self.owner)?,
            retry: self.retry_policy.map_or_else(standard, retry)?,
            old_generations: self.old_generations.unwrap_or(OldGenerations::Drain),
        };
        Ok((terms, self.signing))
    }
}

/// The body of `PATCH /v1/subscriptions/{id}`: what is to be different.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Patch {
    endpoint: Option<String>,
    topics: Option<Vec<String>>,
    #[serde(deserialize_with = "hookproof_core::json::optional")]
    owner: Option<Owner>,
    accepted_versions: Option<Vec<String>>,
    #[serde(deserialize_with = "present")]
    filter: Option<Option<Value>>,
    profile: Option<String>,
    signing: Option<SigningAlg>,
    #[serde(deserialize_with = "hookproof_core::json::optional")]
    receipt: Option<ReceiptContract>,
    retry_policy: Option<Value>,
    old_generations: Option<OldGenerations>,
    #[serde(deserialize_with = "present")]
    expires_at: Option<Option<Timestamp>>,
    region: Option<Value>,
    recovery_credential: Option<String>,
}

pub(crate) const PATCH_SHAPE: &str = "any of \"endpoint\", \"topics\", \"owner\", \"accepted_versions\", \"filter\", \
    \"profile\", \"signing\", \"receipt\" (these stage the next generation), \"retry_policy\", \"old_generations\", \"expires_at\"; \
    \"recovery_credential\" where a new receipt key needs it";

impl Patch {
    /// The change, or the first field that does not fit.
    pub(crate) fn change(self, policy: &EndpointPolicy) -> Result<ChangeRequest, Refusal> {
        if self.region.is_some() {
            let words = "a subscription is sent from its region for good; register another one there";
            return Err(Refusal::new(Reason::RegionImmutable, words).at("region", "no region"));
        }
        let change = Change {
            endpoint: self.endpoint.map(|text| endpoint(&text, policy)).transpose()?,
            topics: self.topics.map(|texts| topics(&texts)).transpose()?,
            accepted_versions: self.accepted_versions.map(versions).transpose()?,
            filtering: self.filter.map(filtering).transpose()?,
            profile: self.profile.map(profile).transpose()?,
            receipt: self.receipt.map(|it| it.check().map(|()| it)).transpose()?,
            owner: self.owner.map(owner).transpose()?,
            retry: self.retry_policy.map(retry).transpose()?,
            old_generations: self.old_generations,
            expiry: self.expires_at.map(|at| Expiry { at }),
        };
        let (signing, recovery_credential) = (self.signing, self.recovery_credential);
        Ok(ChangeRequest { change, signing, expected: None, recovery_credential })
    }
}

/// A filter, or null for none.
fn filtering(filter: Option<Value>) -> Result<Filtering, Refusal> {
    Ok(Filtering { filter: filter.as_ref().map(Filter::parse).transpose()? })
}

/// A field that is there, be it null.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

fn endpoint(text: &str, policy: &EndpointPolicy) -> Result<EndpointUrl, Refusal> {
    EndpointUrl::parse(text, policy).map_err(|refusal| {
        Refusal::from(refusal)
            .at("endpoint", "an https URL with a public host, e.g. https://hooks.example.com/in")
    })
}

fn profile(name: String) -> Result<String, Refusal> {
    if name == PROFILE_DELIVERY {
        return Ok(name);
    }
    Err(malformed("profile", "this signing profile is not offered", PROFILE_DELIVERY))
}

fn malformed(field: &str, detail: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, detail).at(field, accepted)
}

fn topics(texts: &[String]) -> Result<Vec<TopicPattern>, Refusal> {
    let accepted = "1 to 100 of: an event type such as invoice.paid, a resource such as invoice.*, or *";
    if !(1..=100).contains(&texts.len()) {
        return Err(malformed("topics", "a subscription needs topics", accepted));
    }
    let parse = |(index, text): (usize, &String)| {
        text.parse().map_err(|fault| malformed(&format!("topics[{index}]"), &format!("{fault}"), accepted))
    };
    texts.iter().enumerate().map(parse).collect()
}

fn versions(versions: Vec<String>) -> Result<Vec<String>, Refusal> {
    let fits = |v: &String| (1..=32).contains(&v.len()) && v.bytes().all(|b| b.is_ascii_alphanumeric());
    if versions.len() > 20 || !versions.iter().all(fits) {
        return Err(malformed(
            "accepted_versions",
            "these are not api_version majors",
            "at most 20 majors such as \"1\" or \"2026\"",
        ));
    }
    Ok(versions)
}

fn owner(owner: Owner) -> Result<Owner, Refusal> {
    let fits = |text: &str| !text.trim().is_empty() && text.chars().count() <= 200;
    if fits(&owner.name) && fits(&owner.contact) {
        return Ok(owner);
    }
    Err(malformed("owner", "dead letters need an owner", "{\"name\", \"contact\"}, 1 to 200 characters each"))
}

fn standard() -> Result<Policy, Refusal> {
    Policy::preset("standard").ok_or_else(|| Reason::InternalCorrupt.into())
}

fn retry(asked: Value) -> Result<Policy, Refusal> {
    let accepted = "\"standard\", \"immediate\", \"internal-bus\", or {\"name\": \"custom\", \"waits\", \"timeout\", \"deadline\"} in milliseconds";
    let policy = match asked.as_str() {
        Some(name) => Policy::preset(name),
        None if !asked.is_object() => None,
        // Under its own name: what a published name means is published.
        None => serde_json::from_value(asked)
            .ok()
            .filter(|policy: &Policy| policy.name == "custom" && policy.is_usable()),
    };
    policy.ok_or_else(|| malformed("retry_policy", "this retry policy is not usable", accepted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(change: &str, to: &str) -> Result<(Terms, SigningAlg), Refusal> {
        let body = r#"{"endpoint":"https://hooks.example.com/in","topics":["invoice.*"],"owner":{"name":"Billing","contact":"b@example.com"},"accepted_versions":["1"],"retry_policy":"immediate"}"#;
        let asked: Asked = serde_json::from_str(&body.replace(change, to)).unwrap();
        asked.terms(&EndpointPolicy::default())
    }

    #[test]
    fn a_good_registration_becomes_terms() {
        let (terms, alg) = terms("", "").unwrap();
        assert_eq!((terms.retry.name.as_str(), alg), ("immediate", SigningAlg::Ed25519));
        assert_eq!(terms.receipt, ReceiptContract::None);
    }

    #[test]
    fn the_first_bad_field_is_named() {
        let field = |change, to| terms(change, to).unwrap_err().field.unwrap();
        assert_eq!(field("https://hooks.example.com/in", "http://10.0.0.1/"), "endpoint");
        assert_eq!(field("invoice.*", "Invoice"), "topics[0]");
        assert_eq!(field("Billing", " "), "owner");
        assert_eq!(field("[\"1\"]", "[\"1.2\"]"), "accepted_versions");
        assert_eq!(field("\"immediate\"", "\"soon\""), "retry_policy");
        assert_eq!(
            field("\"immediate\"", "{\"name\":\"custom\",\"waits\":[],\"timeout\":1,\"deadline\":1}"),
            "retry_policy"
        );
    }

    #[test]
    fn loopback_is_refused_without_the_loud_setting() {
        assert_eq!(
            terms("https://hooks.example.com/in", "http://127.0.0.1:9000/in").unwrap_err().reason,
            Reason::EndpointRefused
        );
    }
}
