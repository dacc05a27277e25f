use super::*;
use crate::signature::{Fields, SigningKey};

const NOW: i64 = 1_700_000_000;
const BODY: &[u8] = br#"{"id":"evt_1"}"#;

fn mac(octet: u8) -> MacKey {
    MacKey::imported(&[octet; 32]).unwrap()
}

fn pair(octet: u8) -> SigningKey {
    SigningKey::ed25519(&crate::secret::Secret::new([octet; 32]))
}

fn public(octet: u8) -> crate::signature::key::Ed25519Public {
    crate::signature::key::Ed25519Public::new(&pair(octet).public().unwrap()).unwrap()
}

fn id() -> EventId {
    "evt_1".parse().unwrap()
}

fn headers(id: &str, timestamp: &str, signature: &str) -> StandardHeaders {
    StandardHeaders { id: id.into(), timestamp: timestamp.into(), signature: signature.into() }
}

#[test]
fn what_is_signed_verifies_under_the_same_profile_and_key_only() {
    let v1 = standard_v1::sign(&[mac(1)], &id(), NOW, BODY).unwrap();
    let verified = standard_v1::verify(&[mac(2), mac(1)], &v1, BODY, NOW).unwrap();
    assert_eq!((verified.id(), verified.timestamp(), verified.key()), (Some(&id()), NOW, 1));
    let wrong = Fault::SignatureWrong { version: "v1", keys: 1 };
    assert_eq!(standard_v1::verify(&[mac(2)], &v1, BODY, NOW).unwrap_err(), wrong);
    assert_eq!(standard_v1::verify(&[mac(1)], &v1, b"{\"id\": \"evt_1\"}", NOW).unwrap_err(), wrong);

    let v1a = standard_v1a::sign(&[pair(1)], &id(), NOW, BODY).unwrap();
    assert_eq!(standard_v1a::verify(&[public(2), public(1)], &v1a, BODY, NOW).unwrap().key(), 1);
    let wrong = Fault::SignatureWrong { version: "v1a", keys: 1 };
    assert_eq!(standard_v1a::verify(&[public(2)], &v1a, BODY, NOW).unwrap_err(), wrong);
    assert_eq!(standard_v1::verify(&[mac(1)], &v1a, BODY, NOW).unwrap_err(), Fault::SignatureMissing("v1"));

    let hex = timestamped::sign(&[mac(1)], NOW, BODY).unwrap();
    let verified = timestamped::verify(&[mac(2), mac(1)], &hex, BODY, NOW).unwrap();
    assert_eq!((verified.id(), verified.timestamp(), verified.key()), (None, NOW, 1));
    let wrong = Fault::SignatureWrong { version: "v1", keys: 1 };
    assert_eq!(timestamped::verify(&[mac(1)], &hex, b"{}", NOW).unwrap_err(), wrong);
}

#[test]
fn during_a_rotation_either_key_verifies() {
    let v1 = standard_v1::sign(&[mac(1), mac(2)], &id(), NOW, BODY).unwrap();
    let v1a = standard_v1a::sign(&[pair(1), pair(2)], &id(), NOW, BODY).unwrap();
    let hex = timestamped::sign(&[mac(1), mac(2)], NOW, BODY).unwrap();
    for octet in [1, 2] {
        assert!(standard_v1::verify(&[mac(octet)], &v1, BODY, NOW).is_ok());
        assert!(standard_v1a::verify(&[public(octet)], &v1a, BODY, NOW).is_ok());
        assert!(timestamped::verify(&[mac(octet)], &hex, BODY, NOW).is_ok());
    }
    let both = headers(&v1.id, &v1.timestamp, &format!("{} {}", v1a.signature, v1.signature));
    assert!(standard_v1::verify(&[mac(2)], &both, BODY, NOW).is_ok());
    assert!(standard_v1a::verify(&[public(2)], &both, BODY, NOW).is_ok());
}

#[test]
fn the_window_is_300_seconds_either_way_and_judged_after_the_signature() {
    let v1 = standard_v1::sign(&[mac(1)], &id(), NOW, BODY).unwrap();
    let v1a = standard_v1a::sign(&[pair(1)], &id(), NOW, BODY).unwrap();
    let hex = timestamped::sign(&[mac(1)], NOW, BODY).unwrap();
    let judge = |now| {
        [
            standard_v1::verify(&[mac(1)], &v1, BODY, now).err(),
            standard_v1a::verify(&[public(1)], &v1a, BODY, now).err(),
            timestamped::verify(&[mac(1)], &hex, BODY, now).err(),
        ]
    };
    assert_eq!(judge(NOW + 300), [None; 3]);
    assert_eq!(judge(NOW - 300), [None; 3]);
    assert_eq!(judge(NOW + 301), [Some(Fault::TooOld { seconds: 301 }); 3]);
    assert_eq!(judge(NOW - 301), [Some(Fault::TooNew { seconds: 301 }); 3]);
    assert_eq!(judge(i64::MAX), [Some(Fault::TooOld { seconds: i64::MAX - NOW }); 3]);
    let late = standard_v1::verify(&[mac(2)], &v1, BODY, NOW + 999).unwrap_err();
    assert_eq!(late.code(), "signature.wrong");
    assert_eq!(Fault::TooOld { seconds: 412 }.to_string(), "timestamp 412 s old; at most 300 s are taken");
}

