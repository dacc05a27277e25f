//! A schema as written becomes rules; the first thing that is not supported is named.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::order::weight;
use super::{Index, Limit, MAX_BYTES, MAX_CHAIN, MAX_NODES, Node, Rule, Schema, Span};
use crate::decimal::Decimal;
use crate::pointer::Pointer;
use crate::reason::{Reason, Refusal};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";
const SCHEMA: &str = "a schema: an object, true or false";
const KEYWORDS: &str = "type, enum, const, properties, required, additionalProperties, propertyNames, minProperties, \
    maxProperties, items, prefixItems, minItems, maxItems, uniqueItems, minLength, maxLength, minimum, maximum, \
    exclusiveMinimum, exclusiveMaximum, multipleOf, allOf, anyOf, oneOf, not, $defs, $ref, and annotations";

/// The names of the types, bit by bit.
pub(super) const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];

#[derive(Default)]
struct Compiler {
    nodes: Vec<Node>,
    definitions: BTreeMap<String, Index>,
}

pub(super) fn compile(schema: &Value, at: &str) -> Result<Schema, Refusal> {
    let at = Pointer::root(at);
    let length = schema.to_string().len();
    if length > MAX_BYTES {
        return Err(refused(
            &at,
            &format!("the schema has {length} octets"),
            &format!("at most {MAX_BYTES}"),
        ));
    }
    let mut compiler = Compiler { nodes: vec![Vec::new()], ..Compiler::default() };
    let definitions = compiler.reserve(schema, &at)?;
    for (index, definition, name) in definitions {
        let defs = at.then("$defs");
        compiler.nodes[index] = compiler.node(definition, &defs.then(name), false)?;
    }
    compiler.nodes[0] = compiler.node(schema, &at, true)?;
    compiler.chains(&at)?;
    Ok(Schema { nodes: compiler.nodes })
}

