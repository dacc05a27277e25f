//! Challenges: proof that whoever answers at an endpoint holds the key and checks our signatures.
//!
//! Nothing in a request lets its reader compute the answer, so an echo, a mirror or a page that quotes
//! the request proves nothing (docs/wire/challenge.v1.md). Success proves control of the response path at that
//! moment, and no more.

mod answer;
pub mod budget;
mod issue;
mod judge;
mod probes;

pub use answer::{Answerer, ProofKey, SenderKey};
pub use issue::{Challenge, ChallengeBody, Issued, Nonces, ProvedKey};
pub use judge::{Answer, Proved, Verifier, judge};
pub use probes::{COUNT as PROBES, ProbeMap};

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// Longest life of a challenge.
pub const LIFETIME: Span = Span::seconds(300);

/// Tries before the generation needs a new request.
pub const TRIES: u32 = 3;

/// The `type` of a challenge body.
pub const TYPE: &str = "subscription.challenge.v1";

/// The `type` of an answer.
pub const ANSWER_TYPE: &str = "subscription.challenge.answer.v1";

/// What a proof is for; part of the proof, so that one purpose's proof serves no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// A generation's first activation.
    Activate,
    /// A new key taking over.
    Rotate,
    /// The periodic check.
    Recheck,
    /// Return after a compromise.
    Recover,
}

impl Purpose {
    /// The label inside the proof.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Activate => "activate",
            Self::Rotate => "rotate",
            Self::Recheck => "recheck",
            Self::Recover => "recover",
        }
    }
}

#[cfg(test)]
mod tests;
