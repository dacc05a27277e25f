//! The envelope: written once when the event is accepted, the same bytes for every attempt and replay.

mod json;
mod kind;

pub use json::{Fault as JsonFault, check as check_json};
pub use kind::{EventType, MalformedType};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::id::EventId;
use crate::reason::{Reason, Refusal};
use crate::time::Timestamp;
use crate::tuple::Tuple;

/// Largest frozen envelope in octets.
pub const MAX_BYTES: usize = 256 * 1024;

/// The aggregate an event is about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Its id in the publisher's system.
    pub id: String,
    /// Its version after the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
}

/// What a publisher hands in. `data` is the caller's own text, kept octet for octet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Draft {
    /// The caller's id, or one minted for it.
    pub id: EventId,
    /// `resource.action`, past tense.
    pub kind: EventType,
    /// The caller's time; the acceptance time is taken when absent.
    pub created: Option<Timestamp>,
    /// The contract's version, whose major subscriptions select.
    pub api_version: String,
    /// The aggregate, for ordering.
    pub object: Option<Object>,
    /// Where the full resource can be read.
    pub resource_url: Option<String>,
    /// Raw JSON text.
    pub data: String,
}

impl Draft {
    /// Decides idempotency: over what the caller wrote, length-prefixed, `data` as raw octets.
    pub fn request_digest(&self) -> Digest {
        let option = |text: Option<String>| text.unwrap_or_default();
        let object = self.object.as_ref();
        let version = object.and_then(|o| o.version).map(|v| v.to_string());
        let tuple = Tuple::new("hookproof-publish-v1")
            .field(self.id.as_str())
            .field(self.kind.as_str())
            .field(option(self.created.map(|t| t.to_string())))
            .field(&self.api_version)
            .field(object.map_or("", |o| o.id.as_str()))
            .field(option(version))
            .field(self.resource_url.as_deref().unwrap_or(""))
            .field(&self.data);
        Digest(tuple.sha256())
    }

    /// Freezes the envelope. Field order is fixed; `data` stands in it as the caller wrote it.
    pub fn seal(&self, accepted_at: Timestamp) -> Result<Sealed, Refusal> {
        json::check(&self.data).map_err(|fault| fault.refusal("data"))?;
        check_api_version(&self.api_version)?;
        let created = self.created.unwrap_or(accepted_at);
        let mut out = String::with_capacity(self.data.len() + 256);
        let mut text = |name: &str, value: &str| {
            out.push_str(if out.is_empty() { "{\"" } else { ",\"" });
            out.push_str(name);
            out.push_str("\":");
            out.push_str(value);
        };
        text("id", &quoted(self.id.as_str()));
        text("type", &quoted(self.kind.as_str()));
        text("created", &quoted(&created.to_string()));
        text("api_version", &quoted(&self.api_version));
        if let Some(object) = &self.object {
            text("object", &serde_json::to_string(object).unwrap_or_default());
        }
        if let Some(url) = &self.resource_url {
            text("resource_url", &quoted(url));
        }
        text("data", &self.data);
        out.push('}');
        if out.len() > MAX_BYTES {
            let words = format!("the envelope would be {} octets", out.len());
            return Err(Refusal::new(Reason::BodyTooLarge, words)
                .at("data", format!("at most {MAX_BYTES} octets in all")));
        }
        let bytes = out.into_bytes();
        Ok(Sealed { digest: Digest::of(&bytes), bytes })
    }
}

/// Whether text can be an `api_version`.
pub fn check_api_version(text: &str) -> Result<(), Refusal> {
    if (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Refusal::new(Reason::BodyMalformed, "api_version is not usable")
        .at("api_version", "1 to 64 visible ASCII characters"))
}

/// The major of an `api_version`: what stands before the first `.` or `-`.
pub fn major(api_version: &str) -> &str {
    api_version.split(['.', '-']).next().unwrap_or(api_version)
}

fn quoted(text: &str) -> String {
    // Text always serialises.
    serde_json::to_string(text).unwrap_or_default()
}

/// Frozen bytes and their digest. The only source of a delivery's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sealed {
    /// The octets that are signed, sent and stored.
    pub bytes: Vec<u8>,
    /// Their SHA-256.
    pub digest: Digest,
}

/// The fields of an envelope a receiver routes by.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Head {
    /// The event's id.
    pub id: EventId,
    /// Its type.
    pub r#type: String,
    /// When it happened.
    pub created: Timestamp,
    /// Its contract's version.
    pub api_version: String,
}

impl Head {
    /// Reads the head of a received envelope.
    pub fn parse(body: &[u8]) -> Result<Self, Reason> {
        crate::json::read(body).ok_or(Reason::BodyMalformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draft(data: &str) -> Draft {
        Draft {
            id: "evt-1".parse().unwrap(),
            kind: "invoice.paid".parse().unwrap(),
            created: None,
            api_version: "2026-01".into(),
            object: Some(Object { id: "in_1".into(), version: Some(7) }),
            resource_url: None,
            data: data.into(),
        }
    }

    #[test]
    fn data_stands_octet_for_octet() {
        let at = Timestamp::from_unix(1_700_000_000);
        let sealed = draft("{\"amount\" : 1.10,\n \"x\":\"\\u00e9\"}").seal(at).unwrap();
        let text = String::from_utf8(sealed.bytes.clone()).unwrap();
        let expected = "{\"id\":\"evt-1\",\"type\":\"invoice.paid\",\"created\":\"2023-11-14T22:13:20.000Z\",\
            \"api_version\":\"2026-01\",\"object\":{\"id\":\"in_1\",\"version\":7},\
            \"data\":{\"amount\" : 1.10,\n \"x\":\"\\u00e9\"}}";
        assert_eq!(text, expected);
        assert_eq!(sealed.digest, Digest::of(&sealed.bytes));
        assert_eq!(Head::parse(&sealed.bytes).unwrap().r#type, "invoice.paid");
    }

    #[test]
    fn sameness_is_what_the_caller_wrote() {
        assert_eq!(draft("{}").request_digest(), draft("{}").request_digest());
        assert_ne!(draft("{}").request_digest(), draft("{ }").request_digest());
        let mut timed = draft("{}");
        timed.created = Some(Timestamp::from_unix(1));
        assert_ne!(timed.request_digest(), draft("{}").request_digest());
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let at = Timestamp::from_unix(0);
        let large = format!("\"{}\"", "x".repeat(MAX_BYTES));
        assert_eq!(draft(&large).seal(at).unwrap_err().reason, Reason::BodyTooLarge);
        assert_eq!(draft("{\"a\":1,\"a\":2}").seal(at).unwrap_err().reason, Reason::BodyMalformed);
        let mut odd = draft("{}");
        odd.api_version = "a b".into();
        assert_eq!(odd.seal(at).unwrap_err().field.as_deref(), Some("api_version"));
    }

    #[test]
    fn the_major_of_a_version() {
        assert_eq!((major("2"), major("2.4.1"), major("2026-01")), ("2", "2", "2026"));
    }
}
