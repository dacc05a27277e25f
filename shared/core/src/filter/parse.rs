//! A filter as written, judged place by place: the first thing that does not fit is named.

use serde_json::{Map, Value};

use super::condition::{Bound, Condition, Except, Range, Scalar};
use super::{MAX_BYTES, MAX_CONDITIONS, MAX_DEPTH, Pattern, ROOTS, Rule};
use crate::decimal::Decimal;
use crate::pointer::Pointer;
use crate::reason::{Reason, Refusal};

const LEAF: &str =
    "an array of values, {\"prefix\"}, {\"suffix\"}, {\"anything-but\"}, {\"numeric\"} or {\"exists\"}";
const PATTERN: &str = "an object of fields, each with an array of conditions or an object of fields";
const NUMERIC: &str = "[\"=\", 5], or one or two of \">\", \">=\" and then \"<\", \"<=\" with numbers, e.g. [\">=\", 0, \"<\", 5]";
const NUMBER: &str = "an integer of 64 bits or a number of at most 15 digits between 1e-22 and 1e22";

/// How much of the limits is used.
#[derive(Default)]
struct Budget {
    conditions: usize,
}

pub(super) fn filter(value: &Value) -> Result<Pattern, Refusal> {
    let at = Pointer::root("/filter");
    let length = value.to_string().len();
    if length > MAX_BYTES {
        return Err(refused(
            &at,
            &format!("the filter has {length} octets"),
            &format!("at most {MAX_BYTES}"),
        ));
    }
    let mut budget = Budget::default();
    let pattern = budget.pattern(value, &at, 1)?;
    roots(&pattern, &at)?;
    Ok(pattern)
}

/// Only parts of an event that a filter can see.
fn roots(pattern: &Pattern, at: &Pointer<'_>) -> Result<(), Refusal> {
    for (name, rule) in &pattern.fields {
        let at = at.then(name);
        let accepted = "type, api_version, object and data; what is inside an event stands below data";
        if !ROOTS.contains(&name.as_str()) {
            return Err(refused(&at, "a filter sees no such part of an event", accepted));
        }
        match (name.as_str(), rule) {
            ("type" | "api_version", Rule::Nested(_)) => {
                return Err(refused(&at, "this part of an event is text", LEAF));
            }
            ("object", Rule::Leaf(_)) => {
                return Err(refused(
                    &at,
                    "this part of an event is an object",
                    "{\"id\": [...]}, {\"version\": [...]}",
                ));
            }
            (_, Rule::Leaf(_) | Rule::Nested(_)) => {}
        }
    }
    pattern.either.iter().try_for_each(|branch| roots(branch, &at.then("$or")))
}

impl Budget {
    fn pattern(&mut self, value: &Value, at: &Pointer<'_>, depth: usize) -> Result<Pattern, Refusal> {
        let Some(object) = value.as_object().filter(|object| !object.is_empty()) else {
            return Err(refused(at, "this is no pattern", PATTERN));
        };
        if depth > MAX_DEPTH {
            let words = format!("patterns are nested more than {MAX_DEPTH} deep");
            return Err(refused(at, &words, &format!("at most {MAX_DEPTH} levels")));
        }
        let mut pattern = Pattern::default();
        for (name, value) in object {
            let at = at.then(name);
            if name == "$or" {
                pattern.either = self.either(value, &at, depth)?;
            } else {
                let rule = self.rule(value, &at, depth)?;
                pattern.fields.insert(name.clone(), rule);
            }
        }
        Ok(pattern)
    }

    fn either(&mut self, value: &Value, at: &Pointer<'_>, depth: usize) -> Result<Vec<Pattern>, Refusal> {
        let Some(branches) = value.as_array().filter(|branches| branches.len() >= 2) else {
            return Err(refused(at, "$or needs alternatives", "an array of at least two patterns"));
        };
        let mut either = Vec::with_capacity(branches.len());
        for (index, branch) in branches.iter().enumerate() {
            either.push(self.pattern(branch, &at.index(index), depth + 1)?);
        }
        either.sort_by_cached_key(|pattern: &Pattern| pattern.value().to_string());
        either.dedup();
        Ok(either)
    }

