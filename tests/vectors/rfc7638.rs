//! Thumbprints and JWKs: one name per key, and a key that is no key has none (RFC 7638, RFC 8037).

#![allow(clippy::unwrap_used, reason = "a vector that does not read as it should fails its test")]

use base64ct::{Base64UrlUnpadded, Encoding};
use hookproof_core::secret::Secret;
use hookproof_core::signature::thumbprint::{from_jwk, jwk};
use hookproof_core::signature::{SigningKey, VerifyKey, is_published_test_key};
use serde_json::Value;

const DATA: &str = include_str!("data/rfc7638.json");

fn data() -> Value {
    serde_json::from_str(DATA).unwrap()
}

#[test]
fn thumbprints_of_ed25519_keys() {
    let data = data();
    let (mut ours, mut others) = (0, 0);
    for case in data["thumbprints"].as_array().unwrap() {
        let published = case["thumbprint"].as_str().unwrap();
        if case["jwk"]["kty"] != "OKP" {
            assert!(from_jwk(&case["jwk"]).is_err(), "{}", case["name"]);
            others += 1;
            continue;
        }
        let key = from_jwk(&case["jwk"]).unwrap();
        assert_eq!(key.thumbprint(), published, "{}", case["name"]);
        assert!(is_published_test_key(published));
        if let Some(hex) = case["canonical_hex"].as_str() {
            let text: String = jwk(key.as_bytes()).bytes().map(|c| format!("{c:02x}")).collect();
            assert_eq!(text, hex);
        }
        ours += 1;
    }
    assert_eq!((ours, others), (2, 3));
}

#[test]
fn rfc_8037_signature_is_remade_octet_for_octet() {
    let example = &data()["rfc8037"];
    let seed = Secret::from_base64url(example["jwk_private"]["d"].as_str().unwrap()).unwrap();
    let key = SigningKey::ed25519(&seed);
    let jws = &example["jws"];
    let input = jws["signing_input"].as_str().unwrap().as_bytes();
    let signature = Base64UrlUnpadded::decode_vec(jws["signature_b64url"].as_str().unwrap()).unwrap();
    assert_eq!(key.sign(input), signature);
    assert!(key.verify_key().verify(input, &signature));
    assert!(VerifyKey::Ed25519(from_jwk(&example["jwk_private"]).unwrap()).verify(input, &signature));
}

#[test]
fn invalid_keys_are_refused() {
    let data = data();
    let invalid = data["invalid_keys"].as_array().unwrap();
    for case in invalid {
        assert!(from_jwk(&case["jwk"]).is_err(), "{}", case["name"]);
    }
    assert_eq!(invalid.len(), 8);
}
