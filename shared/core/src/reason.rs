//! Every refusal of the system, each with a stable dotted code.
//!
//! The code goes to the journal, to the ledger and to callers that are entitled to it (their own
//! tenant); a stranger gets [`Reason::outside`]: the HTTP status and generic words.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// Whose doing a refusal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The caller's, the peer's or the endpoint's.
    Theirs,
    /// Ours: a fault of this deployment or its platform.
    Ours,
}

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $code:literal, $status:literal;)*) => {
        /// Why something was refused. Alphabetical by code.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Reason {
            $($(#[doc = $doc])* $name,)*
        }

        impl Reason {
            /// Every reason, in the order of the table.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable dotted code.
            pub fn code(self) -> &'static str {
                match self { $(Self::$name => $code,)* }
            }

            /// What it means, for the caller who is entitled to it.
            pub fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*),)* }.trim_start()
            }

            /// The HTTP status it is answered with, where it is answered over HTTP.
            pub fn http_status(self) -> u16 {
                match self { $(Self::$name => $status,)* }
            }
        }
    };
}

reasons! {
    /// The body is not what this route takes.
    BodyMalformed = "body.malformed", 400;
    /// The body is larger than the route allows.
    BodyTooLarge = "body.too_large", 413;
    /// The answer to a challenge does not have the exact shape asked for.
    ChallengeAnswerMalformed = "challenge.answer_malformed", 409;
    /// Challenges were asked for too often, by this tenant or for this domain.
    ChallengeBudget = "challenge.budget", 429;
    /// The challenge was answered after it had been used, replaced or withdrawn.
    ChallengeConsumed = "challenge.consumed", 409;
    /// The answer gives the challenge's nonce back: an echo, which proves nothing.
    ChallengeEchoed = "challenge.echoed", 409;
    /// The answer came after the challenge had expired.
    ChallengeExpired = "challenge.expired", 409;
    /// The endpoint did not answer 200 with JSON within the limits.
    ChallengeNoAnswer = "challenge.no_answer", 409;
    /// The proof does not verify under the key being proved.
    ChallengeProofWrong = "challenge.proof_wrong", 409;
    /// No challenge with this id is outstanding.
    ChallengeUnknown = "challenge.unknown", 409;
    /// The endpoint answered a challenge whose signature was wrong on purpose, or misjudged a probe.
    ChallengeVerifierAbsent = "challenge.verifier_absent", 409;
    /// Attempts or the round's deadline ran out.
    DeadlineExhausted = "deadline.exhausted", 409;
    /// No such delivery here.
    DeliveryUnknown = "delivery.unknown", 404;
    /// The Content-Digest does not match the body.
    DigestMismatch = "digest.mismatch", 400;
    /// The key document is older than one its reader has already seen.
    DirectoryRolledBack = "directory.rolled_back", 409;
    /// The key document is too old to go by, and no newer one can be had.
    DirectoryStale = "directory.stale", 503;
    /// The endpoint answered 400.
    EndpointBadRequest = "endpoint.bad_request", 409;
    /// The endpoint answered another 4xx.
    EndpointClientError = "endpoint.client_error", 409;
    /// The endpoint answered 401 or 403.
    EndpointForbidden = "endpoint.forbidden", 409;
    /// The endpoint answered 410.
    EndpointGone = "endpoint.gone", 409;
    /// The endpoint answered 404.
    EndpointNotFound = "endpoint.not_found", 409;
    /// The endpoint's policy check failed.
    EndpointRefused = "endpoint.refused", 422;
    /// The endpoint answered 5xx.
    EndpointServerError = "endpoint.server_error", 409;
    /// The endpoint answered 429.
    EndpointThrottled = "endpoint.throttled", 409;
    /// The same event id was published or received before with other bytes.
    EventConflict = "event.conflict", 409;
    /// The event's data is not what the catalogue's schema for its type and version describes.
    EventSchemaMismatch = "event.schema_mismatch", 400;
    /// The event is older than this receiver remembers events: it could be a second effect.
    EventTooOld = "event.too_old", 409;
    /// No such event here.
    EventUnknown = "event.unknown", 404;
    /// A published schema of an event type and version never changes.
    EventTypeImmutable = "event_type.immutable", 409;
    /// This environment takes only events whose type and version are in the catalogue.
    EventTypeRequired = "event_type.required", 422;
    /// No such event type in the catalogue.
    EventTypeUnknown = "event_type.unknown", 404;
    /// The content filter does not let the event through, or its topics or versions do not.
    FilterNotMatched = "filter.not_matched", 409;
    /// The event was matched against another filter than that of the generation it belongs to.
    FilterStale = "filter.stale", 409;
    /// The generation is past its expiry.
    GenerationExpired = "generation.expired", 409;
    /// The delivery's own generation may not be sent to.
    GenerationNotServing = "generation.not_serving", 409;
    /// The generation was revoked.
    GenerationRevoked = "generation.revoked", 409;
    /// The generation is not the one this command was meant for.
    GenerationStale = "generation.stale", 409;
    /// The event was held longer than the hold limit.
    HoldLimit = "hold.limit", 409;
    /// The Idempotency-Key was used before with another body.
    IdempotencyConflict = "idempotency.conflict", 409;
    /// Stored data does not parse: a fault of ours.
    InternalCorrupt = "internal.corrupt", 500;
    /// The host could not do what was asked of it.
    InternalHost = "internal.host", 503;
    /// An authority future awaited something that is not SQL.
    InternalSqlPending = "internal.sql_pending", 500;
    /// The store failed.
    InternalStore = "internal.store", 503;
    /// The holder of the subscriber's old key has not agreed to its replacement.
    KeyChangeUnproved = "key.change_unproved", 409;
    /// The key may not be used now.
    KeyNotUsable = "key.not_usable", 401;
    /// The key is one of ours, or a published test key.
    KeyReserved = "key.reserved", 422;
    /// No acceptable key has this id.
    KeyUnknown = "key.unknown", 401;
    /// The key is of small order or not canonical.
    KeyWeak = "key.weak", 422;
    /// The lease is no longer the attempt's.
    LeaseStale = "lease.stale", 409;
    /// The path is served, but not under this method.
    MethodNotAllowed = "method.not_allowed", 405;
    /// The resource is not at the generation and revision the request expects.
    PreconditionFailed = "precondition.failed", 412;
    /// The receipt contradicts one already recorded: another payload digest.
    ReceiptConflict = "receipt.conflict", 409;
    /// The receipt arrived before any attempt was made.
    ReceiptBeforeAttempt = "receipt.before_attempt", 409;
    /// The receipt names another effect for the same event.
    ReceiptSecondEffect = "receipt.second_effect", 409;
    /// The subscription has no receipt contract.
    ReceiptNotContracted = "receipt.not_contracted", 409;
    /// The receipt is not about the attempt it names.
    ReceiptUnbound = "receipt.unbound", 401;
    /// What was shown is not the recovery credential.
    RecoveryRefused = "recovery.refused", 403;
    /// Only the recovery credential leads on from here.
    RecoveryRequired = "recovery.required", 409;
    /// The endpoint answered 3xx; it is never followed.
    RedirectRefused = "redirect_refused", 409;
    /// A subscription's region never changes; register another one there.
    RegionImmutable = "region.immutable", 409;
    /// The request's method or path is not served here.
    RouteUnknown = "route.unknown", 404;
    /// The JSON Schema is malformed, too large, or uses what is not supported.
    SchemaRefused = "schema.refused", 422;
    /// The scope of the token does not cover the route.
    ScopeMissing = "scope.missing", 403;
    /// The signature is malformed, or there is not exactly one with the expected tag.
    SignatureMalformed = "signature.malformed", 400;
    /// The signature lacks a required component or parameter, or has one too many.
    SignatureCoverage = "signature.coverage", 400;
    /// The signature does not verify.
    SignatureWrong = "signature.wrong", 401;
    /// The source is not configured here.
    SourceUnknown = "source.unknown", 404;
    /// The subscription's state forbids it.
    StateForbids = "state.forbids", 409;
    /// No such subscription here.
    SubscriptionUnknown = "subscription.unknown", 404;
    /// The tenant does not exist.
    TenantUnknown = "tenant.unknown", 404;
    /// The signed time is outside the window.
    TimestampOutsideWindow = "timestamp_outside_window", 400;
    /// The token is missing, malformed, unknown, expired or revoked.
    TokenRefused = "token.refused", 401;
    /// No such token here.
    TokenUnknown = "token.unknown", 404;
    /// Provably never sent: the name did not resolve, or no connection was made.
    TransportNotSent = "transport.not_sent", 409;
    /// Sent or maybe sent, and no answer.
    TransportUnknown = "transport.unknown", 409;
    /// The worker that held the lease was lost.
    TransportWorkerLost = "transport.worker_lost", 409;
}

