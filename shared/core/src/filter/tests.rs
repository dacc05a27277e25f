use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::envelope::Object;
use crate::reason::Reason;

fn filter(pattern: &Value) -> Filter {
    Filter::parse(pattern).unwrap_or_else(|refusal| unreachable!("{pattern}: {refusal:?}"))
}

fn event(data: &Value) -> Subject {
    let object = Object { id: "in_7".into(), version: Some(3) };
    Subject::new("invoice.paid", "2026-01", Some(&object), &data.to_string()).unwrap()
}

/// Whether a pattern over `data` lets `data` through.
fn fits(pattern: &Value, data: &Value) -> bool {
    filter(&json!({ "data": pattern })).matches(&event(data))
}

#[test]
fn what_event_bridge_documents_holds_here() {
    // Pattern, what it lets through, what it does not.
    let table = [
        // Values of a leaf are alternatives, fields beside each other are not.
        (
            json!({ "state": ["running", "stopped"] }),
            json!({ "state": "stopped" }),
            json!({ "state": "pending" }),
        ),
        (
            json!({ "state": ["on"], "zone": ["a"] }),
            json!({ "state": "on", "zone": "a", "more": 1 }),
            json!({ "state": "on", "zone": "b" }),
        ),
        // An array in the event fits where it has an element in common with the leaf.
        (json!({ "groups": ["x", "y"] }), json!({ "groups": ["z", "y"] }), json!({ "groups": ["z"] })),
        // Prefix and suffix look at the case of letters.
        (
            json!({ "zone": [{ "prefix": "eu-" }] }),
            json!({ "zone": "eu-west" }),
            json!({ "zone": "EU-west" }),
        ),
        (
            json!({ "file": [{ "suffix": ".png" }] }),
            json!({ "file": "a.png" }),
            json!({ "file": "a.png.txt" }),
        ),
        // anything-but: one value, several, numbers, a prefix, a suffix. The field has to be there.
        (json!({ "s": [{ "anything-but": "init" }] }), json!({ "s": "run" }), json!({ "s": "init" })),
        (json!({ "s": [{ "anything-but": ["a", "b"] }] }), json!({ "s": "c" }), json!({ "s": "b" })),
        (json!({ "n": [{ "anything-but": [1, 2] }] }), json!({ "n": 3 }), json!({ "n": 2 })),
        (
            json!({ "s": [{ "anything-but": { "prefix": "in" } }] }),
            json!({ "s": "out" }),
            json!({ "s": "init" }),
        ),
        (
            json!({ "f": [{ "anything-but": { "suffix": [".txt", ".md"] } }] }),
            json!({ "f": "a.png" }),
            json!({ "f": "a.md" }),
        ),
        (json!({ "s": [{ "anything-but": "x" }] }), json!({ "s": "" }), json!({})),
        // Ranges.
        (json!({ "n": [{ "numeric": [">", 0, "<=", 5] }] }), json!({ "n": 5 }), json!({ "n": 0 })),
        (json!({ "n": [{ "numeric": ["<", 10] }] }), json!({ "n": -1.5 }), json!({ "n": "1" })),
        (json!({ "n": [{ "numeric": ["=", 3.5] }] }), json!({ "n": 3.5 }), json!({ "n": 3.51 })),
        (json!({ "n": [{ "numeric": [">=", 2] }] }), json!({ "n": 2 }), json!({ "n": 1.99 })),
        // exists is about leaves: null is there, an object is not a value.
        (json!({ "e": [{ "exists": true }] }), json!({ "e": null }), json!({ "e": { "x": 1 } })),
        (json!({ "e": [{ "exists": false }] }), json!({ "f": 1 }), json!({ "e": "" })),
        (
            json!({ "o": { "e": [{ "exists": false }] } }),
            json!({ "o": { "f": 1 } }),
            json!({ "o": { "e": 1 } }),
        ),
        // null and the empty text are different values, and neither is an absent field.
        (json!({ "v": [null] }), json!({ "v": null }), json!({ "v": "" })),
        (json!({ "v": [""] }), json!({ "v": "" }), json!({ "v": null })),
        (json!({ "v": [null] }), json!({ "v": [1, null] }), json!({})),
        // $or stands beside fields that must fit as well.
        (
            json!({ "k": ["x"], "$or": [{ "a": [1] }, { "b": [{ "prefix": "y" }] }] }),
            json!({ "k": "x", "b": "yes" }),
            json!({ "k": "x", "a": 2, "b": "no" }),
        ),
        (json!({ "$or": [{ "a": [1] }, { "a": [2] }] }), json!({ "a": 2 }), json!({ "a": 3 })),
        // Several kinds of condition in one leaf are alternatives too.
        (
            json!({ "n": [{ "exists": false }, { "numeric": ["<", 0] }, "none"] }),
            json!({ "n": "none" }),
            json!({ "n": "some" }),
        ),
        // Text is no number and no boolean.
        (json!({ "v": ["1"] }), json!({ "v": "1" }), json!({ "v": 1 })),
        (json!({ "v": [true] }), json!({ "v": true }), json!({ "v": "true" })),
    ];
    for (pattern, good, bad) in table {
        assert!(fits(&pattern, &good), "{pattern} lets {good} through");
        assert!(!fits(&pattern, &bad), "{pattern} does not let {bad} through");
    }
}

