//! Ed25519 at its edges: the verifier is strict where implementations differ (Wycheproof, CCTV).

#![allow(clippy::unwrap_used, reason = "a vector that does not read as it should fails its test")]

use hookproof_core::Reason;
use hookproof_core::secret::Secret;
use hookproof_core::signature::{SigningKey, VerifyKey};
use serde_json::Value;

const DATA: &str = include_str!("data/ed25519_edge.json");

fn unhex(value: &Value) -> Vec<u8> {
    let digits: Vec<u8> =
        value.as_str().unwrap().chars().map(|c| u8::try_from(c.to_digit(16).unwrap()).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] * 16 + pair[1]).collect()
}

#[test]
fn every_vector_is_judged_strictly() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let (mut taken, mut refused, mut weak) = (0, 0, 0);
    for vector in data["vectors"].as_array().unwrap() {
        let id = &vector["id"];
        let got = match VerifyKey::ed25519(&unhex(&vector["pk"])) {
            Ok(key) => key.verify(&unhex(&vector["msg_hex"]), &unhex(&vector["sig"])),
            Err(reason) => {
                assert_eq!(reason, Reason::KeyWeak);
                weak += 1;
                false
            }
        };
        assert_eq!(got, vector["expect_strict"].as_bool().unwrap(), "{id}");
        if got { taken += 1 } else { refused += 1 }
    }
    assert_eq!((taken, refused), (61, 121));
    assert!(weak > 0);
}

#[test]
fn keys_of_small_order_or_with_a_second_spelling_are_refused_when_read() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let mut seen = 0;
    for vector in data["vectors"].as_array().unwrap() {
        let flags = vector["flags"].as_array().unwrap();
        if flags.iter().any(|flag| flag == "low_order_A" || flag == "non_canonical_A") {
            assert_eq!(VerifyKey::ed25519(&unhex(&vector["pk"])).unwrap_err(), Reason::KeyWeak);
            seen += 1;
        }
    }
    assert_eq!(seen, 56);
    // Every y from p up to 2^255 - 1: some of these points are of large order, only the spelling is wrong.
    for y in 0xed..=0xff_u8 {
        let mut octets = [0xff; 32];
        (octets[0], octets[31]) = (y, 0x7f);
        assert_eq!(VerifyKey::ed25519(&octets).unwrap_err(), Reason::KeyWeak, "{y:x}");
    }
}

#[test]
fn only_whole_signatures_are_compared() {
    let key = SigningKey::ed25519(&Secret::new([1; 32]));
    let mut signature = key.sign(b"x");
    assert!(key.verify_key().verify(b"x", &signature));
    assert!(!key.verify_key().verify(b"x", &signature[..63]));
    signature.push(0);
    assert!(!key.verify_key().verify(b"x", &signature));
    assert!(!key.verify_key().verify(b"x", b""));
}
