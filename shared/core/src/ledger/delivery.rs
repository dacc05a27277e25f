//! One event to one subscription: its states and the only ways between them.

use serde::{Deserialize, Serialize};

use super::HOLD_LIMIT;
use super::outcome::{Outcome, Verdict};
use super::receipt::Application;
use super::state::{Basis, Lease, State};
use crate::digest::Digest;
use crate::endpoint::{EgressAssurance, Lookup};
use crate::id::{DeliveryId, EventId, Generation};
use crate::keys::KeyGeneration;
use crate::reason::Reason;
use crate::retry::{After, Policy, Round};
use crate::subscription::Admitted;
use crate::time::{Span, Timestamp};

/// Wait after an attempt that was given back: long enough not to spin on what cannot be sent now.
const RELEASE_WAIT: Span = Span::seconds(5);

/// The frozen bytes, by digest and length; the bytes themselves stay with the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Payload {
    /// SHA-256 of the envelope.
    pub digest: Digest,
    /// Its length in octets.
    pub length: u64,
}

/// One attempt, recorded before it was sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attempt {
    /// Counts on through rounds and replays.
    pub number: u32,
    /// When it was claimed and signed.
    pub claimed_at: Timestamp,
    /// The key that signed it.
    pub key_id: String,
    /// That key's generation.
    pub key_generation: KeyGeneration,
    /// SHA-256 of the signature octets; a receipt names it.
    pub signature_digest: Digest,
    /// Its lease token.
    pub lease_token: String,
    /// What came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settled: Option<Settled>,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Settled {
    /// When it was settled.
    pub at: Timestamp,
    /// What the transport saw.
    pub outcome: Outcome,
    /// Why it failed, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// How sure the address was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assurance: Option<EgressAssurance>,
    /// What the lookup for it gave.
    #[serde(default, skip_serializing_if = "Lookup::is_empty")]
    pub lookup: Lookup,
    /// It came after the lease had run out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub late: bool,
}

/// A delivery as the authority keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// f(subscription, event).
    pub id: DeliveryId,
    /// The event.
    pub event: EventId,
    /// Its type.
    pub event_type: String,
    /// When the event was accepted.
    pub accepted_at: Timestamp,
    /// The generation it was planned under, for good.
    pub generation: Generation,
    /// Its bytes.
    pub payload: Payload,
    /// Attempts made, all rounds together.
    pub attempt: u32,
    /// The current round.
    pub round: Round,
    /// Every attempt.
    pub attempts: Vec<Attempt>,
    /// What the subscriber's receipt said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub application: Option<Application>,
    /// Since when it has been held; that time counts to no deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_since: Option<Timestamp>,
    /// How far it got.
    pub state: State,
    /// When something is to be done next: an attempt, or the end of a lease or of a hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<Timestamp>,
}

/// What a claim fixes before anything is sent.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The lease.
    pub lease: Lease,
    /// The key that signed.
    pub key_id: String,
    /// Its generation.
    pub key_generation: KeyGeneration,
    /// SHA-256 of the signature octets.
    pub signature_digest: Digest,
}

impl Delivery {
    /// A new delivery, due after the policy's first wait.
    #[must_use]
    pub fn plan(
        identity: (DeliveryId, EventId, String),
        accepted_at: Timestamp,
        generation: Generation,
        payload: Payload,
        policy: &Policy,
    ) -> Self {
        let (id, event, event_type) = identity;
        Self {
            id,
            event,
            event_type,
            accepted_at,
            generation,
            payload,
            attempt: 0,
            round: Round::FIRST,
            attempts: Vec::new(),
            application: None,
            held_since: None,
            state: State::Planned,
            due: Some(policy.first(accepted_at)),
        }
    }

    /// Whether an attempt may be claimed at `now`.
    pub fn is_claimable(&self, now: Timestamp) -> bool {
        let waiting =
            matches!(self.state, State::Planned | State::Retryable | State::UnknownTransport { .. });
        waiting && self.due.is_some_and(|due| due <= now)
    }

    /// Planned, RETRYABLE or UNKNOWN_TRANSPORT → DISPATCHING. `_admitted` shows that the generation may be sent to.
    pub fn claim(mut self, _admitted: &Admitted, claim: Claim, now: Timestamp) -> Result<Self, Reason> {
        if !self.is_claimable(now) {
            return Err(Reason::StateForbids);
        }
        self.attempt += 1;
        self.round.attempts += 1;
        let held = self.held_since.take().map_or(Span::ZERO, |since| now - since);
        self.round.started_at = self.round.started_at.map(|at| at + held).or(Some(now));
        self.due = Some(claim.lease.until);
        self.attempts.push(Attempt {
            number: self.attempt,
            claimed_at: now,
            key_id: claim.key_id,
            key_generation: claim.key_generation,
            signature_digest: claim.signature_digest,
            lease_token: claim.lease.token.clone(),
            settled: None,
        });
        self.state = State::Dispatching { lease: claim.lease };
        Ok(self)
    }

