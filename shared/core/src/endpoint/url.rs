//! An [`EndpointUrl`] has one spelling, and every part of it is cut from that spelling.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::host::Host;
use super::policy::EndpointPolicy;
use super::raw;
use super::refusal::EndpointRefusal;
use crate::digest::Digest;
use crate::tuple::Tuple;

/// The longest URL accepted, in octets, both as written and normalised.
pub const MAX_URL_OCTETS: usize = 2048;

/// The URL of an endpoint, checked and normalised (WHATWG URL serialisation).
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct EndpointUrl {
    text: String,
    parts: Parts,
}

impl EndpointUrl {
    /// Reads what a tenant wrote; the refusal is the first one in the order of the vectors.
    pub fn parse(text: &str, policy: &EndpointPolicy) -> Result<Self, EndpointRefusal> {
        let raw_host = raw::screen(text, policy.danger_loopback_http)?;
        let parsed = url::Url::parse(text).map_err(|_| EndpointRefusal::ParseError)?;
        let text = String::from(parsed);
        if text.len() > MAX_URL_OCTETS {
            return Err(EndpointRefusal::UrlTooLong);
        }
        let parts = Parts::split(&text).ok_or(EndpointRefusal::ParseError)?;
        let endpoint = Self { text, parts };
        policy.check(&endpoint)?;
        // Parsers disagree on octal, hexadecimal and short forms, so only one spelling may be used.
        let is_v4 = endpoint.literal().is_some_and(|address| address.is_ipv4());
        if is_v4 && raw_host != endpoint.host() {
            return Err(EndpointRefusal::Ipv4Noncanonical);
        }
        Ok(endpoint)
    }

    /// Takes back text that [`EndpointUrl::parse`] normalised before; `None` if it cannot be such text.
    ///
    /// Only the shape is checked: whether it may be sent to is asked again by [`EndpointPolicy::permit`]
    /// and its siblings, so a stored endpoint that a stricter policy refuses is refused, not corrupt.
    pub fn from_stored(text: String) -> Option<Self> {
        let clean = |b: u8| b.is_ascii_graphic() && b != b'#' && b != b'\\';
        if text.len() > MAX_URL_OCTETS || !text.bytes().all(clean) {
            return None;
        }
        let parts = Parts::split(&text)?;
        let host = &text[parts.host_start..parts.host_end];
        let canonical = match Host::read(host)? {
            Host::Name(name) => {
                !name.is_empty() && !name.bytes().any(|b| b.is_ascii_uppercase() || b"@%[]:".contains(&b))
            }
            Host::Literal(IpAddr::V4(address)) => address.to_string() == host,
            Host::Literal(IpAddr::V6(address)) => format!("[{address}]") == host,
        };
        canonical.then_some(Self { text, parts })
    }

    /// The normalised URL.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host: a lower-case ASCII name (punycode), an IPv4 address, or an IPv6 address in brackets.
    pub fn host(&self) -> &str {
        &self.text[self.parts.host_start..self.parts.host_end]
    }

    /// The address, if the host is one: there is nothing to resolve.
    pub fn literal(&self) -> Option<IpAddr> {
        match Host::read(self.host())? {
            Host::Literal(address) => Some(address),
            Host::Name(_) => None,
        }
    }

    /// The port, explicit or the scheme's own.
    pub fn port(&self) -> u16 {
        self.parts.port
    }

    /// Whether the scheme is `https`; always, except in local development.
    pub fn is_https(&self) -> bool {
        self.parts.https
    }

    /// Host and, unless it is the scheme's own, port: the `Host` field and `@authority` (RFC 9421 §2.2.3).
    pub fn authority(&self) -> &str {
        &self.text[self.parts.host_start..self.parts.path_start]
    }

    /// Scheme and authority, without a slash at the end.
    pub fn origin(&self) -> &str {
        &self.text[..self.parts.path_start]
    }

    /// The request target: a path that starts with a slash, and the query if there is one.
    pub fn path_and_query(&self) -> &str {
        &self.text[self.parts.path_start..]
    }

    /// SHA-256(LP("hookproof-endpoint-v1") LP(normalised URL)): what a challenge is bound to.
    pub fn digest(&self) -> Digest {
        Digest(Tuple::new("hookproof-endpoint-v1").field(&self.text).sha256())
    }
}

/// Without the query: senders keep tokens there.
impl fmt::Debug for EndpointUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.split_once('?') {
            Some((head, _)) => write!(f, "EndpointUrl({head}?…)"),
            None => write!(f, "EndpointUrl({})", self.text),
        }
    }
}

impl Serialize for EndpointUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

/// For stored records only: what a tenant sends is read by [`EndpointUrl::parse`].
impl<'de> Deserialize<'de> for EndpointUrl {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::from_stored(text).ok_or_else(|| D::Error::custom("not a normalised endpoint URL"))
    }
}

/// Where the parts of a normalised URL begin and end.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Parts {
    https: bool,
    port: u16,
    host_start: usize,
    host_end: usize,
    path_start: usize,
}

