//! A body's octets, unchanged, inside JSON commands and replies.

use std::fmt;

use hookproof_core::base64;
use serde::{Deserialize, Serialize};

/// Octets that travel as text where they are UTF-8, and as base64url where not.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Wire", try_from = "Wire")]
pub struct Body(pub Vec<u8>);

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Wire {
    Text(String),
    Base64url(String),
}

impl From<Body> for Wire {
    fn from(body: Body) -> Self {
        match String::from_utf8(body.0) {
            Ok(text) => Self::Text(text),
            Err(other) => Self::Base64url(base64::url(other.as_bytes())),
        }
    }
}

impl TryFrom<Wire> for Body {
    type Error = &'static str;
    fn try_from(wire: Wire) -> Result<Self, Self::Error> {
        match wire {
            Wire::Text(text) => Ok(Self(text.into_bytes())),
            Wire::Base64url(text) => base64::from_url(&text).map(Self).ok_or("base64url without padding"),
        }
    }
}

/// Bodies are the tenant's: only their length is shown.
impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({} octets)", self.0.len())
    }
}
