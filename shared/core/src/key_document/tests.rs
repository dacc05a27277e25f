use super::*;
use crate::id::IdKey;
use crate::keys::{IssuerKey, IssuerKeys};
use crate::secret::Secret;

const ISSUER: &str = "https://sender.example.com";

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(1_800_000_000 + seconds)
}

fn subscription(octet: u8) -> SubscriptionId {
    SubscriptionId::mint(&IdKey::new(b"ids"), at(0), [octet; 10])
}

fn keys(versions: &[u8]) -> IssuerKeys {
    let one = |version: &u8| format!("{version}:{}", Secret::new([*version; 32]).show_once());
    IssuerKeys::parse(&versions.iter().map(one).collect::<Vec<_>>().join(",")).unwrap()
}

fn credential(id: &str, generation: u64, state: CredentialState) -> Credential {
    Credential {
        key_id: id.into(),
        key_generation: KeyGeneration(generation),
        alg: Alg::HmacSha256,
        state,
        public_key: None,
        created_at: at(0),
        verify_until: (state == CredentialState::VerifyOnly).then(|| at(100)),
    }
}

fn active() -> GenerationState {
    GenerationState::Active { activated_at: at(0) }
}

fn content() -> Content {
    let one = credential("one", 1, CredentialState::Active);
    Content::new(Generation::FIRST, [(Generation::FIRST, &active(), &one)], at(0))
}

fn signed(sequence: u64) -> String {
    let document = content().document(ISSUER, &subscription(1), sequence, at(0));
    keys(&[1]).sign(&document).unwrap().to_text().unwrap()
}

