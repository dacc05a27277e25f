//! JSON Schema: our subset agrees with an independent implementation about random schemas and values.

#![allow(clippy::unwrap_used, reason = "a vector that does not read as it should fails its test")]

use hookproof_core::schema::Schema;
use serde_json::Value;

const DATA: &str = include_str!("data/json_schema.json");

#[test]
fn every_value_is_judged_as_stated() {
    let data: Value = serde_json::from_str(DATA).unwrap();
    let cases = data["cases"].as_array().unwrap();
    let mut judged = 0;
    for case in cases {
        let rules = &case["schema"];
        let schema =
            Schema::compile(rules, "").unwrap_or_else(|refusal| unreachable!("{rules}: {refusal:?}"));
        for (verdict, fits) in [("valid", true), ("invalid", false)] {
            for value in case[verdict].as_array().unwrap() {
                assert_eq!(schema.check(value, "").is_ok(), fits, "{rules}\n{value} is {verdict}");
                judged += 1;
            }
        }
    }
    assert!(cases.len() >= 100 && judged >= 800, "{} schemas, {judged} values", cases.len());
}
