//! The issuer's keys: they sign key documents and nothing else, so no signature of theirs can be taken for
//! a delivery, a challenge or a receipt.

use serde::{Deserialize, Serialize};

use super::seal::versions;
use crate::base64;
use crate::key_document::{self, KeyDocument, Signed};
use crate::reason::{Reason, Refusal};
use crate::secret::Secret;
use crate::signature::{Alg, SigningKey, thumbprint};

/// What a subscriber pins, and what the deployment's own directory lists.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IssuerKey {
    /// RFC 7638 thumbprint.
    pub key_id: String,
    /// Always Ed25519.
    pub alg: Alg,
    /// Base64url of 32 octets.
    pub public_key: String,
}

/// A deployment as whoever checks its key documents knows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Issuer {
    /// Its origin.
    pub issuer: String,
    /// Its public keys, the one that signs first.
    pub keys: Vec<IssuerKey>,
}

/// The issuer's key pairs by version: the highest signs, every one is published. A pair is made from its
/// seed when it is needed, since most commands need none.
#[derive(Clone, Debug)]
pub struct IssuerKeys(Vec<(u32, Secret)>);

impl IssuerKeys {
    /// Reads `<version>:<base64url of 32 octets>`, comma-separated, as the platform's secret holds it.
    pub fn parse(text: &str) -> Result<Self, Refusal> {
        let words = "the issuer key secret is <version>:<base64url of 32 octets>, comma-separated, \
            each version once";
        let mut keys = versions(text).ok_or_else(|| Refusal::new(Reason::InternalHost, words))?;
        keys.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
        Ok(Self(keys))
    }

    /// The public half of the key that signs.
    pub fn current(&self) -> Result<IssuerKey, Refusal> {
        public(&self.signing()?)
    }

    /// All public halves, the one that signs first.
    pub fn public(&self) -> Result<Vec<IssuerKey>, Refusal> {
        self.0.iter().map(|(_, seed)| public(&SigningKey::ed25519(seed))).collect()
    }

    /// Signs a document with the key of the highest version.
    pub fn sign(&self, document: &KeyDocument) -> Result<Signed, Refusal> {
        let (key, text) = (self.signing()?, document.to_text()?);
        let key_id = public(&key)?.key_id;
        let tuple = key_document::tuple(&document.issuer, &document.subscription_id, &key_id, &text);
        Ok(Signed { document: text, key_id, signature: base64::url(&key.sign(&tuple.into_bytes())) })
    }

    fn signing(&self) -> Result<SigningKey, Refusal> {
        self.0.first().map(|(_, seed)| SigningKey::ed25519(seed)).ok_or_else(|| Reason::InternalHost.into())
    }
}

fn public(key: &SigningKey) -> Result<IssuerKey, Refusal> {
    let octets = key.public().ok_or(Reason::InternalHost)?;
    Ok(IssuerKey { key_id: thumbprint(&octets), alg: Alg::Ed25519, public_key: base64::url(&octets) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seed(octet: u8) -> String {
        Secret::new([octet; 32]).show_once()
    }

    #[test]
    fn the_highest_version_signs_and_all_are_published() {
        let keys = IssuerKeys::parse(&format!("1:{}, 3:{},2:{}", seed(1), seed(3), seed(2))).unwrap();
        let public = keys.public().unwrap();
        assert_eq!((public.len(), &public[0]), (3, &keys.current().unwrap()));
        let alone = IssuerKeys::parse(&format!("3:{}", seed(3))).unwrap();
        assert_eq!(alone.current().unwrap(), public[0]);
        assert!(!format!("{keys:?}").contains(&seed(3)));
    }

    #[test]
    fn the_secret_binding_is_parsed_whole() {
        for bad in ["", "1:abc", "x:AAAA", &seed(1), &format!("1:{0},1:{0}", seed(1))] {
            assert_eq!(IssuerKeys::parse(bad).unwrap_err().reason, Reason::InternalHost, "{bad}");
        }
    }
}
