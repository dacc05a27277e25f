//! What a script may rely on: exit codes, the shape of JSON, what misuse is told, and no panic when the
//! reader goes away.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

#[expect(unreachable_pub, reason = "shared by several tests")]
mod support;

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use support::{command, run, run_with};

#[test]
fn the_exit_code_says_whether_all_were_accepted() {
    for (arguments, code) in [
        (&["endpoint", "check", "https://example.com/"][..], 0),
        (&["endpoint", "check", "https://example.com/", "http://example.com/"], 1),
        (&["endpoint", "check", "https://example.com:8443/"], 1),
        (&["endpoint", "check", "--allow-8443", "https://example.com:8443/"], 0),
        (&["address", "check", "1.1.1.1", "2606:4700:4700::1111"], 0),
        (&["address", "check", "1.1.1.1", "10.0.0.1"], 1),
        (&["address", "check", "localhost"], 1),
    ] {
        assert_eq!(run(arguments).code, Some(code), "{arguments:?}");
    }
}

#[test]
fn a_resolvers_answer_is_refused_whole() {
    let check = |addresses: &[&str]| {
        let mut arguments = vec!["endpoint", "check", "--json", "https://example.com/"];
        arguments.extend(addresses.iter().flat_map(|address| ["--address", address]));
        let run = run(&arguments);
        (run.code, run.objects()[0]["reason"].clone())
    };
    assert_eq!(check(&["1.1.1.1", "2606:4700:4700::1111"]), (Some(0), serde_json::Value::Null));
    assert_eq!(check(&["1.1.1.1", "10.0.0.1"]), (Some(1), "dns_mixed".into()));
    assert_eq!(check(&["10.0.0.1"]), (Some(1), "dns_private".into()));
    assert_eq!(check(&["::ffff:1.1.1.1"]), (Some(1), "dns_private".into()));
}

#[test]
fn json_is_one_object_a_line_with_its_fields_in_order() {
    let checked = run(&["endpoint", "check", "--json", "https://EXAMPLE.com", "http://example.com/"]);
    assert_eq!(
        checked.stdout,
        concat!(
            r#"{"input":"https://EXAMPLE.com","verdict":"accepted","reason":null,"detail":null,"#,
            r#""normalised":"https://example.com/"}"#,
            "\n",
            r#"{"input":"http://example.com/","verdict":"refused","reason":"scheme_not_https","#,
            r#""detail":"The URL does not start with https:; only https is accepted.","normalised":null}"#,
            "\n",
        )
    );
    let checked = run(&["address", "check", "--json", "fe80::1"]);
    assert_eq!(
        checked.stdout,
        concat!(
            r#"{"input":"fe80::1","verdict":"refused","reason":"ipv6_link_local","#,
            r#""detail":"The address is link-local (RFC 4291); only public unicast addresses are accepted.","#,
            r#""normalised":null}"#,
            "\n",
        )
    );
}

#[test]
fn a_refusal_says_what_would_be_accepted() {
    let refused = run(&["endpoint", "check", "https://user@example.com/"]);
    assert!(refused.stdout.contains("userinfo: The URL contains a user name or password; remove"));
    let refused = run(&["address", "check", "[::1]"]);
    assert!(refused.stdout.contains("not_an_address: The text is no IP address; write four decimal numbers"));
}

#[test]
fn misuse_ends_with_2_and_says_how_to_do_it() {
    for (arguments, hint) in [
        (&[][..], "Usage: hookproof"),
        (&["endpoint"], "Usage: hookproof endpoint"),
        (&["endpoint", "check"], "<URL>..."),
        (&["endpoint", "check", "--address", "example.com", "https://example.com/"], "--address <IP>"),
        (&["endpoint", "check", "--port", "1", "https://example.com/"], "--port"),
        (&["address", "check", "-", "-"], "standard input can be read once"),
        (&["address", "check", "-"], "standard input was empty"),
        (&["endpoint", "check", "--json", "-"], "standard input was empty"),
        (&["endpiont", "check"], "endpoint"),
    ] {
        let misused = run(arguments);
        assert_eq!(misused.code, Some(2), "{arguments:?}");
        assert!(misused.stderr.contains(hint), "{arguments:?}: {}", misused.stderr);
        assert_eq!(misused.stdout, "", "{arguments:?}");
    }
}

#[test]
fn lines_are_judged_as_they_are() {
    let checked = run_with(
        &["endpoint", "check", "--json", "-"],
        b"https://example.com/\r\n\n\xff\nhttps://a.example.com/",
    );
    let codes: Vec<_> = checked.objects().iter().map(|object| object["reason"].clone()).collect();
    assert_eq!(codes, ["forbidden_char".into(), "empty".into(), "not_utf8".into(), serde_json::Value::Null]);
}

#[test]
fn standard_input_takes_its_place_among_the_arguments() {
    let checked =
        run_with(&["address", "check", "--json", "1.1.1.1", "-", "9.9.9.9"], b"10.0.0.1\n8.8.8.8\n");
    let inputs: Vec<_> = checked.objects().iter().map(|object| object["input"].clone()).collect();
    assert_eq!(inputs, ["1.1.1.1", "10.0.0.1", "8.8.8.8", "9.9.9.9"]);
}

#[test]
fn a_line_without_end_is_not_swallowed_whole() {
    let checked = run_with(&["endpoint", "check", "-"], &vec![b'a'; 2 * 1024 * 1024]);
    assert_eq!(checked.code, Some(2));
    assert!(checked.stderr.contains("longer than 1 MiB"));
}

#[test]
fn nothing_steers_the_terminal_and_nothing_is_coloured_in_a_pipe() {
    let checked = run(&["endpoint", "check", "https://example.com/\u{1b}[2J"]);
    assert!(!checked.stdout.contains('\u{1b}'), "{}", checked.stdout);
    assert!(checked.stdout.contains("\\u{1b}[2J"));
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let mut child = command(&["address", "check", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    // More than any buffer holds; the command may end in the middle of it.
    let _ = stdin.write_all(&b"1.1.1.1\n".repeat(100_000));
    drop(stdin);
    let mut complaint = String::new();
    child.stderr.take().unwrap().read_to_string(&mut complaint).unwrap();
    assert_eq!((child.wait().unwrap().code(), complaint.as_str()), (Some(141), ""));
}

#[test]
fn help_has_examples_and_the_version_is_the_workspaces() {
    let version = run(&["--version"]);
    assert_eq!(
        (version.code, version.stdout),
        (Some(0), format!("hookproof {}\n", env!("CARGO_PKG_VERSION")))
    );
    for arguments in
        [&["help"][..], &["--help"], &["help", "endpoint", "check"], &["address", "check", "--help"]]
    {
        let help = run(arguments);
        assert_eq!(help.code, Some(0), "{arguments:?}");
        assert!(help.stdout.contains("Examples:\n  hookproof "), "{arguments:?}");
        assert!(help.stdout.contains("Exit codes:"), "{arguments:?}");
    }
}
