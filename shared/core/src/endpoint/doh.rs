//! An answer of DNS over HTTPS (the JSON form of RFC 8484 resolvers) is taken whole or not at all: its
//! question is ours, and every record is an address of the name asked for or a step of its alias chain.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Deserialize;

use super::lookup::MAX_ADDRESSES;
use crate::json;

/// The most octets of an answer that are read.
pub const MAX_ANSWER_OCTETS: usize = 16 * 1024;

/// The content type that is asked for; resolvers name their answers differently.
pub const CONTENT_TYPE: &str = "application/dns-json";

/// The longest alias chain followed.
const MAX_ALIASES: usize = 16;

/// CNAME (RFC 1035 §3.2.2).
const ALIAS: u16 = 5;

/// Which addresses are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A records.
    V4,
    /// AAAA records.
    V6,
}

impl Family {
    /// Both: an answer about one of them says nothing about the other.
    pub const ALL: [Self; 2] = [Self::V4, Self::V6];

    /// The record type's number (RFC 1035 §3.2.2, RFC 3596 §2.1).
    fn record(self) -> u16 {
        match self {
            Self::V4 => 1,
            Self::V6 => 28,
        }
    }

    fn address(self, text: &str) -> Option<IpAddr> {
        match self {
            Self::V4 => text.parse::<Ipv4Addr>().ok().map(IpAddr::V4),
            Self::V6 => text.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        }
    }
}

/// What to GET at `resolver`; `host` has passed the policy, so it needs no escaping. `None` if it would.
pub fn question(resolver: &str, host: &str, family: Family) -> Option<String> {
    let plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-_.".contains(&b);
    let joint = if resolver.contains('?') { '&' } else { '?' };
    let kind = match family {
        Family::V4 => "A",
        Family::V6 => "AAAA",
    };
    (!host.is_empty() && host.bytes().all(plain)).then(|| format!("{resolver}{joint}name={host}&type={kind}"))
}

/// Other members say nothing that is needed.
#[derive(Deserialize)]
struct Answer {
    #[serde(rename = "Status")]
    status: u16,
    /// The answer was cut short.
    #[serde(rename = "TC", default)]
    truncated: bool,
    #[serde(rename = "Question")]
    question: Vec<Question>,
    #[serde(rename = "Answer", default)]
    answer: Vec<Record>,
}

#[derive(Deserialize)]
struct Question {
    name: String,
    r#type: u16,
}

#[derive(Deserialize)]
struct Record {
    name: String,
    r#type: u16,
    data: String,
}

/// The addresses of `host` in the answer to one question, in its order; none where the name has none of
/// this family. `None` for anything else: a failure of the resolver, a name that does not exist, a record
/// that does not belong there, text that is no address, more than [`MAX_ADDRESSES`].
pub fn read(body: &[u8], host: &str, family: Family) -> Option<Vec<IpAddr>> {
    let answer: Answer = json::read(body).filter(|_| body.len() <= MAX_ANSWER_OCTETS)?;
    let [question] = answer.question.as_slice() else { return None };
    let ours = is_same(&question.name, host) && question.r#type == family.record();
    if answer.status != 0 || answer.truncated || !ours {
        return None;
    }
    let (aliases, records): (Vec<_>, Vec<_>) = answer.answer.iter().partition(|it| it.r#type == ALIAS);
    let owner = follow(host, &aliases)?;
    if records.len() > MAX_ADDRESSES {
        return None;
    }
    let address = |record: &&Record| {
        let belongs = record.r#type == family.record() && is_same(&record.name, owner);
        belongs.then(|| family.address(&record.data)).flatten()
    };
    records.iter().map(address).collect()
}

/// The end of the alias chain that starts at `host` and uses every alias once, in whatever order they stand.
fn follow<'a>(host: &'a str, aliases: &[&'a Record]) -> Option<&'a str> {
    if aliases.len() > MAX_ALIASES {
        return None;
    }
    let (mut name, mut left) = (host, aliases.to_vec());
    while !left.is_empty() {
        let next = left.iter().position(|alias| is_same(&alias.name, name))?;
        name = &left.swap_remove(next).data;
    }
    Some(name)
}

/// Names are the same in any case, with or without the root's dot (RFC 4343).
fn is_same(one: &str, other: &str) -> bool {
    let bare = |name: &'_ str| name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    bare(one) == bare(other)
}

#[cfg(test)]
mod tests;
