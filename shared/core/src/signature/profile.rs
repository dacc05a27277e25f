//! Profiles: a closed list of what a signature of ours covers, so that less can never pass for it.

/// What a signature of one kind covers and how long it is good.
///
/// A value, so that the same signer and verifier serve every kind. The verifier demands exactly this
/// list of components, in this order, and exactly the parameters `created`, `expires`, `keyid`,
/// `alg` and `tag`. Every profile covers `content-digest`: there is no signature without its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile<'a> {
    /// The `tag` parameter, by which a verifier finds the signature.
    pub tag: &'a str,
    /// The label a signer writes. A verifier never looks at it.
    pub label: &'a str,
    /// The covered components: derived ones and fields, without parameters. Each field occurs once.
    pub components: &'a [&'a str],
    /// Whether a `nonce` parameter (a string) may be there as well.
    pub nonce_allowed: bool,
    /// Longest time from `created` to `expires`, in seconds.
    pub max_window: i64,
    /// How far `created` may lie ahead of the verifier's clock, in seconds.
    pub skew: i64,
}

/// Longest time from `created` to `expires` in our profiles, in seconds.
pub const MAX_WINDOW: i64 = 300;
/// How far `created` may lie ahead of the verifier's clock in our profiles, in seconds.
pub const SKEW: i64 = 60;

const fn profile(tag: &'static str, components: &'static [&'static str]) -> Profile<'static> {
    Profile { tag, label: "hookproof", components, nonce_allowed: false, max_window: MAX_WINDOW, skew: SKEW }
}

const DELIVERY_COMPONENTS: &[&str] = &[
    "@method",
    "@target-uri",
    "content-digest",
    "content-type",
    "webhook-id",
    "webhook-subscription",
    "webhook-generation",
    "webhook-delivery",
    "webhook-attempt",
];

const EXCHANGE_COMPONENTS: &[&str] = &[
    "@method",
    "@target-uri",
    "content-digest",
    "content-type",
    "webhook-id",
    "webhook-subscription",
    "webhook-generation",
];

/// An attempt of a delivery.
pub const DELIVERY: Profile<'static> = profile("hookproof-delivery-v1", DELIVERY_COMPONENTS);
/// A campaign's shadow signature beside a delivery's; refused alone.
pub const SHADOW: Profile<'static> = profile("hookproof-shadow-v1", DELIVERY_COMPONENTS);
/// A challenge; `webhook-id` is the challenge id.
pub const CHALLENGE: Profile<'static> = profile("hookproof-challenge-v1", EXCHANGE_COMPONENTS);
/// A status query; `webhook-id` is the query id.
pub const STATUS_QUERY: Profile<'static> = profile("hookproof-status-query-v1", EXCHANGE_COMPONENTS);
/// An application receipt, from the subscriber.
pub const RECEIPT: Profile<'static> =
    profile("hookproof-receipt-v1", &["@method", "@target-uri", "content-digest", "content-type"]);
