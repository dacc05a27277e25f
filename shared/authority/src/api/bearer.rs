//! Bearer tokens (RFC 6750), read strictly and compared in constant time.

use hookproof_core::digest::Digest;
use hookproof_core::secret::constant_time_eq;
use http::HeaderMap;
use http::header::AUTHORIZATION;

/// The token of the one `Authorization` field; none if there are two, or another scheme.
pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut fields = headers.get_all(AUTHORIZATION).iter();
    let (field, None) = (fields.next()?, fields.next()) else { return None };
    let (scheme, token) = field.to_str().ok()?.split_once(' ')?;
    let fits = |b: u8| b.is_ascii_alphanumeric() || b"-._~+/=".contains(&b);
    let is_token = (1..=512).contains(&token.len()) && token.bytes().all(fits);
    (scheme.eq_ignore_ascii_case("bearer") && is_token).then_some(token)
}

/// Whether the request bears the token whose SHA-256 is `digest`.
pub fn is_token(headers: &HeaderMap, digest: &Digest) -> bool {
    bearer(headers).is_some_and(|token| constant_time_eq(&Digest::of(token.as_bytes()).0, &digest.0))
}
