//! A delivery profile under attack: each request is taken or refused as the case says.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that does not read as it should fails its test"
)]

use base64ct::{Base64, Encoding};
use hookproof_core::Reason;
use hookproof_core::signature::{Authentic, Fields, MacKey, Message, Profile, VerifyKey, select};
use serde_json::Value;

const DATA: &str = include_str!("data/profile_negative.json");

fn verify_key(json: &Value) -> VerifyKey {
    match json["alg"].as_str().unwrap() {
        "ed25519" => {
            let x = hookproof_core::base64::from_url(json["x"].as_str().unwrap()).unwrap();
            VerifyKey::ed25519(&x).unwrap()
        }
        "hmac-sha256" => {
            let octets = Base64::decode_vec(json["secret_b64"].as_str().unwrap()).unwrap();
            VerifyKey::Hmac(MacKey::imported(&octets).unwrap())
        }
        other => panic!("no such algorithm: {other}"),
    }
}

fn run(profile: &Profile<'_>, keys: &Value, case: &Value, joined: bool) -> Result<Authentic, Reason> {
    let request = &case["request"];
    let text = |name: &str| request[name].as_str().unwrap();
    let mut lines: Vec<(String, String)> = Vec::new();
    for line in request["headers"].as_array().unwrap() {
        let (name, value) = (line[0].as_str().unwrap(), line[1].as_str().unwrap());
        // An edge runtime hands out repeated fields joined into one value.
        match lines.iter_mut().find(|(earlier, _)| joined && earlier.eq_ignore_ascii_case(name)) {
            Some((_, earlier)) => *earlier = format!("{earlier}, {value}"),
            None => lines.push((name.to_owned(), value.to_owned())),
        }
    }
    let fields: Fields = lines.iter().map(|(name, value)| (name, value)).collect();
    let message = Message::request(text("method"), text("target_uri"), &fields)
        .with_request_target(text("request_target"));
    let candidate = select(profile, &message)?;
    let key = keys.get(candidate.keyid()).ok_or(Reason::KeyUnknown)?;
    if !matches!(key["state"].as_str().unwrap(), "ACTIVE" | "VERIFY_ONLY") {
        return Err(Reason::KeyNotUsable);
    }
    let body = Base64::decode_vec(text("body_b64")).unwrap();
    candidate.verify(&verify_key(key), &body, case["now"].as_i64().unwrap())
}

fn expected(reason: &str) -> &'static [Reason] {
    match reason {
        "signature_invalid" => &[Reason::SignatureWrong, Reason::SignatureCoverage],
        "content_digest_mismatch" | "no_acceptable_digest" | "malformed_digest" => &[Reason::DigestMismatch],
        "required_component_missing"
        | "duplicate_component"
        | "signature_params_in_components"
        | "parameter_missing"
        | "unknown_parameter"
        | "component_not_found" => &[Reason::SignatureCoverage],
        "field_not_single" => &[Reason::SignatureCoverage, Reason::SignatureMalformed],
        "expired" | "created_in_future" => &[Reason::TimestampOutsideWindow],
        // Not all of these were signed with their odd times, and the signature is judged before the time.
        "window_invalid" => &[Reason::TimestampOutsideWindow, Reason::SignatureWrong],
        "unknown_key" => &[Reason::KeyUnknown],
        "key_revoked" | "key_not_active" => &[Reason::KeyNotUsable],
        "algorithm_mismatch" => &[Reason::KeyNotUsable, Reason::SignatureMalformed],
        "forbidden_character"
        | "non_ascii"
        | "parameter_type"
        | "signature_length"
        | "malformed_signature_field"
        | "malformed_signature_input"
        | "label_mismatch"
        | "duplicate_label"
        | "ambiguous_signature"
        | "no_signature_for_profile"
        | "signature_input_missing"
        | "signature_missing" => &[Reason::SignatureMalformed],
        other => panic!("no such reason: {other}"),
    }
}

#[test]
fn every_request_is_taken_or_refused_as_stated() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let profile = &data["profile"];
    let components: Vec<&str> = profile["required_components"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    let profile = Profile {
        tag: profile["tag"].as_str().unwrap(),
        label: "sig1",
        components: &components,
        nonce_allowed: profile["allowed_parameters"].as_array().unwrap().iter().any(|name| name == "nonce"),
        max_window: profile["max_window_s"].as_i64().unwrap(),
        skew: profile["skew_s"].as_i64().unwrap(),
    };
    for joined in [false, true] {
        let (mut taken, mut refused) = (0, 0);
        for case in data["cases"].as_array().unwrap() {
            let name = case["name"].as_str().unwrap();
            match run(&profile, &data["keys"], case, joined) {
                Ok(authentic) => {
                    assert_eq!(case["expect"], "valid", "{name}");
                    assert_eq!(authentic.tag(), profile.tag);
                    assert_eq!(authentic.covered("webhook-id"), Some("evt_01J9ZZ"));
                    taken += 1;
                }
                Err(reason) => {
                    assert_eq!(case["expect"], "invalid", "{name}: {reason}");
                    let reasons = expected(case["reason"].as_str().unwrap());
                    assert!(reasons.contains(&reason), "{name}: {reason}");
                    refused += 1;
                }
            }
        }
        assert_eq!((taken, refused), (6, 72));
    }
}