    /// Records what came of `attempt` and moves on where its lease is the current one.
    ///
    /// A late settle is recorded on its attempt; only a complete 2xx still moves an UNKNOWN_TRANSPORT
    /// delivery that has not been claimed again. Settling twice changes nothing.
    pub fn settle(
        mut self,
        attempt: u32,
        token: &str,
        settled: Settled,
        policy: &Policy,
        jitter: u8,
    ) -> Result<Self, Reason> {
        let (now, verdict) = (settled.at, settled.outcome.verdict());
        let current = matches!(&self.state, State::Dispatching { lease } if lease.token == token);
        let unclaimed = matches!(self.state, State::UnknownTransport { .. }) && attempt == self.attempt;
        let record = self.attempts.iter_mut().find(|a| a.number == attempt).ok_or(Reason::LeaseStale)?;
        if record.lease_token != token {
            return Err(Reason::LeaseStale);
        }
        let lost = record.settled.as_ref().is_some_and(|s| s.reason == Some(Reason::TransportWorkerLost));
        if record.settled.is_some() && !lost {
            return Ok(self);
        }
        let reason = match verdict {
            Verdict::Retry(reason, _) | Verdict::Dead(reason) => Some(reason),
            Verdict::Unknown => Some(Reason::TransportUnknown),
            Verdict::Accepted | Verdict::Released => None,
        };
        record.settled = Some(Settled { reason, late: !current, ..settled });
        if current || (unclaimed && verdict == Verdict::Accepted) {
            self.advance(verdict, policy, now, jitter);
        }
        Ok(self)
    }

    fn advance(&mut self, verdict: Verdict, policy: &Policy, now: Timestamp, jitter: u8) {
        match verdict {
            Verdict::Accepted => {
                self.state = State::EndpointAccepted { at: now, basis: Basis::Http2xx };
                self.due = None;
            }
            Verdict::Retry(_, wish) => {
                self.wait(State::Retryable, After::Definite(wish), policy, now, jitter)
            }
            Verdict::Unknown => {
                self.wait(State::UnknownTransport { since: now }, After::Unknown, policy, now, jitter);
            }
            Verdict::Dead(reason) => self.bury(reason, now),
            Verdict::Released => self.release(policy, now),
        }
    }

    /// Nothing was sent: the attempt does not count, but the round's deadline does, so that a delivery that
    /// can never be sent comes to an end.
    fn release(&mut self, policy: &Policy, now: Timestamp) {
        self.round.attempts = self.round.attempts.saturating_sub(1);
        let ends = self.round.started_at.map(|started| started + policy.deadline);
        if ends.is_some_and(|ends| ends <= now + RELEASE_WAIT) {
            return self.bury(Reason::DeadlineExhausted, now);
        }
        self.state = State::Retryable;
        self.due = Some(now + RELEASE_WAIT);
    }

    fn wait(&mut self, state: State, after: After, policy: &Policy, now: Timestamp, jitter: u8) {
        match policy.next(&self.round, after, now, jitter) {
            Some(due) => {
                self.state = state;
                self.due = Some(due);
            }
            None => self.bury(Reason::DeadlineExhausted, now),
        }
    }

    /// DISPATCHING whose lease ran out → UNKNOWN_TRANSPORT: the worker was lost, the request maybe sent.
    #[must_use]
    pub fn expire_lease(mut self, policy: &Policy, now: Timestamp, jitter: u8) -> Self {
        let expired = matches!(&self.state, State::Dispatching { lease } if lease.until <= now);
        if !expired {
            return self;
        }
        if let Some(record) = self.attempts.last_mut() {
            let reason = Some(Reason::TransportWorkerLost);
            record.settled.get_or_insert_with(|| Settled {
                at: now,
                outcome: Outcome::Unknown,
                reason,
                assurance: None,
                lookup: Lookup::default(),
                late: true,
            });
        }
        self.wait(State::UnknownTransport { since: now }, After::Unknown, policy, now, jitter);
        self
    }

    /// Not to be sent while its generation is suspended: waits for it, until the hold limit. It is held from
    /// when it was due, however late that is noticed.
    #[must_use]
    pub fn hold(mut self, now: Timestamp) -> Self {
        let since = self.due.map_or(now, |due| due.min(now));
        let limit = *self.held_since.get_or_insert(since) + HOLD_LIMIT;
        if limit <= now {
            self.bury(Reason::HoldLimit, now);
        } else {
            self.due = Some(limit);
        }
        self
    }

    /// PLANNED, RETRYABLE, UNKNOWN_TRANSPORT → DEAD_LETTER without an attempt.
    pub fn dead_letter(mut self, reason: Reason, now: Timestamp) -> Result<Self, Reason> {
        match self.state {
            State::Planned | State::Retryable | State::UnknownTransport { .. } => {
                self.bury(reason, now);
                Ok(self)
            }
            State::Dispatching { .. }
            | State::EndpointAccepted { .. }
            | State::ApplicationConfirmed { .. }
            | State::DeadLetter { .. } => Err(Reason::StateForbids),
        }
    }

    fn bury(&mut self, reason: Reason, now: Timestamp) {
        self.held_since = None;
        self.state = State::DeadLetter { at: now, reason };
        self.due = None;
    }
}
