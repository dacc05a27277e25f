//! A connection needs a [`Permitted`], and only [`EndpointPolicy`] makes one, from the addresses of
//! this very attempt or from the knowledge that the host will resolve by itself.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::address;
use super::host::Host;
use super::refusal::EndpointRefusal;
use super::url::EndpointUrl;

/// What this deployment lets an endpoint be; the default is the strictest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointPolicy {
    /// Port 8443 besides 443.
    #[serde(default)]
    pub allow_8443: bool,
    /// For local development only: `http` or `https` to exactly `127.0.0.1`, `[::1]` or `localhost`, on
    /// any port. Whoever can write a subscription can then reach every service of this machine.
    #[serde(default)]
    pub danger_loopback_http: bool,
}

impl EndpointPolicy {
    /// Judges the URL alone, so that nobody is asked about a host that is refused whatever it resolves to.
    ///
    /// Refuses what this policy refuses: the URL may have been stored under a looser one.
    pub fn vet(&self, url: &EndpointUrl) -> Result<(), EndpointRefusal> {
        self.check(url).map(|_| ())
    }

    /// Vets the answer of a lookup made for this connection: all of it is public, or all is refused.
    ///
    /// The caller must dial one of [`Permitted::addresses`] and nothing else; the assurance is `PINNED`.
    pub fn permit(&self, url: &EndpointUrl, addresses: &[IpAddr]) -> Result<Permitted, EndpointRefusal> {
        let host = self.check(url)?;
        if addresses.is_empty() {
            return Err(EndpointRefusal::DnsEmpty);
        }
        if host.is_this_machine() || matches!(host, Host::Literal(_)) {
            check_spelled_out(host, addresses)?;
        } else {
            check_public(addresses)?;
        }
        Ok(Permitted::new(url, addresses.to_vec(), EgressAssurance::Pinned))
    }

    /// For a host that resolves the name itself and shows no address (Cloudflare `fetch`): only the URL
    /// could be vetted, so the assurance is `PREFLIGHT`.
    ///
    /// Refuses what this policy refuses: the URL may have been stored under a looser one.
    pub fn permit_unresolved(&self, url: &EndpointUrl) -> Result<Permitted, EndpointRefusal> {
        self.check(url)?;
        Ok(Permitted::new(url, Vec::new(), EgressAssurance::Preflight))
    }

    /// For a host that resolves, filters and dials by its operator's configuration (Spin with
    /// `block_networks`): the assurance is `HOST_ENFORCED`. Say this only where that is configured.
    pub fn permit_host_enforced(&self, url: &EndpointUrl) -> Result<Permitted, EndpointRefusal> {
        self.check(url)?;
        Ok(Permitted::new(url, Vec::new(), EgressAssurance::HostEnforced))
    }

    /// Whether the endpoint is this machine and may be: only in local development.
    pub fn is_own_machine(&self, url: &EndpointUrl) -> bool {
        self.danger_loopback_http && Host::read(url.host()).is_some_and(|host| host.is_this_machine())
    }

    /// Judges scheme, port and host, and returns the host as read.
    pub(super) fn check<'a>(&self, url: &'a EndpointUrl) -> Result<Host<'a>, EndpointRefusal> {
        let host = Host::read(url.host()).ok_or(EndpointRefusal::ParseError)?;
        let development = self.danger_loopback_http && host.is_this_machine();
        if !url.is_https() && !development {
            return Err(EndpointRefusal::SchemeNotHttps);
        }
        let port = url.port();
        let open = port == 443 || (port == 8443 && self.allow_8443) || (port != 0 && development);
        if !open {
            return Err(EndpointRefusal::PortNotAllowed);
        }
        if !development {
            host.check()?;
        }
        Ok(host)
    }
}

/// A host that says where it is gets exactly that: its own address, or loopback for `localhost`.
fn check_spelled_out(host: Host<'_>, addresses: &[IpAddr]) -> Result<(), EndpointRefusal> {
    let is_it = |address: &IpAddr| match host {
        Host::Literal(literal) => *address == literal,
        Host::Name(_) => address.is_loopback(),
    };
    if addresses.iter().all(is_it) {
        return Ok(());
    }
    match host {
        Host::Literal(_) => {}
        // Elsewhere in a private network it is refused as any other name would be.
        Host::Name(_) => check_public(addresses)?,
    }
    Err(EndpointRefusal::DnsMismatch)
}

/// One address that is not public refuses the whole answer: which one is dialled is chance.
fn check_public(addresses: &[IpAddr]) -> Result<(), EndpointRefusal> {
    let mut refusals = addresses.iter().filter_map(|&address| address::classify(address).err());
    let Some(first) = refusals.next() else { return Ok(()) };
    let none_public = refusals.count() + 1 == addresses.len();
    Err(if none_public { EndpointRefusal::DnsPrivate(first) } else { EndpointRefusal::DnsMixed(first) })
}

