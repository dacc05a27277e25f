//! The five Workers on the real runtime, over real HTTP: what must happen, and what must never.
//!
//! One stack serves all facts, one after the other; each fact brings its own tenant, subscription and
//! endpoint. The harness is our own, because the processes it starts have to end with it.
#![expect(clippy::disallowed_methods, reason = "a test reads the clock")]

mod attempts;
mod challenges;
mod crashes;
mod directory;
mod dns;
mod filters;
mod generations;
mod intake;
mod names;
mod parts;
mod path;
mod publishing;
mod queues;
mod receipts;
mod secrecy;
mod subscriber;
mod tenancy;
mod world;

use anyhow::Result;
use libtest_mimic::{Arguments, Failed, Trial};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use world::World;

/// A name and what it promises.
type Fact = (&'static str, fn(&World) -> Result<()>);

macro_rules! facts {
    ($($module:ident :: $name:ident,)*) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), $module::$name)),*]
    };
}

/// In the order in which they run: what kills or restarts hosts comes late, what reads all logs last.
const FACTS: &[Fact] = facts![
    path::one_event_goes_from_post_to_application_confirmed,
    path::an_hmac_subscription_is_confirmed_as_mutual,
    path::without_a_receipt_contract_the_application_tier_is_unobservable,
    challenges::an_endpoint_that_proves_nothing_is_asked_three_times_and_never_sent_to,
    challenges::an_endpoint_that_answers_the_decoy_is_no_verifier,
    challenges::an_endpoint_that_guesses_the_probes_is_no_verifier,
    challenges::another_subscriptions_valid_answer_activates_nothing,
    challenges::a_challenge_relayed_to_a_genuine_subscriber_activates_nothing,
    attempts::a_500_is_retried_with_the_same_delivery_and_bytes_and_another_signature,
    attempts::a_redirect_is_a_dead_letter_and_its_location_is_never_asked,
    attempts::every_definite_status_has_its_consequence,
    attempts::an_endpoint_that_does_not_answer_in_time_is_unknown_transport,
    dns::an_endpoint_that_resolves_to_what_is_not_public_is_never_challenged,
    dns::a_name_that_turns_private_gets_no_byte_and_is_suspended,
    dns::a_name_that_points_elsewhere_is_suspended_after_the_attempt,
    generations::each_generation_is_sent_to_its_own_endpoint,
    generations::a_revocation_in_the_middle_of_a_send_is_final,
    generations::a_pause_holds_what_comes_and_a_resume_lets_it_flow_after_a_challenge,
    intake::a_tampered_request_is_refused_and_a_replayed_one_is_a_duplicate,
    intake::an_expired_signature_is_outside_the_window,
    intake::other_bytes_under_a_known_id_are_quarantined,
    queues::five_copies_of_a_message_make_one_attempt,
    queues::forged_bytes_in_a_message_are_not_sent,
    queues::a_message_that_no_worker_understands_holds_nothing_up,
    queues::a_lost_message_is_repaired_by_the_events_own_timer,
    directory::a_pinned_key_verifies_the_key_document_also_from_its_copy,
    directory::the_issuers_keys_are_public_and_made_up_ids_are_unknown,
    tenancy::another_tenants_ids_do_not_exist,
    tenancy::a_token_opens_its_scopes_only,
    tenancy::bad_input_names_its_field_and_stores_nothing,
    publishing::the_same_again_is_a_duplicate_and_other_content_a_conflict,
    publishing::every_octet_of_data_arrives_as_it_was_written,
    filters::only_what_the_filter_lets_through_is_delivered,
    filters::a_message_that_names_no_filter_is_matched_where_it_arrives,
    filters::an_event_is_held_to_the_schema_of_its_type_and_version,
    receipts::a_receipt_counts_once_and_a_contradiction_is_kept_apart,
    receipts::a_receipt_without_the_key_changes_nothing_and_learns_nothing,
    receipts::a_rejection_is_never_a_confirmation,
    crashes::a_worker_killed_between_claim_and_settle_leaves_an_unknown_that_is_retried,
    crashes::a_timer_does_its_work_although_it_fires_first_after_a_restart,
    crashes::a_receipt_is_taken_although_it_comes_first_after_a_restart,
    crashes::everything_survives_a_restart_of_all_hosts,
    secrecy::no_secret_is_in_any_log_or_answer_or_at_rest_in_the_clear,
];

/// The stack starts with the first fact that runs.
type Shared = Arc<OnceLock<Result<World, String>>>;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // They share one stack, and some of them kill parts of it.
    arguments.test_threads = Some(1);
    let shared = Shared::default();
    let times = Arc::new(Mutex::new(Vec::new()));
    let trial = |&(name, fact): &Fact| {
        let (shared, times) = (Arc::clone(&shared), Arc::clone(&times));
        Trial::test(name, move || {
            let world = shared.get_or_init(|| World::start().map_err(|error| format!("{error:#}")));
            let started = Instant::now();
            let outcome = world.as_ref().map_err(Failed::from).and_then(|world| judge(world, fact));
            times.lock().unwrap_or_else(PoisonError::into_inner).push((name, started.elapsed()));
            outcome
        })
    };
    let conclusion = libtest_mimic::run(&arguments, FACTS.iter().map(trial).collect());
    let times = times.lock().unwrap_or_else(PoisonError::into_inner);
    print_times(&times);
    if let Some(Ok(world)) = shared.get() {
        world.end(conclusion.num_failed == 0);
    }
    conclusion.exit_code()
}

fn judge(world: &World, fact: fn(&World) -> Result<()>) -> Result<(), Failed> {
    let mark = world.mark();
    let outcome = catch_unwind(AssertUnwindSafe(|| fact(world)));
    let problem = match outcome {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) => format!("{error:#}"),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked").to_owned()
        }
    };
    let logs = world.since(&mark);
    let mended =
        world.mend().map_or_else(|error| format!("\nAnd the stack is broken: {error:#}"), |()| String::new());
    Err(Failed::from(format!("{problem}\n{logs}{mended}")))
}

fn print_times(times: &[(&str, Duration)]) {
    for (name, took) in times {
        println!("{:>7.1} s  {name}", took.as_secs_f32());
    }
}
