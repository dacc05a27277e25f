//! Every published URL and address, through the built command: the same verdict, code and spelling as in
//! the vectors.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

#[expect(unreachable_pub, reason = "shared by several tests")]
mod support;

use serde_json::Value;
use support::{Run, run, run_with};

const URLS: &str = include_str!("../../tests/vectors/data/endpoint_urls.json");
const ADDRESSES: &str = include_str!("../../tests/vectors/data/ip_addresses.json");

fn text<'a>(case: &'a Value, field: &str) -> &'a str {
    case[field].as_str().unwrap()
}

fn cases() -> Vec<Value> {
    serde_json::from_value(serde_json::from_str::<Value>(URLS).unwrap()["cases"].take()).unwrap()
}

fn wants_8443(case: &Value) -> bool {
    case["allowed_ports"].as_array().is_some_and(|ports| ports.iter().any(|port| port == 8443))
}

fn assert_url(case: &Value, got: &Value) {
    let id = text(case, "id");
    assert_eq!(got["input"], case["url"], "{id}");
    // The registries call these reachable; the strict profile, which is ours, refuses them.
    if case["tags"].as_array().unwrap().iter().any(|tag| tag == "iana_exception") {
        assert_eq!(got["verdict"], "refused", "{id}");
        let code = text(got, "reason");
        assert!(code.starts_with("ipv4_") || code.starts_with("ipv6_"), "{id}: {code}");
        return;
    }
    if text(case, "verdict") == "accept" {
        assert_eq!(
            (&got["verdict"], &got["normalised"]),
            (&Value::from("accepted"), &case["normalized"]),
            "{id}"
        );
        assert!(got["reason"].is_null() && got["detail"].is_null(), "{id}");
    } else {
        assert_eq!(
            (&got["verdict"], &got["reason"]),
            (&Value::from("refused"), &case["reason_code"]),
            "{id}"
        );
        assert!(got["normalised"].is_null() && !text(got, "detail").is_empty(), "{id}");
    }
}

fn assert_all(cases: &[&Value], run: &Run) {
    let objects = run.objects();
    assert_eq!((objects.len(), run.stderr.as_str()), (cases.len(), ""));
    for (case, object) in cases.iter().zip(&objects) {
        assert_url(case, object);
    }
}

fn lines(cases: &[&Value]) -> String {
    cases.iter().map(|case| format!("{}\n", text(case, "url"))).collect()
}

#[test]
fn every_url_gets_its_verdict_code_and_spelling() {
    let cases = cases();
    let (broken, whole): (Vec<&Value>, Vec<&Value>) =
        cases.iter().partition(|case| text(case, "url").contains('\n'));
    let (wide, plain): (Vec<&Value>, Vec<&Value>) = whole.into_iter().partition(|case| wants_8443(case));
    assert_eq!((plain.len(), wide.len(), broken.len()), (355, 3, 3));

    let checked = run_with(&["endpoint", "check", "--json", "-"], lines(&plain).as_bytes());
    assert_all(&plain, &checked);
    assert_eq!(checked.code, Some(1));

    let allowed = run_with(&["endpoint", "check", "--json", "--allow-8443", "-"], lines(&wide).as_bytes());
    assert_all(&wide, &allowed);

    // What holds a line end cannot be a line, but it can be an argument.
    let arguments: Vec<&str> = broken.iter().map(|case| text(case, "url")).collect();
    assert_all(&broken, &run(&[&["endpoint", "check", "--json"], arguments.as_slice()].concat()));
}

#[test]
fn every_accepted_url_alone_ends_with_0() {
    let cases = cases();
    let accepted: Vec<&Value> = cases
        .iter()
        .filter(|case| text(case, "verdict") == "accept" && !wants_8443(case))
        .filter(|case| case["tags"].as_array().unwrap().iter().all(|tag| tag != "iana_exception"))
        .collect();
    let checked = run_with(&["endpoint", "check", "-"], lines(&accepted).as_bytes());
    assert_eq!(checked.code, Some(0));
    assert!(checked.stdout.lines().filter(|line| line.starts_with("accepted")).count() == accepted.len());
}

#[test]
fn every_address_gets_its_strict_verdict_and_block() {
    let file: Value = serde_json::from_str(ADDRESSES).unwrap();
    let cases = file["addresses"].as_array().unwrap();
    let input: String = cases.iter().map(|case| format!("{}\n", text(case, "ip"))).collect();
    let checked = run_with(&["address", "check", "--json", "-"], input.as_bytes());
    let objects = checked.objects();
    assert_eq!((checked.code, objects.len(), cases.len()), (Some(1), 213, 213));
    for (case, got) in cases.iter().zip(&objects) {
        let ip = text(case, "ip");
        if text(case, "strict_verdict") == "public" {
            assert_eq!((&got["verdict"], &got["reason"]), (&Value::from("accepted"), &Value::Null), "{ip}");
            let parsed: std::net::IpAddr = ip.parse().unwrap();
            assert_eq!(text(got, "normalised"), parsed.to_string());
        } else {
            let family = if ip.contains(':') { "ipv6" } else { "ipv4" };
            assert_eq!(text(got, "verdict"), "refused", "{ip}");
            assert_eq!(text(got, "reason"), format!("{family}_{}", text(case, "reason")), "{ip}");
        }
    }
}
