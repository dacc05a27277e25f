//! What a name answers decides each attempt, is kept with it, and suspends where it turns private or
//! points elsewhere.

use hookproof_ports::Resolution;

use crate::case::Case;
use crate::support::Setup;

fn addresses(list: &[&str]) -> Vec<std::net::IpAddr> {
    list.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn each_attempt_keeps_the_addresses_it_was_vetted_for() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    case.run(std::slice::from_ref(&fresh));
    let settled = &case.world.delivery(&case.party, &case.id(&fresh))["attempts"][0]["settled"];
    assert_eq!(settled["lookup"], serde_json::json!({ "addresses": ["1.1.1.1"] }));

    let failing = case.publish("evt-2", 10);
    *case.dns.0.borrow_mut() = Resolution::Failed;
    case.run(std::slice::from_ref(&failing));
    let settled = &case.world.delivery(&case.party, &case.id(&failing))["attempts"][0]["settled"];
    assert_eq!(settled["lookup"], serde_json::json!({ "detail": "dns_unresolved" }));
    assert_eq!((case.standing(&failing).0, case.endpoint.got().len()), ("RETRYABLE".into(), 1));
}

#[test]
fn a_name_that_turns_private_is_refused_and_its_subscription_suspended() {
    for (answer, code) in [(vec!["10.0.0.1"], "dns_private"), (vec!["1.1.1.1", "127.0.0.1"], "dns_mixed")] {
        let case = Case::new(Setup::default());
        let (one, two, three) =
            (case.publish("evt-1", 10), case.publish("evt-2", 10), case.publish("evt-3", 10));
        case.run(&[one]);
        *case.dns.0.borrow_mut() = Resolution::Addresses(addresses(&answer));
        case.run(std::slice::from_ref(&two));
        assert_eq!(case.standing(&two), ("DEAD_LETTER".into(), Some("endpoint.refused".into())));
        let settled = &case.world.delivery(&case.party, &case.id(&two))["attempts"][0]["settled"];
        assert_eq!(settled["lookup"]["detail"], code);
        let view = case.world.view(&case.party);
        assert_eq!(
            (&view["state"], &view["generations"][0]["reason"]),
            (&"SUSPENDED".into(), &"dns_private".into())
        );
        // Back to what it was: nothing is sent until somebody has looked.
        *case.dns.0.borrow_mut() = Resolution::Addresses(addresses(&["1.1.1.1"]));
        case.run(std::slice::from_ref(&three));
        assert_eq!((case.standing(&three).0.as_str(), case.endpoint.got().len()), ("PLANNED", 1));
    }
}

#[test]
fn a_name_that_points_elsewhere_is_sent_to_once_and_then_suspended() {
    let case = Case::new(Setup::default());
    let (one, two, three) = (case.publish("evt-1", 10), case.publish("evt-2", 10), case.publish("evt-3", 10));
    case.run(&[one]);
    *case.dns.0.borrow_mut() = Resolution::Beforehand(addresses(&["8.8.8.8", "8.8.4.4"]));
    case.run(std::slice::from_ref(&two));
    assert_eq!(case.standing(&two).0, "ENDPOINT_ACCEPTED", "what came of the attempt stands");
    let settled = &case.world.delivery(&case.party, &case.id(&two))["attempts"][0]["settled"];
    assert_eq!(settled["assurance"], "PREFLIGHT", "the host looks the name up again");
    let view = case.world.view(&case.party);
    assert_eq!(
        (&view["state"], &view["generations"][0]["reason"]),
        (&"PENDING_CHALLENGE".into(), &"dns_changed".into())
    );
    case.run(std::slice::from_ref(&three));
    assert_eq!((case.standing(&three).0.as_str(), case.endpoint.got().len()), ("PLANNED", 2));
}

#[test]
fn an_answer_that_nobody_could_judge_is_none() {
    let case = Case::new(Setup::default());
    let fresh = case.publish("evt-1", 10);
    let many = (0..65).map(|n| [1, 1, 1, n].into()).collect();
    *case.dns.0.borrow_mut() = Resolution::Addresses(many);
    case.run(std::slice::from_ref(&fresh));
    assert_eq!((case.standing(&fresh).0.as_str(), case.endpoint.got().len()), ("RETRYABLE", 0));
}
