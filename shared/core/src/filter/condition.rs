//! The conditions a field can be held to, and what they say about a value.

use serde_json::{Map, Value};

use crate::decimal::Decimal;

/// A value that is no object and no array. Numbers are equal by value, however they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Number(Decimal),
    Text(String),
}

impl Scalar {
    pub(super) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(Self::Null),
            Value::Bool(it) => Some(Self::Bool(*it)),
            Value::Number(it) => Some(Self::Number(Decimal::of(it))),
            Value::String(it) => Some(Self::Text(it.clone())),
            Value::Array(_) | Value::Object(_) => None,
        }
    }

    fn is(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Null, Value::Null) => true,
            (Self::Bool(ours), Value::Bool(theirs)) => ours == theirs,
            (Self::Number(ours), Value::Number(theirs)) => *ours == Decimal::of(theirs),
            (Self::Text(ours), Value::String(theirs)) => ours == theirs,
            (Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_), _) => false,
        }
    }

    pub(super) fn value(&self) -> Value {
        match self {
            Self::Null => Value::Null,
            Self::Bool(it) => Value::Bool(*it),
            Self::Number(it) => Value::Number(it.number()),
            Self::Text(it) => Value::String(it.clone()),
        }
    }
}

/// One end of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub(super) at: Decimal,
    /// Whether the end itself belongs to the range.
    pub(super) inclusive: bool,
}

/// What numbers are in range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Range {
    Exactly(Decimal),
    Above(Bound),
    Below(Bound),
    Between(Bound, Bound),
}

impl Range {
    fn holds(&self, it: &Decimal) -> bool {
        let above = |low: &Bound| *it > low.at || (low.inclusive && *it == low.at);
        let below = |high: &Bound| *it < high.at || (high.inclusive && *it == high.at);
        match self {
            Self::Exactly(value) => it == value,
            Self::Above(low) => above(low),
            Self::Below(high) => below(high),
            Self::Between(low, high) => above(low) && below(high),
        }
    }

    fn terms(&self) -> Value {
        let low = |it: &Bound| [if it.inclusive { ">=" } else { ">" }.into(), it.at.number().into()];
        let high = |it: &Bound| [if it.inclusive { "<=" } else { "<" }.into(), it.at.number().into()];
        Value::Array(match self {
            Self::Exactly(value) => vec!["=".into(), value.number().into()],
            Self::Above(bound) => low(bound).into(),
            Self::Below(bound) => high(bound).into(),
            Self::Between(from, to) => low(from).into_iter().chain(high(to)).collect(),
        })
    }
}

/// What a value must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Except {
    Values(Vec<Scalar>),
    Prefixes(Vec<String>),
    Suffixes(Vec<String>),
}

/// One condition of a leaf; a field fits if any of its leaf's conditions does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Equals(Scalar),
    Prefix(String),
    Suffix(String),
    AnythingBut(Except),
    Numeric(Range),
    Exists(bool),
}

impl Condition {
    /// Whether the field fits; `None` is a field that is not there. Of an array any element may fit, at any
    /// depth; an object is no value, so that `exists` is about leaves only.
    pub(super) fn fits(&self, field: Option<&Value>) -> bool {
        match self {
            Self::Exists(wanted) => field.is_some_and(|value| any_scalar(value, &|_| true)) == *wanted,
            Self::Equals(_) | Self::Prefix(_) | Self::Suffix(_) | Self::AnythingBut(_) | Self::Numeric(_) => {
                field.is_some_and(|value| any_scalar(value, &|scalar| self.is_met(scalar)))
            }
        }
    }

    fn is_met(&self, scalar: &Value) -> bool {
        match self {
            Self::Equals(wanted) => wanted.is(scalar),
            Self::Prefix(prefix) => scalar.as_str().is_some_and(|text| text.starts_with(prefix)),
            Self::Suffix(suffix) => scalar.as_str().is_some_and(|text| text.ends_with(suffix)),
            Self::AnythingBut(Except::Values(values)) => !values.iter().any(|value| value.is(scalar)),
            Self::AnythingBut(Except::Prefixes(prefixes)) => {
                !scalar.as_str().is_some_and(|text| prefixes.iter().any(|it| text.starts_with(it)))
            }
            Self::AnythingBut(Except::Suffixes(suffixes)) => {
                !scalar.as_str().is_some_and(|text| suffixes.iter().any(|it| text.ends_with(it)))
            }
            Self::Numeric(range) => scalar.as_number().is_some_and(|it| range.holds(&Decimal::of(it))),
            Self::Exists(wanted) => *wanted,
        }
    }

    /// The condition in its canonical form.
    pub(super) fn value(&self) -> Value {
        match self {
            Self::Equals(scalar) => scalar.value(),
            Self::Prefix(text) => named("prefix", text.as_str().into()),
            Self::Suffix(text) => named("suffix", text.as_str().into()),
            Self::AnythingBut(Except::Values(values)) => {
                named("anything-but", values.iter().map(Scalar::value).collect())
            }
            Self::AnythingBut(Except::Prefixes(texts)) => {
                named("anything-but", named("prefix", texts.clone().into()))
            }
            Self::AnythingBut(Except::Suffixes(texts)) => {
                named("anything-but", named("suffix", texts.clone().into()))
            }
            Self::Numeric(range) => named("numeric", range.terms()),
            Self::Exists(wanted) => named("exists", (*wanted).into()),
        }
    }
}

fn named(name: &str, value: Value) -> Value {
    let mut object = Map::new();
    object.insert(name.to_owned(), value);
    object.into()
}

fn any_scalar(value: &Value, fits: &impl Fn(&Value) -> bool) -> bool {
    match value {
        Value::Array(items) => items.iter().any(|item| any_scalar(item, fits)),
        Value::Object(_) => false,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => fits(value),
    }
}
