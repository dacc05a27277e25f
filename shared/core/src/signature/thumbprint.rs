//! Names of public keys: the same key has one thumbprint everywhere (RFC 7638, RFC 8037 §2).

use serde_json::Value;

use super::key::Ed25519Public;
use crate::base64;
use crate::digest::sha256;
use crate::reason::Reason;

/// Thumbprints of the Ed25519 keys whose private half is printed in RFC 8032 §7.1, RFC 8037 A.1
/// (the first of RFC 8032) and RFC 9421 B.1.4.
const PUBLISHED: [&str; 6] = [
    "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    "FtIu-VbGrfe_KB6CH7GNwODB72MNxj_ml11dEvO-7kk",
    "FVV5umTuau890q59V-4Ga_R6qWb7ON_ivJc4EjvCwTM",
    "lZI1vM7tnlYapaF5-cy86ptx0tT_8Av721hhiNB5ti4",
    "iiDHHfFVNG6ICMUTsicgrWf1igtFYZEK73xlobt1ah4",
    "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U",
];

/// The RFC 7638 thumbprint of an Ed25519 public key, base64url.
pub fn thumbprint(public: &[u8; 32]) -> String {
    base64::url(&sha256(jwk(public).as_bytes()))
}

/// The public key as a JWK (RFC 8037 §2): required members only, in the order the thumbprint hashes.
pub fn jwk(public: &[u8; 32]) -> String {
    ["{\"crv\":\"Ed25519\",\"kty\":\"OKP\",\"x\":\"", &base64::url(public), "\"}"].concat()
}

/// Reads an Ed25519 public key from a JWK. Other key types and keys [`Ed25519Public::new`] refuses
/// are [`Reason::KeyWeak`]; other members, such as `kid` and `use`, do not matter.
pub fn from_jwk(jwk: &Value) -> Result<Ed25519Public, Reason> {
    let member = |name| jwk.get(name).and_then(Value::as_str);
    if member("kty") != Some("OKP") || member("crv") != Some("Ed25519") {
        return Err(Reason::KeyWeak);
    }
    let octets = member("x").and_then(base64::array_from_url::<32>).ok_or(Reason::KeyWeak)?;
    Ed25519Public::new(&octets)
}

/// Whether the key with this thumbprint has a published private half: nobody may own it.
pub fn is_published_test_key(thumbprint: &str) -> bool {
    PUBLISHED.contains(&thumbprint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secret::Secret;
    use crate::signature::key::SigningKey;

    #[test]
    fn every_published_seed_gives_a_refused_key() {
        let seeds = [
            "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
            "TM0Imyj_ltqdtsNG7BFOD1uKMZ81q6Yk2oz27U-4pvs",
            "xaqN9D-fg3vtt0QvMdy3sWbThTUHbwlLhc46LgtEWPc",
            "9eV2fPFTMZUXYw8iaHa4bIFgzFg7wBN0TGvyVfXMDuU",
            "gz_mJAkje51i7HdYdSCRHpp1nOwdGXVbfakBuW3KPUI",
            "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
        ];
        for (seed, published) in seeds.into_iter().zip(PUBLISHED) {
            let key = SigningKey::ed25519(&Secret::from_base64url(seed).unwrap());
            assert_eq!(thumbprint(&key.public().unwrap()), published);
            assert!(is_published_test_key(published));
        }
        assert!(!is_published_test_key(&thumbprint(&[9; 32])));
    }
}
