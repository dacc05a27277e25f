//! The app: each component compiled once, instantiated as Spin's HTTP trigger does it. An instance serves
//! up to 128 requests, 16 of them side by side, finishes what it spawned after its answers, and is dropped
//! a second after it has nothing left to do.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::time::Sleep;
use wasmtime::component::{Component, Linker};
use wasmtime::{Config, Engine, Store, StoreContextMut};
use wasmtime_wasi_http::WasiHttpView;
use wasmtime_wasi_http::handler::{
    HandlerState, Instance, Proxy, ProxyHandler, ProxyPre, Request, Response, ShouldAccept, WorkerExpiration,
    WorkerState, WorkerStatus,
};
use wasmtime_wasi_http::p3::bindings::ServicePre;

use crate::bindings::spin::{key_value::key_value, sqlite::sqlite, variables::variables};
use crate::key_value::Values;
use crate::manifest::Manifest;
use crate::outbound::Outbound;
use crate::state::{Offered, Part, State};

/// Spin's defaults.
const REQUESTS: usize = 128;
const AT_A_TIME: usize = 16;
const IDLE: Duration = Duration::from_secs(1);

/// How to run an app.
#[derive(Clone, Debug)]
pub struct Options {
    /// The manifest.
    pub manifest: PathBuf,
    /// Values of application variables.
    pub variables: BTreeMap<String, String>,
    /// The file of the database `default`.
    pub database: PathBuf,
    /// Read components from here instead of the manifest's `source` folder.
    pub artifacts: Option<PathBuf>,
}

/// A running app.
pub struct App {
    manifest: Manifest,
    handlers: BTreeMap<String, ProxyHandler<Host>>,
    ends: Arc<Ends>,
}

/// How instances ended.
#[derive(Debug, Default)]
struct Ends {
    traps: AtomicUsize,
    closing: AtomicBool,
}

impl App {
    /// Compiles every component of the manifest and checks that each can be linked.
    pub fn load(options: &Options) -> Result<Arc<Self>> {
        let manifest = Manifest::read(&options.manifest)?;
        let mut config = Config::new();
        config.wasm_component_model_async(true);
        let engine = Engine::new(&config)?;
        let linker = linker(&engine)?;
        let ends = Arc::new(Ends::default());
        let mut ready = BTreeMap::new();
        let values = Values::default();
        for (name, component) in &manifest.component {
            let file = source(options, &component.source);
            let compiled = compiled(&engine, &file)
                .with_context(|| format!("{} is not a component: build it first", file.display()))?;
            let pre = linker.instantiate_pre(&compiled).map_err(anyhow::Error::from);
            let pre = pre.with_context(|| format!("{name} cannot be linked"))?;
            let expand = |text: &String| manifest.expand(text, &options.variables);
            let variables: Result<_> =
                component.variables.iter().map(|(name, text)| Ok((name.clone(), expand(text)?))).collect();
            let part = Arc::new(Part {
                name: name.clone(),
                variables: variables?,
                stores: component.key_value_stores.iter().cloned().collect(),
                values: Values::clone(&values),
                databases: component.sqlite_databases.iter().cloned().collect(),
                database: options.database.clone(),
                outbound: component.allowed_outbound_hosts.iter().map(expand).collect::<Result<_>>()?,
            });
            ready.insert(name.clone(), (ServicePre::new(pre)?, part));
        }
        Ok(Arc::new_cyclic(|app| {
            let handler = |(name, (pre, part))| {
                let (engine, app, ends) = (engine.clone(), app.clone(), Arc::clone(&ends));
                (name, ProxyHandler::new(Host { engine, pre: ProxyPre::P3(pre), part, app, ends }))
            };
            let handlers = ready.into_iter().map(handler).collect();
            Self { manifest, handlers, ends: Arc::clone(&ends) }
        }))
    }

    /// The routes and grants.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// How many instances have ended by a trap.
    pub fn traps(&self) -> usize {
        self.ends.traps.load(Ordering::SeqCst)
    }

    /// From now on instances are cut off, and that is no trap.
    pub(crate) fn close(&self) {
        self.ends.closing.store(true, Ordering::SeqCst);
    }

    /// Lets `component` answer.
    pub async fn handle(&self, component: &str, request: Request) -> Result<Response> {
        let handler = self.handlers.get(component).with_context(|| format!("no component {component}"))?;
        Ok(handler.handle((), request).await?)
    }
}

