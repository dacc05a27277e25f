//! A host for the built Spin components: what Spin 4.1 is to them, made of wasmtime and rusqlite, so that
//! they are tested as they are deployed, from the routes and variables that `spin.toml` gives them.
//!
//! | module | stands in for |
//! |---|---|
//! | [`manifest`] | the loader: routes, grants, variables |
//! | [`app`] | the HTTP trigger: instances that serve many requests side by side, service chaining |
//! | [`outbound`] | `allowed_outbound_hosts` and the client behind `wasi:http` |
//! | [`key_value`], [`sqlite`], [`variables`] | the factors of these names |

#![warn(missing_docs)]

pub mod app;
pub mod key_value;
pub mod manifest;
pub mod outbound;
pub mod server;
pub mod sqlite;
pub mod state;
pub mod variables;

mod bindings {
    wasmtime::component::bindgen!({
        path: "wit",
        world: "host",
        imports: { default: trappable },
        with: {
            "spin:key-value/key-value.store": crate::key_value::Store,
            "spin:sqlite/sqlite.connection": crate::sqlite::Connection,
        },
    });
}
