//! Whatever commands arrive in whatever order: the alarm is when something is due, the chain holds,
//! attempts only rise, only states of the table follow each other, and everything ends.

#![expect(clippy::unwrap_used, reason = "a broken premise fails the test")]

mod support;

use std::collections::BTreeMap;

use hookproof_authority::message::EventRef;
use hookproof_authority::subscription::{
    AskAuthority, ChallengeRequest, ChangeRequest, Claimed, Planned, Wake,
};
use hookproof_core::evidence::{ChainScope, Head, verify};
use hookproof_core::id::Generation;
use hookproof_core::ledger::{Delivery, Outcome};
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::retry::Policy;
use hookproof_core::subscription::{Change, GenerationRecord, OldGenerations, SuspendReason};
use hookproof_core::time::{Span, Timestamp};
use hookproof_ports::FromRow;
use proptest::prelude::*;
use support::ledger::{answered, attempted};
use support::party::url;
use support::{Party, Setup, World, now};

#[derive(Clone, Debug)]
enum Step {
    Plan(Vec<u8>),
    ClaimDue,
    Settle(u8, u8),
    Receipt(u8, u8),
    Request,
    Issue,
    Judge(bool),
    Advance(u32),
    Ring,
    Pause,
    Resume,
    Move(u8),
    Revoke(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::collection::vec(0u8..12, 1..9).prop_map(Step::Plan),
        4 => Just(Step::ClaimDue),
        8 => (any::<u8>(), 0u8..24).prop_map(|(which, outcome)| Step::Settle(which, outcome)),
        3 => (any::<u8>(), 0u8..6).prop_map(|(which, what)| Step::Receipt(which, what)),
        1 => Just(Step::Request),
        2 => Just(Step::Issue),
        2 => any::<bool>().prop_map(Step::Judge),
        5 => prop_oneof![0u32..3_000, 3_000u32..30_000, 30_000u32..900_000].prop_map(Step::Advance),
        6 => Just(Step::Ring),
        1 => Just(Step::Pause),
        1 => Just(Step::Resume),
        1 => (0u8..4).prop_map(Step::Move),
        1 => prop::bool::weighted(0.2).prop_filter("rare", |rare| *rare).prop_map(Step::Revoke),
    ];
    prop::collection::vec(step, 1..60)
}

/// What a test knows beside the database.
struct Model {
    world: World,
    party: Party,
    events: BTreeMap<u8, EventRef>,
    claims: Vec<Claimed>,
    challenge: Option<Box<ChallengeRequest>>,
    armed: Option<Timestamp>,
    deliveries: BTreeMap<String, Delivery>,
    state: String,
    /// Who answers for later generations.
    parties: BTreeMap<Generation, Party>,
    /// What each generation was made with.
    endpoints: BTreeMap<Generation, String>,
}

impl Model {
    fn new(active: bool, wait: i64) -> Self {
        let retry = Policy {
            name: "custom".into(),
            waits: [0, wait, 5, 30].map(Span::seconds).to_vec(),
            timeout: Span::seconds(10),
            deadline: Span::minutes(20),
        };
        let world = World::new();
        let setup = Setup { retry, ..Setup::default() };
        let party = if active { world.active(setup) } else { world.register(setup) };
        let (armed, state) = (world.alarm(party.id.as_str()), world.state(&party));
        let (events, deliveries) = (BTreeMap::new(), BTreeMap::new());
        Self {
            world,
            party,
            events,
            claims: Vec::new(),
            challenge: None,
            armed,
            deliveries,
            state,
            parties: BTreeMap::new(),
            endpoints: BTreeMap::new(),
        }
    }

    /// Runs a step and checks that what must always hold still holds.
    fn run(&mut self, step: &Step) {
        let before = self.world.disk.dump();
        let claims = self.claims.len();
        let announced = self.step(step);
        let changed = self.world.disk.dump() != before;
        let (due, now) = (self.due(), self.world.now());
        let expected = if announced {
            // Announced work is announced again after a minute, unless something else is due before.
            let again = now + Span::seconds(60);
            Some(self.due_after(now).map_or(again, |due| due.min(again)))
        } else if changed {
            due
        } else {
            self.armed
        };
        self.armed = self.world.alarm(self.party.id.as_str());
        assert_eq!(self.armed, expected, "{step:?}: due is {due:?}");
        self.check_head();
        self.check_deliveries(step);
        self.check_state(claims);
    }

