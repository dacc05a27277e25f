//! Code that is not ours verifies what we sign, and we verify what it signs.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

use std::time::{SystemTime, UNIX_EPOCH};

use hookproof_core::digest::Digest;
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Fields, Message, SigningKey, VerifyKey, profile, select, sign};
use hookproof_verify::compat::{Signer, Verifier};
use hookproof_verify::{Request, Timestamp};
use httpsig::prelude::message_component::{HttpMessageComponent, HttpMessageComponentId};
use httpsig::prelude::{
    AlgorithmName, HttpSignatureBase, HttpSignatureParams, PublicKey, SecretKey, SharedKey, VerifyingKey as _,
};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const BODY: &str = r#"{"id":"evt_1","amount": 99.00,"name":"Zoë"}"#;
const TARGET: &str = "https://hooks.customer.com/in?b=2&a=1";
const NOW: i64 = 1_796_119_323;

fn headers(lines: &[(&'static str, String)]) -> http::HeaderMap {
    lines.iter().map(|(name, value)| (http::HeaderName::from_static(name), value.parse().unwrap())).collect()
}

#[test]
fn standardwebhooks_verifies_what_we_sign() {
    // The other side reads the clock itself.
    #[expect(clippy::disallowed_methods, reason = "a test reads the clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = Timestamp::from_unix(i64::try_from(now.as_secs()).unwrap());
    let theirs = standardwebhooks::Webhook::new(SECRET).unwrap();
    let signed = Signer::standard_webhooks(&[SECRET]).unwrap().sign("evt_1", BODY.as_bytes(), now).unwrap();
    theirs.verify(BODY.as_bytes(), &headers(&signed)).unwrap();
    assert!(theirs.verify(b"{}", &headers(&signed)).is_err());

    let rotating = Signer::standard_webhooks(&[OTHER, SECRET]).unwrap();
    let signed = rotating.sign("evt_1", BODY.as_bytes(), now).unwrap();
    theirs.verify(BODY.as_bytes(), &headers(&signed)).unwrap();
}

#[test]
fn we_verify_what_standardwebhooks_signs() {
    let signature =
        standardwebhooks::Webhook::new(SECRET).unwrap().sign("evt_1", NOW, BODY.as_bytes()).unwrap();
    let headers =
        [("Webhook-Id", "evt_1"), ("Webhook-Timestamp", &NOW.to_string()), ("Webhook-Signature", &signature)];
    let request = |body: &'static str| Request::new("POST", "/in", headers, body.as_bytes());
    let now = Timestamp::from_unix(NOW);
    let verifier = Verifier::standard_webhooks(&[OTHER, SECRET]).unwrap();
    assert_eq!(verifier.verify(&request(BODY), now).unwrap().key(), 1);
    assert_eq!(verifier.verify(&request("{}"), now).unwrap_err().code(), "signature.wrong");
}

fn seed() -> [u8; 32] {
    std::array::from_fn(|at| 0x20 + u8::try_from(at).unwrap())
}

fn lines() -> Vec<(&'static str, String)> {
    vec![
        ("content-type", "application/json".to_owned()),
        ("content-digest", Digest::of(BODY.as_bytes()).content_digest()),
        ("webhook-id", "evt_1".to_owned()),
        ("webhook-subscription", "sub_01m8rdk9k0081040g2081037yw".to_owned()),
        ("webhook-generation", "1".to_owned()),
        ("webhook-delivery", "dlv_01m8rgvrt0m9q9bgcqb8cfzdv2".to_owned()),
        ("webhook-attempt", "1".to_owned()),
    ]
}

/// The delivery's components as the other code sees the same message.
fn components() -> Vec<HttpMessageComponent> {
    let lines = lines();
    profile::DELIVERY
        .components
        .iter()
        .map(|name| {
            let value = match *name {
                "@method" => "POST",
                "@target-uri" => TARGET,
                field => &lines.iter().find(|(name, _)| *name == field).unwrap().1,
            };
            let id = HttpMessageComponentId::try_from(*name).unwrap();
            HttpMessageComponent::try_from((&id, &[value.to_owned()][..])).unwrap()
        })
        .collect()
}

/// Signs with the other code and gives the message that carries its signature.
fn signed_by_httpsig(key: &impl httpsig::prelude::SigningKey, alg: &AlgorithmName, keyid: &str) -> Fields {
    let components = components();
    let ids: Vec<_> = components.iter().map(|component| component.id.clone()).collect();
    let mut params = HttpSignatureParams::try_new(&ids).unwrap();
    params.set_created(u64::try_from(NOW).unwrap());
    params.set_expires(u64::try_from(NOW + 300).unwrap());
    params.set_alg(alg);
    params.set_keyid(keyid);
    params.set_tag(profile::DELIVERY.tag);
    let base = HttpSignatureBase::try_new(&components, &params).unwrap();
    let made = base.build_signature_headers(key, Some("theirs")).unwrap();
    let mut fields: Fields = lines().into_iter().collect();
    fields.push("signature-input", made.signature_input_header_value());
    fields.push("signature", made.signature_header_value());
    fields
}

#[test]
fn we_verify_what_httpsig_signs() {
    let secret = SecretKey::from_bytes(&AlgorithmName::Ed25519, &seed()).unwrap();
    let public = SigningKey::ed25519(&Secret::new(seed())).verify_key();
    let shared =
        SharedKey::from_base64(&AlgorithmName::HmacSha256, &hookproof_core::base64::standard(&[7; 32]))
            .unwrap();
    let cases = [
        (signed_by_httpsig(&secret, &AlgorithmName::Ed25519, "k1"), public),
        (signed_by_httpsig(&shared, &AlgorithmName::HmacSha256, "k1"), VerifyKey::hmac(Secret::new([7; 32]))),
    ];
    for (fields, key) in cases {
        let judge = |target, body: &str| {
            let message = Message::request("POST", target, &fields);
            select(&profile::DELIVERY, &message).unwrap().verify(&key, body.as_bytes(), NOW).map(|_| ())
        };
        assert_eq!(judge(TARGET, BODY), Ok(()));
        assert!(judge("https://hooks.customer.com/in?b=2&a=2", BODY).is_err());
        assert!(judge(TARGET, "{}").is_err());
    }
}

#[test]
fn httpsigs_keys_verify_what_we_sign_over_its_own_reading_of_the_components() {
    // Its own verification writes the parameters in another order than the message has (RFC 9421 §2.3 keeps
    // the message's), so the last line of the base is ours here and all others are its.
    let fields: Fields = lines().into_iter().collect();
    let message = Message::request("POST", TARGET, &fields);
    let signer = SigningKey::ed25519(&Secret::new(seed()));
    let made = sign(&profile::DELIVERY, &message, NOW, NOW + 300, "k1", &signer).unwrap();
    let mut base: Vec<String> = components().iter().map(ToString::to_string).collect();
    let params = made.signature_input.strip_prefix("hookproof=").unwrap();
    base.push(format!("\"@signature-params\": {params}"));
    let public = PublicKey::from_bytes(&AlgorithmName::Ed25519, &signer.public().unwrap()).unwrap();
    public.verify(base.join("\n").as_bytes(), &made.octets).unwrap();
    assert!(public.verify(base.join("\r\n").as_bytes(), &made.octets).is_err());
}
