//! A host name is accepted only if it is a well-formed name that the public DNS alone can answer.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::address;
use super::refusal::EndpointRefusal;

/// Names under these suffixes, and the suffixes themselves, are not in the public DNS: reserved by
/// RFC 6761, 6762, 7686, 8375, 9476 and ICANN (`internal`), or used in private networks. They hold
/// `spin.internal`, which a Spin host would route to another component, and `self.alt`.
const SPECIAL_USE: &[&str] = &[
    "local", "internal", "intranet", "private", "corp", "home", "lan", "svc", "test", "example", "invalid",
    "onion", "alt", "arpa",
];

/// The host of a normalised URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Host<'a> {
    Name(&'a str),
    Literal(IpAddr),
}

impl<'a> Host<'a> {
    /// Reads a host as the WHATWG serialiser writes it; `None` if it looks like an address but is none.
    pub(super) fn read(text: &'a str) -> Option<Self> {
        if let Some(inner) = text.strip_prefix('[') {
            let address: Ipv6Addr = inner.strip_suffix(']')?.parse().ok()?;
            return Some(Self::Literal(address.into()));
        }
        if ends_in_a_number(text) {
            let address: Ipv4Addr = text.parse().ok()?;
            return Some(Self::Literal(address.into()));
        }
        Some(Self::Name(text))
    }

    /// Exactly the three spellings of this machine that local development may use.
    pub(super) fn is_this_machine(self) -> bool {
        match self {
            Self::Name(name) => name == "localhost",
            Self::Literal(address) => address == Ipv4Addr::LOCALHOST || address == Ipv6Addr::LOCALHOST,
        }
    }

    /// Whether the host may be an endpoint's.
    pub(super) fn check(self) -> Result<(), EndpointRefusal> {
        match self {
            Self::Name(name) => check_name(name),
            Self::Literal(address) => Ok(address::classify(address)?),
        }
    }
}

/// The WHATWG "ends in a number" checker: such a host is an IPv4 address or an error, never a name.
fn ends_in_a_number(host: &str) -> bool {
    let last = host.strip_suffix('.').unwrap_or(host).rsplit('.').next().unwrap_or("");
    let hex = last.strip_prefix("0x").is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    hex || (!last.is_empty() && last.bytes().all(|b| b.is_ascii_digit()))
}

fn check_name(host: &str) -> Result<(), EndpointRefusal> {
    let bare = host.strip_suffix('.').unwrap_or(host);
    if bare.split('.').any(str::is_empty) {
        return Err(EndpointRefusal::EmptyLabel);
    }
    if bare.split('.').any(|label| label.len() > 63) {
        return Err(EndpointRefusal::LabelTooLong);
    }
    if bare.len() > 253 {
        return Err(EndpointRefusal::HostTooLong);
    }
    if !bare.split('.').all(is_valid_label) {
        return Err(EndpointRefusal::InvalidLabel);
    }
    if is_localhost_name(bare) {
        return Err(EndpointRefusal::LocalhostName);
    }
    if bare == "metadata.google.internal" {
        return Err(EndpointRefusal::CloudMetadataName);
    }
    if SPECIAL_USE.iter().any(|suffix| head_before(bare, suffix).is_some()) {
        return Err(EndpointRefusal::SpecialUseName);
    }
    if !bare.contains('.') {
        return Err(EndpointRefusal::SingleLabelHost);
    }
    if bare.len() != host.len() {
        return Err(EndpointRefusal::TrailingDot);
    }
    Ok(())
}

/// Lower case only: the normaliser has folded case. An underscore is legal in the DNS, if not in a host name.
fn is_valid_label(label: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_';
    label.bytes().all(allowed) && !label.starts_with('-') && !label.ends_with('-')
}

fn is_localhost_name(name: &str) -> bool {
    let under = |suffix| head_before(name, suffix).is_some_and(|head| !head.is_empty());
    head_before(name, "localhost").is_some() || under("localdomain") || under("localdomain6")
}

/// What precedes `suffix` (with its dot) if `name` is the suffix or is under it.
fn head_before<'a>(name: &'a str, suffix: &str) -> Option<&'a str> {
    name.strip_suffix(suffix).filter(|head| head.is_empty() || head.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(host: &str) -> Option<EndpointRefusal> {
        Host::read(host).unwrap().check().err()
    }

    #[test]
    fn names_that_a_platform_answers_itself_are_refused() {
        for name in
            ["spin.internal", "receiver.spin.internal", "self.alt", "internal", "kubernetes.default.svc"]
        {
            assert_eq!(refusal(name), Some(EndpointRefusal::SpecialUseName), "{name}");
        }
        assert_eq!(refusal("localdomain"), Some(EndpointRefusal::SingleLabelHost));
        assert_eq!(refusal("box.localdomain6"), Some(EndpointRefusal::LocalhostName));
    }

    #[test]
    fn a_suffix_counts_only_at_a_dot() {
        for name in
            ["examplelocal.com", "internal.example.com", "notlocalhost.com", "spininternal.com", "myalt.net"]
        {
            assert_eq!(refusal(name), None, "{name}");
        }
    }

    #[test]
    fn a_host_that_ends_in_a_number_is_an_address_or_nothing() {
        assert_eq!(Host::read("8.8.8.8"), Some(Host::Literal(Ipv4Addr::new(8, 8, 8, 8).into())));
        for text in ["8.8", "08.8.8.8", "foo.0x4", "foo.0x", "1.2.3.4.", "[::1", "[]", "[1.2.3.4]", "[::1]x"]
        {
            assert_eq!(Host::read(text), None, "{text}");
        }
        assert_eq!(Host::read("127.example.com"), Some(Host::Name("127.example.com")));
    }

    #[test]
    fn the_length_limits_are_exact() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", "a".repeat(61));
        assert_eq!((longest.len(), refusal(&longest)), (253, None));
        assert_eq!(refusal(&format!("{longest}a")), Some(EndpointRefusal::HostTooLong));
        assert_eq!(refusal(&format!("a{label}.com")), Some(EndpointRefusal::LabelTooLong));
    }
}