    fn step(&mut self, step: &Step) -> bool {
        let Self { world, party, .. } = self;
        match step {
            Step::Plan(which) => {
                let known = &mut self.events;
                let event = |n: &u8| {
                    let fresh = || world.event(&format!("evt-{n}"));
                    known.entry(*n).or_insert_with(fresh).clone()
                };
                let events: Vec<EventRef> = which.iter().map(event).collect();
                for planned in world.plan(party, &events) {
                    if let Planned::Claimed(claimed) = planned {
                        self.claims.push(*claimed);
                    }
                }
            }
            Step::ClaimDue => self.claims.extend(world.claim_due(party)),
            Step::Settle(which, outcome) => {
                if let Some(claimed) = pick(&self.claims, *which) {
                    world.settle(party, claimed, outcome_of(*outcome)).unwrap();
                }
            }
            Step::Receipt(which, what) => {
                if let Some(claimed) = pick(&self.claims, *which) {
                    let party = answering(&self.parties, party, claimed);
                    let results = [ReceiptResult::Applied, ReceiptResult::Ignored, ReceiptResult::Rejected];
                    let (operation, result) = (format!("op-{}", what / 3), results[usize::from(what % 3)]);
                    let receipt = party.receipt(world, &attempted(claimed), &operation, result);
                    // Refused once its generation's keys are retired.
                    drop(world.confirm(party, party.signed(world, &receipt)));
                }
            }
            // Refused once it is suspended.
            Step::Request => drop(now(world.objects.request_challenge(&party.id))),
            Step::Issue => {
                if let Some(issued) = world.issue(party) {
                    self.challenge = Some(issued);
                }
            }
            Step::Judge(right) => {
                if let Some(request) = self.challenge.take() {
                    let (fresh, generation) = proof_of(&request);
                    let party = self.parties.get(&generation).unwrap_or(party);
                    let answer = if *right && world.now() < fresh {
                        party.answer(world, &request)
                    } else {
                        "{}".to_owned()
                    };
                    world.judge(party, &request, &answer).unwrap();
                }
            }
            // Refused where the state forbids it.
            Step::Pause => drop(now(world.objects.suspend(&party.id, SuspendReason::Operator))),
            Step::Resume => drop(now(world.objects.resume(&party.id))),
            Step::Move(which) => {
                let endpoint = Some(url(&format!("https://hooks.example.com/{which}")));
                let change = Change { endpoint, ..Change::default() };
                let asked = ChangeRequest { change, ..ChangeRequest::default() };
                if let Ok(changed) = now(world.objects.change(&party.id, asked))
                    && let Some(number) = changed.generation
                {
                    self.parties.insert(number, Party::changed(party, &changed));
                }
            }
            Step::Revoke(drain) => {
                let registered = if *drain { OldGenerations::Drain } else { OldGenerations::Quarantine };
                drop(now(world.objects.revoke(&party.id, None, registered)));
            }
            Step::Advance(millis) => drop(world.clock.advance(Span::millis(i64::from(*millis)))),
            Step::Ring => {
                let woken = world.ring();
                for wake in &woken {
                    let (Wake::Deliveries(id) | Wake::Challenge(id)) = wake;
                    assert_eq!(*id, party.id);
                }
                return !woken.is_empty();
            }
        }
        false
    }

    /// When something is due, as the tables say it.
    fn due(&self) -> Option<Timestamp> {
        self.due_after(Timestamp::from_unix(0))
    }

    fn due_after(&self, after: Timestamp) -> Option<Timestamp> {
        let mut all: Vec<Timestamp> = Vec::new();
        for statement in ["SELECT due FROM delivery", "SELECT challenge_due FROM generation"] {
            let rows = self.world.disk.rows(statement);
            let times = rows.iter().filter_map(|row| row.optional_integer(0).unwrap());
            all.extend(times.map(Timestamp::from_millis));
        }
        for row in self.world.disk.rows("SELECT record FROM generation") {
            let record: GenerationRecord = serde_json::from_str(row.text(0).unwrap()).unwrap();
            all.extend(record.state.drains_until());
        }
        all.into_iter().filter(|&due| due > after).min()
    }