#[test]
fn an_id_that_could_hide_a_time_is_refused_by_both_sides() {
    let key = mac(1);
    for bad in ["a.1700000000", "1700000000", "", "a b", &"x".repeat(129)] {
        assert!(bad.parse::<EventId>().is_err(), "{bad}");
        let signed = format!("{bad}.{NOW}.");
        let tag = crate::base64::standard(&key.tag_parts(&[signed.as_bytes(), BODY]));
        let made = headers(bad, &NOW.to_string(), &format!("v1,{tag}"));
        assert_eq!(standard_v1::verify(&[mac(1)], &made, BODY, NOW).unwrap_err(), Fault::IdRefused, "{bad}");
    }
}

#[test]
fn a_capture_of_one_profile_with_its_dots_shifted_is_refused_by_the_others() {
    // A body that reads as time and rest: captured from the profile without an id, whose text begins
    // with digits and a dot too.
    let body = format!("{NOW}.{{}}");
    let hex = timestamped::sign(&[mac(1)], NOW, body.as_bytes()).unwrap();
    let tag = hex.split_once("v1=").unwrap().1;
    let octets: Vec<u8> =
        (0..64).step_by(2).map(|at| u8::from_str_radix(&tag[at..at + 2], 16).unwrap()).collect();
    let signature = format!("v1,{}", crate::base64::standard(&octets));
    let shifted = headers(&NOW.to_string(), &NOW.to_string(), &signature);
    assert_eq!(standard_v1::verify(&[mac(1)], &shifted, b"{}", NOW).unwrap_err(), Fault::IdRefused);

    // And back: an id is no time.
    let v1 = standard_v1::sign(&[mac(1)], &id(), NOW, b"{}").unwrap();
    let octets = crate::base64::from_standard(v1.signature.strip_prefix("v1,").unwrap()).unwrap();
    let tag: String = octets.iter().map(|octet| format!("{octet:02x}")).collect();
    let shifted = format!("t=evt_1,v1={tag}");
    assert_eq!(
        timestamped::verify(&[mac(1)], &shifted, body.as_bytes(), NOW).unwrap_err(),
        Fault::TimestampMalformed
    );

    // Within one profile the dot cannot move either.
    let moved = headers("evt_1", "17", &v1.signature);
    assert_eq!(
        standard_v1::verify(&[mac(1)], &moved, b"00000000.{}", 17).unwrap_err().code(),
        "signature.wrong"
    );
}

#[test]
fn the_timestamped_field_has_one_form() {
    let good = timestamped::sign(&[mac(1)], NOW, BODY).unwrap();
    let tag = good.split_once("v1=").unwrap().1;
    let verify =
        |value: &str| timestamped::verify(&[mac(1)], value, BODY, NOW).map(|_| ()).map_err(Fault::code);
    assert_eq!(verify(&good), Ok(()));
    assert_eq!(verify(&format!("t={NOW},v0=00,v1={},v1={tag}", "0".repeat(64))), Ok(()));
    for (value, code) in [
        (format!("t={NOW},t={NOW},v1={tag}"), "field.malformed"),
        (format!("t={NOW}, v1={tag}"), "field.malformed"),
        (format!("{good}, {good}"), "field.malformed"),
        (format!("v1={tag}"), "timestamp.malformed"),
        (format!("t=+{NOW},v1={tag}"), "timestamp.malformed"),
        (format!("t=0{NOW},v1={tag}"), "timestamp.malformed"),
        (format!("t={NOW}.0,v1={tag}"), "timestamp.malformed"),
        (format!("t={NOW}000,v1={tag}"), "signature.wrong"),
        (format!("t={NOW}"), "signature.missing"),
        (format!("t={NOW},v1="), "signature.missing"),
        (format!("t={NOW},v0={tag}"), "signature.missing"),
        (format!("t={NOW},v1={}", &tag[..62]), "signature.missing"),
        (format!("t={NOW},v1={}", tag.to_uppercase()), "signature.missing"),
        (format!("t={NOW}{}", format!(",v1={tag}").repeat(17)), "signature.too_many"),
        (String::new(), "field.malformed"),
    ] {
        assert_eq!(verify(&value), Err(code), "{value}");
    }
}