/// How well it is known that the address connected to was public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum EgressAssurance {
    /// The vetted address is the one that is dialled.
    Pinned,
    /// The host filters the addresses it resolves and dials one of them.
    HostEnforced,
    /// Vetted beforehand; the host resolves again by itself and shows no address.
    Preflight,
}

impl EgressAssurance {
    /// The spelling in JSON and in the ledger.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pinned => "PINNED",
            Self::HostEnforced => "HOST_ENFORCED",
            Self::Preflight => "PREFLIGHT",
        }
    }
}

/// Proof that an endpoint was vetted for one connection: not `Clone`, made only by [`EndpointPolicy`].
#[derive(Debug)]
pub struct Permitted {
    url: EndpointUrl,
    addresses: Vec<IpAddr>,
    assurance: EgressAssurance,
}

impl Permitted {
    fn new(url: &EndpointUrl, addresses: Vec<IpAddr>, assurance: EgressAssurance) -> Self {
        Self { url: url.clone(), addresses, assurance }
    }

    /// Keeps the vetted addresses but not the promise to dial them: for a caller that looked the name up
    /// and then hands it to a host that resolves again.
    #[must_use]
    pub fn into_preflight(self) -> Self {
        Self { assurance: EgressAssurance::Preflight, ..self }
    }

    /// The endpoint.
    pub fn url(&self) -> &EndpointUrl {
        &self.url
    }

    /// The vetted addresses in the order of the lookup; empty where the host resolves by itself.
    pub fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// What each attempt records.
    pub fn assurance(&self) -> EgressAssurance {
        self.assurance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRICT: EndpointPolicy = EndpointPolicy { allow_8443: false, danger_loopback_http: false };
    const LOCAL: EndpointPolicy = EndpointPolicy { danger_loopback_http: true, ..STRICT };

    fn addresses(list: &[&str]) -> Vec<IpAddr> {
        list.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn permit(policy: EndpointPolicy, url: &str, list: &[&str]) -> Result<Permitted, &'static str> {
        let url = EndpointUrl::from_stored(url.to_owned()).unwrap();
        policy.permit(&url, &addresses(list)).map_err(EndpointRefusal::code)
    }

    fn parse(policy: EndpointPolicy, text: &str) -> Result<String, &'static str> {
        let parsed = EndpointUrl::parse(text, &policy);
        parsed.map(|url| url.as_str().to_owned()).map_err(EndpointRefusal::code)
    }

    #[test]
    fn the_default_is_the_strictest() {
        assert_eq!(EndpointPolicy::default(), STRICT);
        assert_eq!(serde_json::from_str::<EndpointPolicy>("{}").unwrap(), STRICT);
    }

    #[test]
    fn public_addresses_are_pinned_in_order() {
        let list = ["2606:4700:4700::1111", "1.1.1.1"];
        let permitted = permit(STRICT, "https://example.com/x", &list).unwrap();
        assert_eq!(permitted.addresses(), addresses(&list));
        assert_eq!(permitted.url().as_str(), "https://example.com/x");
        assert_eq!(permitted.assurance(), EgressAssurance::Pinned);
        let lowered = permitted.into_preflight();
        assert_eq!((lowered.assurance(), lowered.addresses().len()), (EgressAssurance::Preflight, 2));
    }

    #[test]
    fn one_private_address_refuses_the_whole_answer() {
        let refused = |list: &[&str]| permit(STRICT, "https://example.com/", list).unwrap_err();
        assert_eq!(refused(&[]), "dns_empty");
        assert_eq!(refused(&["1.1.1.1", "10.0.0.1"]), "dns_mixed");
        assert_eq!(refused(&["10.0.0.1", "1.1.1.1"]), "dns_mixed");
        assert_eq!(refused(&["1.1.1.1", "64:ff9b::a9fe:a9fe"]), "dns_mixed");
        assert_eq!(refused(&["127.0.0.1"]), "dns_private");
        assert_eq!(refused(&["127.0.0.1", "::1"]), "dns_private");
        assert_eq!(refused(&["::ffff:1.1.1.1"]), "dns_private");
    }

    #[test]
    fn a_literal_is_only_its_own_address() {
        assert!(permit(STRICT, "https://1.1.1.1/", &["1.1.1.1"]).is_ok());
        assert_eq!(permit(STRICT, "https://1.1.1.1/", &["1.0.0.1"]).unwrap_err(), "dns_mismatch");
        assert_eq!(permit(STRICT, "https://1.1.1.1/", &["127.0.0.1"]).unwrap_err(), "dns_mismatch");
    }

