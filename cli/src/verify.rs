//! `verify`: the verdict that a receiver comes to, with the reason that the sender is never told.

use hookproof_verify::compat::Verifier;
use hookproof_verify::{Failure, Message, Onlooker, Request};
use serde::Serialize;

use crate::Stop;
use crate::arguments::{Profile, Verify};
use crate::material;
use crate::output::{self, Output};
use crate::verdict::Ruling;

/// What a message came to. The fields' order is the order in JSON.
#[derive(Debug, Serialize)]
struct Outcome {
    profile: &'static str,
    verdict: Ruling,
    /// The stable code of a refusal.
    reason: Option<&'static str>,
    /// What was found and what would be accepted.
    detail: Option<String>,
    /// `delivery` or `challenge`.
    kind: Option<&'static str>,
    /// The signed event id, where the profile signs one.
    event_id: Option<String>,
    /// Only in `hookproof.delivery.v1`.
    delivery_id: Option<String>,
    /// Only in `hookproof.delivery.v1`.
    attempt: Option<u32>,
    /// The id of the key that verified, or its position among those given, from 1.
    key: Option<String>,
    /// Unix seconds.
    signed_at: Option<i64>,
}

/// Says whether the message verifies.
pub(crate) fn verify(arguments: &Verify) -> Result<bool, Stop> {
    let outcome = match judge(arguments)? {
        Ok(outcome) => outcome,
        Err(failure) => Outcome {
            verdict: Ruling::Refused,
            reason: Some(failure.code()),
            detail: Some(failure.explanation().to_owned()),
            ..Outcome::accepted(arguments.profile)
        },
    };
    let accepted = outcome.verdict == Ruling::Accepted;
    let mut output = Output::new(arguments.json);
    let text = if arguments.json { output::json(&outcome)? } else { outcome.prose(&output) };
    output.text(&text)?;
    output.finish()?;
    Ok(accepted)
}

fn judge(arguments: &Verify) -> Result<Result<Outcome, Failure>, Stop> {
    let profile = arguments.profile;
    if profile == Profile::Delivery {
        return delivery(arguments);
    }
    let (secrets, keys) =
        (material::secrets(&arguments.secrets)?, material::public_keys(&arguments.public_keys)?);
    let misuse = |what: &str| Stop::Misuse(format!("{} needs {what}", profile.name()));
    if profile == Profile::StandardV1a && keys.is_empty() {
        return Err(misuse("--public-key"));
    }
    if profile != Profile::StandardV1a && secrets.is_empty() {
        return Err(misuse("--secret file:PATH or --secret env:NAME"));
    }
    let verifier = match profile {
        Profile::StandardV1a => Verifier::standard_webhooks_ed25519(&keys),
        Profile::Timestamped => Verifier::timestamped_hmac(&secrets),
        Profile::StandardV1 | Profile::Delivery => Verifier::standard_webhooks(&secrets),
    };
    let verifier = verifier.map_err(|failure| Stop::Misuse(failure.to_string()))?;
    let message = material::Message::read(&arguments.received)?;
    let headers = message.headers.iter().map(|(name, value)| (name, value));
    let request = Request::new(&arguments.received.method, "/", headers, &message.body);
    Ok(verifier.verify(&request, message.now).map(|verified| Outcome {
        kind: Some("delivery"),
        event_id: verified.id().map(ToString::to_string),
        key: Some((verified.key() + 1).to_string()),
        signed_at: Some(verified.timestamp()),
        ..Outcome::accepted(profile)
    }))
}

fn delivery(arguments: &Verify) -> Result<Result<Outcome, Failure>, Stop> {
    let Some(entry) = &arguments.entry else { return seen(arguments) };
    let subscriber = material::subscriber(entry)?;
    let message = material::Message::read(&arguments.received)?;
    let target = arguments.received.target.as_deref().unwrap_or_else(|| subscriber.public_url());
    let headers = message.headers.iter().map(|(name, value)| (name, value));
    let request = Request::new(&arguments.received.method, target, headers, &message.body);
    let accepted = Outcome::accepted(arguments.profile);
    Ok(subscriber.receive(&request, message.now).map(|message| match message {
        Message::Challenge { .. } => Outcome { kind: Some("challenge"), ..accepted },
        Message::Delivery(delivery) => Outcome {
            kind: Some("delivery"),
            event_id: Some(delivery.event_id().to_owned()),
            delivery_id: Some(delivery.delivery_id().to_owned()),
            attempt: Some(delivery.attempt()),
            key: Some(delivery.key_id().to_owned()),
            signed_at: Some(delivery.signed_at()),
            ..accepted
        },
    }))
}

/// With the sender's public key alone, which needs the whole URL: nothing else says where it was sent.
fn seen(arguments: &Verify) -> Result<Result<Outcome, Failure>, Stop> {
    let keys = material::public_keys(&arguments.public_keys)?;
    let (Some(url), [key]) = (&arguments.received.target, keys.as_slice()) else {
        return Err(Stop::Misuse(
            "hookproof.delivery.v1 needs --entry file:PATH or --entry env:NAME, or one --public-key and the \
             URL as --target"
                .to_owned(),
        ));
    };
    let onlooker = Onlooker::new(key, url).map_err(|failure| Stop::Misuse(failure.to_string()))?;
    let message = material::Message::read(&arguments.received)?;
    let headers = message.headers.iter().map(|(name, value)| (name, value));
    let request = Request::new(&arguments.received.method, url, headers, &message.body);
    Ok(onlooker.verify(&request, message.now).map(|seen| Outcome {
        kind: Some("delivery"),
        event_id: Some(seen.event_id),
        delivery_id: Some(seen.delivery_id),
        attempt: seen.attempt.parse().ok(),
        key: Some(seen.key_id),
        signed_at: Some(seen.signed_at),
        ..Outcome::accepted(arguments.profile)
    }))
}

impl Outcome {
    fn accepted(profile: Profile) -> Self {
        Self {
            profile: profile.name(),
            verdict: Ruling::Accepted,
            reason: None,
            detail: None,
            kind: None,
            event_id: None,
            delivery_id: None,
            attempt: None,
            key: None,
            signed_at: None,
        }
    }

    fn prose(&self, output: &Output) -> String {
        let word = output.word(self.verdict == Ruling::Accepted);
        let mut text = format!("{word}  {} {}\n", self.profile, self.kind.unwrap_or("message"));
        let mut line = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                text.push_str(&format!("          {name}: {}\n", output::visible(&value)));
            }
        };
        line(self.reason.unwrap_or_default(), self.detail.clone());
        line("event", self.event_id.clone());
        line("delivery", self.delivery_id.clone());
        line("attempt", self.attempt.map(|attempt| attempt.to_string()));
        line("key", self.key.clone());
        line("signed at", self.signed_at.map(|at| at.to_string()));
        text
    }
}
