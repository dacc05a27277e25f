//! JSON Schema, a declared subset of draft 2020-12: what a schema says is checked, and a schema that says
//! something that is not checked is refused when it is published.
//!
//! | checked | |
//! |---|---|
//! | any value | `type`, `enum`, `const`, `allOf`, `anyOf`, `oneOf`, `not`, `true`, `false` |
//! | numbers | `minimum`, `maximum`, `exclusiveMinimum`, `exclusiveMaximum`, `multipleOf` |
//! | texts | `minLength`, `maxLength` (characters) |
//! | arrays | `prefixItems`, `items`, `minItems`, `maxItems`, `uniqueItems` |
//! | objects | `properties`, `required`, `additionalProperties`, `propertyNames`, `minProperties`, `maxProperties` |
//! | reuse | `$defs` at the top, `$ref` to `#` or `#/$defs/<name>` |
//!
//! Annotations, which check nothing: `$schema` (this draft), `$id` at the top, `$comment`, `title`,
//! `description`, `default`, `examples`, `deprecated`, `readOnly`, `writeOnly`, `format`. All else is refused,
//! `pattern` among it: an expression of somebody else's has no bound on its work.
//!
//! Work is bounded: a schema has at most [`MAX_NODES`] parts, and checking one value takes at most
//! [`MAX_STEPS`] steps, or the value is refused.

mod check;
mod compile;
mod order;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::decimal::Decimal;
use crate::reason::Refusal;

/// Longest schema in octets of JSON without white space.
pub const MAX_BYTES: usize = 32 * 1024;

/// Most schemas within a schema, itself included.
pub const MAX_NODES: usize = 1_000;

/// Deepest chain of schemas that apply to the same value: through `$ref`, `allOf`, `anyOf`, `oneOf`, `not`.
pub const MAX_CHAIN: usize = 16;

/// Most steps of work for one value.
pub const MAX_STEPS: u32 = 1_000_000;

/// A schema that was taken: its parts, the first of which is the whole.
#[derive(Clone, Debug)]
pub struct Schema {
    nodes: Vec<Node>,
}

/// One schema: all its rules must hold. No rules take anything.
type Node = Vec<Rule>;

/// The place of a schema among the parts.
type Index = usize;

#[derive(Clone, Debug)]
enum Rule {
    /// `false`.
    Never,
    Ref(Index),
    /// One bit a type.
    Types(u8),
    /// `enum` and `const`, and what comparing with them costs.
    Values(Vec<Value>, u32),
    Bound(Limit, Decimal),
    MultipleOf(Decimal),
    Length(Span),
    Items(Span),
    Unique,
    Properties(Span),
    Array {
        prefix: Vec<Index>,
        rest: Option<Index>,
    },
    Object {
        named: BTreeMap<String, Index>,
        others: Option<Index>,
    },
    Names(Index),
    Required(Vec<String>),
    All(Vec<Index>),
    Any(Vec<Index>),
    One(Vec<Index>),
    Not(Index),
}

/// Which end of a range a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Minimum,
    ExclusiveMinimum,
    Maximum,
    ExclusiveMaximum,
}

/// A count from one number to another.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    min: Option<u64>,
    max: Option<u64>,
}

/// Where a value is not what a schema says, and what would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// A JSON Pointer.
    pub pointer: String,
    /// In words, without any of the value.
    pub expected: String,
}

impl Schema {
    /// Reads a schema. A refusal names the keyword by its JSON Pointer below `at`.
    pub fn compile(schema: &Value, at: &str) -> Result<Self, Refusal> {
        compile::compile(schema, at)
    }

    /// Checks a value; `at` is the pointer to the value itself.
    pub fn check(&self, value: &Value, at: &str) -> Result<(), Mismatch> {
        check::check(self, value, at)
    }
}

#[cfg(test)]
mod tests;
