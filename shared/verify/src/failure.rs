//! A [`Failure`] is exact for the developer's log and one word for the other side.

use std::fmt;

use hookproof_core::Reason;
use hookproof_core::signature::compat::{Fault, KeyFault};

/// Why something was not verified or not signed. `Display` gives code and explanation, for the log; to
/// the other side goes [`Failure::wire`].
///
/// It never holds a secret or a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    code: &'static str,
    explanation: String,
}

impl Failure {
    pub(crate) fn new(code: &'static str, explanation: impl Into<String>) -> Self {
        Self { code, explanation: explanation.into() }
    }

    /// The stable code, such as `digest.mismatch`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// What was found and what would be accepted. Its words may change.
    pub fn explanation(&self) -> &str {
        &self.explanation
    }

    /// What the other side is told, with status 400: the same for every failure, so that nobody learns
    /// by trying.
    pub fn wire(&self) -> &'static str {
        "refused"
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.explanation)
    }
}

impl std::error::Error for Failure {}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::new(fault.code(), fault.to_string())
    }
}

impl From<KeyFault> for Failure {
    fn from(fault: KeyFault) -> Self {
        Self::new(fault.code(), fault.to_string())
    }
}

/// Where no more is known than the reason.
impl From<Reason> for Failure {
    fn from(reason: Reason) -> Self {
        Self::new(reason.code(), format!("refused with the reason {}", reason.code()))
    }
}
