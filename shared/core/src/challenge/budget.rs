//! How often challenges may be asked for: a challenge is a request to somebody else's server that a caller
//! can cause, so that each tenant and each registrable domain has a ration.

use serde::{Deserialize, Serialize};

use crate::time::{Span, Timestamp};

/// Requests for a challenge by one tenant in one environment in an hour.
pub const PER_TENANT: u32 = 120;

/// Requests for a challenge of endpoints under one registrable domain in an hour, all tenants together.
pub const PER_DOMAIN: u32 = 30;

/// The time a ration is for.
pub const WINDOW: Span = Span::hours(1);

/// What was used of a ration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    /// When its window began.
    pub since: Timestamp,
    /// How much was used since.
    pub used: u32,
}

impl Budget {
    /// Uses one of `limit`, in a new window where the last is over; the time from which there is more where
    /// there is none left.
    pub fn spend(before: Option<Self>, limit: u32, now: Timestamp) -> Result<Self, Timestamp> {
        match before.filter(|it| now < it.since + WINDOW) {
            None => Ok(Self { since: now, used: 1 }),
            Some(it) if it.used < limit => Ok(Self { used: it.used + 1, ..it }),
            Some(it) => Err(it.since + WINDOW),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ration_is_used_up_and_comes_back_with_the_next_window() {
        let at = Timestamp::from_unix;
        let mut budget = None;
        for used in 1..=3 {
            let spent = Budget::spend(budget, 3, at(used)).unwrap();
            assert_eq!(spent, Budget { since: at(1), used: u32::try_from(used).unwrap() });
            budget = Some(spent);
        }
        assert_eq!(Budget::spend(budget, 3, at(3600)), Err(at(3601)));
        assert_eq!(Budget::spend(budget, 3, at(3601)), Ok(Budget { since: at(3601), used: 1 }));
    }
}
