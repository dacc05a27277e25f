//! What came of a request, and what that means.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::retry::RetryAfter;

/// What the transport saw. In JSON a flat object with its `kind`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Flat", try_from = "Flat")]
pub enum Outcome {
    /// A complete response head.
    Answered {
        /// Its status code.
        status: u16,
        /// Its `Retry-After` field, as sent.
        retry_after: Option<String>,
    },
    /// Provably no byte of the request left: no name, no connection, no TLS session.
    NotSent,
    /// Sent or maybe sent, and no answer: time-out, reset, or the host cannot tell.
    Unknown,
    /// Claimed, and given back before anything was sent; does not count as an attempt of the round.
    Released,
    /// The endpoint's address was refused by policy at the time of sending.
    Refused,
}

/// The JSON of an [`Outcome`].
#[derive(Serialize, Deserialize)]
struct Flat {
    kind: Kind,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    status: Option<u16>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    retry_after: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Answered,
    NotSent,
    Unknown,
    Released,
    Refused,
}

impl From<Outcome> for Flat {
    fn from(outcome: Outcome) -> Self {
        let bare = |kind| Self { kind, status: None, retry_after: None };
        match outcome {
            Outcome::Answered { status, retry_after } => {
                Self { kind: Kind::Answered, status: Some(status), retry_after }
            }
            Outcome::NotSent => bare(Kind::NotSent),
            Outcome::Unknown => bare(Kind::Unknown),
            Outcome::Released => bare(Kind::Released),
            Outcome::Refused => bare(Kind::Refused),
        }
    }
}

impl TryFrom<Flat> for Outcome {
    type Error = &'static str;
    fn try_from(flat: Flat) -> Result<Self, Self::Error> {
        Ok(match flat.kind {
            Kind::Answered => Self::Answered {
                status: flat.status.ok_or("an answer has a status")?,
                retry_after: flat.retry_after,
            },
            Kind::NotSent => Self::NotSent,
            Kind::Unknown => Self::Unknown,
            Kind::Released => Self::Released,
            Kind::Refused => Self::Refused,
        })
    }
}

/// What an outcome means for the delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// 2xx.
    Accepted,
    /// Worth another attempt.
    Retry(Reason, Option<RetryAfter>),
    /// Unknown; worth another attempt with the same identity.
    Unknown,
    /// Not worth another attempt.
    Dead(Reason),
    /// Back to where it was.
    Released,
}

impl Outcome {
    /// The meaning of this outcome.
    pub fn verdict(&self) -> Verdict {
        match self {
            Self::Answered { status, retry_after } => {
                let wish = retry_after.as_deref().and_then(RetryAfter::parse);
                match status {
                    200..=299 => Verdict::Accepted,
                    300..=399 => Verdict::Dead(Reason::RedirectRefused),
                    400 => Verdict::Dead(Reason::EndpointBadRequest),
                    401 | 403 => Verdict::Dead(Reason::EndpointForbidden),
                    404 => Verdict::Dead(Reason::EndpointNotFound),
                    410 => Verdict::Dead(Reason::EndpointGone),
                    429 => Verdict::Retry(Reason::EndpointThrottled, wish),
                    400..=499 => Verdict::Dead(Reason::EndpointClientError),
                    500..=599 => Verdict::Retry(Reason::EndpointServerError, wish),
                    // No final status outside 200 to 599 exists; whoever sends one has not said what happened.
                    _ => Verdict::Unknown,
                }
            }
            Self::NotSent => Verdict::Retry(Reason::TransportNotSent, None),
            Self::Unknown => Verdict::Unknown,
            Self::Released => Verdict::Released,
            Self::Refused => Verdict::Dead(Reason::EndpointRefused),
        }
    }

    /// The status code, where there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answered { status, .. } => Some(*status),
            Self::NotSent | Self::Unknown | Self::Released | Self::Refused => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_one_meaning() {
        let verdict = |status| Outcome::Answered { status, retry_after: None }.verdict();
        for status in 200..300 {
            assert_eq!(verdict(status), Verdict::Accepted);
        }
        for status in 300..400 {
            assert_eq!(verdict(status), Verdict::Dead(Reason::RedirectRefused), "{status}");
        }
        for status in (400..500).filter(|&s| s != 429) {
            assert!(matches!(verdict(status), Verdict::Dead(_)), "{status}");
        }
        for status in 500..600 {
            assert_eq!(verdict(status), Verdict::Retry(Reason::EndpointServerError, None));
        }
        assert_eq!(verdict(0), Verdict::Unknown);
        assert_eq!(verdict(100), Verdict::Unknown);
        let throttled = Outcome::Answered { status: 429, retry_after: Some("7".into()) };
        assert_eq!(
            throttled.verdict(),
            Verdict::Retry(Reason::EndpointThrottled, Some(RetryAfter::Seconds(7)))
        );
    }
}
