//! The message a signature is about: every part is given by the caller, none is guessed.

use super::fields::Fields;

/// The structured type of a field, for the `sf` and `key` parameters (RFC 9421 §2.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// A single item.
    Item,
    /// A list.
    List,
    /// A dictionary.
    Dictionary,
}

/// A request or response, borrowed from its owner.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    pub(super) start: Start<'a>,
    pub(super) fields: &'a Fields,
    pub(super) trailers: Option<&'a Fields>,
    pub(super) types: &'a [(&'a str, FieldType)],
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Start<'a> {
    Request { method: &'a str, target_uri: &'a str, request_target: Option<&'a str> },
    Response { status: u16, request: Option<&'a Message<'a>> },
}

/// Fields whose type the standards of this module fix; others are named by the caller.
const KNOWN_TYPES: &[(&str, FieldType)] = &[
    ("content-digest", FieldType::Dictionary),
    ("repr-digest", FieldType::Dictionary),
    ("signature", FieldType::Dictionary),
    ("signature-input", FieldType::Dictionary),
];

impl<'a> Message<'a> {
    /// A request.
    ///
    /// `target_uri` is the absolute URI as the sender dials it. A receiver passes its own configured
    /// public URL with the path and query of the request, never one built from `Host` or forwarding
    /// fields: what is signed for one endpoint must not verify at another.
    pub fn request(method: &'a str, target_uri: &'a str, fields: &'a Fields) -> Self {
        let start = Start::Request { method, target_uri, request_target: None };
        Self { start, fields, trailers: None, types: &[] }
    }

    /// A response.
    pub fn response(status: u16, fields: &'a Fields) -> Self {
        Self { start: Start::Response { status, request: None }, fields, trailers: None, types: &[] }
    }

    /// The request line's target, for `@request-target`.
    #[must_use]
    pub fn with_request_target(mut self, target: &'a str) -> Self {
        match &mut self.start {
            Start::Request { request_target, .. } => *request_target = Some(target),
            Start::Response { .. } => {}
        }
        self
    }

    /// The request a response answers, for the `req` parameter.
    #[must_use]
    pub fn answering(mut self, to: &'a Self) -> Self {
        match &mut self.start {
            Start::Response { request, .. } => *request = Some(to),
            Start::Request { .. } => {}
        }
        self
    }

    /// The trailer fields, for the `tr` parameter.
    #[must_use]
    pub fn with_trailers(mut self, trailers: &'a Fields) -> Self {
        self.trailers = Some(trailers);
        self
    }

    /// Structured types of fields (lower-case names) beyond the ones the standards fix.
    #[must_use]
    pub fn with_types(mut self, types: &'a [(&'a str, FieldType)]) -> Self {
        self.types = types;
        self
    }

    /// The header fields.
    pub fn fields(&self) -> &'a Fields {
        self.fields
    }

    pub(super) fn field_type(&self, name: &str) -> Option<FieldType> {
        self.types.iter().chain(KNOWN_TYPES).find(|(n, _)| *n == name).map(|(_, kind)| *kind)
    }
}
