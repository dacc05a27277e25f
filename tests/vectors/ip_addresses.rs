//! Every address of `ip_addresses.json` gets its strict verdict, and a refusal names its block.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that does not read as it should fails its test"
)]

use std::net::IpAddr;

use hookproof_core::endpoint::address::classify;
use serde_json::Value;

#[test]
fn every_address_gets_its_strict_verdict_and_block() {
    let file: Value = serde_json::from_str(include_str!("data/ip_addresses.json")).unwrap();
    let (mut public, mut blocked) = (0, 0);
    for case in file["addresses"].as_array().unwrap() {
        let text = case["ip"].as_str().unwrap();
        let address: IpAddr = text.parse().unwrap();
        match (case["strict_verdict"].as_str().unwrap(), classify(address)) {
            ("public", Ok(())) => public += 1,
            ("blocked", Err(why)) => {
                let family = if address.is_ipv4() { "ipv4" } else { "ipv6" };
                let expected = format!("{family}_{}", case["reason"].as_str().unwrap());
                assert_eq!(why.code(), expected, "{text}");
                blocked += 1;
            }
            (verdict, got) => panic!("{text} is {verdict}, got {got:?}"),
        }
    }
    assert_eq!((public, blocked), (48, 165));
}
