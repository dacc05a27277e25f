//! Subscriptions: what a generation binds, the states it goes through, and who may be sent to.

mod admit;
mod change;
mod generation;
mod terms;
mod topic;
mod wants;

pub use admit::{Admitted, Hold, admit};
pub use change::{Change, Expiry, Filtering};
pub use generation::{GenerationRecord, GenerationState, KeyChange, SuspendReason};
pub use terms::{OldGenerations, Owner, PROFILE_DELIVERY, ReceiptContract, Terms};
pub use topic::{MalformedTopic, TopicPattern};
pub use wants::Wants;
