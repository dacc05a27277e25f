//! Component identifiers (RFC 9421 §2): only names and parameters the standard defines come into being.

use super::fields::{FieldFault, is_tchar};
use super::sfv::{Bare, InnerList, Item, Malformed};
use crate::reason::Reason;

/// Why a component identifier is refused or has no value in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComponentFault {
    /// Two dictionary members of that name, or two query parameters.
    Ambiguous,
    /// The identifier is not a structured-field string.
    NotAString,
    /// The name is not a lower-case field name.
    NameMalformed,
    /// `@` and a name the standard does not define.
    UnknownDerived,
    /// `@signature-params` is always the last line and never listed.
    SignatureParamsListed,
    /// A parameter that is unknown, repeated, of the wrong type or without meaning here.
    UnknownParameter,
    /// `bs` beside `sf` or `key`.
    IncompatibleParameters,
    /// `@query-param` without `name`.
    NameMissing,
    /// The same identifier twice, whatever the order of its parameters.
    Duplicate,
    /// The message has no such component.
    NotFound,
    /// `req` on a request, or a request's component on a response, or the reverse.
    WrongKind,
    /// `sf` on a field of unknown type, or `key` on one that is not a dictionary.
    UnknownType,
    /// The value does not parse as the structured type it must have.
    ValueMalformed,
    /// The value has an octet that may not stand in a signature base.
    Forbidden,
}

impl From<ComponentFault> for Reason {
    fn from(fault: ComponentFault) -> Self {
        match fault {
            ComponentFault::NotAString | ComponentFault::NameMalformed | ComponentFault::Forbidden => {
                Self::SignatureMalformed
            }
            ComponentFault::Ambiguous
            | ComponentFault::UnknownDerived
            | ComponentFault::SignatureParamsListed
            | ComponentFault::UnknownParameter
            | ComponentFault::IncompatibleParameters
            | ComponentFault::NameMissing
            | ComponentFault::Duplicate
            | ComponentFault::NotFound
            | ComponentFault::WrongKind
            | ComponentFault::UnknownType
            | ComponentFault::ValueMalformed => Self::SignatureCoverage,
        }
    }
}

impl From<FieldFault> for ComponentFault {
    fn from(fault: FieldFault) -> Self {
        match fault {
            FieldFault::Absent => Self::NotFound,
            FieldFault::Repeated => Self::Ambiguous,
            FieldFault::Forbidden => Self::Forbidden,
        }
    }
}

impl From<Malformed> for ComponentFault {
    fn from(_: Malformed) -> Self {
        Self::ValueMalformed
    }
}

/// What a component is taken from. Two equal sources are one component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Method,
    TargetUri,
    Authority,
    Scheme,
    RequestTarget,
    Path,
    Query,
    QueryParam(String),
    Status,
    Field { name: String, trailer: bool, form: Form },
}

/// How the value of a field is spelled in the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Combined,
    Canonical,
    Member(String),
    Wrapped,
}

/// A component identifier.
#[derive(Clone, Debug)]
pub struct Component {
    pub(super) source: Source,
    pub(super) of_request: bool,
    identifier: String,
}

#[derive(Default)]
struct Parameters {
    sf: bool,
    bs: bool,
    tr: bool,
    req: bool,
    key: Option<String>,
    name: Option<String>,
}

impl Component {
    /// Reads one item of a component list.
    pub fn parse(item: &Item) -> Result<Self, ComponentFault> {
        let Bare::String(name) = &item.bare else { return Err(ComponentFault::NotAString) };
        let given = Parameters::read(item)?;
        let of_request = given.req;
        let source = match name.strip_prefix('@') {
            Some(derived) => derived_source(derived, given)?,
            None => field_source(name, given)?,
        };
        Ok(Self { source, of_request, identifier: item.serialise() })
    }

    /// A component named without parameters.
    pub fn plain(name: &str) -> Result<Self, ComponentFault> {
        Self::parse(&Item::plain(Bare::String(name.to_owned())))
    }

    /// Reads a whole component list and refuses repeats.
    pub fn list(list: &InnerList) -> Result<Vec<Self>, ComponentFault> {
        let mut out: Vec<Self> = Vec::with_capacity(list.items.len());
        for item in &list.items {
            let component = Self::parse(item)?;
            if out.iter().any(|c| c.source == component.source && c.of_request == component.of_request) {
                return Err(ComponentFault::Duplicate);
            }
            out.push(component);
        }
        Ok(out)
    }

    /// The identifier as it stands before the colon in the base: quoted name and parameters.
    pub fn identifier(&self) -> &str {
        &self.identifier
    }
}

impl Parameters {
    fn read(item: &Item) -> Result<Self, ComponentFault> {
        if item.params.has_repeats() {
            return Err(ComponentFault::UnknownParameter);
        }
        let mut out = Self::default();
        for (key, value) in item.params.iter() {
            match (key, value) {
                ("sf", Bare::Boolean(true)) => out.sf = true,
                ("bs", Bare::Boolean(true)) => out.bs = true,
                ("tr", Bare::Boolean(true)) => out.tr = true,
                ("req", Bare::Boolean(true)) => out.req = true,
                ("key", Bare::String(text)) => out.key = Some(text.clone()),
                ("name", Bare::String(text)) => out.name = Some(text.clone()),
                _ => return Err(ComponentFault::UnknownParameter),
            }
        }
        Ok(out)
    }
}

fn derived_source(name: &str, given: Parameters) -> Result<Source, ComponentFault> {
    if given.sf || given.bs || given.tr || given.key.is_some() {
        return Err(ComponentFault::UnknownParameter);
    }
    let plain = match name {
        "query-param" => return given.name.map(Source::QueryParam).ok_or(ComponentFault::NameMissing),
        "method" => Source::Method,
        "target-uri" => Source::TargetUri,
        "authority" => Source::Authority,
        "scheme" => Source::Scheme,
        "request-target" => Source::RequestTarget,
        "path" => Source::Path,
        "query" => Source::Query,
        "status" => Source::Status,
        "signature-params" => return Err(ComponentFault::SignatureParamsListed),
        _ => return Err(ComponentFault::UnknownDerived),
    };
    if given.name.is_some() { Err(ComponentFault::UnknownParameter) } else { Ok(plain) }
}

fn field_source(name: &str, given: Parameters) -> Result<Source, ComponentFault> {
    if name.is_empty() || !name.bytes().all(|c| is_tchar(c) && !c.is_ascii_uppercase()) {
        return Err(ComponentFault::NameMalformed);
    }
    if given.name.is_some() {
        return Err(ComponentFault::UnknownParameter);
    }
    let form = match (given.bs, given.sf, given.key) {
        (false, false, None) => Form::Combined,
        (true, false, None) => Form::Wrapped,
        (false, true, None) => Form::Canonical,
        // A dictionary member is always serialised canonically, so `sf` beside `key` adds nothing.
        (false, _, Some(key)) => Form::Member(key),
        (true, _, _) => return Err(ComponentFault::IncompatibleParameters),
    };
    Ok(Source::Field { name: name.to_owned(), trailer: given.tr, form })
}
