//! Which objects a side of the product has. A component carries the code of those it asks.

use hookproof_authority::directory::Directory;
use hookproof_authority::event::Events;
use hookproof_authority::inbox::{Inbox, Sources};
use hookproof_authority::subscription::Authority;
use hookproof_authority::token::Tokens;

use crate::sql::SpinStore;

/// The objects of `D` as rows of the one database, their alarms beside them.
pub type Objects<D> = hookproof_ports::Objects<D, SpinStore>;

/// The sending side's objects.
pub struct Sender {
    /// Authorities.
    pub authority: Authority,
    /// Event objects.
    pub events: Events,
    /// Directories.
    pub directory: Directory,
    /// Tokens.
    pub tokens: Tokens,
}

/// The receiving side's objects.
pub struct Subscriber {
    /// Sources.
    pub sources: Sources,
    /// Inboxes.
    pub inbox: Inbox,
}

macro_rules! shows {
    ($($side:ty: $field:ident, $object:ty;)*) => {$(
        impl AsRef<$object> for $side {
            fn as_ref(&self) -> &$object {
                &self.$field
            }
        }
    )*};
}

shows! {
    Sender: authority, Authority;
    Sender: events, Events;
    Sender: directory, Directory;
    Sender: tokens, Tokens;
    Subscriber: sources, Sources;
    Subscriber: inbox, Inbox;
}
