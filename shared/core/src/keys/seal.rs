//! Secrets at rest: a fresh data key for each record, wrapped by the master key, both bound by AEAD to
//! the row they belong to, so that a row can be neither swapped with another nor rolled back.

use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};

use crate::id::Scope;
use crate::reason::{Reason, Refusal};
use crate::secret::Secret;
use crate::tuple::Tuple;

const NONCE: usize = 24;
const WRAPPED: usize = 32 + 16;
const HEADER: usize = 4 + NONCE + WRAPPED + NONCE;

/// One version of the deployment's key-encryption key.
#[derive(Clone, Debug)]
pub struct MasterKey {
    /// Only rises; stored in front of everything sealed under it.
    pub version: u32,
    /// The key.
    pub key: Secret,
}

/// The master keys a host holds: it seals under the highest version and opens under any.
#[derive(Clone, Debug)]
pub struct MasterKeys(Vec<MasterKey>);

impl MasterKeys {
    /// At least one key; versions must differ.
    pub fn new(keys: Vec<MasterKey>) -> Result<Self, Refusal> {
        let doubled =
            keys.iter().enumerate().any(|(at, key)| keys[..at].iter().any(|k| k.version == key.version));
        if keys.is_empty() || doubled {
            return Err(Refusal::new(Reason::InternalHost, "master keys need one key for each version"));
        }
        Ok(Self(keys))
    }

    /// Reads `<version>:<base64url of 32 octets>`, comma-separated, as the platform's secret holds it.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let words = "the master key secret is <version>:<base64url of 32 octets>, comma-separated";
        let keys = versions(text).ok_or_else(|| Refusal::new(Reason::InternalHost, words))?;
        Self::new(keys.into_iter().map(|(version, key)| MasterKey { version, key }).collect())
    }

    fn version(&self, version: u32) -> Option<&MasterKey> {
        self.0.iter().find(|key| key.version == version)
    }

    /// Seals `plain` for the row that `binding` names. `random` is 80 fresh octets.
    pub fn seal(&self, binding: &impl Bound, plain: &[u8], random: [u8; 80]) -> Result<Vec<u8>, Refusal> {
        let Some(master) = self.0.iter().max_by_key(|key| key.version) else {
            return Err(Reason::InternalHost.into());
        };
        let (data_key, nonces) = random.split_at(32);
        let (outer, inner) = nonces.split_at(NONCE);
        let aad = binding.encode(master.version);
        let wrapped = encrypt(master.key.expose(), outer, data_key, &aad)?;
        let sealed = encrypt(data_key, inner, plain, &aad)?;
        let mut out = Vec::with_capacity(HEADER + sealed.len());
        out.extend_from_slice(&master.version.to_be_bytes());
        for part in [outer, &wrapped, inner, &sealed] {
            out.extend_from_slice(part);
        }
        Ok(out)
    }

    /// Opens what [`MasterKeys::seal`] made for the same row.
    pub fn open(&self, binding: &impl Bound, sealed: &[u8]) -> Result<Vec<u8>, Refusal> {
        let corrupt = || Refusal::new(Reason::InternalCorrupt, "a sealed record does not open");
        let (version, rest) = sealed.split_first_chunk::<4>().ok_or_else(corrupt)?;
        if sealed.len() < HEADER {
            return Err(corrupt());
        }
        let version = u32::from_be_bytes(*version);
        let missing =
            || Refusal::new(Reason::InternalHost, format!("master key version {version} is not configured"));
        let master = self.version(version).ok_or_else(missing)?;
        let (outer, rest) = rest.split_at(NONCE);
        let (wrapped, rest) = rest.split_at(WRAPPED);
        let (inner, body) = rest.split_at(NONCE);
        let aad = binding.encode(version);
        let data_key = decrypt(master.key.expose(), outer, wrapped, &aad).ok_or_else(corrupt)?;
        decrypt(&data_key, inner, body, &aad).ok_or_else(corrupt)
    }

    /// Opens a sealed 32-octet secret.
    pub fn open_secret(&self, binding: &impl Bound, sealed: &[u8]) -> Result<Secret, Refusal> {
        let octets = self.open(binding, sealed)?;
        let fixed: Result<[u8; 32], _> = octets.try_into();
        fixed.map(Secret::new).map_err(|_| Reason::InternalCorrupt.into())
    }
}

/// Reads `<version>:<base64url of 32 octets>`, comma-separated: at least one, no version twice.
pub(super) fn versions(text: &str) -> Option<Vec<(u32, Secret)>> {
    let mut read: Vec<(u32, Secret)> = Vec::new();
    for part in text.split(',') {
        let (version, key) = part.trim().split_once(':')?;
        let version = version.parse().ok()?;
        if read.iter().any(|(other, _)| *other == version) {
            return None;
        }
        read.push((version, Secret::from_base64url(key)?));
    }
    Some(read)
}

/// What a sealed value is bound to; kinds never share an encoding, for each opens with its own label.
pub trait Bound {
    /// The associated data under one version of the master key.
    fn encode(&self, kek_version: u32) -> Vec<u8>;
}

/// The row a sealed value belongs to; all of it is associated data.
#[derive(Clone, Debug)]
pub struct Binding<'a> {
    /// Tenant, environment, subscription, generation.
    pub scope: &'a Scope,
    /// Key id of the credential.
    pub key_id: &'a str,
    /// Its key generation.
    pub key_generation: u64,
    /// What the sealed value is: `secret`, `signing-key`, ….
    pub purpose: &'a str,
    /// Its algorithm.
    pub alg: &'a str,
}

