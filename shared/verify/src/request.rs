//! Requests as octets: as they were received, or as they are to be sent.

use std::fmt;

use hookproof_core::signature::{Fields, SignatureHeaders};

/// A request as it was received, before anything parsed or decoded it.
#[derive(Debug)]
pub struct Request<'a> {
    pub(crate) method: &'a str,
    pub(crate) target: &'a str,
    pub(crate) fields: Fields,
    pub(crate) body: &'a [u8],
}

impl<'a> Request<'a> {
    /// `target` is what the request line says (path and query), or the whole target URI. `headers` are all
    /// lines, repeated ones as often as they came. `body` is the raw content.
    ///
    /// Host and forwarding headers decide nothing: the target is compared with the entry's own URL.
    pub fn new<N: AsRef<str>, V: AsRef<[u8]>>(
        method: &'a str,
        target: &'a str,
        headers: impl IntoIterator<Item = (N, V)>,
        body: &'a [u8],
    ) -> Self {
        Self { method, target, fields: headers.into_iter().collect(), body }
    }

    /// The one value of a header, if it is there once and readable.
    pub fn header(&self, name: &str) -> Option<String> {
        self.fields.single(&name.to_ascii_lowercase()).ok()
    }
}

/// A signed request, to be sent with POST as it is.
#[derive(Clone, PartialEq, Eq)]
pub struct SignedRequest {
    url: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl SignedRequest {
    pub(crate) fn new(url: &str, headers: Vec<(&'static str, String)>, body: Vec<u8>) -> Self {
        Self { url: url.to_owned(), headers, body }
    }

    pub(crate) fn sign_with(mut self, signature: SignatureHeaders) -> Self {
        self.headers.push(("signature-input", signature.signature_input));
        self.headers.push(("signature", signature.signature));
        self
    }

    pub(crate) fn fields(&self) -> Fields {
        self.headers().collect()
    }

    /// Where it goes.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Name (lower case) and value of each header.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, &str)> {
        self.headers.iter().map(|(name, value)| (*name, value.as_str()))
    }

    /// The body, octet for octet.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// A signature in a log could be sent again while it is good.
impl fmt::Debug for SignedRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SignedRequest({}, {} octets, redacted)", self.url, self.body.len())
    }
}
