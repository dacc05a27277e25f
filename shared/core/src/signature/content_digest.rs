//! Content digests (RFC 9530 §2): content passes only if every digest we can compute agrees with it.

use sha2::{Digest as _, Sha256, Sha512};

use super::sfv::{self, Bare, Item, Member};
use crate::reason::Reason;
use crate::secret::constant_time_eq;

/// Why a `Content-Digest` does not vouch for the content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestFault {
    /// Not a dictionary of byte sequences.
    Malformed,
    /// An algorithm is named twice; which one counts would depend on the reader.
    Repeated,
    /// Neither sha-256 nor sha-512 is there.
    NoAcceptableAlgorithm,
    /// Some recognised digest differs from the content's.
    Mismatch,
}

impl From<DigestFault> for Reason {
    fn from(fault: DigestFault) -> Self {
        match fault {
            DigestFault::Malformed
            | DigestFault::Repeated
            | DigestFault::NoAcceptableAlgorithm
            | DigestFault::Mismatch => Self::DigestMismatch,
        }
    }
}

/// Checks `content`, as sent (after any content coding), against the field value.
///
/// Algorithms other than sha-256 and sha-512 are passed over, but only beside one of these.
pub fn verify(value: &str, content: &[u8]) -> Result<(), DigestFault> {
    let dictionary = sfv::parse_dictionary(value).map_err(|_| DigestFault::Malformed)?;
    if dictionary.repeated().is_some() {
        return Err(DigestFault::Repeated);
    }
    let mut recognised = 0;
    let mut matching = 0;
    for entry in dictionary.entries() {
        let Member::Item(Item { bare: Bare::Bytes(claimed), .. }) = &entry.value else {
            return Err(DigestFault::Malformed);
        };
        let same = match entry.key {
            // Lengths differ for a cut digest, and then the comparison is false.
            "sha-256" => constant_time_eq(&Sha256::digest(content), claimed),
            "sha-512" => constant_time_eq(&Sha512::digest(content), claimed),
            _ => continue,
        };
        recognised += 1;
        matching += usize::from(same);
    }
    match (recognised, matching) {
        (0, _) => Err(DigestFault::NoAcceptableAlgorithm),
        (all, right) if all == right => Ok(()),
        _ => Err(DigestFault::Mismatch),
    }
}
