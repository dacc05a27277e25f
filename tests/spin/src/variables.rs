//! `spin:variables`: the component's own, already expanded.

use wasmtime::component::Accessor;

use crate::bindings::spin::variables::variables::{Error, Host, HostWithStore};
use crate::state::{Offered, State};

impl Host for State {}

impl<T> HostWithStore<T> for Offered {
    async fn get(accessor: &Accessor<T, Self>, name: String) -> wasmtime::Result<Result<String, Error>> {
        let found = accessor.with(|mut access| access.get().part.variables.get(&name).cloned());
        Ok(found.ok_or(Error::Undefined(name)))
    }
}
