//! Every way an endpoint can be refused has one stable code and one sentence for the tenant.

use std::fmt;

use super::address::AddressRefusal;
use crate::reason::{Reason, Refusal};

/// Why an endpoint is not sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndpointRefusal {
    /// No text at all.
    Empty,
    /// Longer than [`super::MAX_URL_OCTETS`], as written or normalised.
    UrlTooLong,
    /// White space or a control character anywhere.
    ForbiddenChar,
    /// A backslash anywhere: readers disagree on where the host ends.
    Backslash,
    /// Any scheme but `https`.
    SchemeNotHttps,
    /// Not exactly two slashes after the scheme, or nothing after them.
    MalformedAuthority,
    /// A user name or password.
    Userinfo,
    /// A fragment, even an empty one.
    Fragment,
    /// An IPv6 zone: it names an interface of ours (RFC 6874).
    Ipv6ZoneId,
    /// A percent-encoded host: readers disagree on whether to decode it.
    PercentEncodedHost,
    /// Not a URL by the WHATWG URL Standard.
    ParseError,
    /// A port that is not open to endpoints.
    PortNotAllowed,
    /// The host is an address that is not public.
    Address(AddressRefusal),
    /// A public IPv4 address in another spelling than four decimal numbers.
    Ipv4Noncanonical,
    /// Two dots in a row, or a dot at the start.
    EmptyLabel,
    /// A label of more than 63 octets (RFC 1035 §2.3.4).
    LabelTooLong,
    /// A name of more than 253 octets (RFC 1035 §2.3.4).
    HostTooLong,
    /// A label with other characters than letters, digits, `-` and `_`, or with a hyphen at an edge.
    InvalidLabel,
    /// A name of the machine itself (RFC 6761 §6.3).
    LocalhostName,
    /// A cloud platform's metadata service.
    CloudMetadataName,
    /// A name under a suffix that is not in the public DNS (RFC 6761 and deployed custom).
    SpecialUseName,
    /// A name without a dot: a search domain would decide what it means.
    SingleLabelHost,
    /// A dot at the end: the same host would have two spellings.
    TrailingDot,
    /// The name has no addresses.
    DnsEmpty,
    /// No address of the name is public; the first one's refusal.
    DnsPrivate(AddressRefusal),
    /// Some addresses of the name are public and some are not; the first refusal.
    DnsMixed(AddressRefusal),
    /// The addresses are not those the host itself spells out.
    DnsMismatch,
}

impl EndpointRefusal {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::UrlTooLong => "url_too_long",
            Self::ForbiddenChar => "forbidden_char",
            Self::Backslash => "backslash",
            Self::SchemeNotHttps => "scheme_not_https",
            Self::MalformedAuthority => "malformed_authority",
            Self::Userinfo => "userinfo",
            Self::Fragment => "fragment",
            Self::Ipv6ZoneId => "ipv6_zone_id",
            Self::PercentEncodedHost => "percent_encoded_host",
            Self::ParseError => "parse_error",
            Self::PortNotAllowed => "port_not_allowed",
            Self::Address(why) => why.code(),
            Self::Ipv4Noncanonical => "ipv4_noncanonical",
            Self::EmptyLabel => "empty_label",
            Self::LabelTooLong => "label_too_long",
            Self::HostTooLong => "host_too_long",
            Self::InvalidLabel => "invalid_label",
            Self::LocalhostName => "localhost_name",
            Self::CloudMetadataName => "cloud_metadata_name",
            Self::SpecialUseName => "special_use_name",
            Self::SingleLabelHost => "single_label_host",
            Self::TrailingDot => "trailing_dot",
            Self::DnsEmpty => "dns_empty",
            Self::DnsPrivate(_) => "dns_private",
            Self::DnsMixed(_) => "dns_mixed",
            Self::DnsMismatch => "dns_mismatch",
        }
    }

    /// What was wrong and what would be accepted, in a sentence; never a part of the URL.
    pub fn detail(self) -> String {
        let sentence = match self {
            Self::Address(why) => return why.detail(),
            Self::DnsPrivate(why) => {
                let words = why.words();
                return format!(
                    "The host resolves to an address that is {words}; only public ones are accepted."
                );
            }
            Self::DnsMixed(why) => {
                let words = why.words();
                return format!("One of the host's addresses is {words}; every one of them must be public.");
            }
            Self::Empty => "The URL is empty; give one like https://hooks.example.com/path.",
            Self::UrlTooLong => {
                "The URL is too long; at most 2048 octets are accepted, percent-encoding included."
            }
            Self::ForbiddenChar => "The URL contains white space or a control character; percent-encode it.",
            Self::Backslash => "The URL contains a backslash; use / or %5C.",
            Self::SchemeNotHttps => "The URL does not start with https:; only https is accepted.",
            Self::MalformedAuthority => {
                "The scheme is not followed by exactly two slashes and a host; write https://host/."
            }
            Self::Userinfo => "The URL contains a user name or password; remove everything up to the @.",
            Self::Fragment => "The URL contains a fragment; remove the # and what follows it.",
            Self::Ipv6ZoneId => {
                "The IPv6 address has a zone or is percent-encoded; write a plain public address."
            }
            Self::PercentEncodedHost => "The host is percent-encoded; write the name itself.",
            Self::ParseError => "The text is not a valid URL; give one like https://hooks.example.com/path.",
            Self::PortNotAllowed => {
                "The port is not accepted; use 443, or 8443 where this deployment allows it."
            }
            Self::Ipv4Noncanonical => {
                "The IPv4 address is in an unusual spelling; write four decimal numbers."
            }
            Self::EmptyLabel => {
                "The host has an empty label; write one dot between labels and none before the first."
            }
            Self::LabelTooLong => "A label of the host is too long; at most 63 octets are accepted.",
            Self::HostTooLong => "The host is too long; at most 253 octets are accepted.",
            Self::InvalidLabel => {
                "A label of the host is malformed; use letters, digits, _ and inner hyphens."
            }
            Self::LocalhostName => "The host is a name of the machine itself; a public name is accepted.",
            Self::CloudMetadataName => "The host is a cloud metadata service; a public name is accepted.",
            Self::SpecialUseName => {
                "The host is under a suffix that is not in the public DNS; a public name is accepted."
            }
            Self::SingleLabelHost => "The host has a single label; write the full public name.",
            Self::TrailingDot => "The host ends with a dot; remove it.",
            Self::DnsEmpty => "The host has no address; it must resolve to public ones.",
            Self::DnsMismatch => {
                "The lookup gave other addresses than the host spells out; only that address is accepted."
            }
        };
        sentence.to_owned()
    }
}

impl From<AddressRefusal> for EndpointRefusal {
    fn from(why: AddressRefusal) -> Self {
        Self::Address(why)
    }
}

impl From<EndpointRefusal> for Refusal {
    fn from(why: EndpointRefusal) -> Self {
        Self::new(Reason::EndpointRefused, why.to_string())
    }
}

impl fmt::Display for EndpointRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code(), self.detail())
    }
}

impl std::error::Error for EndpointRefusal {}
