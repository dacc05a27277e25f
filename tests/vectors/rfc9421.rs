//! HTTP Message Signatures: every component, refusal and signature of RFC 9421 comes out as printed.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a vector that does not read as it should fails its test"
)]

use base64ct::{Base64, Encoding};
use hookproof_core::Reason;
use hookproof_core::digest::Digest;
use hookproof_core::secret::Secret;
use hookproof_core::signature::base::{component_value, signature_base};
use hookproof_core::signature::component::{Component, ComponentFault};
use hookproof_core::signature::message::FieldType;
use hookproof_core::signature::sfv::{self, Member};
use hookproof_core::signature::{Fields, MacKey, Message, SigningKey};
use serde_json::Value;

const DATA: &str = include_str!("data/rfc9421.json");

fn data() -> Value {
    serde_json::from_str(DATA).unwrap()
}

fn fields(value: &Value) -> Fields {
    let lines = value.as_array().into_iter().flatten();
    lines.map(|line| (line[0].as_str().unwrap(), line[1].as_str().unwrap())).collect()
}

/// What a [`Message`] borrows from.
struct Owned<'j> {
    json: &'j Value,
    fields: Fields,
    trailers: Fields,
    types: Vec<(&'j str, FieldType)>,
}

impl<'j> Owned<'j> {
    fn new(json: &'j Value, types: &'j Value) -> Self {
        let types = types.as_object().into_iter().flatten();
        let types = types.map(|(name, kind)| {
            let kind = match kind.as_str().unwrap() {
                "item" => FieldType::Item,
                "list" => FieldType::List,
                "dictionary" => FieldType::Dictionary,
                other => panic!("no such type: {other}"),
            };
            (name.as_str(), kind)
        });
        Self {
            json,
            fields: fields(&json["headers"]),
            trailers: fields(&json["trailers"]),
            types: types.collect(),
        }
    }

    fn message(&self) -> Message<'_> {
        let text = |name: &str| self.json[name].as_str().unwrap_or_default();
        let message = match text("kind") {
            "request" => Message::request(text("method"), text("target_uri"), &self.fields)
                .with_request_target(text("request_target")),
            "response" => {
                Message::response(u16::try_from(self.json["status"].as_u64().unwrap()).unwrap(), &self.fields)
            }
            other => panic!("no such kind: {other}"),
        };
        message.with_types(&self.types).with_trailers(&self.trailers)
    }
}

fn components(case: &Value) -> Result<Vec<Component>, ComponentFault> {
    let texts: Vec<_> = case["components"].as_array().unwrap().iter().map(|c| c.as_str().unwrap()).collect();
    Component::list(&sfv::parse_inner_list(&format!("({})", texts.join(" "))).unwrap())
}

#[test]
fn every_component_has_its_line() {
    let data = data();
    let (mut cases, mut lines) = (0, 0);
    for case in data["component_cases"].as_array().unwrap() {
        let owned = Owned::new(&case["message"], &case["sf_types"]);
        let expected = case["expected_lines"].as_array().unwrap();
        let components = components(case).unwrap();
        assert_eq!(components.len(), expected.len());
        for (component, line) in components.iter().zip(expected) {
            let value = component_value(component, &owned.message()).unwrap();
            assert_eq!(format!("{}: {value}", component.identifier()), *line, "{}", case["name"]);
            lines += 1;
        }
        cases += 1;
    }
    assert_eq!((cases, lines), (49, 63));
}

fn fault(reason: &str) -> ComponentFault {
    match reason {
        "component_not_found" => ComponentFault::NotFound,
        "duplicate_component" => ComponentFault::Duplicate,
        "unknown_derived_component" => ComponentFault::UnknownDerived,
        "signature_params_in_components" => ComponentFault::SignatureParamsListed,
        "unknown_parameter" => ComponentFault::UnknownParameter,
        "incompatible_parameters" => ComponentFault::IncompatibleParameters,
        "req_on_request" | "status_on_request" | "request_component_on_response" => ComponentFault::WrongKind,
        "ambiguous_query_param" => ComponentFault::Ambiguous,
        "missing_name_parameter" => ComponentFault::NameMissing,
        "not_a_dictionary" | "unknown_structured_type" => ComponentFault::UnknownType,
        "uppercase_component_name" => ComponentFault::NameMalformed,
        "forbidden_character" | "non_ascii" => ComponentFault::Forbidden,
        "component_not_a_string" => ComponentFault::NotAString,
        other => panic!("no such reason: {other}"),
    }
}

