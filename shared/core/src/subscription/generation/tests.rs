use super::*;
use crate::challenge::Proved;
use proptest::prelude::*;

/// Every way there is between states, and none other.
const WAYS: &[(&str, &str)] = &[
    ("PENDING_CHALLENGE", "ACTIVE"),
    ("ACTIVE", "ROTATING"),
    ("ROTATING", "ACTIVE"),
    ("ACTIVE", "SUSPENDED"),
    ("ROTATING", "SUSPENDED"),
    ("SUSPENDED", "PENDING_CHALLENGE"),
    ("ACTIVE", "DRAINING"),
    ("ROTATING", "DRAINING"),
    ("SUSPENDED", "DRAINING"),
    ("PENDING_CHALLENGE", "DRAINING"),
    ("ACTIVE", "CLOSED"),
    ("ROTATING", "CLOSED"),
    ("SUSPENDED", "CLOSED"),
    ("PENDING_CHALLENGE", "CLOSED"),
    ("DRAINING", "CLOSED"),
    ("PENDING_CHALLENGE", "REVOKED"),
    ("ACTIVE", "REVOKED"),
    ("ROTATING", "REVOKED"),
    ("SUSPENDED", "REVOKED"),
    ("DRAINING", "REVOKED"),
    ("PENDING_CHALLENGE", "EXPIRED"),
    ("ACTIVE", "EXPIRED"),
    ("ROTATING", "EXPIRED"),
    ("SUSPENDED", "EXPIRED"),
    ("DRAINING", "EXPIRED"),
];

#[derive(Clone, Copy, Debug)]
enum Step {
    Activate,
    BeginRotation,
    EndRotation,
    Suspend(SuspendReason),
    Reactivate { recovered: bool },
    Supersede { drain: bool },
    EndDrain,
    Revoke { drain: bool },
    Expire { drain: bool },
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_unix(seconds)
}

fn steps() -> Vec<Step> {
    let mut all = vec![Step::Activate, Step::BeginRotation, Step::EndRotation, Step::EndDrain];
    all.extend(SuspendReason::ALL.map(Step::Suspend));
    for flag in [false, true] {
        all.push(Step::Reactivate { recovered: flag });
        all.push(Step::Supersede { drain: flag });
        all.push(Step::Revoke { drain: flag });
        all.push(Step::Expire { drain: flag });
    }
    all
}

fn take(state: GenerationState, step: Step, now: Timestamp) -> Result<GenerationState, Reason> {
    let until = |drain: bool| drain.then(|| at(1000));
    match step {
        Step::Activate => state.activate(Proved::for_tests(), now),
        Step::BeginRotation => state.begin_rotation(),
        Step::EndRotation => state.end_rotation(),
        Step::Suspend(reason) => state.suspend(reason, now),
        Step::Reactivate { recovered } => state.reactivate(recovered),
        Step::Supersede { drain } => state.supersede(until(drain), now),
        Step::EndDrain => state.end_drain(now),
        Step::Revoke { drain } => state.revoke(until(drain), now),
        Step::Expire { drain } => state.expire(until(drain), now),
    }
}

fn states() -> Vec<GenerationState> {
    let mut all = vec![
        GenerationState::STAGED,
        GenerationState::Active { activated_at: at(1) },
        GenerationState::Rotating { activated_at: at(1) },
        GenerationState::Draining { until: at(9) },
        GenerationState::Closed { at: at(1) },
    ];
    for reason in SuspendReason::ALL {
        all.push(GenerationState::Suspended { at: at(1), reason });
        all.push(GenerationState::PendingChallenge { after: Some(reason) });
    }
    for drain_until in [None, Some(at(9))] {
        all.push(GenerationState::Revoked { at: at(1), drain_until });
        all.push(GenerationState::Expired { at: at(1), drain_until });
    }
    all
}

#[test]
fn the_ways_are_the_table_and_none_other() {
    let mut seen = std::collections::BTreeSet::new();
    for state in states() {
        for step in steps() {
            let Ok(next) = take(state.clone(), step, at(2)) else { continue };
            if next.name() != state.name() {
                assert!(WAYS.contains(&(state.name(), next.name())), "{state:?} by {step:?} is {next:?}");
                seen.insert((state.name(), next.name()));
            } else {
                // A step that stays may only sharpen why something is suspended, or end its draining.
                let sharpened = matches!(step, Step::Suspend(_)) && state.suspension().is_some();
                let drained = matches!(step, Step::EndDrain) && next.drains_until().is_none();
                assert!(next == state || sharpened || drained, "{state:?} by {step:?} is {next:?}");
            }
        }
    }
    assert_eq!(seen.len(), WAYS.len(), "every way of the table can be gone");
}

