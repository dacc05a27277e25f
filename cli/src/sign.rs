//! `sign`: the headers that a sender would send, for tests of an endpoint.

use hookproof_verify::compat::Signer;
use hookproof_verify::{Failure, Sender};
use serde::Serialize;

use crate::Stop;
use crate::arguments::{Profile, Sign};
use crate::material;
use crate::output::{self, Output};

/// The headers in JSON.
#[derive(Debug, Serialize)]
struct Signed {
    profile: &'static str,
    headers: Vec<(&'static str, String)>,
}

/// Prints the headers.
pub(crate) fn sign(arguments: &Sign) -> Result<bool, Stop> {
    let profile = arguments.profile;
    let headers = if profile == Profile::Delivery { delivery(arguments)? } else { compatible(arguments)? };
    let mut output = Output::new(arguments.json);
    if arguments.json {
        output.text(&output::json(&Signed { profile: profile.name(), headers })?)?;
    } else {
        for (name, value) in headers {
            output.text(&format!("{name}: {value}\n"))?;
        }
    }
    output.finish()?;
    Ok(true)
}

fn compatible(arguments: &Sign) -> Result<Vec<(&'static str, String)>, Stop> {
    let profile = arguments.profile;
    let secrets = material::secrets(&arguments.secrets)?;
    if secrets.is_empty() {
        let name = profile.name();
        return Err(Stop::Misuse(format!("{name} needs --secret file:PATH or --secret env:NAME")));
    }
    if arguments.id.is_none() && profile != Profile::Timestamped {
        return Err(Stop::Misuse(format!("{} needs --id, which is signed", profile.name())));
    }
    let signer = match profile {
        Profile::StandardV1a => Signer::standard_webhooks_ed25519(&secrets),
        Profile::Timestamped => Signer::timestamped_hmac(&secrets),
        Profile::StandardV1 | Profile::Delivery => Signer::standard_webhooks(&secrets),
    };
    let body = material::octets(&arguments.body)?;
    let now = material::time(arguments.now.as_deref())?;
    let id = arguments.id.as_deref().unwrap_or_default();
    signer.and_then(|signer| signer.sign(id, &body, now)).map_err(refused)
}

fn delivery(arguments: &Sign) -> Result<Vec<(&'static str, String)>, Stop> {
    let Some(entry) = &arguments.entry else {
        return Err(Stop::Misuse(
            "hookproof.delivery.v1 needs --entry file:PATH or --entry env:NAME".to_owned(),
        ));
    };
    let subscriber = material::subscriber(entry)?;
    let sender = match &arguments.seed {
        Some(source) => Sender::ed25519_from_text(&subscriber, &material::secret(source)?),
        None => Sender::hmac(&subscriber),
    };
    let body = material::octets(&arguments.body)?;
    let now = material::time(arguments.now.as_deref())?;
    let signed = sender.and_then(|sender| sender.delivery(&body, arguments.attempt, now)).map_err(refused)?;
    Ok(signed.headers().map(|(name, value)| (name, value.to_owned())).collect())
}

fn refused(failure: Failure) -> Stop {
    Stop::Refused(failure.to_string())
}
