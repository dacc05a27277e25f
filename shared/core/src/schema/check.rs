//! A value against a schema: the first mismatch, or none, within a bounded number of steps.

use std::collections::BTreeMap;

use serde_json::Value;

use super::compile::{ANYTHING, TYPES};
use super::order::order;
use super::{Index, Limit, MAX_STEPS, Mismatch, Rule, Schema, Span};
use crate::decimal::Decimal;
use crate::pointer::Pointer;

/// What is left of the work, and why it ended.
struct Checker<'a> {
    schema: &'a Schema,
    steps: u32,
}

/// How a check ends where it does not hold.
enum Fault {
    /// The value is not what the schema says.
    Mismatch(Mismatch),
    /// It cannot be said within the steps.
    TooMuch,
}

type Checked = Result<(), Fault>;

pub(super) fn check(schema: &Schema, value: &Value, at: &str) -> Result<(), Mismatch> {
    let mut checker = Checker { schema, steps: MAX_STEPS };
    match checker.node(0, value, &Pointer::root(at)) {
        Ok(()) => Ok(()),
        Err(Fault::Mismatch(mismatch)) => Err(mismatch),
        Err(Fault::TooMuch) => {
            let expected = format!("a value that can be checked in {MAX_STEPS} steps");
            Err(Mismatch { pointer: at.to_owned(), expected })
        }
    }
}

impl Checker<'_> {
    fn spend(&mut self, steps: usize) -> Checked {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.steps = self.steps.checked_sub(steps).ok_or(Fault::TooMuch)?;
        Ok(())
    }

    fn node(&mut self, index: Index, value: &Value, at: &Pointer<'_>) -> Checked {
        self.spend(1)?;
        let schema = self.schema;
        schema.nodes[index].iter().try_for_each(|rule| self.rule(rule, value, at))
    }

    fn rule(&mut self, rule: &Rule, value: &Value, at: &Pointer<'_>) -> Checked {
        self.spend(1)?;
        match rule {
            Rule::Never => fault(at, "nothing: the schema takes no value here"),
            Rule::Ref(index) => self.node(*index, value, at),
            Rule::Types(bits) => holds(types_of(value) & bits != 0, at, || types(*bits)),
            Rule::Values(values, weight) => {
                self.spend(*weight as usize)?;
                let known = values.iter().any(|it| order(it, value).is_eq());
                holds(known, at, || one_of(values))
            }
            Rule::Bound(limit, bound) => bounded(*limit, bound, value, at),
            Rule::MultipleOf(step) => {
                let fits = value.as_number().is_none_or(|it| Decimal::of(it).is_multiple_of(step));
                holds(fits, at, || format!("a multiple of {}", step.number()))
            }
            Rule::Length(span) => {
                let Some(text) = value.as_str() else { return Ok(()) };
                self.spend(text.len() / 256)?;
                within(*span, text.chars().count(), at, "characters")
            }
            Rule::Items(span) => {
                value.as_array().map_or(Ok(()), |items| within(*span, items.len(), at, "elements"))
            }
            Rule::Properties(span) => {
                value.as_object().map_or(Ok(()), |members| within(*span, members.len(), at, "members"))
            }
            Rule::Unique => self.unique(value, at),
            Rule::Array { prefix, rest } => self.array(prefix, *rest, value, at),
            Rule::Object { named, others } => self.object(named, *others, value, at),
            Rule::Names(index) => self.names(*index, value, at),
            Rule::Required(names) => self.required(names, value, at),
            Rule::All(parts) => parts.iter().try_for_each(|&part| self.node(part, value, at)),
            Rule::Any(parts) => self.any(parts, value, at),
            Rule::One(parts) => self.one(parts, value, at),
            Rule::Not(part) => {
                let fits = self.fits(*part, value, at)?;
                holds(!fits, at, || "a value that does not fit the schema of not".to_owned())
            }
        }
    }

    fn unique(&mut self, value: &Value, at: &Pointer<'_>) -> Checked {
        let Some(items) = value.as_array() else { return Ok(()) };
        self.spend(items.iter().map(super::order::weight).fold(0, u32::saturating_add) as usize)?;
        let mut sorted: Vec<&Value> = items.iter().collect();
        sorted.sort_by(|a, b| order(a, b));
        let twice = sorted.windows(2).any(|pair| order(pair[0], pair[1]).is_eq());
        holds(!twice, at, || "elements that differ".to_owned())
    }

    fn array(&mut self, prefix: &[Index], rest: Option<Index>, value: &Value, at: &Pointer<'_>) -> Checked {
        let Some(items) = value.as_array() else { return Ok(()) };
        for (place, item) in items.iter().enumerate() {
            match prefix.get(place).copied().or(rest) {
                Some(ANYTHING) => {}
                Some(index) => self.node(index, item, &at.index(place))?,
                None => break,
            }
        }
        Ok(())
    }

    fn object(
        &mut self,
        named: &BTreeMap<String, Index>,
        others: Option<Index>,
        value: &Value,
        at: &Pointer<'_>,
    ) -> Checked {
        let Some(members) = value.as_object() else { return Ok(()) };
        let Some(others) = others else {
            for (name, &index) in named {
                self.spend(1)?;
                if let Some(member) = members.get(name) {
                    self.node(index, member, &at.then(name))?;
                }
            }
            return Ok(());
        };
        for (name, member) in members {
            self.spend(1)?;
            if !named.contains_key(name) {
                self.node(others, member, &at.then(name))?;
            }
        }
        Ok(())
    }

    fn names(&mut self, index: Index, value: &Value, at: &Pointer<'_>) -> Checked {
        for name in value.as_object().into_iter().flatten().map(|(name, _)| name) {
            self.spend(1 + name.len() / 256)?;
            self.node(index, &Value::String(name.clone()), &at.then(name))?;
        }
        Ok(())
    }

    fn required(&mut self, names: &[String], value: &Value, at: &Pointer<'_>) -> Checked {
        let Some(members) = value.as_object() else { return Ok(()) };
        self.spend(names.len())?;
        let missing = names.iter().find(|name| !members.contains_key(*name));
        missing.map_or(Ok(()), |name| fault(&at.then(name), "a member of this name"))
    }

    fn any(&mut self, parts: &[Index], value: &Value, at: &Pointer<'_>) -> Checked {
        for &part in parts {
            if self.fits(part, value, at)? {
                return Ok(());
            }
        }
        fault(at, "a value that fits one of the schemas of anyOf")
    }

    fn one(&mut self, parts: &[Index], value: &Value, at: &Pointer<'_>) -> Checked {
        let mut fitting = 0;
        for &part in parts {
            fitting += u32::from(self.fits(part, value, at)?);
        }
        holds(fitting == 1, at, || "a value that fits exactly one of the schemas of oneOf".to_owned())
    }

    /// Whether a value fits; running out of steps is no answer.
    fn fits(&mut self, part: Index, value: &Value, at: &Pointer<'_>) -> Result<bool, Fault> {
        match self.node(part, value, at) {
            Ok(()) => Ok(true),
            Err(Fault::Mismatch(_)) => Ok(false),
            Err(Fault::TooMuch) => Err(Fault::TooMuch),
        }
    }
}

