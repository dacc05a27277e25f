//! Many at a time, two hosts on one database, a host that is lost, an endpoint that fails first: nothing is
//! lost and nothing is claimed twice.

mod world;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use xtask::api::Api;
use xtask::journey::{Publisher, Subscription, until};
use xtask::site::{Answer, Received, Site};

use world::{LIMIT, World, applying};

const LANES: usize = 16;
const EACH: usize = 6;

/// Publishes [`EACH`] events on each of [`LANES`] threads, each on the API that `api` gives it.
fn publish_side_by_side(publisher: &Publisher, api: impl Fn(usize) -> Api) -> Result<Vec<String>> {
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            let publisher = Publisher { api: api(lane), ..publisher.clone() };
            thread::spawn(move || -> Result<Vec<String>> {
                let publish = |number| {
                    let id = format!("evt_load_{lane}_{number}");
                    publisher.publish(&id, "invoice.paid", &json!({ "number": number }))?;
                    Ok(id)
                };
                (0..EACH).map(publish).collect()
            })
        })
        .collect();
    let mut ids = Vec::new();
    for lane in lanes {
        ids.extend(lane.join().expect("a lane ends")?);
    }
    Ok(ids)
}

/// Waits until every one of `ids` is confirmed; `idle` runs between two looks.
fn all_confirmed(
    publisher: &Publisher,
    subscription: &Subscription,
    ids: &[String],
    idle: impl Fn() -> Result<()>,
) -> Result<()> {
    let path = format!("/v1/deliveries?subscription={}&limit=200", subscription.id);
    let mut states = BTreeMap::<String, usize>::new();
    let done = until(LIMIT + LIMIT, || {
        let (_, list) = publisher.api.get(&path)?;
        states.clear();
        for item in list["items"].as_array().into_iter().flatten() {
            *states.entry(item["state"].as_str().unwrap_or("").to_owned()).or_default() += 1;
        }
        let all = states.get("APPLICATION_CONFIRMED") == Some(&ids.len());
        if !all {
            idle()?;
        }
        Ok(all.then_some(()))
    })?;
    done.with_context(|| format!("of {} events: {states:?}", ids.len()))
}

/// The handler saw each event once, and each delivery was claimed once.
fn once_each(
    publisher: &Publisher,
    subscription: &Subscription,
    application: &Site,
    ids: &[String],
) -> Result<()> {
    let mut handled = BTreeMap::<String, usize>::new();
    for request in application.received() {
        *handled.entry(request.field("webhook-id").to_owned()).or_default() += 1;
    }
    assert_eq!(handled.len(), ids.len());
    assert!(handled.values().all(|&times| times == 1), "{handled:?}");
    let (entries, _) = publisher.evidence(&subscription.id)?;
    let claims = entries.iter().filter(|entry| entry["what"] == "claimed").count();
    assert_eq!(claims, ids.len(), "each delivery has one attempt");
    Ok(())
}

#[test]
fn sixteen_at_a_time_lose_nothing() -> Result<()> {
    let world = World::start()?;
    let application = applying()?;
    let publisher = world.publisher("Load")?;
    let subscription = world.activate(&publisher, None, &application)?;
    let begun = Instant::now();
    let ids = publish_side_by_side(&publisher, |_| publisher.api.clone())?;
    let accepted = begun.elapsed();
    all_confirmed(&publisher, &subscription, &ids, || Ok(()))?;
    let rate = ids.len() as f64 / begun.elapsed().as_secs_f64();
    println!("{} accepted after {accepted:?}, confirmed after {:?}: {rate:.0}/s", ids.len(), begun.elapsed());
    once_each(&publisher, &subscription, &application, &ids)?;
    assert_eq!(world.server().app().traps(), 0);
    Ok(())
}

#[test]
fn two_hosts_share_one_database() -> Result<()> {
    let world = World::start()?;
    let other = world.another()?;
    let application = applying()?;
    let publisher = world.publisher("Two")?;
    let subscription = world.activate(&publisher, None, &application)?;
    let there = Api::new(&other.url(), &publisher.token);
    let ids =
        publish_side_by_side(
            &publisher,
            |lane| {
                if lane % 2 == 0 { publisher.api.clone() } else { there.clone() }
            },
        )?;
    all_confirmed(&publisher, &subscription, &ids, || Ok(()))?;
    once_each(&publisher, &subscription, &application, &ids)?;
    assert_eq!((world.server().app().traps(), other.app().traps()), (0, 0));
    Ok(())
}