#[test]
fn every_wrong_component_is_refused_for_its_reason() {
    let data = data();
    let cases = data["component_error_cases"].as_array().unwrap();
    for case in cases {
        let owned = Owned::new(&case["message"], &case["sf_types"]);
        let base = components(case).and_then(|list| signature_base(&list, "()", &owned.message()));
        let expected = fault(case["reason"].as_str().unwrap());
        assert_eq!(base.unwrap_err(), expected, "{}", case["name"]);
        assert!(matches!(Reason::from(expected), Reason::SignatureMalformed | Reason::SignatureCoverage));
    }
    assert_eq!(cases.len(), 27);
}

fn key(data: &Value, keyid: &str) -> Option<SigningKey> {
    let key = &data["keys"][keyid];
    match key["jwk"]["crv"].as_str() {
        Some("Ed25519") => {
            Some(SigningKey::ed25519(&Secret::from_base64url(key["jwk"]["d"].as_str().unwrap()).unwrap()))
        }
        Some(_) => None,
        None => {
            let octets = Base64::decode_vec(key["secret_b64"].as_str()?).unwrap();
            let key = MacKey::imported(&octets).unwrap();
            assert!(key.is_published_test_key());
            Some(SigningKey::Hmac(key))
        }
    }
}

/// The member of a field's dictionary under the case's label: its text and its value.
fn member<'d>(field: &'d str, label: &str) -> (&'d str, Member) {
    let dictionary = sfv::parse_dictionary(field).unwrap();
    let entry = dictionary.entries().iter().find(|entry| entry.key == label).unwrap();
    (entry.raw, entry.value.clone())
}

/// The digest of a valid case's base. Two bases are not printed; theirs were taken from the text under
/// which the RSA-PSS and the ECDSA signature verified in another library (Python's cryptography).
fn base_digest(case: &Value) -> Digest {
    let pinned = match case["name"].as_str().unwrap() {
        "request of 2.4 (2)" => "sha-256:5-LCgaT258sMDJl2jQzxteWyxbdVkQdnQM1KV8ugTS0",
        "section 4.3 client" => "sha-256:Ixd6sXmFiHeh4KI2-bGsNY0ncAtgdHP_hFbCEcnbQxs",
        _ => return Digest::of(case["signature_base"].as_str().unwrap().as_bytes()),
    };
    Digest::parse(pinned).unwrap()
}

#[test]
fn every_signature_has_its_base_and_ours_verify() {
    let data = data();
    let (mut bases, mut valid, mut invalid, mut foreign) = (0, 0, 0, 0);
    let cases = data["signature_cases"].as_array().unwrap();
    for case in cases {
        let name = &case["name"];
        let none = Value::Null;
        let (owned, request) = (Owned::new(&case["message"], &none), case.get("request"));
        let request = request.map(|json| Owned::new(json, &none));
        let request = request.as_ref().map(Owned::message);
        let message = request.as_ref().map_or_else(|| owned.message(), |r| owned.message().answering(r));

        let label = case["label"].as_str().unwrap();
        let (params, input) = member(case["signature_input"].as_str().unwrap(), label);
        assert_eq!(params, case["params"], "{name}");
        let Member::InnerList(list) = input else { panic!("{name}: not an inner list") };
        assert_eq!(list.serialise(), params, "{name}");
        let base = signature_base(&Component::list(&list).unwrap(), params, &message).unwrap();
        // An altered message must not have the base its signature was made over.
        let made_over = cases
            .iter()
            .find(|other| other["expect"] == "valid" && other["signature_b64"] == case["signature_b64"]);
        let same = Digest::of(base.as_bytes()) == base_digest(made_over.unwrap());
        assert_eq!(same, case["expect"] == "valid", "{name}: {base}");
        bases += 1;

        let (text, _) = member(case["signature"].as_str().unwrap(), label);
        assert_eq!(text, format!(":{}:", case["signature_b64"].as_str().unwrap()));
        let signature = Base64::decode_vec(case["signature_b64"].as_str().unwrap()).unwrap();
        let Some(key) = key(&data, case["keyid"].as_str().unwrap()) else {
            foreign += 1;
            continue;
        };
        let verified = key.verify_key().verify(base.as_bytes(), &signature);
        assert_eq!(verified, case["expect"] == "valid", "{name}");
        if verified {
            assert_eq!(key.sign(base.as_bytes()), signature, "{name}");
            valid += 1;
        } else {
            assert_ne!(key.sign(base.as_bytes()), signature, "{name}");
            invalid += 1;
        }
    }
    assert_eq!((bases, valid, invalid, foreign), (20, 6, 2, 12));
}
