use serde_json::{Value, json};

use super::*;
use crate::reason::Reason;

fn schema(it: &Value) -> Schema {
    Schema::compile(it, "").unwrap_or_else(|refusal| unreachable!("{it}: {refusal:?}"))
}

#[test]
fn each_keyword_takes_and_refuses() {
    // Schema, what fits, what does not.
    let table = [
        (json!({ "type": "integer" }), json!([1, -1, 1.0, 1e300]), json!([1.5, "1", null, true])),
        (json!({ "type": ["null", "string"] }), json!([null, ""]), json!([0, false, [], {}])),
        (
            json!({ "enum": [1, "a", { "x": [1, 2] }] }),
            json!([1.0, "a", { "x": [1.0, 2] }]),
            json!([2, { "x": [2, 1] }]),
        ),
        (json!({ "const": null }), json!([null]), json!([0, false, ""])),
        (json!({ "minimum": 0, "exclusiveMaximum": 0.3 }), json!([0, 0.29, "text"]), json!([-0.1, 0.3])),
        (json!({ "exclusiveMinimum": 1, "maximum": 2 }), json!([1.01, 2]), json!([1, 2.01])),
        (json!({ "multipleOf": 0.01 }), json!([19.99, 0, 4, "x"]), json!([0.001, 19.995])),
        (json!({ "minLength": 2, "maxLength": 3 }), json!(["ab", "äöü", "💩💩", 1]), json!(["a", "abcd"])),
        (
            json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "integer" } }),
            json!([[], ["a"], ["a", 1, 2], "x"]),
            json!([[1], ["a", "b"]]),
        ),
        (json!({ "prefixItems": [true], "items": false }), json!([[], [1]]), json!([[1, 2]])),
        (json!({ "minItems": 1, "maxItems": 2 }), json!([[1], [1, 2], {}]), json!([[], [1, 2, 3]])),
        (
            json!({ "uniqueItems": true }),
            json!([[], [1, "1", true, [1]], [{ "a": 1 }, { "a": 2 }], [1, true]]),
            json!([[1, 1.0], [{ "a": 1, "b": 2 }, { "b": 2, "a": 1 }]]),
        ),
        (json!({ "uniqueItems": false }), json!([[1, 1]]), json!([])),
        (
            json!({ "properties": { "a": { "type": "integer" } }, "required": ["a"] }),
            json!([{ "a": 1 }, { "a": 1, "b": 2 }, []]),
            json!([{}, { "a": "1" }]),
        ),
        (
            json!({ "properties": { "a": true }, "additionalProperties": { "type": "string" } }),
            json!([{ "a": 1, "b": "x" }]),
            json!([{ "b": 1 }]),
        ),
        (json!({ "additionalProperties": false }), json!([{}, 1]), json!([{ "a": 1 }])),
        (json!({ "propertyNames": { "maxLength": 2 } }), json!([{ "ab": 1 }]), json!([{ "abc": 1 }])),
        (
            json!({ "minProperties": 1, "maxProperties": 2 }),
            json!([{ "a": 1 }]),
            json!([{}, { "a": 1, "b": 1, "c": 1 }]),
        ),
        (json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }), json!([1, 2]), json!([0, 3])),
        (json!({ "anyOf": [{ "minimum": 5 }, { "type": "string" }] }), json!([5, "x"]), json!([4])),
        (json!({ "oneOf": [{ "multipleOf": 2 }, { "multipleOf": 3 }] }), json!([2, 3]), json!([6, 5])),
        (json!({ "not": { "type": "null" } }), json!([1]), json!([null])),
        (
            json!({ "$defs": { "n": { "type": "integer" }, "a/b~c": { "minimum": 3 } },
                "allOf": [{ "$ref": "#/$defs/n" }, { "$ref": "#/$defs/a~1b~0c" }] }),
            json!([3]),
            json!([2, 3.5]),
        ),
        (
            json!({ "properties": { "next": { "$ref": "#" }, "n": { "type": "integer" } }, "required": ["n"] }),
            json!([{ "n": 1, "next": { "n": 2 } }]),
            json!([{ "n": 1, "next": {} }, { "n": 1, "next": { "n": 1, "next": { "n": "x" } } }]),
        ),
        (json!(true), json!([1, null]), json!([])),
        (json!(false), json!([]), json!([1, null])),
    ];
    for (rules, good, bad) in table {
        let it = schema(&rules);
        for value in good.as_array().unwrap() {
            assert_eq!(it.check(value, ""), Ok(()), "{rules} takes {value}");
        }
        for value in bad.as_array().unwrap() {
            assert!(it.check(value, "").is_err(), "{rules} does not take {value}");
        }
    }
}

