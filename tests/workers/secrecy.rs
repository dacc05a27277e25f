//! What was shown once is never seen again: in no log, in no answer, on no disk in the clear.

use crate::parts::{Contract, Party, ask, event};
use crate::world::{SOON, Secret, World};
use anyhow::{Context, Result, ensure};
use serde_json::json;
use std::fs;
use std::path::Path;
use xtask::secrets::Secrets;
use xtask::site::{Answer, Received, Site};
use xtask::stack::Host;

/// What of a request must not be seen: its signature's octets.
fn signatures(requests: &[Received]) -> impl Iterator<Item = &str> {
    let octets = |value: &'_ str| value.find("=:").map(|at| at + 2);
    requests.iter().filter_map(move |request| {
        let value = request.field("signature");
        value.get(octets(value)?..)?.strip_suffix(':')
    })
}

pub(crate) fn no_secret_is_in_any_log_or_answer_or_at_rest_in_the_clear(world: &World) -> Result<()> {
    let handler = Site::start(|_| Answer::status(503))?;
    let behind = xtask::api::Api::new(&world.urls().receiver, "");
    let proxy = Site::start(move |request| {
        match behind.post_raw(&request.target, &crate::challenges::end_to_end(request), &request.body) {
            Ok((status, body)) => Answer::json(status, &body),
            Err(_) => Answer::status(502),
        }
    })?;
    let party = Party::register(world, "Secretive", &proxy.url("/in/secretive"), Contract::Ed25519)?;
    party.receive(world, "secretive", &handler)?;
    let event = event("secretive");
    party.publish(&event)?;
    party.wait_for(&event, "ENDPOINT_ACCEPTED", SOON)?;
    let requests = proxy.received();
    ensure!(requests.len() >= 3, "decoy, question and delivery");
    for octets in signatures(&requests) {
        world.conceal("a signature", octets);
    }
    let concealed = world.concealed();
    ensure!(
        concealed.iter().all(|(what, value)| value.len() >= 32 || what.is_empty()),
        "a secret is too short to look for"
    );
    ensure!(concealed.iter().any(|(what, _)| what == "a signature"), "signatures were captured");

    let mut found = look_at_logs(world, &concealed);
    look_at_answers(world, &party, &event, &concealed, &mut found)?;
    found.extend(look_at_disk(world, &concealed));
    // What is no secret is found in all these places, so they were the right ones.
    let public = [("the event".to_owned(), event)];
    ensure!(look_at_logs(world, &public).len() >= 2, "Sender and receiver log the event.");
    ensure!(look_at_disk(world, &public).len() >= 2, "Sender and receiver store the event.");
    ensure!(found.is_empty(), "Secrets were found:\n{}", found.join("\n"));
    Ok(())
}

fn look_at_logs(world: &World, secrets: &[Secret]) -> Vec<String> {
    let mut found = Vec::new();
    for host in Host::ALL {
        look(&format!("the log of {}", host.name()), world.log(host).as_bytes(), secrets, &mut found);
    }
    found
}

fn look(place: &str, octets: &[u8], secrets: &[Secret], found: &mut Vec<String>) {
    // Whatever is no UTF-8 is no secret, and what stands beside it stays as it is.
    let text = String::from_utf8_lossy(octets);
    for (what, value) in secrets {
        if text.contains(value) {
            found.push(format!("{what} is in {place}"));
        }
    }
}

/// Every answer after the registration, of both sides' APIs.
fn look_at_answers(
    world: &World,
    party: &Party,
    event: &str,
    secrets: &[Secret],
    found: &mut Vec<String>,
) -> Result<()> {
    let (urls, id) = (world.urls(), party.id());
    let mine = &party.publisher.token;
    let operator = Secrets::open(world.state())?.get("ADMIN_TOKEN")?;
    let inbox = format!("{}/receiver/inbox?source=secretive", urls.receiver);
    let (_, list) = world.receiver()?.get("/receiver/inbox?source=secretive")?;
    let item = list["items"][0]["id"].as_str().context("The event is in the inbox.")?.to_owned();
    let source = json!({ "handler": { "url": "http://127.0.0.1:9/" }, "entries": [party.entry] }).to_string();
    let calls = [
        ("GET", format!("{}/v1/subscriptions", urls.control), mine, None),
        ("GET", format!("{}/v1/subscriptions/{id}", urls.control), mine, None),
        ("POST", format!("{}/v1/subscriptions/{id}/challenge", urls.control), mine, Some("{}".to_owned())),
        ("GET", format!("{}/v1/subscriptions/{id}/evidence", urls.control), mine, None),
        ("GET", format!("{}/v1/deliveries?subscription={id}", urls.control), mine, None),
        ("GET", format!("{}/v1/deliveries?event={event}", urls.control), mine, None),
        ("GET", format!("{}/v1/events/{event}", urls.control), mine, None),
        ("GET", inbox, &operator, None),
        ("GET", format!("{}/receiver/inbox/secretive/{item}", urls.receiver), &operator, None),
        ("GET", format!("{}/receiver/dead-letters?source=secretive", urls.receiver), &operator, None),
        ("GET", format!("{}/receiver/quarantine?source=secretive", urls.receiver), &operator, None),
        ("GET", format!("{}/receiver/metrics?source=secretive", urls.receiver), &operator, None),
        ("GET", format!("{}/receiver/sources/secretive", urls.receiver), &operator, None),
        ("PUT", format!("{}/receiver/sources/secretive", urls.receiver), &operator, Some(source)),
    ];
    for (method, url, token, body) in calls {
        let (status, _, text) = ask(method, &url, token, body.as_deref().map(str::as_bytes))?;
        ensure!((200..300).contains(&status), "{method} {url} was answered {status}: {text}");
        look(&format!("the answer to {method} {url}"), text.as_bytes(), secrets, found);
        if text.contains("\"lease\"") || text.contains("lease_token") {
            found.push(format!("a lease is in the answer to {method} {url}"));
        }
    }
    Ok(())
}

/// The hosts' databases and queues: what is sealed or hashed there is not what was shown.
fn look_at_disk(world: &World, secrets: &[Secret]) -> Vec<String> {
    let mut found = Vec::new();
    for host in Host::ALL {
        let mut folders = vec![world.state().join(host.name())];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for path in entries.flatten().map(|entry| entry.path()) {
                if path.is_dir() {
                    folders.push(path);
                } else if let Ok(octets) = fs::read(&path) {
                    look(&shown(&path, world.state()), &octets, secrets, &mut found);
                }
            }
        }
    }
    found
}

fn shown(path: &Path, state: &Path) -> String {
    path.strip_prefix(state).unwrap_or(path).display().to_string()
}
