//! Structured log lines. A line holds ids, states, key ids and reason codes; never a secret, a
//! signature, a body or a URL query.

use hookproof_core::Reason;
use serde::Serialize;

/// One line.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Line<'a> {
    /// What happened, in a few fixed words.
    pub event: &'a str,
    /// The subscription.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subscription: Option<&'a str>,
    /// The event.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub event_id: Option<&'a str>,
    /// The delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery_id: Option<&'a str>,
    /// The attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The state after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<&'a str>,
    /// The HTTP status seen or given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// The key concerned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_id: Option<&'a str>,
    /// The `Signature-Input` member, which names what was signed and holds no signature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub signature_input: Option<&'a str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// More words for whoever operates this deployment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<&'a str>,
}

/// Takes lines.
pub trait Journal {
    /// Writes one line.
    fn record(&self, line: &Line<'_>);
}
