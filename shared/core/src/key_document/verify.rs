//! Reading a key document: what passes was signed by the pinned issuer for this very subscription, is not
//! older than what its reader has seen, and may still be gone by.

use super::{KeyDocument, LIFETIME, Signed, TYPE, tuple};
use crate::base64;
use crate::id::SubscriptionId;
use crate::json;
use crate::keys::IssuerKey;
use crate::reason::{Reason, Refusal};
use crate::signature::VerifyKey;
use crate::time::{Span, Timestamp};

/// How far the issuer's clock may be ahead of the reader's.
const SKEW: Span = Span::seconds(60);

/// What a reader knows before it reads: from the registration, and from the document it read last.
#[derive(Clone, Copy, Debug)]
pub struct Pin<'a> {
    /// The issuer's origin.
    pub issuer: &'a str,
    /// The subscription whose document was asked for.
    pub subscription_id: &'a SubscriptionId,
    /// The issuer's keys that are believed. A document is never a reason to believe another one.
    pub keys: &'a [IssuerKey],
    /// The highest sequence seen; 0 before the first document.
    pub last_sequence: u64,
}

impl Pin<'_> {
    /// Reads and judges an answer of the directory.
    ///
    /// `body.malformed`, `key.unknown` (signed by a key that is not pinned), `signature.wrong` (also a
    /// document of another issuer or subscription), `timestamp_outside_window` (from the future),
    /// `directory.rolled_back` (a lower sequence), `directory.stale` (too old).
    pub fn verify(&self, answer: &str, now: Timestamp) -> Result<KeyDocument, Refusal> {
        let malformed = || Refusal::new(Reason::BodyMalformed, "this is not a signed key document");
        let signed: Signed = json::read(answer.as_bytes()).ok_or_else(malformed)?;
        self.check_signature(&signed)?;
        let document: KeyDocument = json::read(signed.document.as_bytes()).ok_or_else(malformed)?;
        // The signature covers the issuer and the subscription asked for; the text must not say otherwise.
        let same = document.issuer == self.issuer && document.subscription_id == *self.subscription_id;
        let lifetime = document.next_update - document.issued_at;
        if document.r#type != TYPE || !same || lifetime > LIFETIME {
            return Err(malformed());
        }
        if document.issued_at > now + SKEW {
            return Err(Refusal::new(Reason::TimestampOutsideWindow, "the key document is from the future"));
        }
        if document.sequence < self.last_sequence {
            return Err(Refusal::new(Reason::DirectoryRolledBack, "a newer key document was seen before"));
        }
        if document.is_stale(now) {
            return Err(Refusal::new(Reason::DirectoryStale, "the key document is too old"));
        }
        Ok(document)
    }

    fn check_signature(&self, signed: &Signed) -> Result<(), Refusal> {
        let unknown = || Refusal::new(Reason::KeyUnknown, "the key document is not signed by a pinned key");
        let wrong = || Refusal::new(Reason::SignatureWrong, "the key document's signature does not verify");
        let pinned = self.keys.iter().find(|key| key.key_id == signed.key_id).ok_or_else(unknown)?;
        let octets: [u8; 32] = base64::array_from_url(&pinned.public_key).ok_or_else(unknown)?;
        let key = VerifyKey::ed25519(&octets)?;
        let signature = base64::from_url(&signed.signature).ok_or_else(wrong)?;
        let tuple = tuple(self.issuer, self.subscription_id, &signed.key_id, &signed.document);
        if key.verify(&tuple.into_bytes(), &signature) { Ok(()) } else { Err(wrong()) }
    }
}
