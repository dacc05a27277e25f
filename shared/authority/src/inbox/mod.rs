//! The subscriber's side: an event is stored once, handled until it is done, and confirmed under one
//! operation id, whatever queues and workers lose.
//!
//! [`Sources`] holds a source's configuration, sealed. [`Inbox`] holds what that source sent. Both are
//! keyed by the source's name.

mod body;
mod command;
mod object;
mod query;
mod receipts;
mod sources;
mod store;
mod table;
mod view;
mod work;

pub use body::Body;
pub use command::{Command, Delivery, Outcome, OwedReceipt, Reply, Wake, Wakeup, Work};
pub use object::Inbox;
pub use sources::{PublicEntry, PublicReceipts, PublicSource, SourceCommand, SourceReply, Sources};
pub use view::{ItemDetail, ItemView, Listed, Metrics, Quarantined, ReceiptView, StateFilter, Totals};

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;
