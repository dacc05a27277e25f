//! What every HTTP surface of ours shares: JSON answers, problems (RFC 9457) and bearer tokens.
//!
//! A problem with its reason goes to a caller entitled to it; a stranger gets a status and generic words.

mod answer;
mod bearer;
mod percent;

pub use answer::{json, parse_json, parse_outer, problem, stranger, text, unauthorized, with_request_id};
pub use bearer::{bearer, is_token};
pub use percent::{percent_decode, query_pairs};

#[cfg(test)]
mod tests;
