//! Structured fields: the parser agrees with the HTTP working group's cases (RFC 8941).

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that does not read as it should fails its test"
)]

use hookproof_core::signature::sfv;
use serde_json::Value;

const DATA: &str = include_str!("data/structured_fields.json");

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|line| line.as_str().unwrap()).collect()
}

/// Parses as `kind` and gives the canonical spelling back.
fn canonical(kind: &str, text: &str) -> Result<String, sfv::Malformed> {
    match kind {
        "item" => sfv::parse_item(text).map(|item| item.serialise()),
        "list" => sfv::parse_list(text).map(|members| sfv::serialise_list(&members)),
        "dictionary" => sfv::parse_dictionary(text).map(|dictionary| dictionary.serialise()),
        other => panic!("no such type: {other}"),
    }
}

#[test]
fn every_case_parses_or_fails_as_stated() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let (mut parsed, mut refused) = (0, 0);
    for case in data["cases"].as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let text = strings(&case["raw"]).join(", ");
        match canonical(case["type"].as_str().unwrap(), &text) {
            Ok(got) => {
                assert_ne!(case["must_fail"], true, "{name}: {text:?} was taken");
                assert_eq!(got, strings(&case["canonical"]).join(", "), "{name}");
                parsed += 1;
            }
            Err(_) => {
                assert!(
                    case["must_fail"] == true || case["can_fail"] == true,
                    "{name}: {text:?} was refused"
                );
                refused += 1;
            }
        }
    }
    assert_eq!((parsed, refused), (113, 83));
}

#[test]
fn canonical_text_is_a_fixed_point() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let mut seen = 0;
    for case in data["cases"].as_array().unwrap().iter().filter(|case| case["canonical"].is_array()) {
        let text = strings(&case["canonical"]).join(", ");
        assert_eq!(canonical(case["type"].as_str().unwrap(), &text), Ok(text), "{}", case["name"]);
        seen += 1;
    }
    assert_eq!(seen, 115);
}

#[test]
fn a_repeated_key_is_seen_and_its_text_kept() {
    let dictionary = sfv::parse_dictionary("a=1 ,  b=(x  y);q, a;z").unwrap();
    assert_eq!(dictionary.repeated(), Some("a"));
    let raw: Vec<_> = dictionary.entries().iter().map(|entry| entry.raw).collect();
    assert_eq!(raw, ["1", "(x  y);q", ";z"]);
    assert_eq!(dictionary.serialise(), "a;z, b=(x y);q");
    let item = sfv::parse_item("1;a=2;a=3").unwrap();
    assert!(item.params.has_repeats());
}

#[test]
fn sizes_are_bounded() {
    let list = |n: usize| vec!["a"; n].join(",");
    assert!(sfv::parse_list(&list(sfv::MAX_MEMBERS)).is_ok());
    assert!(sfv::parse_list(&list(sfv::MAX_MEMBERS + 1)).is_err());
    assert!(sfv::parse_item(&format!("a{}", ";p".repeat(sfv::MAX_PARAMS))).is_ok());
    assert!(sfv::parse_item(&format!("a{}", ";p".repeat(sfv::MAX_PARAMS + 1))).is_err());
    assert!(sfv::parse_inner_list(&format!("({})", "a ".repeat(sfv::MAX_MEMBERS + 1))).is_err());
    assert!(sfv::parse_item(&format!("\"{}\"", "x".repeat(sfv::MAX_LENGTH - 2))).is_ok());
    assert!(sfv::parse_item(&format!("\"{}\"", "x".repeat(sfv::MAX_LENGTH - 1))).is_err());
}

#[test]
fn arbitrary_text_never_panics() {
    // A fixed linear congruential sequence over the octets that steer the parser, and a few that do not.
    let alphabet: Vec<char> = "ab*09-.:;=?\"\\() ,\t/+\u{e9}\u{0}A".chars().collect();
    let mut state: u64 = 9421;
    let mut taken = 0;
    for _ in 0..200_000 {
        let mut text = String::new();
        loop {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let pick = usize::try_from(state >> 33).unwrap();
            if pick % 9 == 0 {
                break;
            }
            text.push(alphabet[pick / 9 % alphabet.len()]);
        }
        for kind in ["item", "list", "dictionary"] {
            if let Ok(canonical_text) = canonical(kind, &text) {
                assert_eq!(canonical(kind, &canonical_text), Ok(canonical_text), "{kind} {text:?}");
                taken += 1;
            }
        }
    }
    assert!(taken > 10_000, "{taken}");
}
