//! For subscribers: what this crate hands out was verified, and everything else is a [`Failure`] that says
//! why to the developer and nothing to the sender.
//!
//! It does no I/O and reads no clock: the time is an argument. It decides nothing of its own either; the
//! checks are those of `hookproof-core`, which the senders run too. It builds for native targets,
//! `wasm32-unknown-unknown` and `wasm32-wasip2`.
//!
//! # A delivery, end to end
//!
//! An [`Entry`] comes from the answer to the registration: whom to trust, under which keys, at which URL.
//!
//! ```
//! use hookproof_verify::{Message, ReceiptResult, Request, Sender, Subscriber, Timestamp};
//!
//! let entry = r#"{
//!     "issuer": "https://hooks.sender.com",
//!     "tenant_id": "tnt_01m8rda4m0040g2081040gr1d7",
//!     "environment": "live",
//!     "subscription_id": "sub_01m8rdn4600c1g60r30c1gbnk4",
//!     "generation": 1,
//!     "profile": "hookproof.delivery.v1",
//!     "public_url": "https://hooks.customer.com/in/billing",
//!     "keys": [{ "key_id": "MzMzMzMzMzMzMzMzMzMzMw", "alg": "hmac-sha256" }],
//!     "secret": "IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiI",
//!     "receipts": { "url": "https://receipts.sender.com/receipts", "key": { "alg": "hmac-sha256" } }
//! }"#;
//! let subscriber = Subscriber::from_json(entry)?;
//! let now = Timestamp::from_unix(1_796_119_323);
//!
//! // What a sender would send; in production it comes over HTTP.
//! let body = br#"{"id":"evt_1","type":"invoice.paid","created":"2026-12-01T10:02:03.000Z","api_version":"2026-01","data":{}}"#;
//! let sent = Sender::hmac(&subscriber)?.delivery(body, 1, now)?;
//!
//! let request = Request::new("POST", "/in/billing", sent.headers(), body);
//! let Message::Delivery(delivery) = subscriber.receive(&request, now)? else { panic!("no delivery") };
//! assert_eq!(delivery.event_id(), "evt_1");
//!
//! // Store it, answer 200, apply it, and then confirm.
//! let receipt = subscriber.receipt(&delivery, ReceiptResult::Applied, "ledger-entry-5521", now)?;
//! assert_eq!(receipt.url(), "https://receipts.sender.com/receipts");
//! # Ok::<(), hookproof_verify::Failure>(())
//! ```
//!
//! # Why not
//!
//! ```
//! # use hookproof_verify::{Request, Sender, Subscriber, Timestamp};
//! # let entry = r#"{"issuer":"https://hooks.sender.com","tenant_id":"tnt_01m8rda4m0040g2081040gr1d7",
//! #     "environment":"live","subscription_id":"sub_01m8rdn4600c1g60r30c1gbnk4","generation":1,
//! #     "profile":"hookproof.delivery.v1","public_url":"https://hooks.customer.com/in/billing",
//! #     "keys":[{"key_id":"MzMzMzMzMzMzMzMzMzMzMw","alg":"hmac-sha256"}],
//! #     "secret":"IiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiIiI"}"#;
//! # let subscriber = Subscriber::from_json(entry)?;
//! # let now = Timestamp::from_unix(1_796_119_323);
//! # let body = br#"{"id":"evt_1","type":"invoice.paid","created":"2026-12-01T10:02:03.000Z","api_version":"2026-01","data":{}}"#;
//! # let sent = Sender::hmac(&subscriber)?.delivery(body, 1, now)?;
//! // Parsed and serialised again before it was verified: one blank more.
//! let other = br#"{"id": "evt_1","type":"invoice.paid","created":"2026-12-01T10:02:03.000Z","api_version":"2026-01","data":{}}"#;
//! let request = Request::new("POST", "/in/billing", sent.headers(), other);
//! let failure = subscriber.receive(&request, now).unwrap_err();
//! assert_eq!(failure.code(), "digest.mismatch");
//! assert!(failure.to_string().contains("re-serialised"));
//! assert_eq!(failure.wire(), "refused"); // The sender learns no more.
//! # Ok::<(), hookproof_verify::Failure>(())
//! ```
//!
//! Challenges arrive at the same URL and come out of [`Subscriber::receive`] as [`Message::Challenge`], with
//! the answer to give. Compatibility profiles are in [`compat`].

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod compat;
mod explain;
mod failure;
mod onlooker;
mod request;
mod sender;
mod subscriber;

pub use failure::Failure;
pub use hookproof_core::receipt::ReceiptResult;
pub use hookproof_core::receiver::Entry;
pub use hookproof_core::time::Timestamp;
pub use onlooker::{Onlooker, Seen};
pub use request::{Request, SignedRequest};
pub use sender::Sender;
pub use subscriber::{Delivery, Message, Subscriber};
