//! A query holds the names its route takes, each once, or the request is refused: a name mistyped is
//! never a filter silently dropped.

use std::str::FromStr;

use hookproof_authority::api::query_pairs;
use hookproof_core::{Reason, Refusal};

use crate::access::Request;

/// Largest page; and the one without `limit`.
const PAGE: (u32, u32) = (200, 100);

/// A request's query.
pub(crate) struct Query(Vec<(String, String)>);

impl Query {
    /// The query of `request`, for a route that takes `names`.
    pub(crate) fn read(request: &Request, names: &[&str]) -> Result<Self, Refusal> {
        let accepted = if names.is_empty() { "no query".to_owned() } else { names.join(", ") };
        let pairs = query_pairs(request.uri().query().unwrap_or("")).ok_or_else(|| {
            Refusal::new(Reason::BodyMalformed, "the query is not percent-encoded UTF-8")
                .at("query", accepted.as_str())
        })?;
        for (index, (name, _)) in pairs.iter().enumerate() {
            let twice = pairs.iter().take(index).any(|(earlier, _)| earlier == name);
            let words = match (names.contains(&name.as_str()), twice) {
                (true, false) => continue,
                (true, true) => "this name stands twice in the query",
                (false, _) => "the query holds a name that is not taken here",
            };
            return Err(Refusal::new(Reason::BodyMalformed, words).at(name.as_str(), accepted));
        }
        Ok(Self(pairs))
    }

    pub(crate) fn get(&self, wanted: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str())
    }

    /// A value of a type of ours, where it is given.
    pub(crate) fn parsed<T: FromStr>(&self, name: &str, accepted: &str) -> Result<Option<T>, Refusal> {
        self.get(name).map(str::parse).transpose().map_err(|_| malformed(name, accepted))
    }

    /// Where the page starts.
    pub(crate) fn cursor<T: FromStr>(&self) -> Result<Option<T>, Refusal> {
        self.parsed("cursor", "the next of an earlier answer")
    }

    /// The size of the page.
    pub(crate) fn limit(&self) -> Result<u32, Refusal> {
        let limit = self.get("limit").map_or(Some(PAGE.1), |text| {
            let digits = text.bytes().all(|b| b.is_ascii_digit());
            text.parse().ok().filter(|_| digits)
        });
        limit
            .filter(|limit| (1..=PAGE.0).contains(limit))
            .ok_or_else(|| malformed("limit", &format!("a number from 1 to {}", PAGE.0)))
    }
}

/// A name that is missing, or whose value is not usable.
pub(crate) fn malformed(field: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, format!("{field} is missing or not usable")).at(field, accepted)
}
