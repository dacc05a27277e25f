//! A [`Verdict`] is what one input came to, in the shape that `--json` prints.

use serde::Serialize;

/// What one input came to. The fields' order is the order in JSON.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    input: String,
    #[serde(rename = "verdict")]
    ruling: Ruling,
    /// The stable code of a refusal.
    reason: Option<&'static str>,
    /// What was wrong and what would be accepted.
    detail: Option<String>,
    /// The one spelling under which an accepted input is known.
    normalised: Option<String>,
    /// What a reader may want to know of an accepted input; not in JSON.
    #[serde(skip)]
    remark: Option<String>,
}

/// Accepted or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Ruling {
    /// May be used.
    Accepted,
    /// May not be used.
    Refused,
}

impl Verdict {
    /// The input may be used, and is known as `normalised`.
    pub(crate) fn accepted(input: &str, normalised: String, remark: String) -> Self {
        Self {
            input: input.to_owned(),
            ruling: Ruling::Accepted,
            reason: None,
            detail: None,
            normalised: Some(normalised),
            remark: Some(remark),
        }
    }

    /// The input may not be used.
    pub(crate) fn refused(input: &str, reason: &'static str, detail: String) -> Self {
        Self {
            input: input.to_owned(),
            ruling: Ruling::Refused,
            reason: Some(reason),
            detail: Some(detail),
            normalised: None,
            remark: None,
        }
    }

    /// The input is no text at all.
    pub(crate) fn not_text(octets: &[u8]) -> Self {
        let detail = "The line is not UTF-8; only ASCII and UTF-8 text is accepted.";
        Self::refused(&String::from_utf8_lossy(octets), "not_utf8", detail.to_owned())
    }

    /// Whether the input may be used.
    pub(crate) fn is_accepted(&self) -> bool {
        self.ruling == Ruling::Accepted
    }

    /// The input as it was given.
    pub(crate) fn input(&self) -> &str {
        &self.input
    }

    /// The lines below the verdict in what a person reads.
    pub(crate) fn lines(&self) -> Vec<String> {
        let refusal = self.reason.zip(self.detail.as_deref());
        let spelling = self.normalised.as_ref().filter(|text| **text != self.input);
        refusal
            .map(|(code, detail)| format!("{code}: {detail}"))
            .into_iter()
            .chain(spelling.map(|text| format!("normalised: {text}")))
            .chain(self.remark.clone())
            .collect()
    }
}