fn fault(at: &Pointer<'_>, expected: &str) -> Checked {
    Err(Fault::Mismatch(Mismatch { pointer: at.to_string(), expected: expected.to_owned() }))
}

fn holds(it: bool, at: &Pointer<'_>, expected: impl FnOnce() -> String) -> Checked {
    if it { Ok(()) } else { fault(at, &expected()) }
}

/// The bits of [`TYPES`] that a value is.
fn types_of(value: &Value) -> u8 {
    match value {
        Value::Null => 1,
        Value::Bool(_) => 1 << 1,
        Value::Number(it) if Decimal::of(it).is_integer() => 1 << 2 | 1 << 3,
        Value::Number(_) => 1 << 3,
        Value::String(_) => 1 << 4,
        Value::Array(_) => 1 << 5,
        Value::Object(_) => 1 << 6,
    }
}

fn types(bits: u8) -> String {
    let names = TYPES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 == 1).map(|(_, name)| *name);
    format!("of type {}", names.collect::<Vec<_>>().join(" or "))
}

/// The values that are taken, as far as they are short.
fn one_of(values: &[Value]) -> String {
    let mut words = String::from("one of");
    for value in values {
        let text = value.to_string();
        if words.len() + text.len() > 200 {
            words.push_str(" …");
            break;
        }
        words.push(' ');
        words.push_str(&text);
    }
    words
}

fn bounded(limit: Limit, bound: &Decimal, value: &Value, at: &Pointer<'_>) -> Checked {
    let Some(it) = value.as_number().map(Decimal::of) else { return Ok(()) };
    let (fits, words) = match limit {
        Limit::Minimum => (it >= *bound, "a number at least"),
        Limit::ExclusiveMinimum => (it > *bound, "a number above"),
        Limit::Maximum => (it <= *bound, "a number at most"),
        Limit::ExclusiveMaximum => (it < *bound, "a number below"),
    };
    holds(fits, at, || format!("{words} {}", bound.number()))
}

fn within(span: Span, count: usize, at: &Pointer<'_>, what: &str) -> Checked {
    let count = count as u64;
    if let Some(min) = span.min.filter(|&min| count < min) {
        return fault(at, &format!("at least {min} {what}"));
    }
    match span.max.filter(|&max| count > max) {
        Some(max) => fault(at, &format!("at most {max} {what}")),
        None => Ok(()),
    }
}
