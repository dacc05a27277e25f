//! Only who verifies our signatures and holds the key becomes ACTIVE; nobody else is ever sent anything.

use crate::parts::{Contract, Party, event, joined};
use crate::subscriber::Subscriber;
use crate::world::{SOON, World, lock};
use anyhow::{Context, Result, bail, ensure};
use hookproof_core::base64;
use hookproof_core::challenge::{ANSWER_TYPE, Answer as Proof, Challenge, ChallengeBody};
use hookproof_core::digest::Digest;
use hookproof_core::receiver::Entry;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::Duration;
use xtask::api::Api;
use xtask::journey::until;
use xtask::site::{Answer, Received, Site};

/// Tries of a challenge.
const TRIES: usize = 3;

/// A try's requests: the decoy and the question.
const REQUESTS: usize = 2;

/// Longer than the wait before another try.
const QUIET: Duration = Duration::from_secs(7);

/// An endpoint that proves nothing, and why it is refused.
type Pretender = (&'static str, fn(&Received) -> Answer, &'static str);

fn html(request: &Received) -> Answer {
    let page = format!("<html><body>You sent: {}</body></html>", request.text());
    Answer::status(200).with("content-type", "text/html").body(page)
}

fn nonce(request: &Received) -> Answer {
    let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    Answer::json(200, &json!({ "challenge": asked["nonce"] }))
}

fn headers(request: &Received) -> Answer {
    let fields: Vec<_> =
        request.fields.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect();
    Answer::json(200, &json!({ "headers": fields }))
}

/// The shape of an answer, filled with what the question says.
fn reflect(request: &Received) -> Answer {
    if is_decoy(request) {
        return Answer::status(400);
    }
    let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    Answer::json(
        200,
        &json!({
            "type": ANSWER_TYPE,
            "challenge_id": asked["challenge_id"],
            "proof_key_id": asked["key_id"],
            "probes": u32::MAX,
            "proof": asked["probes"][0],
        }),
    )
}

fn reversed(request: &Received) -> Answer {
    let body: Vec<u8> = request.body.iter().rev().copied().collect();
    Answer::status(200).with("content-type", "application/json").body(body)
}

/// An echo under a content coding, which the platform undoes.
fn gzip(request: &Received) -> Answer {
    let answer = Answer::status(200).with("content-type", "application/json");
    answer.with("content-encoding", "gzip").body(stored_gzip(&request.body))
}

/// A gzip member (RFC 1952) of stored blocks.
fn stored_gzip(octets: &[u8]) -> Vec<u8> {
    let mut member = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for (index, block) in octets.chunks(60_000).enumerate() {
        let last = (index + 1) * 60_000 >= octets.len();
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        member.push(u8::from(last));
        member.extend_from_slice(&length.to_le_bytes());
        member.extend_from_slice(&(!length).to_le_bytes());
        member.extend_from_slice(block);
    }
    let table = |mut it: u32| {
        (0..8).for_each(|_| it = if it & 1 == 1 { (it >> 1) ^ 0xedb8_8320 } else { it >> 1 });
        it
    };
    let step = |crc: u32, octet: &u8| table((crc ^ u32::from(*octet)) & 0xff) ^ (crc >> 8);
    member.extend_from_slice(&(!octets.iter().fold(u32::MAX, step)).to_le_bytes());
    member.extend_from_slice(&u32::try_from(octets.len()).unwrap_or(0).to_le_bytes());
    member
}

/// Whether a request's body was changed after it was signed.
fn is_decoy(request: &Received) -> bool {
    request.field("content-digest") != Digest::of(&request.body).content_digest()
}

const PRETENDERS: [Pretender; 12] = [
    (
        "echo",
        |r| Answer::status(200).with("content-type", "application/json").body(&*r.body),
        "challenge.echoed",
    ),
    ("page", html, "challenge.echoed"),
    ("nonce", nonce, "challenge.echoed"),
    ("empty", |_| Answer::status(200), "challenge.no_answer"),
    ("ok", |_| Answer::status(200).with("content-type", "text/plain").body("ok"), "challenge.no_answer"),
    ("json", |_| Answer::json(200, &json!({ "ok": true })), "challenge.answer_malformed"),
    (
        "query",
        |r| Answer::status(200).with("content-type", "text/plain").body(&*r.target),
        "challenge.no_answer",
    ),
    ("headers", headers, "challenge.answer_malformed"),
    ("reflect", reflect, "challenge.proof_wrong"),
    ("reversed", reversed, "challenge.answer_malformed"),
    ("gzip", gzip, "challenge.echoed"),
    ("moved", |_| Answer::status(307).with("location", "/elsewhere"), "redirect_refused"),
];