#[test]
fn a_mismatch_names_its_place_and_what_would_fit_without_the_value() {
    let it = schema(&json!({
        "type": "object",
        "properties": {
            "lines": { "items": { "properties": { "sku/id": { "type": "string" }, "n": { "minimum": 1 } } } },
            "kind": { "enum": ["a", "b"] },
        },
        "required": ["kind"],
        "additionalProperties": false,
    }));
    let mismatch =
        |value: Value| it.check(&value, "/data").map_err(|it| (it.pointer, it.expected)).unwrap_err();
    let of = |pointer: &str, expected: &str| (pointer.to_owned(), expected.to_owned());
    assert_eq!(mismatch(json!(7)), of("/data", "of type object"));
    assert_eq!(mismatch(json!({})), of("/data/kind", "a member of this name"));
    assert_eq!(mismatch(json!({ "kind": "hush" })), of("/data/kind", "one of \"a\" \"b\""));
    let lines = json!({ "kind": "a", "lines": [{}, { "sku/id": 1 }] });
    assert_eq!(mismatch(lines), of("/data/lines/1/sku~1id", "of type string"));
    let few = json!({ "kind": "a", "lines": [{ "n": 0 }] });
    assert_eq!(mismatch(few), of("/data/lines/0/n", "a number at least 1"));
    let other = json!({ "kind": "a", "other": 1 });
    assert_eq!(mismatch(other), of("/data/other", "nothing: the schema takes no value here"));
}

#[test]
fn what_is_not_checked_is_refused_when_it_is_published() {
    for (rules, field) in [
        (json!(1), "/schema"),
        (json!({ "pattern": "^a" }), "/schema/pattern"),
        (json!({ "properties": { "a": { "contains": {} } } }), "/schema/properties/a/contains"),
        (json!({ "items": [{}] }), "/schema/items"),
        (json!({ "if": {} }), "/schema/if"),
        (json!({ "type": "text" }), "/schema/type"),
        (json!({ "type": [] }), "/schema/type"),
        (json!({ "type": ["null", "null"] }), "/schema/type"),
        (json!({ "enum": [] }), "/schema/enum"),
        (json!({ "minimum": "1" }), "/schema/minimum"),
        (json!({ "multipleOf": 0 }), "/schema/multipleOf"),
        (json!({ "multipleOf": -1 }), "/schema/multipleOf"),
        (json!({ "minLength": -1 }), "/schema/minLength"),
        (json!({ "maxItems": 1.5 }), "/schema/maxItems"),
        (json!({ "uniqueItems": 1 }), "/schema/uniqueItems"),
        (json!({ "required": "a" }), "/schema/required"),
        (json!({ "allOf": [] }), "/schema/allOf"),
        (json!({ "anyOf": [{ "not": 3 }] }), "/schema/anyOf/0/not"),
        (json!({ "title": 1 }), "/schema/title"),
        (json!({ "examples": 1 }), "/schema/examples"),
        (json!({ "$schema": "http://json-schema.org/draft-07/schema#" }), "/schema/$schema"),
        (json!({ "items": { "$defs": {} } }), "/schema/items/$defs"),
        (json!({ "items": { "$id": "x" } }), "/schema/items/$id"),
        (json!({ "$ref": "https://example.com/a.json" }), "/schema/$ref"),
        (json!({ "$ref": "#/$defs/none" }), "/schema/$ref"),
        (json!({ "$ref": "#/properties/a", "properties": { "a": true } }), "/schema/$ref"),
        (json!({ "$ref": 1 }), "/schema/$ref"),
        (json!({ "$defs": { "a": { "$dynamicRef": "#" } } }), "/schema/$defs/a/$dynamicRef"),
        (json!({ "$defs": [] }), "/schema/$defs"),
    ] {
        let refusal = Schema::compile(&rules, "/schema").unwrap_err();
        assert_eq!(
            (refusal.reason, refusal.field.as_deref()),
            (Reason::SchemaRefused, Some(field)),
            "{rules}"
        );
        assert!(refusal.accepted.is_some_and(|it| !it.is_empty()));
    }
    let annotated = json!({ "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:x", "title": "t",
        "description": "d", "default": 1, "examples": [1], "format": "date", "deprecated": true, "$comment": "c",
        "readOnly": false, "writeOnly": false });
    assert_eq!(schema(&annotated).check(&json!("no date"), ""), Ok(()));
}

