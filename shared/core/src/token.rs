//! API tokens: `hp_<environment>_<26 characters>_<52 characters>`, parsed whole, stored only as a hash.

use std::str::FromStr;

use crate::digest::Digest;
use crate::id::{Environment, TokenId, crockford};
use crate::secret::constant_time_eq;
use crate::tuple::Tuple;

/// A token as presented or minted. Not `Debug`: it holds a secret.
#[derive(Clone)]
pub struct Token {
    /// The environment it is good for.
    pub environment: Environment,
    /// Its public half.
    pub id: TokenId,
    secret: String,
}

impl Token {
    /// A new token with 32 octets of secret.
    pub fn mint(environment: Environment, id: TokenId, random: &[u8; 32]) -> Self {
        Self { environment, id, secret: crockford(random) }
    }

    /// Reads a token; anything that is not exactly of the form is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (environment, rest) = text.strip_prefix("hp_")?.split_once('_')?;
        let (id, secret) = rest.split_once('_')?;
        let symbol = |b: u8| b.is_ascii_digit() || (b.is_ascii_lowercase() && !b"ilou".contains(&b));
        let shaped = secret.len() == 52 && secret.bytes().all(symbol);
        let id = TokenId::from_str(&format!("tok_{id}")).ok()?;
        shaped.then(|| {
            Some(Self { environment: Environment::parse(environment)?, id, secret: secret.to_owned() })
        })?
    }

    /// The text to show once.
    pub fn show_once(&self) -> String {
        let id = self.id.as_str().trim_start_matches("tok_");
        format!("hp_{}_{id}_{}", self.environment, self.secret)
    }

    /// What is stored in its place.
    pub fn digest(&self) -> Digest {
        let tuple = Tuple::new("hookproof-token-v1")
            .field(self.environment.as_str())
            .field(self.id.as_str())
            .field(&self.secret);
        Digest(tuple.sha256())
    }
}

/// Whether two stored or computed digests are equal, in constant time.
pub fn same_digest(left: &Digest, right: &Digest) -> bool {
    constant_time_eq(&left.0, &right.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::IdKey;
    use crate::time::Timestamp;

    #[test]
    fn a_token_is_read_whole_or_not_at_all() {
        let id = TokenId::mint(&IdKey::new(b"k"), Timestamp::from_unix(1_800_000_000), [1; 10]);
        let token = Token::mint(Environment::Test, id, &[7; 32]);
        let text = token.show_once();
        assert_eq!(text.len(), "hp_test_".len() + 26 + 1 + 52);
        let read = Token::parse(&text).unwrap();
        assert_eq!(read.digest(), token.digest());
        for bad in [
            &text[1..],
            &text[..text.len() - 1],
            &text.replace("test", "prod"),
            &text.to_uppercase(),
            &format!("{text} "),
        ] {
            assert!(Token::parse(bad).is_none(), "{bad}");
        }
        let live = Token::parse(&text.replace("test", "live")).unwrap();
        assert_ne!(live.digest(), token.digest(), "the environment is part of the hash");
    }
}
