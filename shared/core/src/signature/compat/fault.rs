//! Why a message did not verify: exact for the developer, one word for the wire.

use std::fmt;

use super::WINDOW;
use crate::reason::Reason;

/// Why a message does not verify, or cannot be signed. `Display` is for the developer's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A field of the profile is missing.
    FieldMissing(&'static str),
    /// A field is there twice, or was joined from two.
    FieldRepeated(&'static str),
    /// A field has an octet that is not visible ASCII, or cannot be split into its parts.
    FieldMalformed(&'static str),
    /// The content is coded (compressed), so its octets are not the signed ones.
    ContentCoded,
    /// The event id is not 1 to 128 of `A-Z a-z 0-9 _ : -` with a non-digit.
    IdRefused,
    /// The time is not a whole number of seconds in digits.
    TimestampMalformed,
    /// No well-formed signature of this version.
    SignatureMissing(&'static str),
    /// More than [`super::MAX_SIGNATURES`] signatures.
    SignatureTooMany,
    /// No signature of this version matches under any of the keys.
    SignatureWrong {
        /// The version, as in the field.
        version: &'static str,
        /// How many keys were tried.
        keys: usize,
    },
    /// The signed time is too long ago.
    TooOld {
        /// How long ago.
        seconds: i64,
    },
    /// The signed time is too far ahead.
    TooNew {
        /// How far ahead.
        seconds: i64,
    },
    /// No key was given, or one of another kind than the profile's.
    KeyUnsuitable,
}

impl Fault {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::FieldMissing(_) => "field.missing",
            Self::FieldRepeated(_) => "field.repeated",
            Self::FieldMalformed(_) => "field.malformed",
            Self::ContentCoded => "content.coded",
            Self::IdRefused => "id.refused",
            Self::TimestampMalformed => "timestamp.malformed",
            Self::SignatureMissing(_) => "signature.missing",
            Self::SignatureTooMany => "signature.too_many",
            Self::SignatureWrong { .. } => "signature.wrong",
            Self::TooOld { .. } => "timestamp.too_old",
            Self::TooNew { .. } => "timestamp.too_new",
            Self::KeyUnsuitable => "key.unsuitable",
        }
    }

    /// The reason under which the system's own journal and answers know it.
    pub fn reason(self) -> Reason {
        match self {
            Self::ContentCoded | Self::IdRefused => Reason::BodyMalformed,
            Self::FieldMissing(_)
            | Self::FieldRepeated(_)
            | Self::FieldMalformed(_)
            | Self::TimestampMalformed
            | Self::SignatureMissing(_)
            | Self::SignatureTooMany => Reason::SignatureMalformed,
            Self::SignatureWrong { .. } => Reason::SignatureWrong,
            Self::TooOld { .. } | Self::TooNew { .. } => Reason::TimestampOutsideWindow,
            Self::KeyUnsuitable => Reason::KeyNotUsable,
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FieldMissing(name) => write!(f, "the field {name} is missing"),
            Self::FieldRepeated(name) => write!(f, "the field {name} is there more than once; send it once"),
            Self::FieldMalformed(name) => write!(f, "the field {name} does not have the profile's form"),
            Self::ContentCoded => f.write_str("the content is coded; send it without Content-Encoding"),
            Self::IdRefused => {
                f.write_str("the event id is refused; use 1 to 128 of A-Z a-z 0-9 _ : - with a non-digit")
            }
            Self::TimestampMalformed => {
                f.write_str("the timestamp is malformed; write Unix seconds in digits")
            }
            Self::SignatureMissing(version) => {
                write!(f, "there is no well-formed {version} signature (exact length, canonical encoding)")
            }
            Self::SignatureTooMany => {
                write!(f, "there are more than {} signatures", super::MAX_SIGNATURES)
            }
            Self::SignatureWrong { version, keys } => write!(
                f,
                "no {version} signature matches under the {keys} key(s) tried: another key, or id, timestamp \
                 or body differ from what was signed (a body must be verified before it is parsed; one that \
                 was serialised again is another body)"
            ),
            Self::TooOld { seconds } => write!(f, "timestamp {seconds} s old; at most {WINDOW} s are taken"),
            Self::TooNew { seconds } => {
                write!(f, "timestamp {seconds} s ahead of the clock; at most {WINDOW} s are taken")
            }
            Self::KeyUnsuitable => f.write_str("no key of the profile's kind was given"),
        }
    }
}

impl std::error::Error for Fault {}

/// Why a text is not a key. Never shows a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFault {
    /// Another prefix than the profile's.
    Prefix(&'static str),
    /// Not canonical base64.
    Base64,
    /// Another length than these octets.
    Length(&'static str),
    /// The public half of a key pair is not that of its seed.
    Unpaired,
    /// Of small order or not canonical.
    Weak,
}

impl KeyFault {
    /// The stable code.
    pub fn code(self) -> &'static str {
        match self {
            Self::Prefix(_) => "key.prefix",
            Self::Base64 => "key.base64",
            Self::Length(_) => "key.length",
            Self::Unpaired => "key.unpaired",
            Self::Weak => "key.weak",
        }
    }
}

impl fmt::Display for KeyFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(wanted) => write!(f, "the key has another prefix; {wanted} is accepted"),
            Self::Base64 => {
                f.write_str("the key is not canonical base64 (standard alphabet, padded, no blanks)")
            }
            Self::Length(wanted) => write!(f, "the key has another length; {wanted} octets are accepted"),
            Self::Unpaired => f.write_str("the key's public half does not belong to its seed"),
            Self::Weak => f.write_str("the public key is weak or not canonical"),
        }
    }
}

impl std::error::Error for KeyFault {}
