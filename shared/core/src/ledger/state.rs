//! The states of a delivery, and their JSON.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::time::Timestamp;

/// The right to send one attempt, until it runs out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Random; whoever settles must know it.
    pub token: String,
    /// End of the lease.
    pub until: Timestamp,
}

/// What ENDPOINT_ACCEPTED rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// A 2xx answer.
    #[serde(rename = "http_2xx")]
    Http2xx,
    /// A valid receipt.
    Receipt,
    /// The subscriber's signed status answer.
    StatusAnswer,
}

/// How far a delivery got. In JSON a flat object with its `state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "FlatState", try_from = "FlatState")]
pub enum State {
    /// Known, never attempted in this round.
    Planned,
    /// An attempt is recorded and may be on the wire.
    Dispatching {
        /// Its lease.
        lease: Lease,
    },
    /// The endpoint answered 2xx, or its arrival is proved otherwise; nothing more.
    EndpointAccepted {
        /// When.
        at: Timestamp,
        /// By what.
        basis: Basis,
    },
    /// The subscriber confirmed, by a valid receipt, that it applied the event.
    ApplicationConfirmed {
        /// When the receipt was accepted.
        at: Timestamp,
        /// What the acceptance before it rests on.
        basis: Basis,
    },
    /// The last attempt failed in a way that may pass.
    Retryable,
    /// The last attempt may have arrived.
    UnknownTransport {
        /// Since when nobody knows.
        since: Timestamp,
    },
    /// No further attempt unless somebody replays it.
    DeadLetter {
        /// When.
        at: Timestamp,
        /// Why.
        reason: Reason,
    },
}

impl State {
    /// Every state's name, in the order a delivery goes through them.
    pub const NAMES: [&'static str; 7] = [
        "PLANNED",
        "DISPATCHING",
        "ENDPOINT_ACCEPTED",
        "APPLICATION_CONFIRMED",
        "RETRYABLE",
        "UNKNOWN_TRANSPORT",
        "DEAD_LETTER",
    ];

    /// The state's name on the wire and in storage.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Planned => "PLANNED",
            Self::Dispatching { .. } => "DISPATCHING",
            Self::EndpointAccepted { .. } => "ENDPOINT_ACCEPTED",
            Self::ApplicationConfirmed { .. } => "APPLICATION_CONFIRMED",
            Self::Retryable => "RETRYABLE",
            Self::UnknownTransport { .. } => "UNKNOWN_TRANSPORT",
            Self::DeadLetter { .. } => "DEAD_LETTER",
        }
    }
}

/// The JSON of a [`State`].
#[derive(Serialize, Deserialize)]
struct FlatState {
    state: StateName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    basis: Option<Basis>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<Reason>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum StateName {
    Planned,
    Dispatching,
    EndpointAccepted,
    ApplicationConfirmed,
    Retryable,
    UnknownTransport,
    DeadLetter,
}

impl From<State> for FlatState {
    fn from(state: State) -> Self {
        let bare = |state| Self { state, lease: None, at: None, basis: None, reason: None };
        match state {
            State::Planned => bare(StateName::Planned),
            State::Dispatching { lease } => Self { lease: Some(lease), ..bare(StateName::Dispatching) },
            State::EndpointAccepted { at, basis } => {
                Self { at: Some(at), basis: Some(basis), ..bare(StateName::EndpointAccepted) }
            }
            State::ApplicationConfirmed { at, basis } => {
                Self { at: Some(at), basis: Some(basis), ..bare(StateName::ApplicationConfirmed) }
            }
            State::Retryable => bare(StateName::Retryable),
            State::UnknownTransport { since } => {
                Self { at: Some(since), ..bare(StateName::UnknownTransport) }
            }
            State::DeadLetter { at, reason } => {
                Self { at: Some(at), reason: Some(reason), ..bare(StateName::DeadLetter) }
            }
        }
    }
}

impl TryFrom<FlatState> for State {
    type Error = &'static str;
    fn try_from(flat: FlatState) -> Result<Self, Self::Error> {
        let at = flat.at.ok_or("this state has a time");
        let basis = flat.basis.ok_or("this state has a basis");
        Ok(match flat.state {
            StateName::Planned => Self::Planned,
            StateName::Dispatching => {
                Self::Dispatching { lease: flat.lease.ok_or("this state has a lease")? }
            }
            StateName::EndpointAccepted => Self::EndpointAccepted { at: at?, basis: basis? },
            StateName::ApplicationConfirmed => Self::ApplicationConfirmed { at: at?, basis: basis? },
            StateName::Retryable => Self::Retryable,
            StateName::UnknownTransport => Self::UnknownTransport { since: at? },
            StateName::DeadLetter => {
                Self::DeadLetter { at: at?, reason: flat.reason.ok_or("this state has a reason")? }
            }
        })
    }
}
