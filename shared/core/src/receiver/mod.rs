//! The subscriber's side: nothing reaches a handler that was not verified, is not fresh, or was seen.

mod inbox;
mod intake;
mod latency;
mod owed;
mod source;

pub use inbox::{
    Advance, HANDLER_TIMEOUT, HandlerResult, InboxState, Item, Key, RETENTION, default_operation_id,
    is_too_old,
};
pub use intake::{Intake, Received, VerifiedDelivery, kept_fields, receive};
pub use latency::Latency;
pub use owed::{Arrival, ItemReceipt, ReceiptState};
pub use source::{Entry, EntryKey, Handler, ReceiptKey, Receipts, Source, SourceName};

/// How old a signed time may be, either way, in seconds.
pub const WINDOW_SECONDS: i64 = 300;

/// Largest request body taken in, in octets.
pub const MAX_BODY: usize = 256 * 1024;

#[cfg(test)]
mod tests;
