//! The objects alone, on the native store; their flow is tested with the receiver function.

use hookproof_core::base64;
use hookproof_core::digest::Digest;
use hookproof_core::id::{DeliveryId, Environment, Generation, IdKey, SubscriptionId, TenantId};
use hookproof_core::keys::MasterKeys;
use hookproof_core::receipt::ReceiptResult;
use hookproof_core::receiver::{Arrival, Entry, EntryKey, Handler, HandlerResult, Key, RETENTION, Source};
use hookproof_core::secret::Secret;
use hookproof_core::signature::{Alg, SigningKey, thumbprint};
use hookproof_core::time::{Span, Timestamp};
use hookproof_core::{Reason, Refusal};
use hookproof_native::{NativeStore, Objects, SeededEntropy, TestClock};
use hookproof_ports::{Ask, Clock, FromRow, Sql, Store};

use super::*;

struct Deployment(Sources, Inbox);

impl AsRef<Sources> for Deployment {
    fn as_ref(&self) -> &Sources {
        &self.0
    }
}

impl AsRef<Inbox> for Deployment {
    fn as_ref(&self) -> &Inbox {
        &self.1
    }
}

struct World {
    clock: TestClock,
    objects: Objects<Deployment>,
}

impl World {
    fn new() -> Self {
        let clock = TestClock::at(start());
        let keys = MasterKeys::parse(&format!("1:{}", Secret::new([7; 32]).show_once())).unwrap();
        let deployment = Deployment(Sources { keys }, Inbox);
        let store = NativeStore::in_memory().unwrap();
        Self { objects: Objects::new(deployment, store, clock.clone(), SeededEntropy::new(1)), clock }
    }

    async fn inbox(&self, object: &str, command: Command) -> Result<Reply, Refusal> {
        Ask::<Inbox>::ask(&self.objects, object, command).await
    }

    async fn source(&self, object: &str, command: SourceCommand) -> Result<SourceReply, Refusal> {
        Ask::<Sources>::ask(&self.objects, object, command).await
    }

    async fn store(&self, delivery: Delivery) -> Outcome {
        let object = delivery.key.source.clone();
        let reply = self.inbox(&object, Command::Store(Box::new(delivery))).await.unwrap();
        let Reply::Stored { outcome, .. } = reply else { panic!("{reply:?}") };
        outcome
    }

    async fn take(&self, object: &str) -> Vec<Work> {
        let reply = self.inbox(object, Command::Take { limit: 10 }).await.unwrap();
        let Reply::Taken { work, .. } = reply else { panic!("{reply:?}") };
        work
    }

    async fn complete(&self, work: &Work) -> Reply {
        let result = HandlerResult::Done { result: ReceiptResult::Applied, operation_id: None };
        let report = Command::Report { id: work.id.clone(), lease: work.lease.clone(), result };
        self.inbox(&work.key.source, report).await.unwrap()
    }

    async fn alarm(&self) -> Option<Timestamp> {
        self.objects.next_alarm().await.unwrap()
    }

    async fn count(&self, table: &str) -> i64 {
        let statement = format!("SELECT count(*) FROM {table}");
        let store = self.objects.store();
        let rows = store.transact(async |sql: &_| Sql::query(sql, &statement, &[]).await).await.unwrap();
        rows[0].integer(0).unwrap()
    }
}

fn start() -> Timestamp {
    Timestamp::from_unix(1_800_000_000)
}

fn delivery(source: &str, event: &str, at: Timestamp) -> Delivery {
    let ids = IdKey::new(b"k");
    let tenant = TenantId::mint(&ids, start(), [1; 10]);
    let subscription = SubscriptionId::mint(&ids, start(), [2; 10]);
    let event_id = event.parse().unwrap();
    let delivery_id = DeliveryId::of(&tenant, Environment::Test, &subscription, &event_id, at);
    Delivery {
        key: Key {
            source: source.into(),
            issuer: "https://sender.example".into(),
            tenant,
            environment: Environment::Test,
            event_id,
        },
        arrival: Some(Arrival {
            subscription,
            generation: Generation(1),
            delivery_id,
            attempt: 1,
            signature_digest: Digest::of(b"s"),
        }),
        digest: Digest::of(b"{}"),
        event_type: "invoice.paid".into(),
        signed_at: at,
        accepted_at: at,
        content_type: "application/json".into(),
        fields: vec![("webhook-id".into(), event.into())],
        body: Body(b"{}".to_vec()),
    }
}

