//! Names to addresses, for the policy to judge.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What is known of a name before a connection is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolution {
    /// Every address of the answer; the transport dials one of these and no other.
    Addresses(Vec<IpAddr>),
    /// Every address of an answer that was asked for beforehand; the platform resolves again while
    /// connecting and does not say what it found.
    Beforehand(Vec<IpAddr>),
    /// The platform resolves while connecting and does not say what it found.
    ByPlatform,
    /// The platform resolves, filters by its operator's list and then connects.
    ByEnforcingPlatform,
    /// The name does not resolve, or nobody could be asked.
    Failed,
}

/// Resolves an endpoint's host, once for each attempt.
pub trait Resolver {
    /// The addresses of `host`.
    async fn resolve(&self, host: &str) -> Resolution;
}

/// The addresses of a URL's host that says itself where it is: a literal, or this machine's own name.
/// Nobody is asked for those.
pub fn spelled_out(host: &str) -> Option<Vec<IpAddr>> {
    let inside = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    match inside {
        Some(inside) => inside.parse().ok().map(|address| vec![IpAddr::V6(address)]),
        // `url` writes an IPv4 host in the one spelling that is read here.
        None if host == "localhost" => {
            Some(vec![IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)])
        }
        None => host.parse().ok().map(|address| vec![IpAddr::V4(address)]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_and_this_machine_are_their_own_answer() {
        let text = |host| spelled_out(host).map(|list| list.iter().map(ToString::to_string).collect());
        let some = |list: &[&str]| Some(list.iter().map(|&it| it.to_owned()).collect::<Vec<String>>());
        assert_eq!(text("1.1.1.1"), some(&["1.1.1.1"]));
        assert_eq!(text("[2606:4700::1]"), some(&["2606:4700::1"]));
        assert_eq!(text("localhost"), some(&["127.0.0.1", "::1"]));
        for name in ["hooks.example.com", "1.1.1", "[1.1.1.1]", "2606:4700::1", "foo.localhost", ""] {
            assert_eq!(text(name), None, "{name}");
        }
    }
}