pub(crate) fn an_endpoint_that_proves_nothing_is_asked_three_times_and_never_sent_to(
    world: &World,
) -> Result<()> {
    let mut parties = Vec::new();
    for (name, answer, reason) in PRETENDERS {
        let site = Site::start(answer)?;
        let party = Party::register(world, name, &site.url("/hooks"), Contract::Ed25519)?;
        party.publisher.challenge(party.id())?;
        // Also an event changes nothing: a generation that was never ACTIVE plans nothing.
        party.publish(&event(&format!("pretender_{name}")))?;
        parties.push((name, party, site, reason));
    }
    for (name, party, site, reason) in &parties {
        let judged = until(Duration::from_secs(30), || {
            Ok(Some(party.evidence("challenge_judged")?).filter(|list| list.len() >= TRIES))
        })?;
        let judged = judged.with_context(|| format!("{name} was asked {} times.", site.received().len()))?;
        for try_ in &judged {
            assert_eq!(try_["reason"], *reason, "{name}: {try_}");
        }
    }
    sleep(QUIET);
    for (name, party, site, reason) in &parties {
        let view = party.publisher.subscription(party.id())?;
        assert_eq!(view["state"], "PENDING_CHALLENGE", "{name}");
        assert_eq!(view["generations"][0]["last_challenge_failure"], *reason, "{name}");
        assert_eq!(view["generations"][0]["challenge_tries"], TRIES, "{name}");
        let requests = site.received();
        assert_eq!(requests.len(), TRIES * REQUESTS, "{name} is asked no more");
        for request in &requests {
            ensure!(request.method == "POST" && request.target == "/hooks", "{name}: {request:?}");
            ensure!(request.field("webhook-delivery").is_empty(), "{name} was sent a delivery: {request:?}");
        }
        assert_eq!(
            party.publisher.delivery(party.id(), &event(&format!("pretender_{name}")))?,
            None,
            "{name}"
        );
        assert_eq!(party.evidence("claimed")?, Vec::<Value>::new(), "{name}");
    }
    Ok(())
}

/// The state of a subscription after its first challenge was refused.
fn refused(party: &Party) -> Result<Value> {
    party.publisher.challenge(party.id())?;
    let view = until(SOON, || {
        let view = party.publisher.subscription(party.id())?;
        Ok(Some(view).filter(|view| view["generations"][0]["last_challenge_failure"].is_string()))
    })?;
    match view {
        Some(view) => Ok(view),
        None => bail!("The challenge was not refused: {}", party.publisher.subscription(party.id())?),
    }
}