#[tokio::test]
async fn inboxes_in_one_database_know_nothing_of_each_other() {
    let world = World::new();
    assert_eq!(world.store(delivery("a", "evt-1", start())).await, Outcome::New);
    assert_eq!(world.store(delivery("b", "evt-1", start())).await, Outcome::New);
    let (a, b) = (world.take("a").await, world.take("b").await);
    assert_eq!((a.len(), b.len()), (1, 1));
    assert_ne!(a[0].idempotency_key, b[0].idempotency_key);
    let foreign = Command::Store(Box::new(delivery("a", "evt-2", start())));
    assert_eq!(world.inbox("b", foreign).await.unwrap_err().reason, Reason::InternalHost);
}

#[tokio::test]
async fn an_empty_inbox_answers_without_writing() {
    let world = World::new();
    assert!(world.take("a").await.is_empty());
    let show = Command::Show { id: "x".into() };
    assert_eq!(world.inbox("a", show).await.unwrap_err().reason, Reason::EventUnknown);
    assert!(
        matches!(world.inbox("a", Command::Metrics).await, Ok(Reply::Metrics(m)) if *m == Metrics::default())
    );
    assert_eq!((world.alarm().await, world.count("inbox_head").await), (None, 0));
}

#[tokio::test]
async fn the_timer_is_set_once_for_a_stream_of_events() {
    let world = World::new();
    for n in 0..20 {
        world.store(delivery("a", &format!("evt-{n}"), world.clock.now())).await;
        for work in world.take("a").await {
            world.complete(&work).await;
        }
        world.clock.advance(Span::seconds(1));
    }
    assert_eq!(world.alarm().await, Some(start() + Span::seconds(30)), "as the first command set it");
}

#[tokio::test]
async fn a_timer_that_is_a_little_late_is_not_put_off() {
    let world = World::new();
    world.store(delivery("a", "evt-1", start())).await;
    world.clock.advance(Span::seconds(31));
    world.store(delivery("a", "evt-2", start())).await;
    assert_eq!(world.objects.due::<Inbox>(world.clock.now()).await.unwrap(), ["a"]);
    assert_eq!(world.objects.fire::<Inbox>("a").await.unwrap(), [Wake::Handle]);
    assert_eq!(world.alarm().await, Some(start() + Span::seconds(61)), "and asks again if nobody came");
}

#[tokio::test]
async fn a_lost_lease_wakes_the_handler_and_a_stale_report_is_refused() {
    let world = World::new();
    world.store(delivery("a", "evt-1", start())).await;
    let [first] = &world.take("a").await[..] else { panic!("one") };
    assert!(world.take("a").await.is_empty(), "it is with the handler");
    world.clock.advance(Span::seconds(40));
    let [second] = &world.take("a").await[..] else { panic!("one") };
    assert_eq!((second.attempt, &second.idempotency_key), (2, &first.idempotency_key));
    assert!(matches!(world.complete(first).await, Reply::Reported { accepted: false, .. }));
    assert!(matches!(world.complete(second).await, Reply::Reported { accepted: true, receipts_due: 1, .. }));
    assert!(matches!(world.complete(second).await, Reply::Reported { accepted: false, .. }));
}

#[tokio::test]
async fn receipts_wake_their_own_queue() {
    let world = World::new();
    world.store(delivery("a", "evt-1", start())).await;
    let work = world.take("a").await;
    world.complete(&work[0]).await;
    world.clock.advance(Span::seconds(31));
    assert_eq!(world.objects.fire::<Inbox>("a").await.unwrap(), [Wake::Receipts]);
    let taken = world.inbox("a", Command::TakeReceipts { limit: 10 }).await.unwrap();
    let Reply::Receipts { owed, more: false } = taken else { panic!("{taken:?}") };
    assert_eq!((owed[0].tries, owed[0].result), (1, ReceiptResult::Applied));
    let again = world.inbox("a", Command::TakeReceipts { limit: 10 }).await.unwrap();
    assert!(matches!(again, Reply::Receipts { owed, .. } if owed.is_empty()), "counted before it is sent");
}

