//! Arguments of the commands about signed messages.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

const VERIFY_EXAMPLES: &str = "\
Examples:
  hookproof verify --entry file:entry.json --headers headers.txt --body body.json
  hookproof verify --profile standard-webhooks.v1 --secret env:WEBHOOK_SECRET \\
    --headers headers.txt --body body.json --now 2026-12-01T10:02:03Z
  hookproof verify --profile standard-webhooks.v1a --public-key whpk_... \\
    --headers headers.txt --body - --json < body.json

The headers are lines `name: value`. The body is taken octet for octet.

Exit codes:
  0  the message verifies
  1  it does not; the reason says why
  2  the command was not used as described here";

const SIGN_EXAMPLES: &str = "\
Examples:
  hookproof sign --entry file:entry.json --body body.json > headers.txt
  hookproof sign --profile timestamped-hmac.v1 --secret file:secret.txt --body body.json
  hookproof sign --profile standard-webhooks.v1 --secret env:WEBHOOK_SECRET --id evt_1 --body body.json

Exit codes:
  0  signed
  1  the keys, the id or the body cannot be used
  2  the command was not used as described here";

const ANSWER_EXAMPLES: &str = "\
Examples:
  hookproof challenge answer --entry file:entry.json --headers headers.txt --body challenge.json

Exit codes:
  0  the challenge verifies and its answer was printed
  1  it does not; the reason says why
  2  the command was not used as described here";

/// How a message is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Profile {
    /// RFC 9421, over URL, body, subscription, generation, delivery and attempt
    #[value(name = "hookproof.delivery.v1")]
    Delivery,
    /// HMAC-SHA256 over id, time and body
    #[value(name = "standard-webhooks.v1")]
    StandardV1,
    /// Ed25519 over id, time and body
    #[value(name = "standard-webhooks.v1a")]
    StandardV1a,
    /// HMAC-SHA256 over time and body
    #[value(name = "timestamped-hmac.v1")]
    Timestamped,
}

impl Profile {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Delivery => "hookproof.delivery.v1",
            Self::StandardV1 => "standard-webhooks.v1",
            Self::StandardV1a => "standard-webhooks.v1a",
            Self::Timestamped => "timestamped-hmac.v1",
        }
    }
}

/// A message as it was received, and when.
#[derive(Debug, Args)]
pub(crate) struct Received {
    /// The file with the headers, lines `name: value`
    #[arg(long, value_name = "FILE")]
    pub(crate) headers: PathBuf,
    /// The file with the raw body; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body: PathBuf,
    /// The request's method
    #[arg(long, default_value = "POST")]
    pub(crate) method: String,
    /// Path and query, or the URL, that the request came for; without it, the entry's own URL
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Judge as if it were now this time, in Unix seconds or RFC 3339 (UTC)
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
}

#[derive(Debug, Args)]
#[command(after_help = VERIFY_EXAMPLES)]
pub(crate) struct Verify {
    /// How the message is signed
    #[arg(long, value_enum, default_value = "hookproof.delivery.v1", hide_possible_values = false)]
    pub(crate) profile: Profile,
    /// The subscription's entry as JSON, for hookproof.delivery.v1: file:PATH or env:NAME
    #[arg(long, value_name = "SOURCE")]
    pub(crate) entry: Option<String>,
    /// A secret whsec_...: file:PATH or env:NAME; may be given several times
    #[arg(long = "secret", value_name = "SOURCE")]
    pub(crate) secrets: Vec<String>,
    /// A public key, or where it is (file:PATH or env:NAME): whpk_... for standard-webhooks.v1a, several
    /// are tried; base64url for hookproof.delivery.v1 without an entry, with the URL as --target
    #[arg(long = "public-key", value_name = "KEY")]
    pub(crate) public_keys: Vec<String>,
    #[command(flatten)]
    pub(crate) received: Received,
    /// Print the verdict as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = SIGN_EXAMPLES)]
pub(crate) struct Sign {
    /// How to sign
    #[arg(long, value_enum, default_value = "hookproof.delivery.v1")]
    pub(crate) profile: Profile,
    /// The subscription's entry as JSON, for hookproof.delivery.v1: file:PATH or env:NAME
    #[arg(long, value_name = "SOURCE")]
    pub(crate) entry: Option<String>,
    /// The seed (base64url) of an Ed25519 key that the entry names, where it has no HMAC key: file:PATH or
    /// env:NAME
    #[arg(long, value_name = "SOURCE")]
    pub(crate) seed: Option<String>,
    /// A secret whsec_..., or private key whsk_... for standard-webhooks.v1a: file:PATH or env:NAME; several
    /// make several signatures
    #[arg(long = "secret", value_name = "SOURCE")]
    pub(crate) secrets: Vec<String>,
    /// The event's id, for Standard Webhooks; elsewhere it is in the body
    #[arg(long)]
    pub(crate) id: Option<String>,
    /// The attempt, for hookproof.delivery.v1
    #[arg(long, default_value_t = 1)]
    pub(crate) attempt: u32,
    /// The file with the body; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) body: PathBuf,
    /// Sign for this time, in Unix seconds or RFC 3339 (UTC)
    #[arg(long, value_name = "TIME")]
    pub(crate) now: Option<String>,
    /// Print the headers as a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = ANSWER_EXAMPLES)]
pub(crate) struct ChallengeAnswer {
    /// The subscription's entry as JSON: file:PATH or env:NAME
    #[arg(long, value_name = "SOURCE")]
    pub(crate) entry: String,
    #[command(flatten)]
    pub(crate) received: Received,
}
