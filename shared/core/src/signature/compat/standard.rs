//! What both Standard Webhooks profiles share: three fields, and the signed text `id.timestamp.body`.

use super::{Fault, MAX_SIGNATURES, seconds};
use crate::base64;
use crate::id::EventId;
use crate::signature::fields::{FieldFault, Fields};
use crate::signature::verify::refuse_coding;

const ID: &str = "webhook-id";
const TIMESTAMP: &str = "webhook-timestamp";
const SIGNATURE: &str = "webhook-signature";

/// The values of the three fields, as received or as to be sent.
#[derive(Clone, PartialEq, Eq)]
pub struct StandardHeaders {
    /// `webhook-id`.
    pub id: String,
    /// `webhook-timestamp`.
    pub timestamp: String,
    /// `webhook-signature`: signatures with their versions, separated by spaces.
    pub signature: String,
}

impl StandardHeaders {
    /// Takes them from a message's fields.
    pub fn read(fields: &Fields) -> Result<Self, Fault> {
        refuse_coding(fields).map_err(|_| Fault::ContentCoded)?;
        let field = |name| single(fields, name);
        Ok(Self { id: field(ID)?, timestamp: field(TIMESTAMP)?, signature: field(SIGNATURE)? })
    }

    /// Name and value of each, to be sent.
    pub fn fields(&self) -> [(&'static str, &str); 3] {
        [(ID, &self.id), (TIMESTAMP, &self.timestamp), (SIGNATURE, &self.signature)]
    }
}

/// A signature in a log could be sent again while it is good.
impl std::fmt::Debug for StandardHeaders {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StandardHeaders(id {}, at {}, redacted)", self.id, self.timestamp)
    }
}

/// The value of a field that has to be there once.
pub(super) fn single(fields: &Fields, name: &'static str) -> Result<String, Fault> {
    fields.single(name).map_err(|fault| match fault {
        FieldFault::Absent => Fault::FieldMissing(name),
        FieldFault::Repeated => Fault::FieldRepeated(name),
        FieldFault::Forbidden => Fault::FieldMalformed(name),
    })
}

/// Headers whose form was judged: what they claim, and the signatures of one version.
pub(super) struct Claims {
    pub(super) id: EventId,
    pub(super) timestamp: i64,
    pub(super) signatures: Vec<Vec<u8>>,
}

impl Claims {
    /// `length` is that of a signature of `version`, in octets.
    pub(super) fn read(
        headers: &StandardHeaders,
        version: &'static str,
        length: usize,
    ) -> Result<Self, Fault> {
        let id = headers.id.parse().map_err(|_| Fault::IdRefused)?;
        let timestamp = seconds(&headers.timestamp)?;
        let signatures = signatures(&headers.signature, version, length)?;
        Ok(Self { id, timestamp, signatures })
    }
}

/// What comes before the body in the signed text.
pub(super) fn opening(id: &EventId, timestamp: i64) -> String {
    format!("{}.{timestamp}.", id.as_str())
}

/// The well-formed signatures of `version`. Others are passed over, so that a sender can add versions.
fn signatures(value: &str, version: &'static str, length: usize) -> Result<Vec<Vec<u8>>, Fault> {
    let mut found = Vec::new();
    for (seen, entry) in value.split(' ').filter(|entry| !entry.is_empty()).enumerate() {
        if seen == MAX_SIGNATURES {
            return Err(Fault::SignatureTooMany);
        }
        let Some((its_version, encoded)) = entry.split_once(',') else { continue };
        // What a platform makes of two lines, one of which could be somebody else's.
        if encoded.ends_with(',') {
            return Err(Fault::FieldRepeated(SIGNATURE));
        }
        let octets = base64::from_standard(encoded).filter(|octets| octets.len() == length);
        if let Some(octets) = octets.filter(|_| its_version == version) {
            found.push(octets);
        }
    }
    if found.is_empty() { Err(Fault::SignatureMissing(version)) } else { Ok(found) }
}