impl Compiler {
    /// Gives each definition its place, so that a reference may stand before it.
    fn reserve<'a>(
        &mut self,
        schema: &'a Value,
        at: &Pointer<'_>,
    ) -> Result<Vec<(Index, &'a Value, &'a str)>, Refusal> {
        let Some(defs) = schema.get("$defs") else { return Ok(Vec::new()) };
        let defs = object(defs, &at.then("$defs"))?;
        let mut reserved = Vec::with_capacity(defs.len());
        for (name, definition) in defs {
            let index = self.room(at)?;
            self.definitions.insert(name.clone(), index);
            reserved.push((index, definition, name.as_str()));
        }
        Ok(reserved)
    }

    fn room(&mut self, at: &Pointer<'_>) -> Result<Index, Refusal> {
        if self.nodes.len() == MAX_NODES {
            let words = format!("the schema has more than {MAX_NODES} parts");
            return Err(refused(at, &words, &format!("at most {MAX_NODES} schemas within the schema")));
        }
        self.nodes.push(Vec::new());
        Ok(self.nodes.len() - 1)
    }

    fn part(&mut self, schema: &Value, at: &Pointer<'_>) -> Result<Index, Refusal> {
        let index = self.room(at)?;
        self.nodes[index] = self.node(schema, at, false)?;
        Ok(index)
    }

    fn parts(&mut self, schemas: &Value, at: &Pointer<'_>) -> Result<Vec<Index>, Refusal> {
        let Some(schemas) = schemas.as_array().filter(|schemas| !schemas.is_empty()) else {
            return Err(refused(at, "this takes schemas", "an array of at least one schema"));
        };
        schemas.iter().enumerate().map(|(n, schema)| self.part(schema, &at.index(n))).collect()
    }

    fn node(&mut self, schema: &Value, at: &Pointer<'_>, top: bool) -> Result<Node, Refusal> {
        let members = match schema {
            Value::Bool(true) => return Ok(Vec::new()),
            Value::Bool(false) => return Ok(vec![Rule::Never]),
            Value::Object(members) => members,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(refused(at, "this is no schema", SCHEMA));
            }
        };
        let mut rules = Vec::with_capacity(members.len());
        for (name, value) in members {
            let at = at.then(name);
            rules.extend(match self.single(name, value, &at)? {
                Some(rule) => Some(rule),
                None => self.shared(name, value, members, &at, top)?,
            });
        }
        Ok(rules)
    }

    /// A keyword that stands for itself.
    fn single(&mut self, name: &str, value: &Value, at: &Pointer<'_>) -> Result<Option<Rule>, Refusal> {
        Ok(Some(match name {
            "type" => Rule::Types(types(value, at)?),
            "enum" => {
                let Some(values) = value.as_array().filter(|values| !values.is_empty()) else {
                    return Err(refused(at, "enum takes values", "an array of at least one value"));
                };
                Rule::Values(values.clone(), weight(value))
            }
            "const" => Rule::Values(vec![value.clone()], weight(value)),
            "minimum" => Rule::Bound(Limit::Minimum, number(value, at)?),
            "maximum" => Rule::Bound(Limit::Maximum, number(value, at)?),
            "exclusiveMinimum" => Rule::Bound(Limit::ExclusiveMinimum, number(value, at)?),
            "exclusiveMaximum" => Rule::Bound(Limit::ExclusiveMaximum, number(value, at)?),
            "multipleOf" => {
                let step = number(value, at)?;
                if !step.is_positive() || !step.is_exact() || step.digits() > 15 {
                    return Err(refused(at, "this is no step", "a number above 0 of at most 15 digits"));
                }
                Rule::MultipleOf(step)
            }
            "uniqueItems" => match flag(value, at)? {
                true => Rule::Unique,
                false => Rule::All(Vec::new()),
            },
            "propertyNames" => Rule::Names(self.part(value, at)?),
            "required" => Rule::Required(texts(value, at)?),
            "allOf" => Rule::All(self.parts(value, at)?),
            "anyOf" => Rule::Any(self.parts(value, at)?),
            "oneOf" => Rule::One(self.parts(value, at)?),
            "not" => Rule::Not(self.part(value, at)?),
            "$ref" => Rule::Ref(self.target(value, at)?),
            _ => return Ok(None),
        }))
    }

    /// A keyword that is read together with another one, or that checks nothing.
    fn shared(
        &mut self,
        name: &str,
        value: &Value,
        all: &Map<String, Value>,
        at: &Pointer<'_>,
        top: bool,
    ) -> Result<Option<Rule>, Refusal> {
        let min = |limit| Span { min: Some(limit), max: None };
        let max = |limit| Span { min: None, max: Some(limit) };
        Ok(match name {
            "minLength" => Some(Rule::Length(min(count(value, at)?))),
            "maxLength" => Some(Rule::Length(max(count(value, at)?))),
            "minItems" => Some(Rule::Items(min(count(value, at)?))),
            "maxItems" => Some(Rule::Items(max(count(value, at)?))),
            "minProperties" => Some(Rule::Properties(min(count(value, at)?))),
            "maxProperties" => Some(Rule::Properties(max(count(value, at)?))),
            "prefixItems" => {
                let prefix = self.parts(value, at)?;
                let rest = None;
                Some(Rule::Array { prefix, rest })
            }
            "items" => {
                // They begin behind what stands before them.
                let before = all.get("prefixItems").and_then(Value::as_array).map_or(0, Vec::len);
                // The first places are judged by prefixItems' own rule.
                let prefix = vec![ANYTHING; before];
                Some(Rule::Array { prefix, rest: Some(self.part(value, at)?) })
            }
            "properties" => {
                let mut named = BTreeMap::new();
                for (name, schema) in object(value, at)? {
                    named.insert(name.clone(), self.part(schema, &at.then(name))?);
                }
                Some(Rule::Object { named, others: None })
            }
            "additionalProperties" => {
                // Every name that properties does not have.
                let known = all.get("properties").and_then(Value::as_object);
                let named = known.into_iter().flatten().map(|(name, _)| (name.clone(), ANYTHING)).collect();
                Some(Rule::Object { named, others: Some(self.part(value, at)?) })
            }
            "$schema" if top => {
                let ours = value.as_str().is_some_and(|text| text.trim_end_matches('#') == DRAFT);
                if !ours {
                    return Err(refused(at, "this draft is not supported", DRAFT));
                }
                None
            }
            "$defs" if top => None,
            "$id" if top => text(value, at)?,
            "$comment" | "title" | "description" | "format" => text(value, at)?,
            "deprecated" | "readOnly" | "writeOnly" => flag(value, at).map(|_| None)?,
            "default" => None,
            "examples" if value.is_array() => None,
            "$schema" | "$defs" | "$id" => {
                return Err(refused(at, "this keyword is taken at the top of a schema only", KEYWORDS));
            }
            _ => {
                return Err(refused(at, "this keyword is not supported, or not with such a value", KEYWORDS));
            }
        })
    }

    fn target(&self, value: &Value, at: &Pointer<'_>) -> Result<Index, Refusal> {
        const ACCEPTED: &str = "# or #/$defs/<name> of this schema";
        let text = value.as_str().unwrap_or("");
        if text == "#" {
            return Ok(0);
        }
        let name = text.strip_prefix("#/$defs/").filter(|name| !name.contains(['/', '%']));
        let name = name.map(|name| name.replace("~1", "/").replace("~0", "~"));
        let index = name.and_then(|name| self.definitions.get(&name).copied());
        index.ok_or_else(|| refused(at, "this reference leads nowhere", ACCEPTED))
    }

    /// Refuses schemas that apply one another to the same value for ever, or in too long a chain.
    fn chains(&self, at: &Pointer<'_>) -> Result<(), Refusal> {
        // Lengths of the chains that begin at each part; longer ones are built on shorter ones.
        let mut lengths = vec![1usize; self.nodes.len()];
        for _ in 0..=MAX_CHAIN {
            let mut changed = false;
            for (index, node) in self.nodes.iter().enumerate() {
                let below = node.iter().flat_map(in_place).map(|&next| lengths[next]).max().unwrap_or(0);
                if lengths[index] != below + 1 {
                    lengths[index] = below + 1;
                    changed = true;
                }
            }
            if !changed {
                return match lengths.iter().all(|&length| length <= MAX_CHAIN) {
                    true => Ok(()),
                    false => Err(too_long(at)),
                };
            }
        }
        Err(too_long(at))
    }
}

