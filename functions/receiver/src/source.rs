//! Every URL of a source passes one gate before anything is stored, and a refusal names its field.

use bytes::Bytes;
use hookproof_authority::api::parse_json;
use hookproof_core::endpoint::{EndpointPolicy, EndpointUrl};
use hookproof_core::receiver::{Source, SourceName};
use hookproof_core::{Reason, Refusal};
use serde::Deserialize;

/// What is accepted as a URL at all.
const SPELLING: &str =
    "a URL in its normal form: https://host/path, the host in lower case, no user name, no fragment";

/// What is accepted as a URL that is sent to, or that a sender sends to.
const PUBLIC: &str = "an https URL of a public host that this deployment's policy allows";

/// The URLs of a source as written; whatever else it holds is read with the whole.
#[derive(Deserialize)]
struct Written {
    handler: Place,
    entries: Vec<WrittenEntry>,
}

#[derive(Deserialize)]
struct WrittenEntry {
    public_url: String,
    #[serde(default)]
    receipts: Option<Place>,
}

#[derive(Deserialize)]
struct Place {
    url: String,
}

/// Reads a source. A text that is no URL is refused by its field, as the whole could not name it.
pub(crate) fn read(body: &Bytes) -> Result<Source, Refusal> {
    if let Some(written) = hookproof_core::json::read::<Written>(body) {
        spelled(&written.handler.url, || "handler.url".to_owned())?;
        for (index, entry) in written.entries.iter().enumerate() {
            spelled(&entry.public_url, || field(index, "public_url"))?;
            if let Some(receipts) = &entry.receipts {
                spelled(&receipts.url, || field(index, "receipts.url"))?;
            }
        }
    }
    parse_json(body, "{\"handler\":{\"url\"},\"entries\":[{…}]}")
}

/// Where we would send to is judged when it is written, and again before each request; where we are sent
/// to is judged as the sender will judge it, and must be where we listen.
pub(crate) fn check_urls(name: &SourceName, source: &Source, policy: &EndpointPolicy) -> Result<(), Refusal> {
    let check = |url, field: String| match policy.vet(url) {
        Ok(()) => Ok(()),
        Err(refused) => Err(Refusal::from(refused).at(field, PUBLIC)),
    };
    check(&source.handler.url, "handler.url".to_owned())?;
    let intake = format!("/in/{}", name.as_str());
    for (index, entry) in source.entries.iter().enumerate() {
        // Signatures cover the target: at any other path none of them could ever verify.
        if entry.public_url.path_and_query().split('?').next() != Some(&intake) {
            let words = "no delivery for this URL can arrive at this source";
            return Err(Refusal::new(Reason::BodyMalformed, words).at(
                field(index, "public_url"),
                format!("the URL given to the sender; its path is {intake}"),
            ));
        }
        check(&entry.public_url, field(index, "public_url"))?;
        if let Some(receipts) = &entry.receipts {
            check(&receipts.url, field(index, "receipts.url"))?;
        }
    }
    Ok(())
}

/// The text is not repeated: it may hold a password.
fn spelled(text: &str, field: impl FnOnce() -> String) -> Result<(), Refusal> {
    match EndpointUrl::from_stored(text.to_owned()) {
        Some(_) => Ok(()),
        None => {
            Err(Refusal::new(Reason::BodyMalformed, "this is not a URL as accepted").at(field(), SPELLING))
        }
    }
}

fn field(index: usize, name: &str) -> String {
    format!("entries[{index}].{name}")
}
