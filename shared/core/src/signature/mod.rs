//! HTTP Message Signatures: what verifies here was signed for exactly this profile, target, body and time.
//!
//! RFC 9421 in two layers. Below, the whole of the standard as parsing and derivation ([`sfv`],
//! [`fields`], [`component`], [`base`]); above, our closed profiles ([`profile`]) that [`mod@sign`] and
//! [`verify`] refuse to bend. RFC 9530 content digests are in [`content_digest`]. Other people's formats that we speak are in [`compat`].

pub mod base;
pub mod compat;
pub mod component;
pub mod content_digest;
mod coverage;
mod derive;
pub mod fields;
pub mod key;
pub mod mac;
pub mod message;
pub mod profile;
pub mod sfv;
pub mod sign;
pub mod thumbprint;
pub mod verify;

pub use fields::Fields;
pub use key::{Alg, SigningKey, VerifyKey};
pub use mac::MacKey;
pub use message::Message;
pub use profile::Profile;
pub use sign::{SignatureHeaders, sign};
pub use thumbprint::{is_published_test_key, thumbprint};
pub use verify::{Authentic, Candidate, select};

#[cfg(test)]
mod tests;
