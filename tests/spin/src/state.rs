//! What the host keeps for one instance.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use wasmtime::component::{HasData, ResourceTable};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{WasiHttpCtx, WasiHttpCtxView, WasiHttpView};

use crate::key_value::Values;
use crate::outbound::Outbound;

/// What a component was granted.
#[derive(Debug)]
pub struct Part {
    /// Its id.
    pub name: String,
    /// Its variables, expanded.
    pub variables: BTreeMap<String, String>,
    /// Databases it may open.
    pub databases: BTreeSet<String>,
    /// Key-value stores it may open.
    pub stores: BTreeSet<String>,
    /// What they hold; one for the whole app.
    pub values: Values,
    /// The file of the one database.
    pub database: PathBuf,
    /// Hosts it may reach, expanded.
    pub outbound: Vec<String>,
}

/// One instance's state.
pub struct State {
    /// Handles.
    pub table: ResourceTable,
    /// The component's grants.
    pub part: Arc<Part>,
    wasi: WasiCtx,
    http: WasiHttpCtx,
    hooks: Outbound,
}

impl State {
    /// A new instance's state.
    pub fn new(part: Arc<Part>, hooks: Outbound) -> Self {
        let wasi = WasiCtx::builder().inherit_stdout().inherit_stderr().build();
        Self { table: ResourceTable::new(), part, wasi, http: WasiHttpCtx::new(), hooks }
    }
}

/// Names [`State`] as what Spin's own interfaces are implemented on.
pub struct Offered;

impl HasData for Offered {
    type Data<'a> = &'a mut State;
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { hooks: &mut self.hooks, table: &mut self.table, ctx: &mut self.http }
    }
}