    fn rule(&mut self, value: &Value, at: &Pointer<'_>, depth: usize) -> Result<Rule, Refusal> {
        let items = match value {
            Value::Object(_) => return Ok(Rule::Nested(self.pattern(value, at, depth + 1)?)),
            Value::Array(items) if !items.is_empty() => items,
            Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                return Err(refused(at, "a field needs conditions", LEAF));
            }
        };
        let mut conditions = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            conditions.push(self.condition(item, &at.index(index))?);
        }
        conditions.sort_by_cached_key(|condition: &Condition| condition.value().to_string());
        conditions.dedup();
        Ok(Rule::Leaf(conditions))
    }

    fn condition(&mut self, value: &Value, at: &Pointer<'_>) -> Result<Condition, Refusal> {
        self.count(1, at)?;
        let Some(object) = value.as_object() else { return Ok(Condition::Equals(scalar(value, at, LEAF)?)) };
        let (name, operand, at) = only(object, at, LEAF)?;
        match name {
            "prefix" => Ok(Condition::Prefix(text(operand, &at)?)),
            "suffix" => Ok(Condition::Suffix(text(operand, &at)?)),
            "anything-but" => Ok(Condition::AnythingBut(self.except(operand, &at)?)),
            "numeric" => Ok(Condition::Numeric(range(operand, &at)?)),
            "exists" => {
                let wanted = operand.as_bool().map(Condition::Exists);
                wanted.ok_or_else(|| refused(&at, "exists takes no such value", "true or false"))
            }
            _ => Err(refused(&at, "there is no such condition", LEAF)),
        }
    }

    fn except(&mut self, operand: &Value, at: &Pointer<'_>) -> Result<Except, Refusal> {
        const ACCEPTED: &str =
            "a value or an array of values, {\"prefix\"} or {\"suffix\"} with a text or an array of texts";
        if let Some(object) = operand.as_object() {
            let (name, operand, at) = only(object, at, ACCEPTED)?;
            let mut texts = Vec::new();
            for item in self.several(operand, &at, ACCEPTED)? {
                texts.push(text(item, &at)?);
            }
            texts.sort();
            texts.dedup();
            return match name {
                "prefix" => Ok(Except::Prefixes(texts)),
                "suffix" => Ok(Except::Suffixes(texts)),
                _ => Err(refused(&at, "anything-but takes no such condition", ACCEPTED)),
            };
        }
        let mut values = Vec::new();
        for item in self.several(operand, at, ACCEPTED)? {
            values.push(scalar(item, at, ACCEPTED)?);
        }
        values.sort_by_cached_key(|value: &Scalar| value.value().to_string());
        values.dedup();
        Ok(Except::Values(values))
    }

    /// A value alone, or an array of some; the first was counted with its condition.
    fn several<'a>(
        &mut self,
        operand: &'a Value,
        at: &Pointer<'_>,
        accepted: &str,
    ) -> Result<&'a [Value], Refusal> {
        let items = operand.as_array().map_or_else(|| std::slice::from_ref(operand), Vec::as_slice);
        if items.is_empty() {
            return Err(refused(at, "the array is empty", accepted));
        }
        self.count(items.len() - 1, at)?;
        Ok(items)
    }

    fn count(&mut self, more: usize, at: &Pointer<'_>) -> Result<(), Refusal> {
        self.conditions += more;
        if self.conditions > MAX_CONDITIONS {
            let words = format!("the filter has more than {MAX_CONDITIONS} conditions");
            return Err(refused(at, &words, &format!("at most {MAX_CONDITIONS} in all")));
        }
        Ok(())
    }
}

/// The one member of a condition.
fn only<'a, 'p>(
    object: &'a Map<String, Value>,
    at: &'p Pointer<'p>,
    accepted: &str,
) -> Result<(&'a str, &'a Value, Pointer<'p>), Refusal>
where
    'a: 'p,
{
    let mut members = object.iter();
    match (members.next(), members.next()) {
        (Some((name, operand)), None) => Ok((name, operand, at.then(name))),
        _ => Err(refused(at, "a condition has one name", accepted)),
    }
}

fn text(value: &Value, at: &Pointer<'_>) -> Result<String, Refusal> {
    value.as_str().map(str::to_owned).ok_or_else(|| refused(at, "this is no text", "a text"))
}

fn scalar(value: &Value, at: &Pointer<'_>, accepted: &str) -> Result<Scalar, Refusal> {
    let scalar = Scalar::of(value).ok_or_else(|| refused(at, "this is no value", accepted))?;
    match &scalar {
        Scalar::Number(number) if !number.is_exact() => Err(vague(at)),
        Scalar::Null | Scalar::Bool(_) | Scalar::Number(_) | Scalar::Text(_) => Ok(scalar),
    }
}

fn number(value: &Value, at: &Pointer<'_>) -> Result<Decimal, Refusal> {
    let Value::Number(number) = value else { return Err(refused(at, "this is no number", NUMERIC)) };
    let number = Decimal::of(number);
    if number.is_exact() { Ok(number) } else { Err(vague(at)) }
}

/// A number that would not be read back as it was written.
fn vague(at: &Pointer<'_>) -> Refusal {
    refused(at, "this number cannot be compared exactly", NUMBER)
}

fn range(operand: &Value, at: &Pointer<'_>) -> Result<Range, Refusal> {
    let unusable = || refused(at, "this is no range", NUMERIC);
    let terms: Vec<&Value> = operand.as_array().ok_or_else(unusable)?.iter().collect();
    let bound = |operator: &Value, value: &Value| {
        let inclusive = operator.as_str().is_some_and(|it| it.ends_with('='));
        number(value, at).map(|at| Bound { at, inclusive })
    };
    let is = |operator: &Value, names: [&str; 2]| operator.as_str().is_some_and(|it| names.contains(&it));
    let (low, high) = ([">", ">="], ["<", "<="]);
    match terms.as_slice() {
        [operator, value] if operator.as_str() == Some("=") => number(value, at).map(Range::Exactly),
        [operator, value] if is(operator, low) => bound(operator, value).map(Range::Above),
        [operator, value] if is(operator, high) => bound(operator, value).map(Range::Below),
        [from, lower, to, upper] if is(from, low) && is(to, high) => {
            let (lower, upper) = (bound(from, lower)?, bound(to, upper)?);
            let closed = lower.inclusive && upper.inclusive;
            if lower.at < upper.at || (closed && lower.at == upper.at) {
                return Ok(Range::Between(lower, upper));
            }
            Err(refused(at, "no number is in this range", NUMERIC))
        }
        _ => Err(unusable()),
    }
}

fn refused(at: &Pointer<'_>, words: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::BodyMalformed, words).at(at.to_string(), accepted)
}