#[test]
fn schemas_do_not_apply_one_another_for_ever() {
    let round =
        json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } } });
    for endless in [round, json!({ "$ref": "#" }), json!({ "not": { "anyOf": [{ "$ref": "#" }] } })] {
        assert_eq!(Schema::compile(&endless, "").unwrap_err().reason, Reason::SchemaRefused, "{endless}");
    }
    let chain =
        |length: usize| (1..length).fold(json!({ "type": "null" }), |inner, _| json!({ "not": inner }));
    for (length, good) in [(MAX_CHAIN - 1, true), (MAX_CHAIN, true), (MAX_CHAIN + 1, false)] {
        assert_eq!(Schema::compile(&chain(length), "").is_ok(), good, "{length}");
    }
}

#[test]
fn the_limits_hold_to_the_last() {
    let parts = |count: usize| json!({ "prefixItems": vec![true; count - 1] });
    for (count, good) in [(MAX_NODES - 1, true), (MAX_NODES, true), (MAX_NODES + 1, false)] {
        assert_eq!(Schema::compile(&parts(count), "").is_ok(), good, "{count}");
    }
    let long =
        |octets: usize| json!({ "title": "x".repeat(octets - json!({ "title": "" }).to_string().len()) });
    for (octets, good) in [(MAX_BYTES - 1, true), (MAX_BYTES, true), (MAX_BYTES + 1, false)] {
        assert_eq!(Schema::compile(&long(octets), "").is_ok(), good, "{octets}");
    }
}

#[test]
fn a_value_whose_check_would_not_end_is_refused() {
    // Each of seven levels asks the next one four times, for the same value.
    let mut defs = serde_json::Map::new();
    for level in 0..7 {
        let next = json!({ "$ref": format!("#/$defs/l{}", level + 1) });
        defs.insert(format!("l{level}"), json!({ "allOf": [next, next, next, next] }));
    }
    defs.insert("l7".into(), json!({ "type": "integer" }));
    let it = schema(&json!({ "$defs": defs, "items": { "$ref": "#/$defs/l0" } }));
    assert_eq!(it.check(&json!([1]), "/data"), Ok(()));
    let mismatch = it.check(&json!(vec![1; 100]), "/data").unwrap_err();
    assert_eq!(mismatch.pointer, "/data");
    assert!(mismatch.expected.contains("steps"), "{mismatch:?}");
}

#[test]
fn comparing_much_and_long_texts_counts_as_work() {
    let many: Vec<Value> = (0..2_000).map(|n| json!(n)).collect();
    let it = schema(&json!({ "items": { "enum": many } }));
    assert!(it.check(&json!(vec![1_999; 400]), "").is_ok());
    assert!(it.check(&json!(vec![1_999; 600]), "").unwrap_err().expected.contains("steps"));
    let lengths = vec![json!({ "minLength": 1 }); 900];
    let it = schema(&json!({ "allOf": lengths }));
    assert!(
        it.check(&json!("x".repeat(200_000)), "").is_ok(),
        "900 times 200 kB is still no work of seconds"
    );
}