/// An endpoint that holds the key and the configuration, but takes every signature for good.
fn credulous(entry: &Arc<Mutex<Option<Entry>>>, request: &Received, answers_decoy: bool) -> Answer {
    let answer = || -> Option<Vec<u8>> {
        let entry = lock(entry);
        let entry = entry.as_ref()?;
        if !answers_decoy && is_decoy(request) {
            return None;
        }
        let asked: ChallengeBody = serde_json::from_slice(&request.body).ok()?;
        let (key, proof_key_id, _) = entry.receipt_key().ok()?;
        let challenge = Challenge {
            id: asked.challenge_id,
            purpose: asked.purpose,
            scope: entry.scope(),
            endpoint_digest: entry.endpoint_digest(),
            nonce: asked.nonce,
            issued_at: asked.issued_at,
            expires_at: asked.expires_at,
            profile: entry.profile.clone(),
            key_commitment: Digest(base64::array_from_url(&asked.key_id)?),
            key_id: asked.key_id,
            proof_alg: asked.proof_alg,
            proof_key_id: proof_key_id.clone(),
            body_digest: Digest::of(&request.body),
            probe_map: u32::MAX,
        };
        let proof = base64::url(&key.sign(&challenge.proof_input()));
        let probes = Some(challenge.probe_map);
        let r#type = ANSWER_TYPE.to_owned();
        serde_json::to_vec(&Proof { r#type, challenge_id: challenge.id, proof_key_id, probes, proof }).ok()
    };
    match answer() {
        Some(body) => Answer::status(200).with("content-type", "application/json").body(body),
        None => Answer::status(400),
    }
}

fn credulous_party(world: &World, name: &str, answers_decoy: bool) -> Result<(Party, Site)> {
    let known = Arc::new(Mutex::new(None));
    let shared = Arc::clone(&known);
    let site = Site::start(move |request| credulous(&shared, request, answers_decoy))?;
    let party = Party::register(world, name, &site.url("/hooks"), Contract::Ed25519)?;
    *lock(&known) = Some(party.as_entry()?);
    Ok((party, site))
}

pub(crate) fn an_endpoint_that_answers_the_decoy_is_no_verifier(world: &World) -> Result<()> {
    let (party, site) = credulous_party(world, "Credulous", true)?;
    let view = refused(&party)?;
    assert_eq!(view["state"], "PENDING_CHALLENGE");
    assert_eq!(view["generations"][0]["last_challenge_failure"], "challenge.verifier_absent");
    assert_eq!(site.received().len(), 1, "the question is not even asked");
    Ok(())
}

pub(crate) fn an_endpoint_that_guesses_the_probes_is_no_verifier(world: &World) -> Result<()> {
    let (party, site) = credulous_party(world, "Guessing", false)?;
    let view = refused(&party)?;
    assert_eq!(view["state"], "PENDING_CHALLENGE");
    assert_eq!(view["generations"][0]["last_challenge_failure"], "challenge.verifier_absent");
    assert_eq!(site.received().len(), REQUESTS);
    Ok(())
}

pub(crate) fn another_subscriptions_valid_answer_activates_nothing(world: &World) -> Result<()> {
    let (_, genuine) = joined(world, "Genuine", Contract::Ed25519, |_| Answer::status(200))?;
    let answers = genuine.answers();
    let [valid] = &answers[..] else { bail!("{} answers were given.", answers.len()) };
    let canned = valid.clone();
    let site = Site::start(move |request| match is_decoy(request) {
        true => Answer::status(400),
        false => Answer::status(200).with("content-type", "application/json").body(&*canned),
    })?;
    let party = Party::register(world, "Borrowed", &site.url("/hooks"), Contract::Ed25519)?;
    let view = refused(&party)?;
    assert_eq!(view["state"], "PENDING_CHALLENGE");
    assert_eq!(view["generations"][0]["last_challenge_failure"], "challenge.unknown");
    Ok(())
}

/// Whoever registers a URL of its own and passes what it is sent on to a genuine subscriber of the same
/// sender gets no proof: the subscriber knows its own URL.
pub(crate) fn a_challenge_relayed_to_a_genuine_subscriber_activates_nothing(world: &World) -> Result<()> {
    let genuine = Subscriber::start(|_| Answer::status(200))?;
    let victim = Api::new(&genuine.url(), "");
    let relay = Site::start(move |request| {
        let fields: Vec<_> = end_to_end(request);
        match victim.post_raw("", &fields, &request.body) {
            Ok((status, body)) => Answer::json(status, &body),
            Err(_) => Answer::status(502),
        }
    })?;
    let party = Party::register(world, "Relay", &relay.url("/hooks"), Contract::Ed25519)?;
    let mut entry = party.entry.clone();
    entry["public_url"] = json!(genuine.url());
    genuine.configure(&entry)?;
    let view = refused(&party)?;
    assert_eq!(view["state"], "PENDING_CHALLENGE");
    assert_eq!(view["generations"][0]["last_challenge_failure"], "challenge.no_answer");
    assert_eq!(genuine.challenges(), 0);
    assert_eq!(genuine.refused().len(), REQUESTS);
    Ok(())
}

/// The fields a relay passes on.
pub(crate) fn end_to_end(request: &Received) -> Vec<(String, String)> {
    let ours = |name: &str| {
        name.starts_with("webhook-") || name.starts_with("signature") || name.starts_with("content-")
    };
    let passes = |name: &str| ours(name) && name != "content-length";
    request.fields.iter().filter(|(name, _)| passes(name)).cloned().collect()
}
