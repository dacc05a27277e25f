use serde_json::{Value, json};

use super::*;

const HOST: &str = "hooks.example.com";

fn record(name: &str, kind: u16, data: &str) -> Value {
    json!({ "name": name, "type": kind, "TTL": 60, "data": data })
}

fn answer(kind: u16, records: &[Value]) -> Value {
    json!({
        "Status": 0, "TC": false, "RD": true, "RA": true, "AD": false, "CD": false,
        "Question": [{ "name": HOST, "type": kind }], "Answer": records,
    })
}

fn v4(body: &Value) -> Option<Vec<String>> {
    text(read(body.to_string().as_bytes(), HOST, Family::V4))
}

fn v6(body: &Value) -> Option<Vec<String>> {
    text(read(body.to_string().as_bytes(), HOST, Family::V6))
}

fn text(found: Option<Vec<IpAddr>>) -> Option<Vec<String>> {
    found.map(|list| list.iter().map(ToString::to_string).collect())
}

fn some(list: &[&str]) -> Option<Vec<String>> {
    Some(list.iter().map(|&text| text.to_owned()).collect())
}

#[test]
fn the_question_names_host_and_family() {
    let asked = |resolver| question(resolver, HOST, Family::V6).unwrap();
    assert_eq!(asked("https://dns.test/q"), "https://dns.test/q?name=hooks.example.com&type=AAAA");
    assert_eq!(asked("https://dns.test/q?ct=x"), "https://dns.test/q?ct=x&name=hooks.example.com&type=AAAA");
    for host in ["", "a b", "a&type=TXT", "a%2eb", "ä.example", "[::1]", "A.example", "a/b", "a#b"] {
        assert_eq!(question("https://dns.test/q", host, Family::V4), None, "{host}");
    }
}

#[test]
fn addresses_come_in_order_and_private_ones_too() {
    let body = answer(1, &[record(HOST, 1, "1.1.1.1"), record("HOOKS.example.com.", 1, "10.0.0.1")]);
    assert_eq!(v4(&body), some(&["1.1.1.1", "10.0.0.1"]), "what is dangerous is the policy's to refuse");
    let body = answer(28, &[record(HOST, 28, "2606:4700:0:0::1"), record(HOST, 28, "::ffff:127.0.0.1")]);
    assert_eq!(v6(&body), some(&["2606:4700::1", "::ffff:127.0.0.1"]));
}

#[test]
fn a_name_without_addresses_of_this_family_has_none() {
    assert_eq!(v6(&answer(28, &[])), some(&[]));
    let mut bare = answer(28, &[]);
    bare.as_object_mut().unwrap().remove("Answer");
    assert_eq!(v6(&bare), some(&[]));
    assert_eq!(v6(&answer(28, &[record(HOST, 5, "cdn.test.")])), some(&[]), "an alias alone");
}

#[test]
fn an_alias_chain_is_followed_in_any_order() {
    let chain = [
        record(HOST, 5, "a.cdn.test."),
        record("a.cdn.test", 5, "B.cdn.test"),
        record("b.cdn.test.", 1, "1.1.1.1"),
        record("b.cdn.test", 1, "1.0.0.1"),
    ];
    assert_eq!(v4(&answer(1, &chain)), some(&["1.1.1.1", "1.0.0.1"]));
    let mut turned = chain.clone();
    turned.reverse();
    assert_eq!(v4(&answer(1, &turned)), some(&["1.0.0.1", "1.1.1.1"]));
}

#[test]
fn a_record_of_another_name_refuses_the_answer() {
    for records in [
        vec![record("other.example.com", 1, "1.1.1.1")],
        vec![record(HOST, 1, "1.1.1.1"), record("other.example.com", 1, "1.0.0.1")],
        vec![record(HOST, 5, "cdn.test"), record(HOST, 1, "1.1.1.1")],
        vec![record(HOST, 5, "cdn.test"), record("cdn2.test", 1, "1.1.1.1")],
        vec![record(HOST, 1, "1.1.1.1"), record("other.test", 5, "cdn.test")],
        vec![record(HOST, 5, "a.test"), record(HOST, 5, "b.test"), record("b.test", 1, "1.1.1.1")],
        vec![record(HOST, 5, "a.test"), record("a.test", 5, HOST), record("b.test", 5, "a.test")],
        vec![record("", 1, "1.1.1.1")],
        vec![record("hooks.example.com..", 1, "1.1.1.1")],
    ] {
        assert_eq!(v4(&answer(1, &records)), None, "{records:?}");
    }
}

