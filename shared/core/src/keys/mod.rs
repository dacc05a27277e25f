//! Credentials: who may sign what, and until when.
//!
//! A credential belongs to one (subscription, generation) and one profile; at most one of a
//! generation is ACTIVE; purposes never share a MAC key; at rest a secret is bound to its row.

mod credential;
mod derive;
mod issuer;
mod seal;

pub use credential::{Credential, CredentialState, KeyGeneration};
pub use derive::{Purpose, derive, key_check};
pub use issuer::{Issuer, IssuerKey, IssuerKeys};
pub use seal::{Binding, Bound, MasterKey, MasterKeys, NamedRow};
