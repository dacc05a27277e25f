//! HMAC-SHA256: RFC 4231's tags are made, and altered or shortened ones never pass (Wycheproof).

#![allow(clippy::unwrap_used, reason = "a vector that does not read as it should fails its test")]

use hookproof_core::signature::{MacKey, VerifyKey};
use serde_json::Value;

const DATA: &str = include_str!("data/hmac_sha256.json");

fn unhex(value: &Value) -> Vec<u8> {
    let digits: Vec<u8> =
        value.as_str().unwrap().chars().map(|c| u8::try_from(c.to_digit(16).unwrap()).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

fn key(case: &Value) -> MacKey {
    MacKey::imported(&unhex(&case["key_hex"])).unwrap()
}

#[test]
fn rfc_4231_tags_are_made_and_verify() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let cases = data["rfc4231"].as_array().unwrap();
    for case in cases {
        let (key, message, tag) = (key(case), unhex(&case["msg_hex"]), unhex(&case["tag_hex"]));
        assert_eq!(key.tag(&message).as_slice(), tag, "{}", case["case"]);
        let (head, tail) = message.split_at(message.len() / 2);
        assert_eq!(key.tag_parts(&[head, tail]).as_slice(), tag, "{}", case["case"]);
        assert!(VerifyKey::Hmac(key).verify(&message, &tag), "{}", case["case"]);
    }
    assert_eq!(cases.len(), 6);
}

#[test]
fn altered_and_shortened_tags_are_refused() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let cases = data["modified_tags"].as_array().unwrap();
    for case in cases {
        assert!(!key(case).verify(&unhex(&case["msg_hex"]), &unhex(&case["tag_hex"])), "{}", case["comment"]);
    }
    assert_eq!(cases.len(), 14);
    let short = &data["rfc4231_case5_truncated_128"];
    let (message, tag) = (unhex(&short["msg_hex"]), unhex(&short["tag128_hex"]));
    assert_eq!(key(short).tag(&message)[..16], tag);
    assert!(!key(short).verify(&message, &tag));
    assert!(MacKey::imported(b"").is_err());
}
