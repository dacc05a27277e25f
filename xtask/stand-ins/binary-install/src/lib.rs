//! Nothing: `worker-build` declares this crate and calls none of it. The real one brings a second HTTP client,
//! TLS and archive formats.