impl Parts {
    /// Splits `scheme://host[:port]/…` as the WHATWG serialiser writes it; the host is not judged here.
    fn split(text: &str) -> Option<Self> {
        let (https, rest) = match text.strip_prefix("https://") {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix("http://")?),
        };
        let host_start = text.len() - rest.len();
        let (authority, _) = rest.split_once('/')?;
        if authority.contains(['?', '#', '@']) {
            return None;
        }
        let host = raw::host_of(authority);
        let default_port = if https { 443 } else { 80 };
        let port = match &authority[host.len()..] {
            "" => default_port,
            // The serialiser leaves the scheme's own port out.
            explicit => read_port(explicit.strip_prefix(':')?).filter(|&port| port != default_port)?,
        };
        let (host_end, path_start) = (host_start + host.len(), host_start + authority.len());
        Some(Self { https, port, host_start, host_end, path_start })
    }
}

/// A decimal port in its one spelling: no sign, no leading zero.
fn read_port(digits: &str) -> Option<u16> {
    let port: u16 = digits.parse().ok()?;
    (port.to_string() == digits).then_some(port)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: EndpointPolicy = EndpointPolicy { allow_8443: false, danger_loopback_http: false };

    fn url(text: &str) -> EndpointUrl {
        EndpointUrl::parse(text, &STRICT).unwrap()
    }

    #[test]
    fn the_parts_are_cut_from_the_normalised_text() {
        let policy = EndpointPolicy { allow_8443: true, ..STRICT };
        let url = EndpointUrl::parse("HTTPS://Hooks.Example.COM:8443/a/../b?x=/1", &policy).unwrap();
        assert_eq!(url.as_str(), "https://hooks.example.com:8443/b?x=/1");
        assert_eq!((url.host(), url.port(), url.is_https()), ("hooks.example.com", 8443, true));
        assert_eq!(url.authority(), "hooks.example.com:8443");
        assert_eq!(url.origin(), "https://hooks.example.com:8443");
        assert_eq!(url.path_and_query(), "/b?x=/1");
        assert_eq!(url.literal(), None);
    }

    #[test]
    fn the_default_port_is_no_part_of_the_authority() {
        let url = url("https://example.com:443?x");
        assert_eq!((url.authority(), url.port(), url.path_and_query()), ("example.com", 443, "/?x"));
    }

    #[test]
    fn an_ipv6_host_keeps_its_brackets() {
        let url = url("https://[2606:4700:4700:0::1111]:443/x");
        assert_eq!((url.host(), url.port()), ("[2606:4700:4700::1111]", 443));
        assert_eq!(url.literal(), Some("2606:4700:4700::1111".parse().unwrap()));
    }

    #[test]
    fn the_digest_is_of_the_label_and_the_normalised_url() {
        let mut bytes = b"\0\0\0\x15hookproof-endpoint-v1\0\0\0\x14".to_vec();
        bytes.extend_from_slice(b"https://example.com/");
        assert_eq!(url("https://EXAMPLE.com").digest(), Digest::of(&bytes));
    }

    #[test]
    fn the_query_is_never_printed() {
        let shown = format!("{:?}", url("https://example.com/hook?token=secret"));
        assert_eq!(shown, "EndpointUrl(https://example.com/hook?…)");
    }

    #[test]
    fn stored_text_comes_back_as_it_was() {
        for text in [
            "https://example.com/",
            "https://example.com:8443/a?b=c",
            "https://1.1.1.1/",
            "https://[2606:4700::1]/x",
            "http://localhost:3000/",
            "http://[::1]:65535/",
        ] {
            assert_eq!(EndpointUrl::from_stored(text.to_owned()).unwrap().as_str(), text);
        }
    }

    #[test]
    fn text_that_was_never_normalised_is_not_taken_back() {
        for text in [
            "",
            "https://",
            "https:///",
            "https://example.com",
            "https://example.com?x",
            "https://example.com?x/y",
            "ftp://example.com/",
            "https://Example.com/",
            "https://example.com:443/",
            "http://localhost:80/",
            "https://example.com:08443/",
            "https://example.com:+8443/",
            "https://example.com:/",
            "https://example.com:99999/",
            "https://user@example.com/",
            "https://example.com/#x",
            "https://example.com/a b",
            "https://example.com/a\\b",
            "https://münchen.de/",
            "https://ex%61mple.com/",
            "https://127.1/",
            "https://0x7f.0.0.1/",
            "https://[0:0::1]/",
            "https://[::1]x/",
            "https://[::1/",
        ] {
            assert_eq!(EndpointUrl::from_stored(text.to_owned()), None, "{text}");
        }
        assert_eq!(EndpointUrl::from_stored(format!("https://example.com/{}", "p".repeat(2029))), None);
    }

    #[test]
    fn json_is_the_string_and_refuses_another_spelling() {
        let url = url("https://example.com/hook");
        let json = serde_json::to_string(&url).unwrap();
        assert_eq!(json, "\"https://example.com/hook\"");
        assert_eq!(serde_json::from_str::<EndpointUrl>(&json).unwrap(), url);
        assert!(serde_json::from_str::<EndpointUrl>("\"https://EXAMPLE.com/hook\"").is_err());
    }
}
