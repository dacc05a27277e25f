use super::*;
use crate::digest::Digest;
use crate::id::{ChallengeId, Environment, Generation, IdKey, Scope, SubscriptionId, TenantId};
use crate::keys::{Purpose as KeyPurpose, derive};
use crate::reason::Reason;
use crate::secret::Secret;
use crate::signature::{
    Alg, Authentic, Fields, Message, SigningKey, VerifyKey, profile, select, sign, thumbprint,
};
use crate::time::{Span, Timestamp};

const URL: &str = "https://hooks.example.com/in/hookproof";

fn now() -> Timestamp {
    Timestamp::from_unix(1_800_000_000)
}

fn scope(generation: u64) -> Scope {
    let key = IdKey::new(b"k");
    Scope {
        issuer: "https://sender.example".into(),
        tenant: TenantId::mint(&key, now(), [1; 10]),
        environment: Environment::Test,
        subscription: SubscriptionId::mint(&key, now(), [2; 10]),
        generation: Generation(generation),
    }
}

fn sender() -> (SigningKey, String) {
    let key = SigningKey::ed25519(&Secret::new([1; 32]));
    let id = thumbprint(&key.public().unwrap());
    (key, id)
}

fn proof_secret(scope: &Scope) -> Secret {
    derive(&Secret::new([9; 32]), KeyPurpose::Challenge, scope, &sender().1, "p")
}

fn issue(scope: &Scope, endpoint: &str) -> Issued {
    let (key, key_id) = sender();
    let draft = Challenge {
        id: ChallengeId::mint(&IdKey::new(b"k"), now(), [3; 10]),
        purpose: Purpose::Activate,
        scope: scope.clone(),
        endpoint_digest: Digest::of(endpoint.as_bytes()),
        nonce: String::new(),
        issued_at: now(),
        expires_at: now() + LIFETIME,
        profile: "p".into(),
        key_id: key_id.clone(),
        key_commitment: Digest([0; 32]),
        proof_alg: Alg::HmacSha256,
        proof_key_id: key_id,
        body_digest: Digest([0; 32]),
        probe_map: 0,
    };
    Challenge::issue(
        draft,
        &ProvedKey::Ed25519(&key),
        &Nonces { nonce: [4; 32], probe_map: ProbeMap(0x1234_5678) },
    )
}

/// Signs `body` as a challenge request and verifies it, to get the witness an answerer needs.
fn authentic(body: &[u8]) -> Authentic {
    let (key, key_id) = sender();
    let mut fields = Fields::new();
    fields.push("content-digest", Digest::of(body).content_digest());
    fields.push("content-type", "application/json");
    fields.push("webhook-id", "chl_1");
    fields.push("webhook-subscription", "sub_1");
    fields.push("webhook-generation", "1");
    let signed = sign(
        &profile::CHALLENGE,
        &Message::request("POST", URL, &fields),
        now().unix(),
        now().unix() + 300,
        &key_id,
        &key,
    );
    let signed = signed.unwrap();
    fields.push("signature-input", &signed.signature_input);
    fields.push("signature", &signed.signature);
    let message = Message::request("POST", URL, &fields);
    select(&profile::CHALLENGE, &message).unwrap().verify(&key.verify_key(), body, now().unix()).unwrap()
}

fn answer(scope: &Scope, endpoint: &str, body: &[u8]) -> Result<Vec<u8>, Reason> {
    let (key, key_id) = sender();
    let verify = key.verify_key();
    let proof_key = ProofKey::Hmac { key: proof_secret(scope), key_id: key_id.clone() };
    let answerer = Answerer {
        scope,
        endpoint_digest: Digest::of(endpoint.as_bytes()),
        profile: "p",
        key_id: &key_id,
        key: SenderKey::Ed25519(&verify),
        proof_key: &proof_key,
    };
    answerer.answer(body, &authentic(body), now())
}

fn verdict(issued: &Issued, body: &[u8], at: Timestamp) -> Result<(), Reason> {
    let key = VerifyKey::hmac(proof_secret(&issued.challenge.scope));
    let verifier = Verifier { key: &key, key_id: &issued.challenge.proof_key_id };
    judge(&issued.challenge, body, &verifier, at).map(|_| ())
}

