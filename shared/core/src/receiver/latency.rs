//! Completion latency, measured from the signed time: nearest-rank percentiles, exact for what is given.

use serde::{Deserialize, Serialize};

use crate::time::Span;

/// A 99th percentile beyond this raises the alarm.
const LIMIT: Span = Span::minutes(3);

/// How long completed events took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Latency {
    /// Events measured.
    pub count: u64,
    /// Half of them took at most this, in milliseconds.
    pub p50_ms: i64,
    /// 95 of 100.
    pub p95_ms: i64,
    /// 99 of 100.
    pub p99_ms: i64,
    /// The 99th percentile is over three minutes.
    pub over_limit: bool,
}

impl Latency {
    /// Of these latencies in milliseconds, in any order.
    pub fn of(mut millis: Vec<i64>) -> Self {
        millis.sort_unstable();
        let rank = |percent: usize| {
            let position = (millis.len() * percent).div_ceil(100).saturating_sub(1);
            millis.get(position).copied().unwrap_or(0)
        };
        let p99_ms = rank(99);
        Self {
            count: millis.len() as u64,
            p50_ms: rank(50),
            p95_ms: rank(95),
            p99_ms,
            over_limit: p99_ms > LIMIT.as_millis(),
        }
    }
}
