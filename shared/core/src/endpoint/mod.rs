//! Nothing is sent to a tenant's endpoint unless its URL was read by one strict reader and its
//! addresses, where they can be known, are all public.
//!
//! [`EndpointUrl`] is a URL that was checked and normalised once; [`Permitted`] proves that the check
//! was repeated, under the policy of this deployment, for the connection about to be made. The rules
//! and their codes are the vectors `endpoint_urls.json` and `ip_addresses.json`, strict profile.

pub mod address;
pub mod doh;
mod domain;
mod history;
mod host;
mod lookup;
mod policy;
mod raw;
mod refusal;
mod url;

pub use address::AddressRefusal;
pub use domain::registrable_domain;
pub use history::{Change, History};
pub use lookup::{LOOKUP_LIMIT, Lookup, MAX_ADDRESSES};
pub use policy::{EgressAssurance, EndpointPolicy, Permitted};
pub use refusal::EndpointRefusal;
pub use url::{EndpointUrl, MAX_URL_OCTETS};
