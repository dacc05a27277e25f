//! Our profiles from signer to verifier, and what an attacker may try between the two.

use super::base::signature_base;
use super::component::Component;
use super::profile::{CHALLENGE, DELIVERY, RECEIPT, SHADOW, STATUS_QUERY};
use super::sfv;
use super::*;
use crate::base64;
use crate::digest::Digest;
use crate::reason::Reason;
use crate::secret::Secret;

const NOW: i64 = 1_750_000_000;
const URL: &str = "https://hooks.example.com/in?tenant=7";
const BODY: &[u8] = b"{\"id\":\"evt_1\"}";

fn keys() -> [SigningKey; 2] {
    [SigningKey::ed25519(&Secret::new([7; 32])), SigningKey::hmac(Secret::new([8; 32]))]
}

fn headers() -> Vec<(&'static str, String)> {
    vec![
        ("Content-Type", "application/json".to_owned()),
        ("Content-Digest", Digest::of(BODY).content_digest()),
        ("webhook-id", "evt_1".to_owned()),
        ("webhook-subscription", "sub_1".to_owned()),
        ("webhook-generation", "3".to_owned()),
        ("webhook-delivery", "dlv_1".to_owned()),
        ("webhook-attempt", "1".to_owned()),
    ]
}

fn signed(profile: &Profile<'_>, key: &SigningKey) -> Vec<(&'static str, String)> {
    let mut headers = headers();
    let fields = headers.iter().cloned().collect();
    let message = Message::request("POST", URL, &fields);
    let signature = sign(profile, &message, NOW, NOW + 300, "k1", key).unwrap();
    headers.push(("Signature-Input", signature.signature_input));
    headers.push(("Signature", signature.signature));
    headers
}

/// Signs exactly `params`, as a sender that does not keep to the profile could.
fn signed_raw(params: &str, key: &SigningKey) -> Vec<(&'static str, String)> {
    let mut headers = headers();
    let fields = headers.iter().cloned().collect();
    let list = sfv::parse_inner_list(params).unwrap();
    let base =
        signature_base(&Component::list(&list).unwrap(), params, &Message::request("POST", URL, &fields))
            .unwrap();
    headers.push(("Signature-Input", format!("x={params}")));
    headers.push(("Signature", format!("x=:{}:", base64::standard(&key.sign(base.as_bytes())))));
    headers
}

fn check(
    profile: &Profile<'_>,
    headers: &[(&str, String)],
    key: &SigningKey,
    now: i64,
) -> Result<Authentic, Reason> {
    let fields = headers.iter().cloned().collect();
    select(profile, &Message::request("POST", URL, &fields))?.verify(&key.verify_key(), BODY, now)
}

fn params(components: &str, rest: &str) -> String {
    format!("({components}){rest}")
}

const ALL: &str = "\"@method\" \"@target-uri\" \"content-digest\" \"content-type\" \"webhook-id\" \
                   \"webhook-subscription\" \"webhook-generation\" \"webhook-delivery\" \"webhook-attempt\"";

#[test]
fn every_profile_verifies_what_it_signed_and_nothing_of_another() {
    let profiles = [DELIVERY, SHADOW, CHALLENGE, STATUS_QUERY, RECEIPT];
    for key in keys() {
        for made in profiles {
            let headers = signed(&made, &key);
            for wanted in profiles {
                let got = check(&wanted, &headers, &key, NOW).map(|authentic| authentic.tag().to_owned());
                let expected =
                    if made == wanted { Ok(made.tag.to_owned()) } else { Err(Reason::SignatureMalformed) };
                assert_eq!(got, expected);
            }
        }
    }
}