#[test]
fn numbers_are_equal_by_value_however_they_are_written() {
    for (wanted, there) in [("300", "300.0"), ("3e2", "300"), ("0.1", "1e-1"), ("0", "-0.0")] {
        let pattern: Value = serde_json::from_str(&format!("{{\"data\":{{\"n\":[{wanted}]}}}}")).unwrap();
        let it = Subject::new("a.b", "1", None, &format!("{{\"n\":{there}}}")).unwrap();
        assert!(filter(&pattern).matches(&it), "{wanted} is {there}");
    }
    // Where doubles would not tell them apart.
    assert!(!fits(&json!({ "n": [9_007_199_254_740_993u64] }), &json!({ "n": 9_007_199_254_740_992u64 })));
    let above = json!({ "n": [{ "numeric": [">", 9_007_199_254_740_992u64] }] });
    assert!(fits(&above, &json!({ "n": 9_007_199_254_740_993u64 })));
}

#[test]
fn a_nested_pattern_fits_one_element_as_a_whole() {
    let pattern = json!({ "lines": { "sku": ["a"], "count": [{ "numeric": [">", 1] }] } });
    assert!(fits(&pattern, &json!({ "lines": [{ "sku": "b", "count": 9 }, { "sku": "a", "count": 2 }] })));
    assert!(!fits(&pattern, &json!({ "lines": [{ "sku": "b", "count": 9 }, { "sku": "a", "count": 1 }] })));
    let absent = json!({ "o": { "x": [{ "exists": false }] } });
    for nothing in [json!({}), json!({ "o": 1 }), json!({ "o": [] }), json!({ "o": {} })] {
        assert!(fits(&absent, &nothing), "{nothing}");
    }
}

#[test]
fn an_event_is_filtered_by_its_type_version_and_object_too() {
    let it = event(&json!({ "n": 1 }));
    for (pattern, fits) in [
        (json!({ "type": [{ "prefix": "invoice." }] }), true),
        (json!({ "type": [{ "suffix": ".voided" }] }), false),
        (json!({ "api_version": ["2026-01"] }), true),
        (json!({ "object": { "id": ["in_7"], "version": [{ "numeric": [">", 2] }] } }), true),
        (json!({ "object": { "id": [{ "anything-but": "in_7" }] } }), false),
        (json!({ "$or": [{ "type": ["a.b"] }, { "data": { "n": [1] } }] }), true),
    ] {
        assert_eq!(filter(&pattern).matches(&it), fits, "{pattern}");
    }
    let bare = Subject::new("a.b", "1", None, "[1,\"x\"]").unwrap();
    assert!(filter(&json!({ "object": { "id": [{ "exists": false }] } })).matches(&bare));
    assert!(filter(&json!({ "data": ["x"] })).matches(&bare), "data need not be an object");
}

#[test]
fn a_frozen_envelope_is_filtered_as_its_draft_was() {
    let draft = crate::envelope::Draft {
        id: "evt-1".parse().unwrap(),
        kind: "invoice.paid".parse().unwrap(),
        created: None,
        api_version: "2026-01".into(),
        object: Some(Object { id: "in_7".into(), version: Some(3) }),
        resource_url: None,
        data: "{\"n\": 1.50}".into(),
    };
    let sealed = draft.seal(crate::time::Timestamp::from_unix(1)).unwrap();
    let frozen = Subject::of_envelope(std::str::from_utf8(&sealed.bytes).unwrap()).unwrap();
    assert_eq!(frozen, event(&json!({ "n": 1.5 })));
    assert_eq!(Subject::of_envelope("{}").unwrap_err().reason, Reason::InternalCorrupt);
}

