//! Content digests: RFC 9530's examples verify, and nothing next to them does.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that does not read as it should fails its test"
)]

use base64ct::{Base64, Encoding};
use hookproof_core::Reason;
use hookproof_core::signature::content_digest::{DigestFault, verify};
use serde_json::Value;

const DATA: &str = include_str!("data/rfc9530.json");

fn expected(case: &Value) -> Result<(), DigestFault> {
    // RFC 8941 would let the last of two equal keys decide; this parser refuses to choose.
    if case["name"].as_str().unwrap().starts_with("duplicate key") {
        return Err(DigestFault::Repeated);
    }
    match case["expect"].as_str().unwrap() {
        "valid" => Ok(()),
        "invalid" => Err(DigestFault::Mismatch),
        "malformed" => Err(DigestFault::Malformed),
        "no_acceptable_algorithm" => Err(DigestFault::NoAcceptableAlgorithm),
        other => panic!("no such outcome: {other}"),
    }
}

#[test]
fn every_example_has_its_outcome() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let mut counts = [0; 2];
    for case in data["cases"].as_array().unwrap() {
        let content = Base64::decode_vec(case["content_b64"].as_str().unwrap()).unwrap();
        assert_eq!(content.len() as u64, case["content_len"].as_u64().unwrap());
        let got = verify(case["field_value"].as_str().unwrap(), &content);
        assert_eq!(got, expected(case), "{}", case["name"]);
        counts[usize::from(got.is_err())] += 1;
    }
    assert_eq!(counts, [15, 20], "taken and refused");
}

#[test]
fn legacy_algorithms_never_vouch_alone() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let samples = data["legacy_samples"].as_array().unwrap();
    for sample in samples {
        let content = Base64::decode_vec(sample["content_b64"].as_str().unwrap()).unwrap();
        let (name, digest) =
            (sample["algorithm"].as_str().unwrap(), sample["field_bytes_b64"].as_str().unwrap());
        let value = format!("{name}=:{digest}:");
        assert_eq!(verify(&value, &content), Err(DigestFault::NoAcceptableAlgorithm), "{name}");
    }
    assert_eq!(samples.len(), 6);
}

#[test]
fn outside_every_fault_is_one_reason() {
    for fault in [
        DigestFault::Malformed,
        DigestFault::Repeated,
        DigestFault::NoAcceptableAlgorithm,
        DigestFault::Mismatch,
    ] {
        assert_eq!(Reason::from(fault), Reason::DigestMismatch);
    }
}
