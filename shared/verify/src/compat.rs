//! Compatibility profiles: Standard Webhooks (`v1`, `v1a`) and the timestamped HMAC.
//!
//! They cover id, time and body at most: not the URL, not the subscription, not the generation. A message
//! that was meant for another endpoint of yours under the same secret verifies here too.
//!
//! ```
//! use hookproof_verify::compat::{Signer, Verifier};
//! use hookproof_verify::{Request, Timestamp};
//!
//! let secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"];
//! let now = Timestamp::from_unix(1_700_000_000);
//! let body = br#"{"id":"evt_1"}"#;
//! let headers = Signer::standard_webhooks(&secrets)?.sign("evt_1", body, now)?;
//!
//! // Old and new secret side by side while they are exchanged.
//! let verifier = Verifier::standard_webhooks(&["whsec_aW1wb3J0YW50OiB0aGUgbmV3IHNlY3JldCE=", secrets[0]])?;
//! let request = Request::new("POST", "/in", headers.clone(), body);
//! let verified = verifier.verify(&request, now)?;
//! assert_eq!(verified.id().map(|id| id.as_str()), Some("evt_1"));
//! assert_eq!(verified.key(), 1);
//!
//! let late = Timestamp::from_unix(1_700_000_412);
//! let failure = verifier.verify(&request, late).unwrap_err();
//! assert_eq!(failure.to_string(), "timestamp.too_old: timestamp 412 s old; at most 300 s are taken");
//! # Ok::<(), hookproof_verify::Failure>(())
//! ```

use std::fmt;

use hookproof_core::signature::key::Ed25519Public;
use hookproof_core::signature::{MacKey, SigningKey, compat};
use hookproof_core::time::Timestamp;

pub use compat::Verified;

use crate::{Failure, Request};

/// The keys that are accepted under one profile.
#[derive(Debug)]
pub struct Verifier(VerifyKeys);

enum VerifyKeys {
    StandardV1(Vec<MacKey>),
    StandardV1a(Vec<Ed25519Public>),
    Timestamped(Vec<MacKey>),
}

impl Verifier {
    /// `standard-webhooks.v1`: secrets as shown, `whsec_…`.
    pub fn standard_webhooks<S: AsRef<str>>(secrets: &[S]) -> Result<Self, Failure> {
        Ok(Self(VerifyKeys::StandardV1(macs(secrets)?)))
    }

    /// `standard-webhooks.v1a`: public keys as shown, `whpk_…`.
    pub fn standard_webhooks_ed25519<S: AsRef<str>>(keys: &[S]) -> Result<Self, Failure> {
        let keys = keys.iter().map(|text| compat::standard_v1a::read_public(text.as_ref()));
        Ok(Self(VerifyKeys::StandardV1a(keys.collect::<Result<_, _>>()?)))
    }

    /// `timestamped-hmac.v1`: secrets as shown, `whsec_…`.
    pub fn timestamped_hmac<S: AsRef<str>>(secrets: &[S]) -> Result<Self, Failure> {
        Ok(Self(VerifyKeys::Timestamped(macs(secrets)?)))
    }

    /// Verifies a request under any of the keys; the time is judged last.
    ///
    /// Method and target are not signed and not looked at.
    pub fn verify(&self, request: &Request<'_>, now: Timestamp) -> Result<Verified, Failure> {
        let (fields, body, now) = (&request.fields, request.body, now.unix());
        Ok(match &self.0 {
            VerifyKeys::StandardV1(keys) => {
                compat::standard_v1::verify(keys, &compat::StandardHeaders::read(fields)?, body, now)?
            }
            VerifyKeys::StandardV1a(keys) => {
                compat::standard_v1a::verify(keys, &compat::StandardHeaders::read(fields)?, body, now)?
            }
            VerifyKeys::Timestamped(keys) => {
                compat::timestamped::verify(keys, &compat::timestamped::read(fields)?, body, now)?
            }
        })
    }
}

/// The keys that sign under one profile; several during a rotation.
#[derive(Debug)]
pub struct Signer(SignKeys);

enum SignKeys {
    StandardV1(Vec<MacKey>),
    StandardV1a(Vec<SigningKey>),
    Timestamped(Vec<MacKey>),
}

impl Signer {
    /// `standard-webhooks.v1`, with secrets `whsec_…`.
    pub fn standard_webhooks<S: AsRef<str>>(secrets: &[S]) -> Result<Self, Failure> {
        Ok(Self(SignKeys::StandardV1(macs(secrets)?)))
    }

    /// `standard-webhooks.v1a`, with private keys `whsk_…`.
    pub fn standard_webhooks_ed25519<S: AsRef<str>>(keys: &[S]) -> Result<Self, Failure> {
        let keys = keys.iter().map(|text| compat::standard_v1a::read_private(text.as_ref()));
        Ok(Self(SignKeys::StandardV1a(keys.collect::<Result<_, _>>()?)))
    }

    /// `timestamped-hmac.v1`, with secrets `whsec_…`.
    pub fn timestamped_hmac<S: AsRef<str>>(secrets: &[S]) -> Result<Self, Failure> {
        Ok(Self(SignKeys::Timestamped(macs(secrets)?)))
    }

    /// The headers to send with `body`. The timestamped profile signs no id and does not look at it: there
    /// the body has to carry it.
    pub fn sign(
        &self,
        event_id: &str,
        body: &[u8],
        now: Timestamp,
    ) -> Result<Vec<(&'static str, String)>, Failure> {
        let id = || event_id.parse().map_err(|_| compat::Fault::IdRefused);
        let now = now.unix();
        let standard = |headers: compat::StandardHeaders| {
            headers.fields().map(|(name, value)| (name, value.to_owned())).to_vec()
        };
        Ok(match &self.0 {
            SignKeys::StandardV1(keys) => standard(compat::standard_v1::sign(keys, &id()?, now, body)?),
            SignKeys::StandardV1a(keys) => standard(compat::standard_v1a::sign(keys, &id()?, now, body)?),
            SignKeys::Timestamped(keys) => {
                vec![(compat::timestamped::FIELD, compat::timestamped::sign(keys, now, body)?)]
            }
        })
    }
}

fn macs<S: AsRef<str>>(secrets: &[S]) -> Result<Vec<MacKey>, Failure> {
    let keys = secrets.iter().map(|text| compat::standard_v1::read_secret(text.as_ref()));
    Ok(keys.collect::<Result<_, _>>()?)
}

impl fmt::Debug for VerifyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StandardV1(_) => compat::standard_v1::NAME,
            Self::StandardV1a(_) => compat::standard_v1a::NAME,
            Self::Timestamped(_) => compat::timestamped::NAME,
        })
    }
}

impl fmt::Debug for SignKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StandardV1(_) => compat::standard_v1::NAME,
            Self::StandardV1a(_) => compat::standard_v1a::NAME,
            Self::Timestamped(_) => compat::timestamped::NAME,
        })
    }
}