#[test]
fn what_is_no_filter_is_refused_by_its_place() {
    for (pattern, field) in [
        (json!([]), "/filter"),
        (json!({}), "/filter"),
        (json!("x"), "/filter"),
        (json!({ "date": { "a": [1] } }), "/filter/date"),
        (json!({ "type": { "a": [1] } }), "/filter/type"),
        (json!({ "object": ["in_7"] }), "/filter/object"),
        (json!({ "$or": [{ "id": ["x"] }, { "data": [1] }] }), "/filter/$or/id"),
        (json!({ "data": {} }), "/filter/data"),
        (json!({ "data": { "a": 1 } }), "/filter/data/a"),
        (json!({ "data": { "a": [] } }), "/filter/data/a"),
        (json!({ "data": { "a/b": [[1]] } }), "/filter/data/a~1b/0"),
        (json!({ "data": { "a": [1, {}] } }), "/filter/data/a/1"),
        (json!({ "data": { "a": [{ "prefix": "x", "suffix": "y" }] } }), "/filter/data/a/0"),
        (json!({ "data": { "a": [{ "wildcard": "x*" }] } }), "/filter/data/a/0/wildcard"),
        (json!({ "data": { "a": [{ "prefix": 1 }] } }), "/filter/data/a/0/prefix"),
        (json!({ "data": { "a": [{ "exists": "yes" }] } }), "/filter/data/a/0/exists"),
        (json!({ "data": { "a": [{ "anything-but": [] }] } }), "/filter/data/a/0/anything-but"),
        (
            json!({ "data": { "a": [{ "anything-but": { "numeric": ["=", 1] } }] } }),
            "/filter/data/a/0/anything-but/numeric",
        ),
        (json!({ "data": { "a": [{ "anything-but": [[1]] }] } }), "/filter/data/a/0/anything-but"),
        (json!({ "data": { "a": [0.123_456_789_012_345_67] } }), "/filter/data/a/0"),
        (json!({ "data": { "$or": [{ "a": [1] }] } }), "/filter/data/$or"),
        (json!({ "data": { "$or": [{ "a": [1] }, 2] } }), "/filter/data/$or/1"),
    ] {
        let refusal = Filter::parse(&pattern).unwrap_err();
        assert_eq!(
            (refusal.reason, refusal.field.as_deref()),
            (Reason::BodyMalformed, Some(field)),
            "{pattern}"
        );
        assert!(refusal.accepted.is_some() && !refusal.detail.is_empty());
    }
    for range in [
        json!([]),
        json!(["<"]),
        json!(["<", "5"]),
        json!(["!=", 5]),
        json!([5, "<"]),
        json!(["<", 5, ">", 0]),
        json!([">", 0, "<"]),
        json!([">", 5, "<", 5]),
        json!([">=", 6, "<=", 5]),
        json!(["=", 1, "=", 1]),
        json!("<5"),
    ] {
        let pattern = json!({ "data": { "a": [{ "numeric": range }] } });
        assert_eq!(
            Filter::parse(&pattern).unwrap_err().field.as_deref(),
            Some("/filter/data/a/0/numeric"),
            "{range}"
        );
    }
    assert!(Filter::parse(&json!({ "data": { "a": [{ "numeric": [">=", 5, "<=", 5] }] } })).is_ok());
}

#[test]
fn the_limits_hold_to_the_last() {
    let long = |octets: usize| {
        let frame = json!({ "data": { "a": [""] } }).to_string().len();
        json!({ "data": { "a": ["x".repeat(octets - frame)] } })
    };
    let deep = |levels: usize| (1..levels).fold(json!({ "a": [1] }), |inner, _| json!({ "data": inner }));
    let many = |conditions: usize| json!({ "data": { "a": (0..conditions).collect::<Vec<_>>() } });
    let except =
        |values: usize| json!({ "data": { "a": [{ "anything-but": (0..values).collect::<Vec<_>>() }] } });
    let branches = |levels: usize| {
        let either = |inner: Value| json!({ "$or": [inner, { "data": [1] }] });
        (1..levels).fold(json!({ "data": ["x"] }), |inner, _| either(inner))
    };
    let cases: [(&dyn Fn(usize) -> Value, usize); 5] = [
        (&long, MAX_BYTES),
        (&deep, MAX_DEPTH),
        (&branches, MAX_DEPTH),
        (&many, MAX_CONDITIONS),
        (&except, MAX_CONDITIONS),
    ];
    for (make, limit) in cases {
        for (n, good) in [(limit - 1, true), (limit, true), (limit + 1, false)] {
            let parsed = Filter::parse(&make(n));
            assert_eq!(parsed.is_ok(), good, "{n} of {limit}: {parsed:?}");
        }
    }
}