    fn check_head(&self) {
        let row = &self.world.disk.rows("SELECT alarm FROM subscription")[0];
        let known = row.optional_integer(0).unwrap().map(Timestamp::from_millis);
        assert_eq!(known, self.armed, "the head row knows what is armed");
        let bundle = self.world.bundle(&self.party);
        let scope: ChainScope = serde_json::from_value(bundle["scope"].clone()).unwrap();
        let head: Head = serde_json::from_value(bundle["head"].clone()).unwrap();
        let entries: Vec<String> = serde_json::from_value(bundle["entries"].clone()).unwrap();
        assert!(verify(&scope, entries.iter().map(String::as_bytes), &head));
    }

    fn check_deliveries(&mut self, step: &Step) {
        for row in self.world.disk.rows("SELECT record, state, due, generation FROM delivery") {
            let record: serde_json::Value = serde_json::from_str(row.text(0).unwrap()).unwrap();
            let after: Delivery = serde_json::from_value(record["delivery"].clone()).unwrap();
            assert_eq!(row.text(1).unwrap(), after.state.name());
            // The column is the truth: a whole generation is hurried by it.
            let mut after = after;
            after.due = row.optional_integer(2).unwrap().map(Timestamp::from_millis);
            let numbers: Vec<u32> = after.attempts.iter().map(|attempt| attempt.number).collect();
            assert_eq!(numbers, (1..=after.attempt).collect::<Vec<_>>());
            let before = self.deliveries.insert(after.id.to_string(), after.clone());
            let (from, attempts) = before.as_ref().map_or(("PLANNED", 0), |b| (b.state.name(), b.attempt));
            assert!((attempts..=attempts + 1).contains(&after.attempt), "{step:?}");
            if let Some(before) = before {
                assert_eq!((&before.event, before.payload), (&after.event, after.payload));
                let kept = before.attempts.iter().zip(&after.attempts);
                assert!(kept.clone().all(
                    |(b, a)| (&b.lease_token, b.signature_digest) == (&a.lease_token, a.signature_digest)
                ));
            }
            let claimed = after.attempt > attempts;
            assert!(
                is_legal(from, after.state.name(), claimed, step),
                "{step:?}: {from} to {}",
                after.state.name()
            );
            let waits =
                matches!(after.state.name(), "PLANNED" | "RETRYABLE" | "UNKNOWN_TRANSPORT" | "DISPATCHING");
            assert_eq!(after.due.is_some(), waits, "whatever waits has its time");
        }
    }

    /// The state shown moves by the table, generations never change what they bind, and whatever was claimed
    /// goes to its own generation's endpoint.
    fn check_state(&mut self, claims: usize) {
        let view = self.world.view(&self.party);
        let state = view["state"].as_str().unwrap().to_owned();
        let legal = match (self.state.as_str(), state.as_str()) {
            (before, after) if before == after => true,
            ("PENDING_CHALLENGE", "ACTIVE" | "REVOKED") | ("ACTIVE", "SUSPENDED" | "REVOKED") => true,
            ("SUSPENDED", "PENDING_CHALLENGE" | "REVOKED" | "ACTIVE") => true,
            _ => false,
        };
        assert!(legal, "{} to {state}", self.state);
        let generations = view["generations"].as_array().unwrap();
        let numbers: Vec<_> = generations.iter().map(|g| g["generation"].as_u64().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] > pair[1]), "newest first, none twice");
        assert!(self.endpoints.len() <= numbers.len(), "none is forgotten");
        let mut sendable = Vec::new();
        for generation in generations {
            let number = Generation(generation["generation"].as_u64().unwrap());
            let endpoint = generation["endpoint"].as_str().unwrap().to_owned();
            let kept = self.endpoints.entry(number).or_insert_with(|| endpoint.clone());
            assert_eq!(*kept, endpoint, "what a generation binds never changes");
            let drains = generation["until"].is_string();
            if drains || generation["state"] == "ACTIVE" {
                sendable.push(number);
            }
        }
        let serving =
            generations.iter().filter(|g| g["served_from"].is_string() && g["served_until"].is_null());
        assert!(serving.count() <= 1, "at most one generation serves");
        for claimed in &self.claims[claims..] {
            let number = claimed.fields.iter().find(|(name, _)| name == "webhook-generation").unwrap();
            let number = Generation(number.1.parse().unwrap());
            assert!(sendable.contains(&number), "claimed under generation {number} while {state}");
            assert_eq!(claimed.endpoint.as_str(), self.endpoints[&number], "to its own endpoint");
        }
        self.state = state;
    }

    /// A fair world from here on: every announcement arrives and every endpoint answers.
    fn finish(&mut self) {
        for _ in 0..400 {
            let Some(due) = self.world.alarm(self.party.id.as_str()) else { break };
            if due - self.world.now() > Span::days(20) {
                break;
            }
            self.world.clock.advance_to(due);
            self.armed = self.world.alarm(self.party.id.as_str());
            for step in [Step::Ring, Step::Issue, Step::Judge(true), Step::ClaimDue] {
                let claims = self.claims.len();
                self.run(&step);
                for which in claims..self.claims.len() {
                    self.claims.rotate_left(which);
                    self.run(&Step::Settle(0, 0));
                    self.claims.rotate_right(which);
                }
            }
        }
        for delivery in self.deliveries.values() {
            let ended = ["ENDPOINT_ACCEPTED", "APPLICATION_CONFIRMED", "DEAD_LETTER"];
            assert!(ended.contains(&delivery.state.name()), "{delivery:?} is stuck");
        }
        let recheck = self.world.now() + Span::days(20);
        assert!(self.due().is_none_or(|due| due > recheck), "only the next periodic challenge is left");
    }
}

