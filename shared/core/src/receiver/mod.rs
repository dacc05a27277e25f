//! The subscriber's side: nothing reaches a handler that was not verified, is not fresh, or was seen.

mod inbox;
mod intake;
mod source;

pub use inbox::{
    Advance, Arrival, HandlerResult, InboxState, Item, ItemReceipt, Key, ReceiptState, default_operation_id,
};
pub use intake::{Intake, Received, VerifiedDelivery, receive};
pub use source::{Entry, EntryKey, Handler, ReceiptKey, Receipts, Source};

/// How old a signed time may be, either way, in seconds.
pub const WINDOW_SECONDS: i64 = 300;

/// Largest request body taken in, in octets.
pub const MAX_BODY: usize = 256 * 1024;

#[cfg(test)]
mod tests;