fn source(options: &Options, source: &Path) -> PathBuf {
    match (&options.artifacts, source.file_name()) {
        (Some(folder), Some(file)) => folder.join(file),
        _ => options.manifest.parent().unwrap_or(Path::new(".")).join(source),
    }
}

/// Compiling takes seconds and is done once for each build: what came of it is kept beside the file.
fn compiled(engine: &Engine, file: &Path) -> Result<Component> {
    let kept = file.with_extension("cwasm");
    let written = |path: &Path| std::fs::metadata(path).and_then(|it| it.modified()).ok();
    if written(&kept) > written(file) {
        // SAFETY: the file was written by this function, below. One of another wasmtime is refused.
        if let Ok(component) = unsafe { Component::deserialize_file(engine, &kept) } {
            return Ok(component);
        }
    }
    let component = Component::from_file(engine, file)?;
    // Renamed, so that nobody reads half of it.
    let new = kept.with_extension(format!("new{}", std::process::id()));
    std::fs::write(&new, component.serialize()?)?;
    std::fs::rename(new, kept)?;
    Ok(component)
}

fn linker(engine: &Engine) -> Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi::p3::add_to_linker(&mut linker)?;
    wasmtime_wasi_http::p3::add_to_linker(&mut linker)?;
    key_value::add_to_linker::<State, Offered>(&mut linker, |state| state)?;
    sqlite::add_to_linker::<State, Offered>(&mut linker, |state| state)?;
    variables::add_to_linker::<State, Offered>(&mut linker, |state| state)?;
    Ok(linker)
}

/// Makes instances of one component.
struct Host {
    engine: Engine,
    pre: ProxyPre<State>,
    part: Arc<Part>,
    app: std::sync::Weak<App>,
    ends: Arc<Ends>,
}

impl HandlerState for Host {
    type StoreData = State;
    type WorkerExpiration = Expiration;
    type WorkerState = Worker;

    async fn instantiate(&self) -> wasmtime::Result<Instance<State, Expiration, Worker>> {
        let hooks = Outbound::new(Arc::clone(&self.part), self.app.clone());
        let mut store = Store::new(&self.engine, State::new(Arc::clone(&self.part), hooks));
        let proxy: Proxy = self.pre.instantiate_async(&mut store).await?;
        let expiration = Expiration(Box::pin(tokio::time::sleep(IDLE)));
        let state = Worker { part: Arc::clone(&self.part), ends: Arc::clone(&self.ends) };
        Ok(Instance { store, proxy, view: State::http, expiration, state })
    }
}

struct Expiration(Pin<Box<Sleep>>);

impl WorkerExpiration for Expiration {
    fn poll(
        mut self: Pin<&mut Self>,
        context: &mut TaskContext<'_>,
        status: WorkerStatus,
        start: Instant,
    ) -> Poll<()> {
        if status != WorkerStatus::Idle {
            return Poll::Pending;
        }
        let deadline = (start + IDLE).into();
        if self.0.deadline() != deadline {
            self.0.as_mut().reset(deadline);
        }
        self.0.as_mut().poll(context)
    }
}

struct Worker {
    part: Arc<Part>,
    ends: Arc<Ends>,
}

impl WorkerState for Worker {
    type StoreData = State;
    type RequestData = ();

    fn should_accept_request(&self, at_a_time: usize, total: usize) -> ShouldAccept {
        if total >= REQUESTS {
            ShouldAccept::Never
        } else if at_a_time >= AT_A_TIME {
            ShouldAccept::No
        } else {
            ShouldAccept::Yes
        }
    }

    fn on_request_start(
        &self,
        _: StoreContextMut<'_, State>,
        (): (),
        _: wasmtime::component::GuestTaskId,
    ) -> Pin<Box<dyn Future<Output = ()> + 'static + Send + Sync>> {
        Box::pin(std::future::pending())
    }

    fn drop(&self, store: Store<State>, result: wasmtime::Result<()>) {
        if let (Err(error), false) = (result, self.ends.closing.load(Ordering::SeqCst)) {
            self.ends.traps.fetch_add(1, Ordering::SeqCst);
            eprintln!("an instance of {} ended: {error:?}", self.part.name);
        }
        drop(store);
    }
}