/// The first places of an array, and the names of `properties`, as far as another rule judges them.
pub(super) const ANYTHING: Index = usize::MAX;

fn too_long(at: &Pointer<'_>) -> Refusal {
    let words = "schemas apply one another to the same value without end, or in too long a chain";
    refused(at, words, &format!("at most {MAX_CHAIN} through $ref, allOf, anyOf, oneOf and not"))
}

/// The parts that a rule applies to the same value.
fn in_place(rule: &Rule) -> &[Index] {
    match rule {
        Rule::Ref(index) | Rule::Not(index) => std::slice::from_ref(index),
        Rule::All(parts) | Rule::Any(parts) | Rule::One(parts) => parts,
        Rule::Never
        | Rule::Types(_)
        | Rule::Values(..)
        | Rule::Bound(..)
        | Rule::MultipleOf(_)
        | Rule::Length(_)
        | Rule::Items(_)
        | Rule::Unique
        | Rule::Properties(_)
        | Rule::Array { .. }
        | Rule::Object { .. }
        | Rule::Names(_)
        | Rule::Required(_) => &[],
    }
}

fn types(value: &Value, at: &Pointer<'_>) -> Result<u8, Refusal> {
    let names = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    let bit = |name: &Value| TYPES.iter().position(|it| Some(*it) == name.as_str()).map(|bit| 1u8 << bit);
    let mut bits = 0;
    for name in names {
        bits |= bit(name).filter(|bit| bits & bit == 0).unwrap_or_default();
    }
    if bits.count_ones() as usize != names.len() || names.is_empty() {
        let accepted = format!("one, or an array of several, of {}", TYPES.join(", "));
        return Err(refused(at, "these are no types", &accepted));
    }
    Ok(bits)
}

fn number(value: &Value, at: &Pointer<'_>) -> Result<Decimal, Refusal> {
    value.as_number().map(Decimal::of).ok_or_else(|| refused(at, "this is no number", "a number"))
}

fn count(value: &Value, at: &Pointer<'_>) -> Result<u64, Refusal> {
    value.as_u64().ok_or_else(|| refused(at, "this is no count", "an integer from 0"))
}

fn flag(value: &Value, at: &Pointer<'_>) -> Result<bool, Refusal> {
    value.as_bool().ok_or_else(|| refused(at, "this is neither true nor false", "true or false"))
}

fn text(value: &Value, at: &Pointer<'_>) -> Result<Option<Rule>, Refusal> {
    if value.is_string() { Ok(None) } else { Err(refused(at, "this is no text", "a text")) }
}

fn texts(value: &Value, at: &Pointer<'_>) -> Result<Vec<String>, Refusal> {
    let names: Option<Vec<String>> = value
        .as_array()
        .and_then(|names| names.iter().map(|name| name.as_str().map(str::to_owned)).collect());
    names.ok_or_else(|| refused(at, "these are no names", "an array of texts"))
}

fn object<'a>(value: &'a Value, at: &Pointer<'_>) -> Result<&'a Map<String, Value>, Refusal> {
    value.as_object().ok_or_else(|| refused(at, "this is no object", "an object of schemas"))
}

fn refused(at: &Pointer<'_>, words: &str, accepted: &str) -> Refusal {
    Refusal::new(Reason::SchemaRefused, words).at(at.to_string(), accepted)
}
