//! What a Spin operator's list lets the host drop is exactly what is not public: `runtime-config.toml` holds
//! every block of the classifier, and no public address.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a list that does not read as it should fails its test"
)]

use std::net::IpAddr;

use hookproof_core::endpoint::address::{blocks, classify};
use serde_json::Value;

/// A network: its first address as bits aligned to the left, its length, and whether it is of IPv4.
#[derive(Clone, Copy)]
struct Network {
    first: u128,
    length: u32,
    v4: bool,
}

impl Network {
    fn of(address: IpAddr, length: u32) -> Self {
        let (first, v4) = match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, true),
            IpAddr::V6(address) => (address.to_bits(), false),
        };
        Self { first, length, v4 }
    }

    fn parse(text: &str) -> Self {
        let (address, length) = text.split_once('/').unwrap_or_else(|| panic!("{text} is no network"));
        let network = Self::of(address.parse().unwrap(), length.parse().unwrap());
        assert_eq!(network.first & !network.mask(), 0, "{text} has bits beyond its length");
        network
    }

    fn mask(self) -> u128 {
        u128::MAX.checked_shl(128 - self.length).unwrap_or(0)
    }

    fn holds(self, other: Self) -> bool {
        self.v4 == other.v4 && self.length <= other.length && other.first & self.mask() == self.first
    }
}

/// The quoted networks of `block_networks`, without the word that means the host's own.
fn listed() -> Vec<Network> {
    let config = include_str!("../../runtime-config.toml");
    let list = config.split_once("block_networks = [").unwrap().1.split_once(']').unwrap().0;
    let quoted = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    let networks: Vec<&str> = quoted.collect();
    assert_eq!(networks.first(), Some(&"private"));
    networks[1..].iter().map(|text| Network::parse(text)).collect()
}

fn is_listed(network: Network) -> bool {
    listed().iter().any(|listed| listed.holds(network))
}

fn samples() -> Vec<(IpAddr, String)> {
    let file: Value = serde_json::from_str(include_str!("data/ip_addresses.json")).unwrap();
    let cases = file["addresses"].as_array().unwrap().iter();
    let sample = |case: &Value| {
        let text = |field: &str| case[field].as_str().unwrap_or_default().to_owned();
        (text("ip").parse().unwrap(), text("strict_verdict"))
    };
    cases.map(sample).collect()
}

#[test]
fn every_block_that_is_not_public_is_listed() {
    for (base, length) in blocks() {
        assert!(is_listed(Network::of(base, length)), "{base}/{length}");
    }
    for outside in ["::/3", "4000::/2", "8000::/1"] {
        assert!(is_listed(Network::parse(outside)), "{outside}");
    }
}

#[test]
fn no_public_address_is_listed_and_every_other_is() {
    let mut public = 0;
    for (address, verdict) in samples() {
        let listed = is_listed(Network::of(address, if address.is_ipv4() { 32 } else { 128 }));
        let isatap = classify(address).is_err_and(|why| why.code() == "ipv6_isatap");
        match verdict.as_str() {
            "public" => {
                assert!(!listed, "{address}");
                public += 1;
            }
            // No network holds them: only their last 64 bits tell.
            _ if isatap => {}
            _ => assert!(listed, "{address}"),
        }
    }
    assert_eq!(public, 48);
}

#[test]
fn nothing_listed_is_public_at_its_edges() {
    for network in listed() {
        for bits in [network.first, network.first | !network.mask()] {
            let address = if network.v4 {
                IpAddr::from(u32::try_from(bits >> 96).unwrap().to_be_bytes())
            } else {
                IpAddr::from(bits.to_be_bytes())
            };
            assert!(classify(address).is_err(), "{address}");
        }
    }
}