#[test]
fn the_witness_carries_what_was_signed() {
    let [key, _] = keys();
    let headers = signed(&DELIVERY, &key);
    let fields = headers.iter().cloned().collect();
    let candidate = select(&DELIVERY, &Message::request("POST", URL, &fields)).unwrap();
    assert_eq!((candidate.keyid(), candidate.alg()), ("k1", Alg::Ed25519));
    assert_eq!(candidate.claimed("webhook-subscription"), Some("sub_1"));
    let digest = candidate.signature_digest();
    let authentic = candidate.verify(&key.verify_key(), BODY, NOW).unwrap();
    assert_eq!(authentic.signature_digest(), digest);
    assert_eq!((authentic.created(), authentic.expires()), (NOW, NOW + 300));
    assert_eq!(authentic.covered("@target-uri"), Some(URL));
    assert_eq!(authentic.covered("webhook-attempt"), Some("1"));
    assert_eq!(authentic.covered("date"), None);
    assert_eq!(
        authentic.params(),
        format!(
            "({ALL});created={NOW};expires={};keyid=\"k1\";alg=\"ed25519\";tag=\"hookproof-delivery-v1\"",
            NOW + 300
        )
    );
    assert_eq!(format!("{authentic:?}"), "Authentic(k1, hookproof-delivery-v1)");
}

#[test]
fn changing_any_covered_field_is_noticed() {
    for key in keys() {
        for i in 0..headers().len() {
            let mut headers = signed(&DELIVERY, &key);
            headers[i].1 = match headers[i].0 {
                "Content-Digest" => Digest::of(b"other").content_digest(),
                _ => "other".to_owned(),
            };
            assert_eq!(check(&DELIVERY, &headers, &key, NOW).unwrap_err(), Reason::SignatureWrong);
            headers.remove(i);
            assert_eq!(check(&DELIVERY, &headers, &key, NOW).unwrap_err(), Reason::SignatureCoverage);
        }
    }
}

#[test]
fn a_repeated_covered_field_is_refused_on_two_lines_and_joined() {
    let [key, _] = keys();
    for i in 0..headers().len() {
        let headers = signed(&DELIVERY, &key);
        let mut twice = headers.clone();
        twice.push(headers[i].clone());
        assert_eq!(check(&DELIVERY, &twice, &key, NOW).unwrap_err(), Reason::SignatureCoverage);
        let mut joined = headers.clone();
        joined[i].1 = format!("{0}, {0}", headers[i].1);
        assert!(check(&DELIVERY, &joined, &key, NOW).is_err());
    }
}

#[test]
fn method_target_body_and_key_are_bound() {
    for key in keys() {
        let fields = signed(&DELIVERY, &key).into_iter().collect();
        let verify = |method, url, body: &[u8], by: &SigningKey| {
            let candidate = select(&DELIVERY, &Message::request(method, url, &fields))?;
            candidate.verify(&by.verify_key(), body, NOW).map(|_| ())
        };
        assert_eq!(verify("POST", URL, BODY, &key), Ok(()));
        assert_eq!(verify("PUT", URL, BODY, &key), Err(Reason::SignatureWrong));
        assert_eq!(verify("POST", "https://hooks.example.com/in", BODY, &key), Err(Reason::SignatureWrong));
        assert_eq!(verify("POST", URL, b"", &key), Err(Reason::DigestMismatch));
        let other = match key {
            SigningKey::Ed25519(_) => [SigningKey::ed25519(&Secret::new([1; 32])), keys()[1].clone()],
            SigningKey::Hmac(_) => [SigningKey::hmac(Secret::new([1; 32])), keys()[0].clone()],
        };
        assert_eq!(verify("POST", URL, BODY, &other[0]), Err(Reason::SignatureWrong));
        assert_eq!(verify("POST", URL, BODY, &other[1]), Err(Reason::KeyNotUsable), "another algorithm");
    }
}

#[test]
fn a_public_key_is_no_mac_key() {
    let [pair, _] = keys();
    let forged = SigningKey::hmac(Secret::new(pair.public().unwrap()));
    let headers = signed(&DELIVERY, &forged);
    assert_eq!(check(&DELIVERY, &headers, &pair, NOW).unwrap_err(), Reason::KeyNotUsable);
}