impl Bound for Binding<'_> {
    fn encode(&self, kek_version: u32) -> Vec<u8> {
        Tuple::new("hookproof-at-rest-v1")
            .raw(&self.scope.encode())
            .field(self.key_id)
            .u64(self.key_generation)
            .field(self.purpose)
            .field(self.alg)
            .u32(kek_version)
            .into_bytes()
    }
}

/// A row outside every subscription, such as a receiver's source.
#[derive(Clone, Copy, Debug)]
pub struct NamedRow<'a> {
    /// What the sealed value is: `source`, ….
    pub kind: &'a str,
    /// The row's name.
    pub name: &'a str,
    /// Its revision, kept beside the sealed value.
    pub revision: u64,
}

impl Bound for NamedRow<'_> {
    fn encode(&self, kek_version: u32) -> Vec<u8> {
        Tuple::new("hookproof-at-rest-row-v1")
            .field(self.kind)
            .field(self.name)
            .u64(self.revision)
            .u32(kek_version)
            .into_bytes()
    }
}

fn cipher(key: &[u8]) -> Option<XChaCha20Poly1305> {
    XChaCha20Poly1305::new_from_slice(key).ok()
}

fn nonce(octets: &[u8]) -> Option<XNonce> {
    XNonce::try_from(octets).ok()
}

fn encrypt(key: &[u8], iv: &[u8], plain: &[u8], aad: &[u8]) -> Result<Vec<u8>, Refusal> {
    let sealed =
        cipher(key).zip(nonce(iv)).and_then(|(c, n)| c.encrypt(&n, Payload { msg: plain, aad }).ok());
    sealed.ok_or_else(|| Refusal::new(Reason::InternalHost, "sealing failed"))
}

fn decrypt(key: &[u8], iv: &[u8], sealed: &[u8], aad: &[u8]) -> Option<Vec<u8>> {
    cipher(key)?.decrypt(&nonce(iv)?, Payload { msg: sealed, aad }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{Environment, Generation, IdKey, SubscriptionId, TenantId};
    use crate::time::Timestamp;

    fn scope(generation: u64) -> Scope {
        let (key, now) = (IdKey::new(b"k"), Timestamp::from_unix(1_700_000_000));
        Scope {
            issuer: "https://hooks.example".into(),
            tenant: TenantId::mint(&key, now, [1; 10]),
            environment: Environment::Test,
            subscription: SubscriptionId::mint(&key, now, [2; 10]),
            generation: Generation(generation),
        }
    }

    fn binding<'a>(scope: &'a Scope, key_id: &'a str) -> Binding<'a> {
        Binding { scope, key_id, key_generation: 1, purpose: "secret", alg: "hmac-sha256" }
    }

    fn keys(versions: &[u32]) -> MasterKeys {
        let one = |&version: &u32| MasterKey { version, key: Secret::new([version as u8; 32]) };
        MasterKeys::new(versions.iter().map(one).collect()).unwrap()
    }

    #[test]
    fn a_sealed_secret_opens_in_its_own_row_only() {
        let (one, two) = (scope(1), scope(2));
        let sealed = keys(&[1]).seal(&binding(&one, "k"), &[5; 32], [7; 80]).unwrap();
        assert_eq!(keys(&[1]).open_secret(&binding(&one, "k"), &sealed).unwrap(), Secret::new([5; 32]));
        assert!(keys(&[1]).open(&binding(&two, "k"), &sealed).is_err());
        assert!(keys(&[1]).open(&binding(&one, "other"), &sealed).is_err());
        for position in 0..sealed.len() {
            let mut bent = sealed.clone();
            bent[position] ^= 1;
            assert!(keys(&[1]).open(&binding(&one, "k"), &bent).is_err(), "octet {position}");
        }
    }

    #[test]
    fn a_new_master_key_seals_and_the_old_one_still_opens() {
        let one = scope(1);
        let old = keys(&[1]).seal(&binding(&one, "k"), b"x", [7; 80]).unwrap();
        let both = keys(&[1, 2]);
        assert_eq!(both.open(&binding(&one, "k"), &old).unwrap(), b"x");
        let new = both.seal(&binding(&one, "k"), b"x", [7; 80]).unwrap();
        assert_eq!(new[..4], [0, 0, 0, 2]);
        assert_eq!(keys(&[1]).open(&binding(&one, "k"), &new).unwrap_err().reason, Reason::InternalHost);
    }

    #[test]
    fn a_named_row_is_bound_to_its_kind_name_and_revision() {
        let row = NamedRow { kind: "source", name: "a", revision: 1 };
        let sealed = keys(&[1]).seal(&row, b"x", [7; 80]).unwrap();
        assert_eq!(keys(&[1]).open(&row, &sealed).unwrap(), b"x");
        for other in [
            NamedRow { kind: "other", ..row },
            NamedRow { name: "b", ..row },
            NamedRow { revision: 2, ..row },
        ] {
            assert!(keys(&[1]).open(&other, &sealed).is_err(), "{other:?}");
        }
        let scope = scope(1);
        assert!(keys(&[1]).open(&binding(&scope, "a"), &sealed).is_err());
    }

    #[test]
    fn the_secret_binding_is_parsed_whole() {
        let text = format!("2:{},1:{}", Secret::new([2; 32]).show_once(), Secret::new([1; 32]).show_once());
        assert!(MasterKeys::parse(&text).is_ok());
        for bad in ["", "1:abc", "x:AAAA", &format!("1:{0},1:{0}", Secret::new([1; 32]).show_once())] {
            assert!(MasterKeys::parse(bad).is_err(), "{bad}");
        }
    }
}