#[test]
fn an_alias_loop_ends() {
    let around = [record(HOST, 5, "a.test"), record("a.test", 5, HOST)];
    assert_eq!(v4(&answer(1, &around)), some(&[]));
    let long: Vec<Value> = (0..17)
        .map(|n| {
            record(
                &if n == 0 { HOST.to_owned() } else { format!("c{n}.test") },
                5,
                &format!("c{}.test", n + 1),
            )
        })
        .collect();
    assert_eq!(v4(&answer(1, &long)), None);
    assert_eq!(v4(&answer(1, &long[..16])), some(&[]));
}

#[test]
fn a_record_of_another_type_refuses_the_answer() {
    assert_eq!(v4(&answer(1, &[record(HOST, 28, "2606:4700::1")])), None);
    assert_eq!(v6(&answer(28, &[record(HOST, 1, "1.1.1.1")])), None);
    assert_eq!(v4(&answer(1, &[record(HOST, 1, "1.1.1.1"), record(HOST, 16, "text")])), None);
    assert_eq!(v4(&answer(28, &[record(HOST, 1, "1.1.1.1")])), None, "an answer to another question");
}

#[test]
fn text_that_is_no_address_of_the_family_refuses_the_answer() {
    for data in [
        "",
        "1.1.1",
        "01.1.1.1",
        "1.1.1.1.",
        " 1.1.1.1",
        "0x1.1.1.1",
        "16843009",
        "1.1.1.256",
        "::1",
        "1.1.1.1/32",
        "127.1",
    ] {
        assert_eq!(v4(&answer(1, &[record(HOST, 1, "1.1.1.1"), record(HOST, 1, data)])), None, "{data}");
    }
    for data in ["1.1.1.1", "fe80::1%eth0", "[::1]", "::1::", "2606:4700::1/128", ":", "12345::"] {
        assert_eq!(v6(&answer(28, &[record(HOST, 28, data)])), None, "{data}");
    }
}

#[test]
fn only_a_complete_answer_without_error_to_our_question_counts() {
    let good = answer(1, &[record(HOST, 1, "1.1.1.1")]);
    assert!(v4(&good).is_some());
    let bent = |change: fn(&mut Value)| {
        let mut body = good.clone();
        change(&mut body);
        v4(&body)
    };
    assert_eq!(bent(|body| body["Status"] = json!(2)), None);
    assert_eq!(bent(|body| body["Status"] = json!(3)), None);
    assert_eq!(bent(|body| body["Status"] = json!("0")), None);
    assert_eq!(bent(|body| body["TC"] = json!(true)), None);
    assert_eq!(bent(|body| body["Question"][0]["name"] = json!("other.example.com")), None);
    assert_eq!(bent(|body| body["Question"][0]["type"] = json!(28)), None);
    assert_eq!(bent(|body| body["Question"] = json!([])), None);
    assert_eq!(bent(|body| body["Answer"] = json!({})), None);
    assert_eq!(bent(|body| body["Answer"][0]["data"] = json!(["1.1.1.1"])), None);
    assert_eq!(bent(|body| drop(body.as_object_mut().unwrap().remove("Status"))), None);
    for garbage in ["", "null", "[]", "{}", "{\"Status\":0,\"Status\":0}", "<html>"] {
        assert_eq!(read(garbage.as_bytes(), HOST, Family::V4), None, "{garbage}");
    }
    assert_eq!(read(b"\xff{}", HOST, Family::V4), None);
}

#[test]
fn an_answer_of_a_thousand_addresses_is_none() {
    let many = |count: u16| -> Vec<Value> {
        (0..count).map(|n| record(HOST, 1, &format!("1.1.{}.{}", n / 256, n % 256))).collect()
    };
    assert_eq!(v4(&answer(1, &many(1000))), None);
    assert_eq!(v4(&answer(1, &many(65))), None);
    assert_eq!(v4(&answer(1, &many(64))).map(|list| list.len()), Some(64));
    let mut long = answer(1, &[record(HOST, 1, "1.1.1.1")]);
    long["Comment"] = json!("x".repeat(MAX_ANSWER_OCTETS));
    assert_eq!(v4(&long), None);
}