#[test]
fn time_is_judged_at_its_edges() {
    let [key, _] = keys();
    let headers = signed(&DELIVERY, &key);
    for (now, good) in [(NOW - 61, false), (NOW - 60, true), (NOW + 299, true), (NOW + 300, false)] {
        assert_eq!(check(&DELIVERY, &headers, &key, now).is_ok(), good, "{now}");
    }
    for (created, expires) in [(NOW, NOW), (NOW, NOW + 301), (NOW + 1, NOW), (-5, NOW + 9)] {
        let rest = format!(
            ";created={created};expires={expires};keyid=\"k1\";alg=\"ed25519\";tag=\"hookproof-delivery-v1\""
        );
        let headers = signed_raw(&params(ALL, &rest), &key);
        assert_eq!(check(&DELIVERY, &headers, &key, NOW - 1).unwrap_err(), Reason::TimestampOutsideWindow);
    }
}

#[test]
fn parameters_may_come_in_any_order_but_only_the_profiles_own() {
    let [key, _] = keys();
    let good = format!(
        ";tag=\"hookproof-delivery-v1\";alg=\"ed25519\";keyid=\"k1\";expires={};created={NOW}",
        NOW + 9
    );
    assert!(check(&DELIVERY, &signed_raw(&params(ALL, &good), &key), &key, NOW).is_ok());
    for (rest, reason) in [
        (format!("{good};nonce=\"n\""), Reason::SignatureCoverage),
        (format!("{good};tag=\"hookproof-delivery-v1\""), Reason::SignatureMalformed),
        (format!("{good};x"), Reason::SignatureCoverage),
        (good.replace("keyid=\"k1\"", "keyid=\"\""), Reason::SignatureMalformed),
        (good.replace("keyid=\"k1\"", "keyid=\"a b\""), Reason::SignatureMalformed),
        (good.replace("keyid=\"k1\"", "keyid=k1"), Reason::SignatureMalformed),
        (good.replace(";keyid=\"k1\"", ""), Reason::SignatureCoverage),
        (good.replace("ed25519", "Ed25519"), Reason::SignatureMalformed),
        (good.replace(";created", "; created"), Reason::SignatureMalformed),
        (good.replace("-v1", "-v2"), Reason::SignatureMalformed),
    ] {
        let got = check(&DELIVERY, &signed_raw(&params(ALL, &rest), &key), &key, NOW);
        assert_eq!(got.unwrap_err(), reason, "{rest}");
    }
    for components in
        ["", "\"@method\"", &ALL.replace("\"@method\" ", "\"@method\"  "), &format!("{ALL} \"@path\"")]
    {
        let headers = signed_raw(&params(components, &good), &key);
        assert!(check(&DELIVERY, &headers, &key, NOW).is_err(), "{components}");
    }
}

#[test]
fn labels_decide_nothing_but_must_pair_up() {
    let [key, _] = keys();
    let base = signed(&DELIVERY, &key);
    let with = |input: &str, value: &str| {
        let mut headers = base.clone();
        headers[7].1 += input;
        headers[8].1 += value;
        check(&DELIVERY, &headers, &key, NOW).map(|_| ())
    };
    assert_eq!(with("", ""), Ok(()));
    assert_eq!(with(", a=(), b=();tag=\"t\", c=(\"@path\")", ", c=:AA==:, a=:AA==:, b=:AA==:"), Ok(()));
    let refused = Err(Reason::SignatureMalformed);
    assert_eq!(with(", a=(), b=(), c=(), d=()", ", a=:AA==:, b=:AA==:, c=:AA==:, d=:AA==:"), refused, "five");
    assert_eq!(with(", a=()", ""), refused);
    assert_eq!(with("", ", a=:AA==:"), refused);
    assert_eq!(with(", a=()", ", b=:AA==:"), refused);
    assert_eq!(with(", a=\"item\"", ", a=:AA==:"), refused);
    assert_eq!(with(", hookproof=()", ", hookproof=:AA==:"), refused);
    assert_eq!(with(", a=();tag=\"hookproof-delivery-v1\"", ", a=:AA==:"), refused, "two of ours");
    assert_eq!(with(", a=();tag=\"hookproof-delivery-v1\";tag=\"t\"", ", a=:AA==:"), refused, "hidden");
    assert_eq!(with("", ";p"), refused, "a parameter on the signature");
}

