//! What the WHATWG reader would silently repair is refused first, in the order of the vectors.
//!
//! The standard strips tabs, turns backslashes into slashes, adds slashes and drops empty user names;
//! the next reader of the same text may not, and the two would disagree on the host.

use super::refusal::EndpointRefusal;
use super::url::MAX_URL_OCTETS;

/// Checks `text` as written and returns its host, still as written. `http` is let through too if asked.
pub(super) fn screen(text: &str, http_too: bool) -> Result<&str, EndpointRefusal> {
    if text.is_empty() {
        return Err(EndpointRefusal::Empty);
    }
    if text.len() > MAX_URL_OCTETS {
        return Err(EndpointRefusal::UrlTooLong);
    }
    if text.bytes().any(|b| b <= b' ' || b == 0x7f) {
        return Err(EndpointRefusal::ForbiddenChar);
    }
    if text.contains('\\') {
        return Err(EndpointRefusal::Backslash);
    }
    let after_scheme = strip_scheme(text, "https:")
        .or_else(|| if http_too { strip_scheme(text, "http:") } else { None })
        .ok_or(EndpointRefusal::SchemeNotHttps)?;
    let after_slashes = after_scheme.strip_prefix("//").ok_or(EndpointRefusal::MalformedAuthority)?;
    let end = after_slashes.find(['/', '?', '#']).unwrap_or(after_slashes.len());
    let authority = &after_slashes[..end];
    if authority.is_empty() {
        return Err(EndpointRefusal::MalformedAuthority);
    }
    if authority.contains('@') {
        return Err(EndpointRefusal::Userinfo);
    }
    if text.contains('#') {
        return Err(EndpointRefusal::Fragment);
    }
    let host = host_of(authority);
    match (host.contains('%'), host.starts_with('[')) {
        (true, true) => Err(EndpointRefusal::Ipv6ZoneId),
        (true, false) => Err(EndpointRefusal::PercentEncodedHost),
        (false, _) => Ok(host),
    }
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then_some(tail)
}

/// The authority without its port. Inside brackets a colon belongs to the address.
pub(super) fn host_of(authority: &str) -> &str {
    let end =
        if authority.starts_with('[') { authority.find(']').map(|at| at + 1) } else { authority.find(':') };
    &authority[..end.unwrap_or(authority.len())]
}