/// Until when a challenge can be answered, and for which generation.
fn proof_of(request: &ChallengeRequest) -> (Timestamp, Generation) {
    let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
    let ends = serde_json::from_value(body["expires_at"].clone()).unwrap();
    (ends, Generation(body["generation"].as_u64().unwrap()))
}

fn answering<'a>(parties: &'a BTreeMap<Generation, Party>, first: &'a Party, claimed: &Claimed) -> &'a Party {
    let generation = claimed.fields.iter().find(|(name, _)| name == "webhook-generation").unwrap();
    parties.get(&Generation(generation.1.parse().unwrap())).unwrap_or(first)
}

fn pick(claims: &[Claimed], which: u8) -> Option<&Claimed> {
    claims.get(usize::from(which) % claims.len().max(1))
}

fn outcome_of(number: u8) -> Outcome {
    match number {
        0..=5 => answered(200),
        6..=11 => answered(503),
        12..=14 => Outcome::Unknown,
        15..=16 => Outcome::NotSent,
        17..=18 => Outcome::Released,
        19 => Outcome::Refused,
        20 => answered(307),
        21 => answered(404),
        22 => Outcome::Answered { status: 429, retry_after: Some("120".into()) },
        _ => answered(410),
    }
}

/// Every way between two states, late settles and receipts included.
fn is_legal(from: &str, to: &str, claimed: bool, step: &Step) -> bool {
    let receipt = matches!(step, Step::Receipt(..));
    match (from, to) {
        // A lost lease may be stepped over and the delivery claimed again by one command.
        ("DISPATCHING", "DISPATCHING") => true,
        (from, to) if from == to => !claimed,
        // Its generation ended while it was on the wire.
        ("PLANNED" | "RETRYABLE" | "UNKNOWN_TRANSPORT", "DISPATCHING") => claimed,
        ("PLANNED" | "RETRYABLE" | "UNKNOWN_TRANSPORT" | "DISPATCHING", "DEAD_LETTER") => !claimed,
        ("DISPATCHING", "RETRYABLE" | "UNKNOWN_TRANSPORT") => !claimed,
        ("DISPATCHING" | "UNKNOWN_TRANSPORT", "ENDPOINT_ACCEPTED") => !claimed,
        ("RETRYABLE" | "DEAD_LETTER", "ENDPOINT_ACCEPTED") => receipt,
        (
            "DISPATCHING" | "UNKNOWN_TRANSPORT" | "RETRYABLE" | "DEAD_LETTER" | "ENDPOINT_ACCEPTED",
            "APPLICATION_CONFIRMED",
        ) => receipt,
        _ => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_authority_keeps_its_word(
        active in prop::bool::weighted(0.8),
        wait in 0i64..4,
        steps in steps(),
    ) {
        let mut model = Model::new(active, wait);
        for step in &steps {
            model.run(step);
        }
        model.finish();
    }
}