#[test]
fn a_subscriber_with_the_key_and_a_verifier_proves_it() {
    let issued = issue(&scope(1), URL);
    let body = answer(&scope(1), URL, &issued.body).unwrap();
    assert_eq!(verdict(&issued, &body, now()), Ok(()));
    assert_eq!(verdict(&issued, &body, now() + LIFETIME), Err(Reason::ChallengeExpired));
}

#[test]
fn an_echo_in_any_dress_proves_nothing() {
    let issued = issue(&scope(1), URL);
    let text = String::from_utf8(issued.body.clone()).unwrap();
    let nonce = &issued.challenge.nonce;
    let dresses = [
        text.clone(),
        format!("{{\"json\":{text}}}"),
        format!("<html>You sent {nonce}</html>"),
        nonce.clone(),
        text.chars().rev().collect(),
        String::new(),
        "ok".into(),
        "{}".into(),
        format!("{{\"challenge\":\"{}\"}}", issued.challenge.id),
    ];
    for dress in dresses {
        assert!(verdict(&issued, dress.as_bytes(), now()).is_err(), "{dress}");
    }
    assert_eq!(verdict(&issued, text.as_bytes(), now()), Err(Reason::ChallengeEchoed));
}

#[test]
fn a_relayed_challenge_is_not_answered() {
    let issued = issue(&scope(1), "https://victim.example/in");
    assert_eq!(answer(&scope(1), URL, &issued.body), Err(Reason::KeyUnknown));
    let other = issue(&scope(2), URL);
    assert_eq!(answer(&scope(1), URL, &other.body), Err(Reason::KeyUnknown));
}

#[test]
fn swapping_any_bound_field_breaks_the_proof() {
    let issued = issue(&scope(1), URL);
    let body = answer(&scope(1), URL, &issued.body).unwrap();
    let swaps: [fn(&mut Challenge); 9] = [
        |c| c.purpose = Purpose::Rotate,
        |c| c.scope.generation = Generation(2),
        |c| c.scope.issuer.push('x'),
        |c| c.endpoint_digest = Digest::of(b"elsewhere"),
        |c| c.nonce = crate::base64::url(&[5; 32]),
        |c| c.issued_at = c.issued_at - Span::seconds(1),
        |c| c.profile.push('x'),
        |c| c.key_commitment = Digest::of(b"another key"),
        |c| c.body_digest = Digest::of(b"another body"),
    ];
    for (index, swap) in swaps.into_iter().enumerate() {
        let mut challenge = issued.challenge.clone();
        swap(&mut challenge);
        let key = VerifyKey::hmac(proof_secret(&issued.challenge.scope));
        let verifier = Verifier { key: &key, key_id: &challenge.proof_key_id };
        let judged = judge(&challenge, &body, &verifier, now()).map(|_| ());
        assert_eq!(judged, Err(Reason::ChallengeProofWrong), "swap {index}");
    }
}

#[test]
fn a_misjudged_probe_burns_the_challenge() {
    let issued = issue(&scope(1), URL);
    let body = answer(&scope(1), URL, &issued.body).unwrap();
    let right = format!("\"probes\":{}", 0x1234_5678_u32);
    let bent = String::from_utf8(body).unwrap().replace(&right, "\"probes\":1");
    assert_eq!(verdict(&issued, bent.as_bytes(), now()), Err(Reason::ChallengeVerifierAbsent));
}

#[test]
fn a_bent_body_differs_in_one_character_and_still_parses() {
    let issued = issue(&scope(1), URL);
    let bent = Challenge::bend(&issued.body, &issued.challenge.nonce);
    let changed = bent.iter().zip(&issued.body).filter(|(a, b)| a != b).count();
    assert_eq!((bent.len(), changed), (issued.body.len(), 1));
    assert!(serde_json::from_slice::<ChallengeBody>(&bent).is_ok());
    assert_ne!(Digest::of(&bent), Digest::of(&issued.body));
}

#[test]
fn equal_probe_bits_are_drawn_again() {
    assert_eq!(ProbeMap::draw(0), None);
    assert_eq!(ProbeMap::draw(u32::MAX), None);
    assert_eq!(ProbeMap::draw(1), Some(ProbeMap(1)));
}
