//! `spin:key-value`: one map in memory for the whole app, a component reaches the stores it was granted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use wasmtime::component::{Accessor, FutureReader, Resource, StreamReader};

use crate::bindings::spin::key_value::key_value::{Error, Host, HostStore, HostStoreWithStore};
use crate::state::{Offered, State};

/// Octets by store and key.
type Map = BTreeMap<(String, String), Vec<u8>>;

/// What an app's components share.
pub type Values = Arc<Mutex<Map>>;

/// An open store.
pub struct Store {
    label: String,
    values: Values,
}

impl Store {
    fn with<R>(&self, key: String, work: impl FnOnce(&mut Map, (String, String)) -> R) -> R {
        let mut values = self.values.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut values, (self.label.clone(), key))
    }
}

fn opened<T, R>(
    accessor: &Accessor<T, Offered>,
    store: &Resource<Store>,
    key: String,
    work: impl FnOnce(&mut Map, (String, String)) -> R,
) -> wasmtime::Result<R> {
    accessor.with(|mut access| Ok(access.get().table.get(store)?.with(key, work)))
}

impl Host for State {}

impl HostStore for State {
    fn drop(&mut self, store: Resource<Store>) -> wasmtime::Result<()> {
        self.table.delete(store)?;
        Ok(())
    }
}

impl<T> HostStoreWithStore<T> for Offered {
    async fn open(
        accessor: &Accessor<T, Self>,
        label: String,
    ) -> wasmtime::Result<Result<Resource<Store>, Error>> {
        accessor.with(|mut access| {
            let state = access.get();
            if !state.part.stores.contains(&label) {
                return Ok(Err(Error::AccessDenied));
            }
            let values = Arc::clone(&state.part.values);
            Ok(Ok(state.table.push(Store { label, values })?))
        })
    }

    async fn get(
        accessor: &Accessor<T, Self>,
        store: Resource<Store>,
        key: String,
    ) -> wasmtime::Result<Result<Option<Vec<u8>>, Error>> {
        opened(accessor, &store, key, |values, key| Ok(values.get(&key).cloned()))
    }

    async fn set(
        accessor: &Accessor<T, Self>,
        store: Resource<Store>,
        key: String,
        value: Vec<u8>,
    ) -> wasmtime::Result<Result<(), Error>> {
        opened(accessor, &store, key, |values, key| {
            values.insert(key, value);
            Ok(())
        })
    }

    async fn delete(
        accessor: &Accessor<T, Self>,
        store: Resource<Store>,
        key: String,
    ) -> wasmtime::Result<Result<(), Error>> {
        opened(accessor, &store, key, |values, key| {
            values.remove(&key);
            Ok(())
        })
    }

    async fn exists(
        accessor: &Accessor<T, Self>,
        store: Resource<Store>,
        key: String,
    ) -> wasmtime::Result<Result<bool, Error>> {
        opened(accessor, &store, key, |values, key| Ok(values.contains_key(&key)))
    }

    async fn get_keys(
        _: &Accessor<T, Self>,
        _: Resource<Store>,
    ) -> wasmtime::Result<(StreamReader<String>, FutureReader<Result<(), Error>>)> {
        Err(wasmtime::format_err!("not used"))
    }
}
