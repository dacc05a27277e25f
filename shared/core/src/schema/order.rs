//! Equality of JSON values as JSON Schema has it: numbers by value, objects whatever their order.

use std::cmp::Ordering;

use serde_json::Value;

use crate::decimal::Decimal;

/// A total order whose equality is that of JSON Schema (core §4.2.2), so that unequal elements can be told
/// by sorting them.
pub(super) fn order(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => Decimal::of(a).cmp(&Decimal::of(b)),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Array(a), Value::Array(b)) => {
            let mut pairs = a.iter().zip(b).map(|(a, b)| order(a, b));
            pairs.find(|it| it.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (Value::Object(a), Value::Object(b)) => {
            // Their maps are sorted by name.
            let mut pairs = a.iter().zip(b).map(|(a, b)| a.0.cmp(b.0).then_with(|| order(a.1, b.1)));
            pairs.find(|it| it.is_ne()).unwrap_or_else(|| a.len().cmp(&b.len()))
        }
        (a, b) => rank(a).cmp(&rank(b)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Null => 0,
        Value::Bool(_) => 1,
        Value::Number(_) => 2,
        Value::String(_) => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// A measure of how much comparing with `value` may cost.
pub(super) fn weight(value: &Value) -> u32 {
    let of_text = |text: &str| u32::try_from(text.len() / 64).unwrap_or(u32::MAX);
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
        Value::String(text) => 1 + of_text(text),
        Value::Array(items) => items.iter().map(weight).fold(1, u32::saturating_add),
        Value::Object(members) => {
            members.iter().map(|(name, value)| of_text(name) + weight(value)).fold(1, u32::saturating_add)
        }
    }
}
