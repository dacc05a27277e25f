//! Values of components (RFC 9421 §2.1, §2.2): taken from the message by rule, refused where it has none.

use super::component::{Component, ComponentFault, Form, Source};
use super::fields::{Fields, is_tchar};
use super::message::{FieldType, Message, Start};
use super::sfv;

/// The value of `component` in `message`.
pub(super) fn value(component: &Component, message: &Message<'_>) -> Result<String, ComponentFault> {
    let message = match (component.of_request, message.start) {
        (false, _) => message,
        (true, Start::Response { request: Some(request), .. }) => request,
        // Without the request at hand the component cannot be had; on a request `req` means nothing.
        (true, Start::Response { request: None, .. }) => return Err(ComponentFault::NotFound),
        (true, Start::Request { .. }) => return Err(ComponentFault::WrongKind),
    };
    match &component.source {
        Source::Field { name, trailer, form } => {
            let fields = if *trailer { message.trailers } else { Some(message.fields) };
            field(fields.ok_or(ComponentFault::NotFound)?, name, form, message)
        }
        Source::Status => match message.start {
            Start::Response { status, .. } if (100..1000).contains(&status) => Ok(status.to_string()),
            Start::Response { .. } => Err(ComponentFault::Forbidden),
            Start::Request { .. } => Err(ComponentFault::WrongKind),
        },
        Source::Method => method(message).map(str::to_owned),
        Source::TargetUri => target(message).map(|target| target.whole.to_owned()),
        Source::Scheme => target(message).map(|target| target.scheme.to_ascii_lowercase()),
        Source::Authority => target(message).map(|target| target.authority()),
        Source::Path => target(message).map(|target| target.path.to_owned()),
        Source::Query => target(message).map(|target| format!("?{}", target.query.unwrap_or_default())),
        Source::QueryParam(name) => query_param(target(message)?.query.unwrap_or_default(), name),
        Source::RequestTarget => request_target(message).map(str::to_owned),
    }
}

fn field(fields: &Fields, name: &str, form: &Form, message: &Message<'_>) -> Result<String, ComponentFault> {
    // Absence is reported before a missing type, so that a caller sees the nearer cause.
    if !fields.contains(name) {
        return Err(ComponentFault::NotFound);
    }
    match form {
        Form::Combined => Ok(fields.combined(name)?),
        Form::Wrapped => Ok(fields.wrapped(name)?),
        Form::Canonical => {
            let kind = message.field_type(name).ok_or(ComponentFault::UnknownType)?;
            let text = fields.combined(name)?;
            Ok(match kind {
                FieldType::Item => sfv::parse_item(&text)?.serialise(),
                FieldType::List => sfv::serialise_list(&sfv::parse_list(&text)?),
                FieldType::Dictionary => sfv::parse_dictionary(&text)?.serialise(),
            })
        }
        Form::Member(key) => {
            if message.field_type(name) != Some(FieldType::Dictionary) {
                return Err(ComponentFault::UnknownType);
            }
            let text = fields.combined(name)?;
            let dictionary = sfv::parse_dictionary(&text)?;
            Ok(dictionary.get(key).ok_or(ComponentFault::NotFound)?.serialise())
        }
    }
}

/// Methods are case-sensitive (RFC 9110 §9.1): taken as they are.
fn method<'a>(message: &Message<'a>) -> Result<&'a str, ComponentFault> {
    match message.start {
        Start::Request { method, .. } if !method.is_empty() && method.bytes().all(is_tchar) => Ok(method),
        Start::Request { .. } => Err(ComponentFault::Forbidden),
        Start::Response { .. } => Err(ComponentFault::WrongKind),
    }
}

fn request_target<'a>(message: &Message<'a>) -> Result<&'a str, ComponentFault> {
    match message.start {
        Start::Request { request_target: None | Some(""), .. } => Err(ComponentFault::NotFound),
        Start::Request { request_target: Some(target), .. } if is_graphic(target) => Ok(target),
        Start::Request { request_target: Some(_), .. } => Err(ComponentFault::Forbidden),
        Start::Response { .. } => Err(ComponentFault::WrongKind),
    }
}

/// A target URI split at its first delimiters; no part is decoded or normalised beyond §2.2.
struct Target<'a> {
    whole: &'a str,
    scheme: &'a str,
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

fn target<'a>(message: &Message<'a>) -> Result<Target<'a>, ComponentFault> {
    let Start::Request { target_uri: whole, .. } = message.start else {
        return Err(ComponentFault::WrongKind);
    };
    if whole.is_empty() {
        return Err(ComponentFault::NotFound);
    }
    // A target URI has no fragment (RFC 9110 §7.1).
    if !is_graphic(whole) || whole.contains('#') {
        return Err(ComponentFault::Forbidden);
    }
    let (scheme, rest) = whole.split_once("://").ok_or(ComponentFault::ValueMalformed)?;
    let (rest, query) = rest.split_once('?').map_or((rest, None), |(r, q)| (r, Some(q)));
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    // User information is not part of an http authority (RFC 9110 §4.2.4).
    if scheme.is_empty() || authority.is_empty() || authority.contains('@') {
        return Err(ComponentFault::ValueMalformed);
    }
    let path = if path.is_empty() { "/" } else { path };
    Ok(Target { whole, scheme, authority, path, query })
}

impl Target<'_> {
    /// Lower case, and without the scheme's own port (RFC 9421 §2.2.3).
    fn authority(&self) -> String {
        let authority = self.authority.to_ascii_lowercase();
        let own_port = if self.scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" };
        let known = self.scheme.eq_ignore_ascii_case("https") || self.scheme.eq_ignore_ascii_case("http");
        let host = authority.strip_suffix(':').or_else(|| authority.strip_suffix(own_port).filter(|_| known));
        host.unwrap_or(&authority).to_owned()
    }
}

/// Visible ASCII only: nothing that could end a line or be read differently by another parser.
fn is_graphic(text: &str) -> bool {
    text.bytes().all(|c| c.is_ascii_graphic())
}

/// The one query parameter whose re-encoded name is `name`, re-encoded (RFC 9421 §2.2.8).
fn query_param(query: &str, name: &str) -> Result<String, ComponentFault> {
    let mut found = None;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if form_recode(key)? == name && found.replace(value).is_some() {
            return Err(ComponentFault::Ambiguous);
        }
    }
    form_recode(found.ok_or(ComponentFault::NotFound)?)
}

/// Decodes a form-urlencoded text and encodes it again with `%20` for a space. What is not UTF-8 is
/// refused: the replacement the URL standard makes would give different queries one signature.
fn form_recode(text: &str) -> Result<String, ComponentFault> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&c, tail)) = rest.split_first() {
        rest = tail;
        let escape = match tail {
            [high, low, ..] if c == b'%' => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escape {
            Some((high, low)) => {
                decoded.push(high * 16 + low);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => decoded.push(if c == b'+' { b' ' } else { c }),
        }
    }
    if str::from_utf8(&decoded).is_err() {
        return Err(ComponentFault::ValueMalformed);
    }
    let mut out = String::with_capacity(decoded.len());
    for c in decoded {
        if c.is_ascii_alphanumeric() || matches!(c, b'*' | b'-' | b'.' | b'_') {
            out.push(char::from(c));
        } else {
            const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
            out.push('%');
            out.push(char::from(DIGITS[usize::from(c >> 4)]));
            out.push(char::from(DIGITS[usize::from(c & 15)]));
        }
    }
    Ok(out)
}

fn hex(c: u8) -> Option<u8> {
    char::from(c).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}
