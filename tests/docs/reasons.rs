//! docs/reason-codes.md lists every reason, and exactly what the source says of each.
//!
//! The table is rebuilt from `Reason::ALL` and the comments in shared/core/src/reason.rs. After a change
//! there: `UPDATE_DOCS=1 cargo test -p hookproof-tests --test reasons`.

#![expect(clippy::disallowed_methods, reason = "a test asks its caller whether to write")]
#![allow(clippy::unwrap_used, reason = "a source that does not read as it should fails its test")]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hookproof_core::Reason;

const SOURCE: &str = include_str!("../../shared/core/src/reason.rs");
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reason-codes.md");

const HEAD: &str = "# Reason codes

<!-- Generated: UPDATE_DOCS=1 cargo test -p hookproof-tests --test reasons -->

Every refusal has one stable code. It stands in the journal, in the ledger and in the problems (RFC 9457) \
that a caller entitled to it gets: `type` is `urn:hookproof:problem:<code>`, `reason` is the code. A stranger \
gets the status and generic words. The status is the one answered over HTTP, where the reason is answered over \
HTTP at all; many are only recorded with a delivery, a challenge or an inbox item.

With `endpoint.refused` the detail begins with a second code that says what was wrong with the URL or address, \
such as `scheme_not_https` or `ipv4_private_use` \
([core/src/endpoint/refusal.rs](../shared/core/src/endpoint/refusal.rs), \
[address.rs](../shared/core/src/endpoint/address.rs)). Defined in \
[core/src/reason.rs](../shared/core/src/reason.rs).

| code | status | meaning |
|---|---|---|
";

/// What stands above each reason in the source, by its code.
fn meanings() -> BTreeMap<&'static str, String> {
    let table = SOURCE.split_once("\nreasons! {").unwrap().1.split_once("\n}").unwrap().0;
    let mut all = BTreeMap::new();
    let mut words = String::new();
    for line in table.lines().map(str::trim) {
        if let Some(comment) = line.strip_prefix("///") {
            words.push_str(if words.is_empty() { "" } else { " " });
            words.push_str(comment.trim());
        } else if let Some((_, entry)) = line.split_once(" = \"") {
            let code = entry.split_once('"').unwrap().0;
            all.insert(code, std::mem::take(&mut words));
        }
    }
    all
}

fn page() -> String {
    let meanings = meanings();
    assert_eq!(meanings.len(), Reason::ALL.len(), "the table in reason.rs is read line by line");
    let mut reasons = Reason::ALL.to_vec();
    reasons.sort_unstable_by_key(|reason| reason.code());
    let mut page = HEAD.to_owned();
    for reason in reasons {
        let meaning = meanings.get(reason.code()).unwrap().replace('|', "\\|");
        writeln!(page, "| `{reason}` | {} | {meaning} |", reason.http_status()).unwrap();
    }
    page
}

#[test]
fn the_page_lists_every_reason_as_the_source_defines_it() {
    let page = page();
    if std::env::var("UPDATE_DOCS").as_deref() == Ok("1") {
        std::fs::write(PAGE, &page).unwrap();
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    if written != page {
        let differs = page.lines().zip(written.lines().chain(std::iter::repeat(""))).find(|(a, b)| a != b);
        panic!(
            "docs/reason-codes.md is out of date at {:?}; run: UPDATE_DOCS=1 cargo test -p hookproof-tests --test reasons",
            differs.map_or("its end", |(wanted, _)| wanted)
        );
    }
}