#[test]
fn order_and_spelling_do_not_make_another_filter() {
    let it = filter(
        &json!({ "type": ["a.b"], "data": { "a": [1, "x", { "prefix": "y" }], "$or": [{ "b": [1] }, { "c": [2] }] } }),
    );
    let text = r#"{"data":{"$or":[{"c":[2.0]},{"b":[1e0]},{"b":[1]}],"a":[{"prefix":"y"},"x",1,1.0]},"type":["a.b"]}"#;
    let same = filter(&serde_json::from_str(text).unwrap());
    assert_eq!((it.canonical(), it.digest()), (same.canonical(), same.digest()));
    let alone = filter(&json!({ "data": { "a": [{ "anything-but": "x" }] } }));
    assert_eq!(alone, filter(&json!({ "data": { "a": [{ "anything-but": ["x", "x"] }] } })));
    assert_ne!(
        alone.digest(),
        filter(&json!({ "data": { "a": [{ "anything-but": { "prefix": "x" } }] } })).digest()
    );
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..5).prop_map(Value::from),
        (-50i32..50).prop_map(|n| json!(f64::from(n) / 4.0)),
        "[ab]{0,2}".prop_map(Value::from),
    ]
}

fn name() -> impl Strategy<Value = String> {
    "[a-c]"
}

fn data() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(name(), inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

fn condition() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => scalar(),
        1 => "[ab]{0,2}".prop_map(|text| json!({ "prefix": text })),
        1 => "[ab]{0,2}".prop_map(|text| json!({ "suffix": text })),
        1 => proptest::collection::vec(scalar(), 1..3).prop_map(|values| json!({ "anything-but": values })),
        1 => "[ab]{0,2}".prop_map(|text| json!({ "anything-but": { "prefix": text } })),
        1 => (-5i32..5, 1i32..5).prop_map(|(low, width)| json!({ "numeric": [">", low, "<=", low + width] })),
        1 => (-5i32..5).prop_map(|at| json!({ "numeric": ["<", f64::from(at) / 2.0] })),
        1 => any::<bool>().prop_map(|wanted| json!({ "exists": wanted })),
    ]
}

fn leaf() -> impl Strategy<Value = Value> {
    proptest::collection::vec(condition(), 1..4).prop_map(Value::from)
}

/// A pattern for what is below `data`.
fn pattern() -> impl Strategy<Value = Value> {
    let fields = proptest::collection::btree_map(name(), leaf(), 1..3).prop_map(|fields| json!(fields));
    fields.prop_recursive(2, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::btree_map(name(), inner.clone(), 1..3).prop_map(|fields| json!(fields)),
            proptest::collection::vec(inner, 2..4).prop_map(|branches| json!({ "$or": branches })),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn the_canonical_form_is_the_same_filter(pattern in pattern(), data in data()) {
        let it = filter(&json!({ "data": pattern }));
        let canonical = it.canonical();
        let again = filter(&canonical);
        prop_assert_eq!(again.canonical(), canonical);
        prop_assert_eq!(again.digest(), it.digest());
        prop_assert_eq!(again.matches(&event(&data)), it.matches(&event(&data)));
        let read: Filter = serde_json::from_str(&serde_json::to_string(&it).unwrap()).unwrap();
        prop_assert_eq!(read, it);
    }

    #[test]
    fn a_field_more_never_widens_and_a_condition_more_never_narrows(
        pattern in pattern(), more in leaf(), one in condition(), data in data(),
    ) {
        let before = fits(&pattern, &data);
        let mut narrower = pattern.clone();
        narrower["more"] = more.clone();
        prop_assert!(before || !fits(&narrower, &data), "{narrower}");
        let narrow = json!({ "a": more });
        let mut wider = narrow.clone();
        wider["a"].as_array_mut().unwrap().push(one);
        prop_assert!(!fits(&narrow, &data) || fits(&wider, &data), "{wider}");
    }

    #[test]
    fn either_is_one_or_the_other(one in pattern(), other in pattern(), data in data()) {
        prop_assume!(one.get("$or").is_none() && other.get("$or").is_none());
        let expected = fits(&one, &data) || fits(&other, &data);
        // Of an array one element must fit one branch as a whole, which is the same.
        prop_assert_eq!(fits(&json!({ "$or": [one, other] }), &data), expected);
    }

    #[test]
    fn a_leaf_is_there_or_not(data in data()) {
        // Where the place is one: an array can have elements of both kinds.
        prop_assume!(!data.is_array());
        let exists = |wanted: bool| fits(&json!({ "a": [{ "exists": wanted }] }), &data);
        prop_assert_ne!(exists(true), exists(false));
    }
}
