use hookproof_core::digest::Digest;
use hookproof_core::{Reason, Refusal};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use serde::Deserialize;

use super::*;

fn headers(values: &[&str]) -> HeaderMap {
    values.iter().map(|value| (AUTHORIZATION, value.parse().unwrap())).collect()
}

#[test]
fn only_one_bearer_token_is_read() {
    assert_eq!(bearer(&headers(&["Bearer abc"])), Some("abc"));
    assert_eq!(bearer(&headers(&["bearer abc"])), Some("abc"));
    for bad in
        [&[][..], &["Basic abc"], &["Bearer"], &["Bearer "], &["Bearer a b"], &["Bearer a", "Bearer a"]]
    {
        assert_eq!(bearer(&headers(bad)), None, "{bad:?}");
    }
    let digest = Digest::of(b"abc");
    assert!(is_token(&headers(&["Bearer abc"]), &digest));
    assert!(!is_token(&headers(&["Bearer abd"]), &digest));
    assert!(!is_token(&HeaderMap::new(), &digest));
}

#[test]
fn a_problem_names_its_reason_and_a_stranger_learns_none() {
    let refusal = Refusal::new(Reason::EventConflict, "other bytes").at("id", "a new id");
    let answer = problem(&refusal);
    assert_eq!(answer.status(), 409);
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let body: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
    assert!(body["type"].as_str().unwrap().ends_with("event.conflict"));
    assert_eq!((&body["reason"], &body["field"]), (&"event.conflict".into(), &"id".into()));
    let answer = stranger(400, "Bad request");
    assert_eq!(&answer.body()[..], br#"{"type":"about:blank","title":"Bad request","status":400}"#);
    assert_eq!(stranger(503, "Unavailable").headers()["retry-after"], "5");
}

#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
struct Pair {
    #[serde(rename = "a")]
    _a: u8,
}

#[test]
fn a_refused_body_is_not_repeated() {
    let detail = |body: &str| parse_json::<Pair>(body.as_bytes(), "a pair").unwrap_err().detail;
    assert!(detail("{\"a\":1,\"a\":2}").contains("twice"));
    assert_eq!(detail("{\"a\":\"hush\"}"), "a value has the wrong shape at line 1 column 11");
    assert!(detail("{\"b\":1}").starts_with("unknown field `b`"));
}

#[test]
fn percent_encoding_is_read_or_refused() {
    assert_eq!(percent_decode("a%3Ab").as_deref(), Some("a:b"));
    assert_eq!(percent_decode("%c3%bc").as_deref(), Some("ü"));
    for bad in ["%", "%4", "%zz", "%ff"] {
        assert_eq!(percent_decode(bad), None, "{bad}");
    }
    let pairs = query_pairs("a=1&b=%20&c").unwrap();
    assert_eq!(pairs, [("a".into(), "1".into()), ("b".into(), " ".into()), ("c".into(), String::new())]);
}
