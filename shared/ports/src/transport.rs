//! One HTTP request to a vetted endpoint.

use bytes::Bytes;
use hookproof_core::endpoint::Permitted;
use hookproof_core::signature::Fields;
use hookproof_core::time::Span;

/// A request ready to go: its fields are final and its body is frozen.
#[derive(Clone, Debug)]
pub struct Outbound {
    /// Fields in order; `host` and `content-length` are the transport's.
    pub fields: Fields,
    /// The octets.
    pub body: Bytes,
    /// Longest time from the first step to the last octet of the answer.
    pub timeout: Span,
    /// How much of the answer's body is kept; the rest is not read.
    pub response_limit: usize,
}

/// A complete response head and the start of its body.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Status code.
    pub status: u16,
    /// `content-type`, where given.
    pub content_type: Option<String>,
    /// `retry-after`, where given.
    pub retry_after: Option<String>,
    /// At most `response_limit` octets.
    pub body: Bytes,
    /// The body was longer than the limit.
    pub truncated: bool,
}

/// No response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransportFailure {
    /// Provably no octet of the request left.
    NotSent,
    /// Sent or maybe sent.
    Unknown,
}

/// Sends. Never follows a redirect, never retries, never decodes a body, keeps no cookie.
pub trait Transport {
    /// POSTs `request` to the URL of `permitted`, dialling only what it permits.
    async fn send_permitted(
        &self,
        request: &Outbound,
        permitted: &Permitted,
    ) -> Result<Reply, TransportFailure>;
}
