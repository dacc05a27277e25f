//! The key directory on the real runtime: what a subscriber pinned is enough to believe it.

use crate::parts::{Contract, Party};
use crate::subscriber::Subscriber;
use crate::world::{World, now};
use anyhow::{Context, Result, ensure};
use hookproof_core::key_document::{KeyDocument, Pin};
use hookproof_core::keys::IssuerKey;
use serde_json::{Value, json};
use xtask::journey::text;
use xtask::site::Answer;

/// An answer of the directory.
struct Read {
    status: u16,
    fields: ureq::http::HeaderMap,
    body: String,
}

impl Read {
    fn field(&self, name: &str) -> &str {
        self.fields.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

fn get(url: &str, tag: Option<&str>) -> Result<Read> {
    let agent: ureq::Agent = ureq::Agent::config_builder().http_status_as_error(false).build().into();
    let mut request = agent.get(url);
    if let Some(tag) = tag {
        request = request.header("if-none-match", tag);
    }
    let mut answer = request.call().with_context(|| format!("{url} was not answered."))?;
    let (status, fields) = (answer.status().as_u16(), answer.headers().clone());
    Ok(Read { status, fields, body: answer.body_mut().read_to_string()? })
}

fn judge(party: &Party, read: &Read) -> Result<KeyDocument> {
    let registered = &party.subscription.registered;
    let pinned: IssuerKey = serde_json::from_value(registered["issuer_key"].clone())?;
    let issuer = text(registered, "issuer")?;
    let subscription_id = party.id().parse().ok().context("An id is well formed.")?;
    let keys = std::slice::from_ref(&pinned);
    let pin = Pin { issuer: &issuer, subscription_id: &subscription_id, keys, last_sequence: 0 };
    Ok(pin.verify(&read.body, now())?)
}

pub(crate) fn a_pinned_key_verifies_the_key_document_also_from_its_copy(world: &World) -> Result<()> {
    let subscriber = Subscriber::start(|_| Answer::status(200))?;
    let party = Party::register(world, "Directory", &subscriber.url(), Contract::Ed25519)?;
    let url = format!("{}/v1/directory/{}", world.urls().control, party.id());
    let first = get(&url, None)?;
    assert_eq!((first.status, first.field("cache-control")), (200, "public, max-age=60"), "{}", first.body);
    let document = judge(&party, &first)?;
    let registered = &party.subscription.registered["generations"][0]["keys"][0];
    assert_eq!((document.keys.len(), document.sequence), (1, 1));
    assert_eq!(registered["key_id"], document.keys[0].key_id.as_str());
    assert_eq!(registered["public_key"].as_str(), document.keys[0].public_key.as_deref());
    assert_eq!(first.field("age"), "", "nobody had a copy");

    // Only an answer from the cache has an age, and only a copy whose signature holds is answered with.
    let copy = get(&url, None)?;
    ensure!(
        copy.field("age").parse::<u64>().is_ok_and(|age| age < 60),
        "no copy was used: {:?}",
        copy.fields
    );
    assert_eq!((&copy.body, copy.field("etag")), (&first.body, first.field("etag")));
    let unchanged = get(&url, Some(first.field("etag")))?;
    assert_eq!((unchanged.status, unchanged.body.as_str()), (304, ""));
    assert_eq!(unchanged.field("etag"), first.field("etag"));
    Ok(())
}

pub(crate) fn the_issuers_keys_are_public_and_made_up_ids_are_unknown(world: &World) -> Result<()> {
    let subscriber = Subscriber::start(|_| Answer::status(200))?;
    let party = Party::register(world, "Well-known", &subscriber.url(), Contract::None)?;
    let control = &world.urls().control;
    let own = get(&format!("{control}/.well-known/http-message-signatures-directory"), None)?;
    let pinned = &party.subscription.registered["issuer_key"];
    let jwks: Value = serde_json::from_str(&own.body).context("The directory is JSON.")?;
    assert_eq!((&jwks["keys"][0]["kid"], &jwks["keys"][0]["x"]), (&pinned["key_id"], &pinned["public_key"]));
    assert_eq!(own.field("content-type"), "application/http-message-signatures-directory+json");
    let made_up = get(&format!("{control}/v1/directory/sub_{}", "0".repeat(26)), None)?;
    let problem: Value = serde_json::from_str(&made_up.body)?;
    assert_eq!((made_up.status, &problem["reason"]), (404, &json!("subscription.unknown")));
    Ok(())
}