#[test]
fn no_bit_of_the_signature_fields_or_covered_values_is_free() {
    let [_, key] = keys();
    let headers = signed(&DELIVERY, &key);
    let mut flips = 0;
    for line in 0..headers.len() {
        for octet in 0..headers[line].1.len() {
            for bit in 0..8 {
                let mut fields: Vec<_> =
                    headers.iter().map(|(name, value)| (*name, value.clone().into_bytes())).collect();
                fields[line].1[octet] ^= 1 << bit;
                let fields = fields.into_iter().collect();
                let candidate = select(&DELIVERY, &Message::request("POST", URL, &fields));
                let got = candidate.and_then(|found| found.verify(&key.verify_key(), BODY, NOW));
                assert!(got.is_err(), "{} octet {octet} bit {bit}", headers[line].0);
                flips += 1;
            }
        }
    }
    assert_eq!(flips, 8 * headers.iter().map(|(_, value)| value.len()).sum::<usize>());
}

#[test]
fn coded_content_is_refused() {
    let [key, _] = keys();
    for (coding, good) in
        [("identity", true), ("Identity", true), ("gzip", false), ("identity, gzip", false), ("", false)]
    {
        let mut headers = signed(&DELIVERY, &key);
        headers.push(("Content-Encoding", coding.to_owned()));
        let got = check(&DELIVERY, &headers, &key, NOW).map(|_| ());
        assert_eq!(got, if good { Ok(()) } else { Err(Reason::BodyMalformed) }, "{coding}");
    }
}

#[test]
fn a_profile_without_the_body_does_nothing() {
    let [key, _] = keys();
    let bodiless = Profile { components: &["@method", "@target-uri"], ..RECEIPT };
    let fields = headers().into_iter().collect();
    let message = Message::request("POST", URL, &fields);
    assert!(sign(&bodiless, &message, NOW, NOW + 1, "k1", &key).is_err());
    let rest = format!(
        ";created={NOW};expires={};keyid=\"k1\";alg=\"ed25519\";tag=\"hookproof-receipt-v1\"",
        NOW + 9
    );
    let headers = signed_raw(&params("\"@method\" \"@target-uri\"", &rest), &key);
    assert_eq!(check(&bodiless, &headers, &key, NOW).unwrap_err(), Reason::SignatureCoverage);
}

#[test]
fn the_signer_makes_nothing_its_verifier_would_refuse() {
    let [key, _] = keys();
    let good = headers();
    let attempt = |headers: &[(&str, String)], created, expires, keyid: &str| {
        let fields = headers.iter().cloned().collect();
        sign(&DELIVERY, &Message::request("POST", URL, &fields), created, expires, keyid, &key).map(|_| ())
    };
    assert_eq!(attempt(&good, NOW, NOW + 300, "k1"), Ok(()));
    let refused = Err(Reason::InternalCorrupt);
    assert_eq!(attempt(&good, NOW, NOW + 301, "k1"), refused);
    assert_eq!(attempt(&good, NOW, NOW, "k1"), refused);
    assert_eq!(attempt(&good, i64::MIN, i64::MAX, "k1"), refused);
    assert_eq!(attempt(&good, NOW, NOW + 1, "k\"1\u{e9}"), refused);
    assert_eq!(attempt(&good, NOW, NOW + 1, ""), refused);
    for value in ["", "a.b", "a,b", "a\r\nb", &"x".repeat(129)] {
        let mut headers = good.clone();
        headers[2].1 = value.to_owned();
        assert_eq!(attempt(&headers, NOW, NOW + 1, "k1"), refused, "{value}");
    }
    let secret =
        SignatureHeaders { signature_input: String::new(), signature: String::new(), octets: vec![1] };
    assert_eq!(format!("{secret:?} {key:?}"), "SignatureHeaders(redacted) SigningKey(ed25519, redacted)");
}

#[test]
fn algorithm_names_read_back() {
    for alg in [Alg::Ed25519, Alg::HmacSha256] {
        assert_eq!(Alg::parse(alg.name()), Some(alg));
        assert_eq!(serde_json::to_string(&alg).unwrap(), format!("\"{}\"", alg.name()));
    }
    assert_eq!(Alg::parse("none"), None);
}
