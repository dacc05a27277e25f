//! What a profile's components are worth in one message; signer and verifier ask the same code.

use super::base::{Line, lines};
use super::component::Component;
use super::fields::Fields;
use super::message::Message;
use super::profile::Profile;
use crate::reason::Reason;

/// The lines of the base, after every covered field was found once and within its grammar.
pub(super) fn covered(profile: &Profile<'_>, message: &Message<'_>) -> Result<Vec<Line>, Reason> {
    // An unsigned body must never verify, whatever profile value is passed in.
    if !profile.components.contains(&"content-digest") {
        return Err(Reason::SignatureCoverage);
    }
    let mut components = Vec::with_capacity(profile.components.len());
    for name in profile.components {
        if !name.starts_with('@') {
            check_single(message.fields(), name)?;
        }
        components.push(Component::plain(name)?);
    }
    Ok(lines(&components, message)?)
}

/// A key id: graphic ASCII, so that it is the same text in a log, a look-up and the base.
pub(super) fn is_keyid(text: &str) -> bool {
    (1..=128).contains(&text.len()) && text.bytes().all(|c| c.is_ascii_graphic())
}

/// One line, and no comma where a platform could have joined two (RFC 9421 §2.1). The dictionary of
/// `content-digest` may have commas: a joined repeat shows there as a repeated key or is one more
/// digest that must match.
fn check_single(fields: &Fields, name: &str) -> Result<(), Reason> {
    let value = fields.single(name).map_err(super::component::ComponentFault::from)?;
    let fits = match name {
        "content-digest" => true,
        _ if name.starts_with("webhook-") => is_identifier(&value),
        _ => !value.contains(','),
    };
    if fits { Ok(()) } else { Err(Reason::SignatureMalformed) }
}

fn is_identifier(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'_' | b':' | b'-');
    (1..=128).contains(&text.len()) && text.bytes().all(allowed)
}
