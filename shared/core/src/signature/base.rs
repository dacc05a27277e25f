//! The signature base (RFC 9421 §2.5): one line for each covered component, or a refusal, never a blank.

use super::component::{Component, ComponentFault};
use super::message::Message;

/// A covered component and the value the message gives it.
pub(super) type Line = (String, String);

/// The value of `component` in `message`.
pub fn component_value(component: &Component, message: &Message<'_>) -> Result<String, ComponentFault> {
    super::derive::value(component, message)
}

/// The base for `components`, closed by `params`.
///
/// `params` is the text of the signature parameters exactly as sent or received: building it anew
/// from parsed parts is how implementations come to disagree.
pub fn signature_base(
    components: &[Component],
    params: &str,
    message: &Message<'_>,
) -> Result<String, ComponentFault> {
    Ok(join(&lines(components, message)?, params))
}

/// Identifier and value of every component, in order.
pub(super) fn lines(components: &[Component], message: &Message<'_>) -> Result<Vec<Line>, ComponentFault> {
    components.iter().map(|c| Ok((c.identifier().to_owned(), component_value(c, message)?))).collect()
}

pub(super) fn join(lines: &[Line], params: &str) -> String {
    let mut out = String::new();
    for (identifier, value) in lines {
        out.push_str(identifier);
        out.push_str(": ");
        out.push_str(value);
        out.push('\n');
    }
    out.push_str("\"@signature-params\": ");
    out.push_str(params);
    out
}