#[tokio::test]
async fn what_is_completed_is_forgotten_after_the_retention_and_dead_letters_are_not() {
    let world = World::new();
    for n in 0..250 {
        world.store(delivery("a", &format!("evt-{n}"), start())).await;
    }
    for _ in 0..25 {
        for work in world.take("a").await {
            world.complete(&work).await;
        }
    }
    world.store(delivery("a", "evt-dead", start())).await;
    world.inbox("a", Command::Abandon { limit: 1000 }).await.unwrap();
    assert_eq!(world.count("inbox").await, 251);
    world.clock.advance(RETENTION + Span::minutes(1));
    for left in [51, 1] {
        world.objects.fire::<Inbox>("a").await.unwrap();
        assert_eq!(world.count("inbox").await, left, "a bounded number of rows at a time");
        world.clock.advance(Span::seconds(2));
    }
    assert_eq!(world.count("inbox_receipt").await, 1);
    let metrics = world.inbox("a", Command::Metrics).await.unwrap();
    assert!(matches!(metrics, Reply::Metrics(m) if m.totals.completed == 250 && m.dead_letters == 1));
    assert_eq!(world.alarm().await, None);
}

#[tokio::test]
async fn bodies_that_are_no_text_come_back_octet_for_octet() {
    for body in [b"{}".to_vec(), vec![0xff, 0, 0xc3], Vec::new()] {
        let text = serde_json::to_string(&Body(body.clone())).unwrap();
        assert_eq!(serde_json::from_str::<Body>(&text).unwrap().0, body, "{text}");
    }
}

fn source(seed: u8) -> Source {
    let key = SigningKey::ed25519(&Secret::new([seed; 32]));
    let public = key.public().unwrap();
    let ids = IdKey::new(b"k");
    Source {
        handler: Handler { url: serde_json::from_str("\"https://app.example.com/\"").unwrap() },
        entries: vec![Entry {
            issuer: "https://sender.example".into(),
            tenant_id: TenantId::mint(&ids, start(), [1; 10]),
            environment: Environment::Test,
            subscription_id: SubscriptionId::mint(&ids, start(), [2; 10]),
            generation: Generation(1),
            profile: "hookproof.delivery.v1".into(),
            public_url: serde_json::from_str("\"https://hooks.example.com/in/a\"").unwrap(),
            keys: vec![EntryKey {
                key_id: thumbprint(&public),
                alg: Alg::Ed25519,
                public_key: Some(base64::url(&public)),
            }],
            secret: Secret::new([seed; 32]).show_once(),
            receipts: None,
        }],
    }
}

#[tokio::test]
async fn an_unknown_source_is_refused_and_leaves_nothing() {
    let world = World::new();
    for command in [SourceCommand::Get, SourceCommand::Show, SourceCommand::Delete] {
        let refusal = world.source("a", command).await.err().unwrap();
        assert_eq!(refusal.reason, Reason::SourceUnknown);
    }
    let mut empty = source(1);
    empty.entries.clear();
    assert!(world.source("a", SourceCommand::Put(Box::new(empty))).await.is_err());
    assert_eq!((world.count("source").await, world.alarm().await), (0, None));
}

#[tokio::test]
async fn a_source_is_replaced_whole_and_its_row_fits_no_other() {
    let world = World::new();
    let put = async |name: &str, seed| match world
        .source(name, SourceCommand::Put(Box::new(source(seed))))
        .await
        .unwrap()
    {
        SourceReply::Public { created, source } => (created, source.revision),
        SourceReply::Source(_) | SourceReply::Deleted => panic!("another reply"),
    };
    assert_eq!(put("a", 1).await, (true, 1));
    assert_eq!(put("a", 2).await, (false, 2));
    assert_eq!(put("b", 3).await, (true, 1));
    let Ok(SourceReply::Source(got)) = world.source("a", SourceCommand::Get).await else {
        panic!("no source")
    };
    assert_eq!(got.entries[0].secret, source(2).entries[0].secret);
    let swap = "UPDATE source SET sealed = (SELECT sealed FROM source WHERE object = 'b') WHERE object = 'a'";
    let store = world.objects.store();
    store.transact(async |sql: &_| Sql::query(sql, swap, &[]).await).await.unwrap();
    let refusal = world.source("a", SourceCommand::Get).await.err().unwrap();
    assert_eq!(refusal.reason, Reason::InternalCorrupt);
}