#[test]
fn terminal_states_never_change() {
    for state in states().into_iter().filter(GenerationState::is_terminal) {
        for step in steps() {
            match take(state.clone(), step, at(2)) {
                Ok(drained) if matches!(step, Step::EndDrain) => {
                    assert_eq!((drained.name(), drained.drains_until()), (state.name(), None));
                }
                Ok(same) => assert_eq!(same, state, "{step:?}"),
                Err(reason) => assert_ne!(reason, Reason::StateForbids, "an end says which it is"),
            }
        }
    }
}

#[test]
fn only_recovery_leads_back_from_a_compromise() {
    for reason in SuspendReason::ALL {
        let suspended = GenerationState::Suspended { at: at(1), reason };
        let back = Ok(GenerationState::PendingChallenge { after: Some(reason) });
        let plain = match reason {
            SuspendReason::Compromised
            | SuspendReason::OwnershipChanged
            | SuspendReason::CertificateChanged => Err(Reason::RecoveryRequired),
            SuspendReason::OwnerChanged => Err(Reason::StateForbids),
            SuspendReason::ClockSkew
            | SuspendReason::DnsChanged
            | SuspendReason::DnsPrivate
            | SuspendReason::EndpointGone
            | SuspendReason::HealthLimit
            | SuspendReason::Operator
            | SuspendReason::RecheckFailed => back.clone(),
        };
        assert_eq!(suspended.clone().reactivate(false), plain);
        let recovered = if reason == SuspendReason::OwnerChanged { plain } else { back };
        assert_eq!(suspended.reactivate(true), recovered);
    }
}

#[test]
fn an_unsafe_generation_is_never_drained() {
    for reason in SuspendReason::ALL.into_iter().filter(|reason| reason.forces_quarantine()) {
        for state in [
            GenerationState::Suspended { at: at(1), reason },
            GenerationState::PendingChallenge { after: Some(reason) },
        ] {
            let until = Some(at(1000));
            for ended in [state.clone().supersede(until, at(2)), state.clone().revoke(until, at(2))] {
                assert_eq!(ended.unwrap().drains_until(), None, "{state:?}");
            }
            assert_eq!(state.expire(until, at(2)).unwrap().drains_until(), None);
        }
    }
}

#[test]
fn a_graver_reason_replaces_a_lighter_one_and_never_the_other_way() {
    let suspended = |reason| GenerationState::Suspended { at: at(1), reason };
    let graver = suspended(SuspendReason::Operator).suspend(SuspendReason::Compromised, at(2)).unwrap();
    assert_eq!(graver, suspended(SuspendReason::Compromised));
    assert_eq!(graver.clone().suspend(SuspendReason::Operator, at(3)), Ok(graver));
}

#[test]
fn json_keeps_every_state() {
    for state in states() {
        let text = serde_json::to_string(&state).unwrap();
        assert_eq!(serde_json::from_str::<GenerationState>(&text).unwrap(), state, "{text}");
    }
    for text in ["{\"state\":\"ACTIVE\"}", "{\"state\":\"SUSPENDED\",\"at\":\"2027-01-15T08:00:00.000Z\"}"] {
        assert!(serde_json::from_str::<GenerationState>(text).is_err(), "{text}");
    }
}

#[test]
fn every_reason_is_spelled_as_it_is_stored() {
    for reason in SuspendReason::ALL {
        assert_eq!(serde_json::to_string(&reason).unwrap(), format!("\"{}\"", reason.name()));
    }
}

fn record() -> GenerationRecord {
    GenerationRecord::staged(Generation::FIRST, crate::subscription::terms::sample(), at(0))
}

proptest! {
    #[test]
    fn the_serving_interval_begins_once_and_ends_once(path in prop::collection::vec(0usize..24, 0..40)) {
        let all = steps();
        let mut it = record();
        let mut bounds = (None, None);
        for (second, choice) in (1i64..).zip(path) {
            let Ok(next) = take(it.state.clone(), all[choice % all.len()], at(second)) else { continue };
            it.move_to(next, at(second));
            prop_assert!(bounds.0.is_none() || bounds.0 == it.served_from, "its beginning never moves");
            prop_assert!(bounds.1.is_none() || bounds.1 == it.served_until, "nor does its end");
            bounds = (it.served_from, it.served_until);
            prop_assert_eq!(it.state.serves(), bounds.0.is_some() && bounds.1.is_none());
            prop_assert!(it.served_at(at(second)) == it.state.serves());
        }
    }
}