#[test]
fn fields_are_taken_once_and_uncoded() {
    let v1 = standard_v1::sign(&[mac(1)], &id(), NOW, BODY).unwrap();
    let fields: Fields = v1.fields().into_iter().collect();
    assert_eq!(StandardHeaders::read(&fields), Ok(v1.clone()));
    let mut twice = fields.clone();
    twice.push("Webhook-Signature", &v1.signature);
    assert_eq!(StandardHeaders::read(&twice), Err(Fault::FieldRepeated("webhook-signature")));
    let joined = headers(&v1.id, &v1.timestamp, &format!("{0}, {0}", v1.signature));
    let refused = standard_v1::verify(&[mac(1)], &joined, BODY, NOW).unwrap_err();
    assert_eq!(refused, Fault::FieldRepeated("webhook-signature"), "as a platform joins two lines");
    let mut coded = fields.clone();
    coded.push("content-encoding", "gzip");
    assert_eq!(StandardHeaders::read(&coded), Err(Fault::ContentCoded));
    assert_eq!(timestamped::read(&fields), Err(Fault::FieldMissing("x-webhook-signature")));
}

#[test]
fn neither_side_works_without_a_key_or_with_one_of_another_kind() {
    let unsuitable = Fault::KeyUnsuitable;
    assert_eq!(standard_v1::sign(&[], &id(), NOW, BODY), Err(unsuitable));
    assert_eq!(standard_v1a::sign(&[SigningKey::Hmac(mac(1))], &id(), NOW, BODY), Err(unsuitable));
    assert_eq!(timestamped::sign(&[], NOW, BODY), Err(unsuitable));
    let empty = headers("evt_1", "1", "v1,");
    assert_eq!(standard_v1::verify(&[], &empty, BODY, NOW).unwrap_err(), unsuitable);
    assert_eq!(standard_v1a::verify(&[], &empty, BODY, NOW).unwrap_err(), unsuitable);
    assert_eq!(timestamped::verify(&[], "t=1,v1=", BODY, NOW).unwrap_err(), unsuitable);
}

#[test]
fn a_secret_is_shown_and_read_in_one_spelling() {
    let secret = crate::secret::Secret::new([7; 32]);
    let shown = standard_v1::show_once(&secret);
    let signed = standard_v1::sign(&[secret.into()], &id(), NOW, BODY).unwrap();
    let read = standard_v1::read_secret(&shown).unwrap();
    assert!(standard_v1::verify(&[read], &signed, BODY, NOW).is_ok());
    assert_eq!(standard_v1a::read_public(&standard_v1a::show(&public(1))), Ok(public(1)));
}

#[test]
fn nothing_that_could_be_sent_again_is_printed() {
    let v1 = standard_v1::sign(&[mac(1)], &id(), NOW, BODY).unwrap();
    assert_eq!(format!("{v1:?}"), "StandardHeaders(id evt_1, at 1700000000, redacted)");
    let verified = standard_v1::verify(&[mac(1)], &v1, BODY, NOW).unwrap();
    assert_eq!(format!("{verified:?}"), "Verified(id evt_1, at 1700000000, key 0)");
}

#[test]
fn no_single_bit_can_change() {
    let v1 = standard_v1::sign(&[mac(1)], &id(), NOW, BODY).unwrap();
    let v1a = standard_v1a::sign(&[pair(1)], &id(), NOW, BODY).unwrap();
    let hex = timestamped::sign(&[mac(1)], NOW, BODY).unwrap();
    let flips = |octets: &[u8]| -> Vec<Vec<u8>> {
        let flip = |at: usize| {
            let mut bent = octets.to_vec();
            bent[at / 8] ^= 1 << (at % 8);
            bent
        };
        (0..octets.len() * 8).map(flip).collect()
    };
    let mut tried = 0;
    for body in flips(BODY) {
        assert!(standard_v1::verify(&[mac(1)], &v1, &body, NOW).is_err());
        assert!(standard_v1a::verify(&[public(1)], &v1a, &body, NOW).is_err());
        assert!(timestamped::verify(&[mac(1)], &hex, &body, NOW).is_err());
        tried += 1;
    }
    for value in flips(hex.as_bytes()).into_iter().filter_map(|octets| String::from_utf8(octets).ok()) {
        assert!(timestamped::verify(&[mac(1)], &value, BODY, NOW).is_err(), "{value}");
        tried += 1;
    }
    for field in 0..3 {
        for (good, octet) in [(&v1, 0), (&v1a, 1)] {
            let parts = [&good.id, &good.timestamp, &good.signature];
            for bent in flips(parts[field].as_bytes()).into_iter().filter_map(|it| String::from_utf8(it).ok())
            {
                let mut parts = parts.map(String::clone);
                parts[field] = bent;
                let [id, timestamp, signature] = parts;
                let bent = StandardHeaders { id, timestamp, signature };
                let refused = match octet {
                    0 => standard_v1::verify(&[mac(1)], &bent, BODY, NOW).is_err(),
                    _ => standard_v1a::verify(&[public(1)], &bent, BODY, NOW).is_err(),
                };
                assert!(refused, "{bent:?}");
                tried += 1;
            }
        }
    }
    assert!(tried > 1500, "{tried}");
}
