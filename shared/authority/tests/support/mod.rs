//! Objects on the native ports with a clock, a disk and entropy that a test controls.

#![allow(dead_code, unreachable_pub, unused_imports, reason = "each test file uses its own part of this")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a broken premise fails the test")]

pub mod disk;
pub mod ledger;
pub mod party;
pub mod wire;

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use hookproof_authority::directory::Directory;
use hookproof_authority::event::Events;
use hookproof_authority::message::Fresh;
use hookproof_authority::subscription::{Authority, Wake};
use hookproof_authority::token::Tokens;
use hookproof_core::Refusal;
use hookproof_core::id::{IdKey, TenantId};
use hookproof_core::keys::{IssuerKeys, MasterKeys};
use hookproof_core::secret::Secret;
use hookproof_core::time::{Span, Timestamp};
use hookproof_native::{NativeStore, Objects, SeededEntropy, TestClock};
use hookproof_ports::{Aggregate, Ask, Clock, FromRow};
use serde::de::DeserializeOwned;

pub use disk::Disk;
pub use party::{Party, Setup};

pub const ISSUER: &str = "https://sender.example.com";
pub const RECEIPTS: &str = "https://sender.example.com/receipts";
pub const ENDPOINT: &str = "https://hooks.example.com/in/billing";
const START: i64 = 1_800_000_000;

/// Everything here is ready when first polled.
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a test future had to wait"),
    }
}

pub struct Deployment {
    authority: Authority,
    events: Events,
    directory: Directory,
    tokens: Tokens,
}

impl AsRef<Authority> for Deployment {
    fn as_ref(&self) -> &Authority {
        &self.authority
    }
}

impl AsRef<Events> for Deployment {
    fn as_ref(&self) -> &Events {
        &self.events
    }
}

impl AsRef<Directory> for Deployment {
    fn as_ref(&self) -> &Directory {
        &self.directory
    }
}

impl AsRef<Tokens> for Deployment {
    fn as_ref(&self) -> &Tokens {
        &self.tokens
    }
}

/// The objects, as a function reaches them; clones reach the same ones.
#[derive(Clone)]
pub struct Reach {
    objects: Rc<Objects<Deployment, Disk>>,
    /// Each call then waits once on its way there and once on its way back, as between two Workers.
    pub waits: Rc<Cell<bool>>,
    calls: Rc<Cell<u32>>,
}

impl<A: Aggregate> Ask<A> for Reach
where
    Deployment: AsRef<A>,
{
    async fn ask<R: DeserializeOwned>(&self, key: &str, command: A::Command) -> Result<R, Refusal> {
        self.calls.set(self.calls.get() + 1);
        self.wait().await;
        let reply = Ask::<A>::ask(&*self.objects, key, command).await;
        self.wait().await;
        reply
    }
}

impl Reach {
    async fn wait(&self) {
        if self.waits.get() {
            once_pending().await;
        }
    }

    /// How often any object was asked.
    pub fn calls(&self) -> u32 {
        self.calls.get()
    }
}

/// Pending when first polled.
pub async fn once_pending() {
    let mut polled = false;
    poll_fn(|_| if std::mem::replace(&mut polled, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

pub struct World {
    pub clock: TestClock,
    pub disk: Disk,
    pub objects: Reach,
    pub entropy: SeededEntropy,
    pub ids: IdKey,
    pub tenant: TenantId,
}

impl World {
    pub fn new() -> Self {
        Self::on(NativeStore::in_memory().unwrap())
    }

    pub fn on(store: NativeStore) -> Self {
        Self::issuing(store, &[1])
    }

    /// On `store`, with issuer keys of these versions.
    pub fn issuing(store: NativeStore, versions: &[u8]) -> Self {
        let clock = TestClock::at(Timestamp::from_unix(START));
        let (disk, entropy, ids) = (Disk::new(store), SeededEntropy::new(1), id_key());
        let authority = Authority {
            issuer: ISSUER.into(),
            receipts_url: RECEIPTS.into(),
            region: "here".into(),
            keys: MasterKeys::parse(&format!("1:{}", Secret::new([7; 32]).show_once())).unwrap(),
            issuer_keys: issuer_keys(versions),
            id_key: id_key(),
        };
        let deployment = Deployment { authority, events: Events, directory: Directory, tokens: Tokens };
        let objects = Objects::new(deployment, disk.clone(), clock.clone(), entropy.clone());
        let objects = Reach { objects: Rc::new(objects), waits: Rc::default(), calls: Rc::default() };
        let tenant = TenantId::mint(&ids, clock.now(), [1; 10]);
        let world = Self { clock, disk, objects, entropy, ids, tenant };
        // Their tables exist from the start: what a test counts or lets fail is the command alone.
        now(world.due::<Authority>());
        now(world.due::<Events>());
        now(world.due::<Directory>());
        now(world.due::<Tokens>());
        world
    }

    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    async fn due<A: Aggregate>(&self) -> Vec<String>
    where
        Deployment: AsRef<A>,
    {
        self.objects.objects.due::<A>(self.now()).await.unwrap()
    }

    /// Fires the alarm of an authority, due or not.
    pub fn fire(&self, party: &Party) -> Result<Vec<Wake>, Refusal> {
        now(self.objects.objects.fire::<Authority>(party.id.as_str()))
    }

    /// Fires every alarm of an authority that is due now, once.
    pub fn ring(&self) -> Vec<Wake> {
        let keys = now(self.due::<Authority>());
        keys.iter().flat_map(|key| now(self.objects.objects.fire::<Authority>(key)).unwrap()).collect()
    }

    /// Fires every alarm of an event object that is due now, once.
    pub fn ring_events(&self) -> Vec<Fresh> {
        let keys = now(self.due::<Events>());
        keys.iter().flat_map(|key| now(self.objects.objects.fire::<Events>(key)).unwrap()).collect()
    }

    /// Moves on to the next alarm and fires it; none if there is none before `limit`.
    pub fn next(&self, limit: Span) -> Option<Vec<Wake>> {
        let end = self.now() + limit;
        let due = now(self.objects.objects.next_alarm()).unwrap().filter(|&due| due <= end)?;
        self.clock.advance_to(due);
        Some(self.ring())
    }

    /// Whether nothing but the next periodic challenge is armed.
    pub fn is_idle(&self, party: &Party) -> bool {
        self.alarm(party.id.as_str()).is_none_or(|at| at - self.now() > Span::days(20))
    }

    /// The alarm armed for `key`.
    pub fn alarm(&self, key: &str) -> Option<Timestamp> {
        let rows = self.disk.rows(&format!("SELECT due FROM alarm WHERE key = '{key}'"));
        rows.first().map(|row| Timestamp::from_millis(row.integer(0).unwrap()))
    }
}

pub fn id_key() -> IdKey {
    IdKey::new(b"ids")
}

/// An issuer key of each of these versions.
pub fn issuer_keys(versions: &[u8]) -> IssuerKeys {
    let one = |version: &u8| format!("{version}:{}", Secret::new([100 + version; 32]).show_once());
    IssuerKeys::parse(&versions.iter().map(one).collect::<Vec<_>>().join(",")).unwrap()
}
