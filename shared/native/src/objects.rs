//! Objects in process, in a [`NativeStore`].

use crate::sql::NativeStore;

/// All objects of a deployment in one database. `S` is another store only where a test lets one fail.
pub type Objects<D, S = NativeStore> = hookproof_ports::Objects<D, S>;