#[test]
fn a_lost_host_costs_time_only() -> Result<()> {
    let mut world = World::start()?;
    let application = applying()?;
    let publisher = world.publisher("Crash")?;
    let subscription = world.activate(&publisher, None, &application)?;
    let ids: Vec<String> = (0..8).map(|number| format!("evt_crash_{number}")).collect();
    for id in &ids {
        publisher.publish(id, "invoice.paid", &json!({}))?;
    }
    world.crash()?;
    // What was accepted is there; what had begun is taken up again once its lease is over, by ticks.
    for id in &ids {
        assert_eq!(publisher.api.get(&format!("/v1/events/{id}"))?.0, 200);
    }
    let waited = until(LIMIT * 6, || {
        world.tick()?;
        thread::sleep(Duration::from_secs(1));
        let path = format!("/v1/deliveries?subscription={}&limit=200", subscription.id);
        let (_, list) = publisher.api.get(&path)?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        let done = items.iter().filter(|item| item["state"] == "APPLICATION_CONFIRMED").count();
        Ok((done == ids.len()).then_some(()))
    })?;
    waited.context("not all were confirmed after the crash")
}

/// A proxy in front of the receiver that answers the first delivery 503 itself.
#[test]
fn a_retry_is_made_by_the_tick() -> Result<()> {
    let world = World::start()?;
    let application = applying()?;
    let publisher = world.publisher("Retry")?;
    let receiver = Api::new(&world.url(), "");
    let deliveries = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&deliveries);
    let proxy = Site::start(move |request: &Received| {
        if !request.field("webhook-delivery").is_empty() && seen.fetch_add(1, Ordering::SeqCst) == 0 {
            return Answer::status(503);
        }
        let fields: Vec<_> = request.fields.iter().filter(|(name, _)| name != "host").cloned().collect();
        let fields: Vec<_> = fields.into_iter().filter(|(name, _)| name != "content-length").collect();
        match receiver.post_raw(&request.target, &fields, &request.body) {
            Ok((status, body)) => Answer::json(status, &body),
            Err(_) => Answer::status(502),
        }
    })?;
    let subscription = world.activate(&publisher, Some(&proxy.url("/in/hookproof")), &application)?;
    publisher.publish("evt_retry_1", "invoice.paid", &json!({}))?;
    let retryable = |delivery: &Value| delivery["state"] == "RETRYABLE";
    publisher.wait_for(&subscription.id, "evt_retry_1", LIMIT, retryable)?;
    let done = until(LIMIT, || {
        world.tick()?;
        let delivery = publisher.delivery(&subscription.id, "evt_retry_1")?;
        Ok(delivery.filter(|delivery| delivery["state"] == "APPLICATION_CONFIRMED"))
    })?;
    done.context("the retry did not come")?;
    assert_eq!(deliveries.load(Ordering::SeqCst), 2);
    Ok(())
}

/// The host says that nothing was sent, and the ledger keeps that apart from an outcome that is unknown.
#[test]
fn a_refused_connection_was_provably_not_sent() -> Result<()> {
    let world = World::start()?;
    let application = applying()?;
    let publisher = world.publisher("Refused")?;
    let receiver = Api::new(&world.url(), "");
    let proxy = Site::start(move |request: &Received| {
        let framing = ["host", "content-length"];
        let fields = request.fields.iter().filter(|(name, _)| !framing.contains(&name.as_str()));
        match receiver.post_raw(&request.target, &fields.cloned().collect::<Vec<_>>(), &request.body) {
            Ok((status, body)) => Answer::json(status, &body),
            Err(_) => Answer::status(502),
        }
    })?;
    let subscription = world.activate(&publisher, Some(&proxy.url("/in/hookproof")), &application)?;
    drop(proxy);
    publisher.publish("evt_refused_1", "invoice.paid", &json!({}))?;
    let settled = |delivery: &Value| delivery["state"] == "RETRYABLE";
    let delivery = publisher.wait_for(&subscription.id, "evt_refused_1", LIMIT, settled)?;
    assert_eq!(delivery["attempts"][0]["settled"]["outcome"]["kind"], "not_sent", "{delivery}");
    Ok(())
}