    #[test]
    fn a_url_stored_under_a_looser_policy_is_refused_now() {
        for (text, code) in [
            ("http://localhost:3000/", "scheme_not_https"),
            ("https://localhost:3000/", "port_not_allowed"),
            ("https://localhost/", "localhost_name"),
            ("https://127.0.0.1/", "ipv4_loopback"),
            ("https://[::1]/", "ipv6_loopback"),
            ("https://example.com:8443/", "port_not_allowed"),
            ("https://receiver.spin.internal/", "special_use_name"),
        ] {
            let url = EndpointUrl::from_stored(text.to_owned()).unwrap();
            let list = addresses(&["127.0.0.1"]);
            assert_eq!(STRICT.permit(&url, &list).unwrap_err().code(), code, "{text}");
            assert_eq!(STRICT.vet(&url).unwrap_err().code(), code, "{text}");
            assert_eq!(STRICT.permit_unresolved(&url).unwrap_err().code(), code, "{text}");
            assert_eq!(STRICT.permit_host_enforced(&url).unwrap_err().code(), code, "{text}");
        }
    }

    #[test]
    fn a_host_that_resolves_by_itself_gets_no_more_than_it_earns() {
        let url = EndpointUrl::parse("https://example.com/", &STRICT).unwrap();
        let preflight = STRICT.permit_unresolved(&url).unwrap();
        assert_eq!(preflight.assurance(), EgressAssurance::Preflight);
        assert!(preflight.addresses().is_empty());
        let enforced = STRICT.permit_host_enforced(&url).unwrap();
        assert_eq!(enforced.assurance(), EgressAssurance::HostEnforced);
    }

    #[test]
    fn local_development_reaches_exactly_three_hosts() {
        for text in
            ["http://localhost:3000/", "http://127.0.0.1:8787/x", "https://[::1]:1/", "http://localhost/"]
        {
            assert_eq!(parse(LOCAL, text).as_deref(), Ok(text));
        }
        for (text, code) in [
            ("http://example.com/", "scheme_not_https"),
            ("http://127.0.0.2/", "scheme_not_https"),
            ("http://foo.localhost/", "scheme_not_https"),
            ("http://localhost./", "scheme_not_https"),
            ("http://10.0.0.1/", "scheme_not_https"),
            ("ws://localhost/", "scheme_not_https"),
            ("https://127.0.0.2/", "ipv4_loopback"),
            ("https://foo.localhost/", "localhost_name"),
            ("https://[::ffff:127.0.0.1]/", "ipv6_ipv4_mapped"),
            ("http://2130706433:80/", "ipv4_noncanonical"),
            ("http://localhost:0/", "port_not_allowed"),
            ("https://example.com:3000/", "port_not_allowed"),
            ("http://user@localhost/", "userinfo"),
        ] {
            assert_eq!(parse(LOCAL, text), Err(code), "{text}");
        }
        assert_eq!(parse(STRICT, "http://localhost:3000/"), Err("scheme_not_https"));
    }

    #[test]
    fn local_development_lets_no_other_name_reach_loopback() {
        assert!(permit(LOCAL, "http://localhost:3000/", &["127.0.0.1", "::1"]).is_ok());
        assert!(permit(LOCAL, "http://[::1]:3000/", &["::1"]).is_ok());
        assert_eq!(permit(LOCAL, "http://localhost:3000/", &["1.1.1.1"]).unwrap_err(), "dns_mismatch");
        assert_eq!(permit(LOCAL, "http://localhost:3000/", &["10.0.0.1"]).unwrap_err(), "dns_private");
        let mixed = permit(LOCAL, "http://localhost:3000/", &["127.0.0.1", "1.1.1.1"]);
        assert_eq!(mixed.unwrap_err(), "dns_mixed");
        assert_eq!(permit(LOCAL, "http://127.0.0.1:3000/", &["127.0.0.2"]).unwrap_err(), "dns_mismatch");
        assert_eq!(permit(LOCAL, "https://example.com/", &["127.0.0.1"]).unwrap_err(), "dns_private");
    }

    #[test]
    fn the_assurance_is_spelled_alike_everywhere() {
        for (assurance, text) in [
            (EgressAssurance::Pinned, "PINNED"),
            (EgressAssurance::HostEnforced, "HOST_ENFORCED"),
            (EgressAssurance::Preflight, "PREFLIGHT"),
        ] {
            assert_eq!(assurance.as_str(), text);
            assert_eq!(serde_json::to_string(&assurance).unwrap(), format!("\"{text}\""));
        }
    }
}
