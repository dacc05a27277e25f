//! Other people's published signatures under the compatibility profiles: each is verified or refused as its
//! vector says, and made again octet for octet.

#![allow(clippy::unwrap_used, reason = "a vector that does not read as it should fails its test")]

use hookproof_core::base64;
use hookproof_core::signature::MacKey;
use hookproof_core::signature::compat::{
    Fault, KeyFault, StandardHeaders, standard_v1, standard_v1a, timestamped,
};
use serde_json::Value;

const STANDARD: &str = include_str!("data/standard_webhooks.json");
const SVIX: &str = include_str!("data/svix.json");
const STRIPE: &str = include_str!("data/stripe.json");

fn read(file: &str) -> Value {
    serde_json::from_str(file).unwrap()
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

fn list<'v>(file: &'v Value, field: &str) -> &'v [Value] {
    file[field].as_array().unwrap()
}

fn standard(case: &Value) -> StandardHeaders {
    let field = |name| text(case, name).to_owned();
    StandardHeaders { id: field("id"), timestamp: field("timestamp"), signature: field("signature") }
}

fn signed_at(case: &Value) -> i64 {
    text(case, "timestamp").parse().unwrap()
}

/// Verifies under whichever profile the case's keys are for.
fn verify(case: &Value, now: i64) -> Result<(), Fault> {
    let (headers, body) = (standard(case), text(case, "body_utf8").as_bytes());
    let verified = match case["public"].as_str() {
        Some(public) => {
            standard_v1a::verify(&[standard_v1a::read_public(public).unwrap()], &headers, body, now)
        }
        None => {
            let secret = standard_v1::read_secret(text(case, "secret")).unwrap();
            standard_v1::verify(&[secret], &headers, body, now)
        }
    };
    verified.map(|verified| assert_eq!(verified.id().unwrap().as_str(), headers.id))
}

#[test]
fn standard_webhooks_signatures_verify_and_are_made_again() {
    let file = read(STANDARD);
    for case in list(&file, "vectors").iter().chain(list(&read(SVIX), "vectors")) {
        let name = text(case, "name");
        assert_eq!(verify(case, signed_at(case)), Ok(()), "{name}");
        let (id, body) = (text(case, "id").parse().unwrap(), text(case, "body_utf8").as_bytes());
        let made = match case["public"].as_str() {
            Some(_) => {
                let pair = standard_v1a::read_private(text(case, "secret")).unwrap();
                standard_v1a::sign(&[pair], &id, signed_at(case), body)
            }
            None => {
                let key = standard_v1::read_secret(text(case, "secret")).unwrap();
                standard_v1::sign(&[key], &id, signed_at(case), body)
            }
        };
        assert_eq!(made, Ok(standard(case)), "{name}");
    }
    assert_eq!(list(&file, "vectors").len(), 4);
}

#[test]
fn standard_webhooks_headers_are_judged_as_published() {
    let file = read(STANDARD);
    let (mut valid, mut refused) = (0, 0);
    for case in list(&file, "header_cases") {
        let got = verify(case, 1_614_265_330);
        if text(case, "expect") == "valid" {
            assert_eq!(got, Ok(()), "{}", text(case, "name"));
            valid += 1;
        } else {
            // Where the vectors leave it to policy, ours is the strict one.
            assert!(got.is_err(), "{}", text(case, "name"));
            refused += 1;
        }
    }
    assert_eq!((valid, refused), (4, 25));
}

#[test]
fn the_window_is_svixs() {
    let file = read(SVIX);
    let case = &list(&file, "vectors")[0];
    for window in list(&file, "window_cases") {
        let got = verify(case, signed_at(case) + window["now_minus_ts"].as_i64().unwrap());
        assert_eq!(got.is_ok(), text(window, "expect") == "fresh", "{window}");
    }
}

#[test]
fn standard_webhooks_secrets_are_read_as_published() {
    let file = read(STANDARD);
    for case in list(&file, "secret_cases") {
        let (name, secret) = (text(case, "name"), text(case, "secret"));
        if text(case, "expect") == "ok" {
            let hex = text(case, "key_hex").as_bytes();
            let octets: Vec<u8> = hex
                .chunks(2)
                .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
                .collect();
            let key = standard_v1::read_secret(secret).unwrap();
            assert_eq!(key.tag(b"x"), MacKey::imported(&octets).unwrap().tag(b"x"), "{name}");
        } else {
            assert!(standard_v1::read_secret(secret).is_err(), "{name}");
            assert!(standard_v1a::read_private(secret).is_err(), "{name}");
        }
    }
    let code = |secret: &str| standard_v1::read_secret(secret).map(|_| ()).map_err(KeyFault::code);
    assert_eq!(code("whsec_"), Err("key.length"));
    assert_eq!(code("whsec_%"), Err("key.base64"));
    assert_eq!(code("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="), Err("key.prefix"));
}

/// Stripe's field has the form of ours, under another name: its vectors are the nearest to a second opinion.
#[test]
fn the_timestamped_profile_agrees_with_stripe_but_for_blanks() {
    let file = read(STRIPE);
    let body = base64::from_standard(text(&file, "body_b64")).unwrap();
    let key = || MacKey::imported(text(&file, "secret").as_bytes()).unwrap();
    let mut counts = [0; 3];
    for case in list(&file, "vectors").iter().chain(list(&file, "header_cases")) {
        let (name, header) = (text(case, "name"), text(case, "header"));
        let now = case["now"].as_i64().unwrap_or(1_533_204_620);
        let got = timestamped::verify(&[key()], header, &body, now).map(|_| ()).map_err(Fault::code);
        // A sender of ours writes no blank, and a platform that joined two fields does.
        if header.contains(' ') {
            assert_eq!(got, Err("field.malformed"), "{name}");
            continue;
        }
        let kind = match text(case, "expect") {
            "valid" => got.is_ok(),
            "stale" => matches!(got, Err("timestamp.too_old" | "timestamp.too_new")),
            _ => matches!(
                got,
                Err("field.malformed" | "timestamp.malformed" | "signature.missing" | "signature.wrong")
            ),
        };
        assert!(kind, "{name}: {got:?}");
        counts[usize::from(got.is_err()) + usize::from(text(case, "expect") == "stale")] += 1;
    }
    assert_eq!(counts, [8, 24, 2]);
    let made = timestamped::sign(&[key()], 1_533_204_620, &body).unwrap();
    assert_eq!(made, text(&list(&file, "header_cases")[0], "header"));
}
