//! A DNS-over-HTTPS resolver on loopback that answers as the facts say. No name is ever asked outside.

use crate::world::lock;
use anyhow::Result;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use xtask::site::{Answer, Received, Site};

type Zone = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

/// The running resolver.
pub(crate) struct Names {
    site: Site,
    zone: Zone,
}

impl Names {
    /// Knows `localhost` only.
    pub(crate) fn start() -> Result<Self> {
        let zone = Zone::default();
        let asked = Arc::clone(&zone);
        let site = Site::start(move |request| answer(&asked, request))?;
        let names = Self { site, zone };
        names.set("localhost", &["127.0.0.1"]);
        Ok(names)
    }

    /// The setting `DOH_URL`.
    pub(crate) fn url(&self) -> String {
        self.site.url("/dns-query")
    }

    /// From now on `name` has these addresses.
    pub(crate) fn set(&self, name: &str, addresses: &[&str]) {
        let addresses = addresses.iter().map(|&it| it.to_owned()).collect();
        lock(&self.zone).insert(name.to_owned(), addresses);
    }

    /// How often `name` was asked for, both families together.
    pub(crate) fn asked(&self, name: &str) -> usize {
        let question = format!("name={name}&");
        self.site.received().iter().filter(|request| request.target.contains(&question)).count()
    }
}

fn answer(zone: &Zone, request: &Received) -> Answer {
    let query = request.target.split_once('?').map_or("", |(_, query)| query);
    let member = |name| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let (name, kind) = (member("name").unwrap_or_default(), member("type").unwrap_or_default());
    let kind: u16 = if kind == "A" { 1 } else { 28 };
    let records: Option<Vec<Value>> = lock(zone).get(name).map(|addresses| {
        let of_kind = addresses.iter().filter(|it| it.contains(':') == (kind == 28));
        of_kind.map(|it| json!({ "name": name, "type": kind, "TTL": 0, "data": it })).collect()
    });
    let (status, records) = records.map_or((3, Vec::new()), |records| (0, records));
    let question = json!([{ "name": name, "type": kind }]);
    let body = json!({ "Status": status, "TC": false, "Question": question, "Answer": records });
    Answer::status(200).with("content-type", "application/dns-json").body(body.to_string())
}