fn verify(answer: &str, change: impl FnOnce(&mut Pin<'_>), now: Timestamp) -> Result<u64, Reason> {
    let (pinned, subscription) = (keys(&[1]).public().unwrap(), subscription(1));
    let mut pin = Pin { issuer: ISSUER, subscription_id: &subscription, keys: &pinned, last_sequence: 0 };
    change(&mut pin);
    pin.verify(answer, now).map(|document| document.sequence).map_err(|refusal| refusal.reason)
}

#[test]
fn keys_that_must_not_verify_are_listed_as_revoked_only() {
    let states = [
        ("d", 4, CredentialState::NotBefore),
        ("c", 3, CredentialState::Active),
        ("b", 2, CredentialState::VerifyOnly),
        ("a", 1, CredentialState::Revoked),
    ];
    let all = states.map(|(id, number, state)| credential(id, number, state));
    let content = |state: &GenerationState, now| {
        Content::new(Generation(1), all.iter().map(|one| (Generation(1), state, one)), now)
    };
    let ids = |content: &Content| content.keys.iter().map(|key| key.key_id.clone()).collect::<String>();
    let during = content(&active(), at(99));
    assert_eq!((ids(&during).as_str(), during.revoked.concat().as_str()), ("bcd", "a"));
    let after = content(&active(), at(100));
    assert_eq!((ids(&after).as_str(), after.revoked.concat().as_str()), ("cd", "ab"));
    assert_ne!(during.digest().unwrap(), after.digest().unwrap());
    for over in [
        GenerationState::Closed { at: at(0) },
        GenerationState::Revoked { at: at(0), drain_until: None },
        GenerationState::Expired { at: at(0), drain_until: Some(at(99)) },
    ] {
        let over = content(&over, at(99));
        assert_eq!((ids(&over).as_str(), over.revoked.concat().as_str()), ("", "abcd"));
    }
    let draining = GenerationState::Revoked { at: at(0), drain_until: Some(at(99)) };
    assert_eq!(ids(&content(&draining, at(98))), "bcd", "what still runs out is still to be verified");
}

#[test]
fn what_the_issuer_signed_is_read_until_its_grace_ends() {
    let end = (LIFETIME + GRACE).as_millis() / 1000;
    for now in [at(-60), at(0), at(end)] {
        assert_eq!(verify(&signed(3), |_| (), now), Ok(3));
    }
    assert_eq!(verify(&signed(3), |_| (), at(end + 1)), Err(Reason::DirectoryStale));
    assert_eq!(Reason::DirectoryStale.http_status(), 503);
    assert_eq!(verify(&signed(3), |_| (), at(-61)), Err(Reason::TimestampOutsideWindow));
}

#[test]
fn a_lower_sequence_is_refused_and_the_same_is_not() {
    assert_eq!(verify(&signed(3), |pin| pin.last_sequence = 3, at(0)), Ok(3));
    assert_eq!(verify(&signed(3), |pin| pin.last_sequence = 4, at(0)), Err(Reason::DirectoryRolledBack));
}

#[test]
fn a_document_of_another_issuer_subscription_or_key_is_refused() {
    let foreign = "https://other.example.com";
    assert_eq!(verify(&signed(1), |pin| pin.issuer = foreign, at(0)), Err(Reason::SignatureWrong));
    let answer = signed(1);
    let (pinned, other) = (keys(&[1]).public().unwrap(), subscription(2));
    let pin = Pin { issuer: ISSUER, subscription_id: &other, keys: &pinned, last_sequence: 0 };
    assert_eq!(pin.verify(&answer, at(0)).unwrap_err().reason, Reason::SignatureWrong);
    let document = content().document(ISSUER, &subscription(1), 1, at(0));
    let by_another = keys(&[2]).sign(&document).unwrap().to_text().unwrap();
    assert_eq!(verify(&by_another, |_| (), at(0)), Err(Reason::KeyUnknown));
    // The name of a pinned key over the signature of another one.
    let mut renamed: Signed = serde_json::from_str(&by_another).unwrap();
    renamed.key_id = keys(&[1]).current().unwrap().key_id;
    assert_eq!(verify(&renamed.to_text().unwrap(), |_| (), at(0)), Err(Reason::SignatureWrong));
}

#[test]
fn the_new_key_of_an_issuer_is_believed_by_those_who_pinned_it() {
    let document = content().document(ISSUER, &subscription(1), 1, at(0));
    let answer = keys(&[1, 2]).sign(&document).unwrap().to_text().unwrap();
    assert_eq!(verify(&answer, |_| (), at(0)), Err(Reason::KeyUnknown));
    let both: Vec<IssuerKey> = keys(&[1, 2]).public().unwrap();
    let subscription = subscription(1);
    let pin = Pin { issuer: ISSUER, subscription_id: &subscription, keys: &both, last_sequence: 0 };
    assert_eq!(pin.verify(&answer, at(0)), Ok(document));
}

#[test]
fn no_octet_of_an_answer_can_change() {
    let answer = signed(1);
    for position in 0..answer.len() {
        let mut bent = answer.clone().into_bytes();
        bent[position] ^= 1;
        let Ok(bent) = String::from_utf8(bent) else { continue };
        assert!(verify(&bent, |_| (), at(0)).is_err(), "octet {position}: {bent}");
    }
    for other in ["", "{}", "[]", &format!("{answer}x"), &answer.replacen('{', "{\"x\":1,", 1)] {
        assert_eq!(verify(other, |_| (), at(0)), Err(Reason::BodyMalformed), "{other}");
    }
}

#[test]
fn a_document_that_contradicts_what_it_was_signed_for_is_refused() {
    let sign = |change: fn(&mut KeyDocument)| {
        let mut document = content().document(ISSUER, &subscription(1), 1, at(0));
        change(&mut document);
        let (key, text) = (keys(&[1]), document.to_text().unwrap());
        let id = key.current().unwrap().key_id;
        let pair = crate::signature::SigningKey::ed25519(&Secret::new([1; 32]));
        let tuple = tuple(ISSUER, &subscription(1), &id, &text);
        let signature = crate::base64::url(&pair.sign(tuple.as_ref()));
        Signed { document: text, key_id: id, signature }.to_text().unwrap()
    };
    assert_eq!(verify(&sign(|_| ()), |_| (), at(0)), Ok(1));
    let changes: [fn(&mut KeyDocument); 4] = [
        |it| it.issuer.push('x'),
        |it| it.subscription_id = subscription(2),
        |it| it.r#type = "keyDocument.v2".into(),
        |it| it.next_update = it.next_update + Span::millis(1),
    ];
    for change in changes {
        assert_eq!(verify(&sign(change), |_| (), at(0)), Err(Reason::BodyMalformed));
    }
}
