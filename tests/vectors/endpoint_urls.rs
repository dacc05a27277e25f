//! Every URL of `endpoint_urls.json` gets its verdict, its code and its one normalised spelling.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

use hookproof_core::endpoint::{AddressRefusal, EndpointPolicy, EndpointRefusal, EndpointUrl};
use serde_json::Value;

fn cases() -> Vec<Value> {
    let mut file: Value = serde_json::from_str(include_str!("data/endpoint_urls.json")).unwrap();
    serde_json::from_value(file["cases"].take()).unwrap()
}

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

fn has_tag(case: &Value, tag: &str) -> bool {
    case["tags"].as_array().unwrap().iter().any(|found| found == tag)
}

fn policy(case: &Value) -> EndpointPolicy {
    let ports = case["allowed_ports"].as_array();
    let allow_8443 = ports.is_some_and(|ports| ports.iter().any(|port| port == 8443));
    EndpointPolicy { allow_8443, ..EndpointPolicy::default() }
}

/// The strict profile refuses these with the block's own code, which the vectors leave open.
const IANA_EXCEPTIONS: [(&str, AddressRefusal); 6] = [
    ("https://192.0.0.9/", AddressRefusal::V4PcpAnycast),
    ("https://192.31.196.1/", AddressRefusal::V4As112),
    ("https://192.175.48.1/", AddressRefusal::V4DirectDelegationAs112),
    ("https://[2001:1::1]/", AddressRefusal::V6PcpAnycast),
    ("https://[2001:20::1]/", AddressRefusal::V6OrchidV2),
    ("https://[2620:4f:8000::1]/", AddressRefusal::V6DirectDelegationAs112),
];

#[test]
fn every_url_gets_its_verdict_code_and_spelling() {
    let (mut accepted, mut rejected, mut exceptions) = (0, 0, 0);
    for case in cases() {
        let (id, url) = (text(&case, "id"), text(&case, "url"));
        let got = EndpointUrl::parse(url, &policy(&case));
        if has_tag(&case, "iana_exception") {
            let (_, why) = IANA_EXCEPTIONS.iter().find(|(known, _)| *known == url).unwrap();
            assert_eq!(got, Err(EndpointRefusal::Address(*why)), "{id} {url}");
            exceptions += 1;
            continue;
        }
        match text(&case, "verdict") {
            "accept" => {
                assert_eq!(text(&case, "reason_code"), "ok", "{id}");
                let got = got.unwrap_or_else(|why| panic!("{id} {url}: {why}"));
                assert_eq!(got.as_str(), text(&case, "normalized"), "{id}");
                accepted += 1;
            }
            "reject" => {
                let code = got.map(|url| url.as_str().to_owned()).map_err(EndpointRefusal::code);
                assert_eq!(code, Err(text(&case, "reason_code")), "{id} {url}");
                rejected += 1;
            }
            verdict => panic!("{id}: unknown verdict {verdict}"),
        }
    }
    assert_eq!((accepted, rejected, exceptions), (79, 276, 6));
}

#[test]
fn an_accepted_spelling_is_a_fixed_point_and_can_be_stored() {
    let mut run = 0;
    for case in cases() {
        let policy = policy(&case);
        let Ok(url) = EndpointUrl::parse(text(&case, "url"), &policy) else { continue };
        assert_eq!(EndpointUrl::parse(url.as_str(), &policy).as_ref(), Ok(&url));
        assert_eq!(EndpointUrl::from_stored(url.as_str().to_owned()).as_ref(), Some(&url));
        let whole = format!("{}{}", url.origin(), url.path_and_query());
        assert_eq!(whole, url.as_str());
        assert!(policy.permit_unresolved(&url).is_ok());
        run += 1;
    }
    assert_eq!(run, 79);
}

#[test]
fn local_development_changes_no_verdict_but_for_three_hosts() {
    let mut opened = Vec::new();
    for case in cases() {
        let strict = policy(&case);
        let local = EndpointPolicy { danger_loopback_http: true, ..strict };
        let url = text(&case, "url");
        match (EndpointUrl::parse(url, &strict), EndpointUrl::parse(url, &local)) {
            (Err(_), Ok(now)) => opened.push(now.host().to_owned()),
            (Ok(before), now) => assert_eq!(now, Ok(before)),
            (Err(_), Err(_)) => {}
        }
    }
    assert!(!opened.is_empty());
    for host in opened {
        assert!(["localhost", "127.0.0.1", "[::1]"].contains(&host.as_str()), "{host}");
    }
}

#[test]
fn names_for_the_resolver_are_accepted_here_and_refused_once_resolved() {
    let mut run = 0;
    for case in cases().iter().filter(|case| has_tag(case, "dns_must_block")) {
        let policy = policy(case);
        let url = EndpointUrl::parse(text(case, "url"), &policy).unwrap();
        for answer in ["127.0.0.1", "169.254.169.254", "64:ff9b::a9fe:a9fe"] {
            let refused = policy.permit(&url, &[answer.parse().unwrap()]).unwrap_err();
            assert_eq!(refused.code(), "dns_private", "{answer}");
        }
        run += 1;
    }
    assert_eq!(run, 7);
}