impl Reason {
    /// Reads [`Reason::code`].
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|reason| reason.code() == code)
    }

    /// Whose doing it is.
    pub fn fault(self) -> Fault {
        if self.http_status() >= 500 { Fault::Ours } else { Fault::Theirs }
    }

    /// The generic words a stranger gets.
    pub fn outside(self) -> &'static str {
        match self.http_status() {
            400 => "Bad request",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not found",
            405 => "Method not allowed",
            409 => "Conflict",
            412 => "Precondition failed",
            413 => "Content too large",
            422 => "Unprocessable content",
            500 => "Internal error",
            _ => "Unavailable",
        }
    }
}

impl Serialize for Reason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.code())
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let code = String::deserialize(deserializer)?;
        Self::parse(&code).ok_or_else(|| D::Error::custom("no such reason"))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

/// A reason with the words its own caller may read: which field, what was wrong, what would be accepted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The stable code.
    pub reason: Reason,
    /// For the entitled caller; never a secret, a signature or a URL query.
    pub detail: String,
    /// The field of the request, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// What would have been accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepted: Option<String>,
}

impl Refusal {
    /// A refusal with its explanation.
    pub fn new(reason: Reason, detail: impl Into<String>) -> Self {
        Self { reason, detail: detail.into(), field: None, accepted: None }
    }

    /// Names the field and what it takes.
    #[must_use]
    pub fn at(mut self, field: impl Into<String>, accepted: impl Into<String>) -> Self {
        self.field = Some(field.into());
        self.accepted = Some(accepted.into());
        self
    }
}

impl From<Reason> for Refusal {
    fn from(reason: Reason) -> Self {
        Self::new(reason, "")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.reason, self.detail)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_read_back() {
        for &reason in Reason::ALL {
            assert_eq!(Reason::parse(reason.code()), Some(reason));
            assert!((400..600).contains(&reason.http_status()), "{reason}");
            assert!(reason.meaning().ends_with('.') && !reason.meaning().starts_with(' '), "{reason}");
        }
        let mut codes: Vec<_> = Reason::ALL.iter().map(|r| r.code()).collect();
        codes.sort_unstable();
        codes.dedup();
        assert_eq!(codes.len(), Reason::ALL.len());
    }
}
