//! Messages through the built command: the wire's vectors verify, what `sign` prints `verify` takes, every
//! refusal has its reason, and no secret is ever shown.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail like the test")]

#[expect(unreachable_pub, reason = "shared by several tests")]
mod support;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use support::{Run, command, run};

const CHALLENGE: &str = include_str!("../../tests/vectors/data/wire/challenge.v1.json");
const DELIVERY: &str = include_str!("../../tests/vectors/data/wire/delivery.v1.json");
const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const OTHER: &str = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD";
const PRIVATE: &str =
    "whsk_6Xb/dCcHpPea21PS1N9VY/NZW723CEc77N4rJCubMbfVKIDij2HKpMKkioLlX0dRqSKJp4AJ6p9lMicMFs6Kvg==";
const PUBLIC: &str = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=";

/// A folder of one test's own.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file and gives its path.
    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value[field].as_str().unwrap()
}

fn cases(file: &str) -> Vec<Value> {
    serde_json::from_value(serde_json::from_str::<Value>(file).unwrap()["cases"].take()).unwrap()
}

/// Entry, headers and body of a vector, as files.
fn files(folder: &Folder, case: &Value) -> [String; 3] {
    let (input, expected) = (&case["input"], &case["expected"]);
    let mut entry = input["scope"].clone();
    if let Some(seed) = input["subscriber_key"]["seed"].as_str() {
        let url = "https://receipts.sender.com/receipts";
        entry["receipts"] = json!({ "url": url, "key": { "alg": "ed25519", "seed": seed } });
    }
    entry["profile"] = input["profile"].clone();
    entry["public_url"] = input["endpoint"].clone();
    entry["secret"] = input["secret"].clone();
    let alg = &input["signing_key"]["alg"];
    entry["keys"] =
        json!([{ "key_id": expected["key_id"], "alg": alg, "public_key": expected["public_key"] }]);
    let headers: Vec<(String, String)> = serde_json::from_value(expected["headers"].clone()).unwrap();
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    [
        format!("file:{}", folder.file("entry.json", entry.to_string())),
        folder.file("headers.txt", headers),
        folder.file("body", text(expected, "body")),
    ]
}

fn verify(files: &[String; 3], more: &[&str]) -> Run {
    let [entry, headers, body] = files;
    let base = ["verify", "--json", "--entry", entry, "--headers", headers, "--body", body];
    run(&[&base[..], more].concat())
}

fn with_env(arguments: &[&str], variables: &[(&str, &str)]) -> Run {
    let mut command: Command = command(arguments);
    let output = command.envs(variables.iter().copied()).stdin(Stdio::null()).output().unwrap();
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

#[test]
fn the_wires_deliveries_verify() {
    for (case, folder) in cases(DELIVERY).iter().zip(["delivery-ed25519", "delivery-hmac"]) {
        let files = files(&Folder::new(folder), case);
        let (input, expected) = (&case["input"], &case["expected"]);
        let verified = verify(&files, &["--now", text(input, "claimed_at"), "--target", "/in/billing"]);
        assert_eq!(verified.code, Some(0), "{}{}", verified.stdout, verified.stderr);
        let got = &verified.objects()[0];
        assert_eq!((&got["verdict"], &got["kind"]), (&json!("accepted"), &json!("delivery")));
        assert_eq!((&got["event_id"], &got["key"]), (&input["event"]["id"], &expected["key_id"]));
        assert_eq!((&got["delivery_id"], &got["attempt"]), (&expected["delivery_id"], &input["attempt"]));
    }
}

#[test]
fn a_delivery_verifies_with_the_public_key_alone() {
    let case = cases(DELIVERY).remove(0);
    let [_, headers, body] = files(&Folder::new("onlooker"), &case);
    let (input, expected) = (&case["input"], &case["expected"]);
    let base =
        ["verify", "--json", "--headers", &headers, "--body", &body, "--now", text(input, "claimed_at")];
    let key = ["--public-key", text(expected, "public_key")];
    let verify = |more: &[&str]| run(&[&base[..], &key, more].concat());
    let seen = verify(&["--target", text(input, "endpoint")]);
    assert_eq!((seen.code, &seen.objects()[0]["event_id"]), (Some(0), &input["event"]["id"]));
    let elsewhere = verify(&["--target", "https://hooks.other.com/in/billing"]);
    assert_eq!((elsewhere.code, &elsewhere.objects()[0]["reason"]), (Some(1), &json!("signature.wrong")));
    assert_eq!(verify(&[]).code, Some(2));
}

#[test]
fn json_has_its_fields_in_order_and_a_refusal_its_reason() {
    let case = cases(DELIVERY).remove(0);
    let mut files = files(&Folder::new("refusals"), &case);
    let late = verify(&files, &["--now", "1796119735"]);
    assert_eq!(
        (late.code, late.stdout.as_str()),
        (
            Some(1),
            concat!(
                r#"{"profile":"hookproof.delivery.v1","verdict":"refused","reason":"timestamp.too_old","#,
                r#""detail":"timestamp 412 s old; it was good for 300 s and ended 112 s ago","kind":null,"#,
                r#""event_id":null,"delivery_id":null,"attempt":null,"key":null,"signed_at":null}"#,
                "\n"
            )
        )
    );
    let now = text(&case["input"], "claimed_at");
    let reason = |files: &[String; 3], more: &[&str]| {
        let run = verify(files, &[&["--now", now], more].concat());
        assert_eq!(run.code, Some(1));
        text(&run.objects()[0], "reason").to_owned()
    };
    assert_eq!(reason(&files, &["--target", "/other"]), "target.mismatch");
    assert_eq!(reason(&files, &["--method", "PUT"]), "method.not_post");
    files[2] = Folder::new("refusals").file("changed", format!("{}\n", text(&case["expected"], "body")));
    assert_eq!(reason(&files, &[]), "digest.mismatch");
}

#[test]
fn a_challenge_gets_the_wires_answer_and_a_decoy_none() {
    for (case, folder) in cases(CHALLENGE).iter().zip(["challenge-ed25519", "challenge-hmac"]) {
        let (input, expected) = (&case["input"], &case["expected"]);
        let folder = Folder::new(folder);
        let [entry, headers, body] = files(&folder, case);
        let answer = |body: &str| {
            run(&[
                "challenge",
                "answer",
                "--entry",
                &entry,
                "--headers",
                &headers,
                "--body",
                body,
                "--now",
                text(input, "issued_at"),
            ])
        };
        let answered = answer(&body);
        assert_eq!((answered.code, answered.stdout), (Some(0), format!("{}\n", text(expected, "answer"))));
        let decoy = answer(&folder.file("decoy", text(expected, "decoy_body_for_this_nonce")));
        assert_eq!((decoy.code, decoy.stdout.as_str()), (Some(1), ""));
        assert!(decoy.stderr.starts_with("error: digest.mismatch: "), "{}", decoy.stderr);
    }
}

#[test]
fn what_sign_prints_verify_takes() {
    let folder = Folder::new("both-ways");
    let body = folder.file("body", r#"{"id":"evt_1"}"#);
    let both = [("ONE", SECRET), ("TWO", OTHER), ("PRIVATE", PRIVATE)];
    for (profile, signer, verifier, id) in [
        ("standard-webhooks.v1", "env:ONE", ["--secret", "env:ONE"], &["--id", "evt_1"][..]),
        ("standard-webhooks.v1a", "env:PRIVATE", ["--public-key", PUBLIC], &["--id", "evt_1"]),
        ("timestamped-hmac.v1", "env:ONE", ["--secret", "env:ONE"], &[]),
    ] {
        let sign = ["sign", "--profile", profile, "--secret", signer, "--body", &body, "--now", "1700000000"];
        let signed = with_env(&[&sign[..], id].concat(), &both);
        assert_eq!(signed.code, Some(0), "{profile}: {}", signed.stderr);
        let headers = folder.file("headers.txt", &signed.stdout);
        let check = |now: &str, more: &[&str]| {
            let base = ["verify", "--json", "--profile", profile, "--headers", &headers, "--body", &body];
            let run = with_env(&[&base[..], more, &["--now", now]].concat(), &both);
            (run.code, run.objects()[0].clone())
        };
        let (code, verdict) = check("1700000300", &verifier);
        assert_eq!((code, &verdict["signed_at"]), (Some(0), &json!(1_700_000_000)), "{profile}");
        assert_eq!(check("1700000301", &verifier).1["reason"], "timestamp.too_old", "{profile}");
        if profile != "standard-webhooks.v1a" {
            assert_eq!(check("1700000000", &["--secret", "env:TWO"]).1["reason"], "signature.wrong");
            let rotating = ["--secret", "env:TWO", "--secret", "env:ONE"];
            assert_eq!(check("1700000000", &rotating).1["key"], "2");
        }
    }
}

#[test]
fn a_delivery_that_was_signed_here_verifies_here() {
    let case = cases(DELIVERY).remove(0);
    let folder = Folder::new("delivery-both-ways");
    let [entry, _, body] = files(&folder, &case);
    let seed =
        format!("file:{}", folder.file("seed", format!("{}\n", text(&case["input"]["signing_key"], "seed"))));
    let at = ["--now", "1796119400"];
    let sign = ["sign", "--entry", &entry, "--seed", &seed, "--body", &body, "--attempt", "7"];
    let signed = run(&[&sign[..], &at].concat());
    assert_eq!(signed.code, Some(0), "{}", signed.stderr);
    let headers = folder.file("signed.txt", &signed.stdout);
    let verified = verify(&[entry.clone(), headers, body.clone()], &at);
    assert_eq!((verified.code, &verified.objects()[0]["attempt"]), (Some(0), &json!(7)));
    let without = run(&["sign", "--entry", &entry, "--body", &body]);
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("key.unsuitable"), "{}", without.stderr);
}

#[test]
fn an_id_that_could_hide_a_time_is_not_signed() {
    let body = Folder::new("ids").file("body", "{}");
    for id in ["a.1700000000", "1700000000"] {
        let base = ["sign", "--profile", "standard-webhooks.v1", "--secret", "env:ONE", "--body", &body];
        let signed = with_env(&[&base[..], &["--id", id]].concat(), &[("ONE", SECRET)]);
        assert_eq!((signed.code, signed.stdout.as_str()), (Some(1), ""));
        assert!(signed.stderr.contains("id.refused"), "{}", signed.stderr);
    }
}

#[test]
fn secrets_are_not_taken_from_the_command_line_and_never_shown() {
    let folder = Folder::new("secrecy");
    let (body, headers) = (folder.file("body", "{}"), folder.file("headers.txt", "webhook-id: evt_1\n"));
    let broken = folder.file("broken.json", format!("{{\"secret\":{{\"{SECRET}\":1}}}}"));
    let files = ["--headers", &headers, "--body", &body];
    let broken_entry = format!("file:{broken}");
    for (arguments, code) in [
        (&["verify", "--profile", "standard-webhooks.v1", "--secret", SECRET][..], 2),
        (&["verify", "--profile", "standard-webhooks.v1", "--secret", "env:ONE"], 1),
        (&["verify", "--profile", "standard-webhooks.v1", "--secret", "env:SHORT"], 2),
        (&["verify", "--profile", "standard-webhooks.v1a", "--public-key", "env:ONE"], 2),
        (&["verify", "--entry", &broken_entry], 2),
        (&["verify", "--entry", "env:ONE"], 2),
        (&["challenge", "answer", "--entry", "env:ONE"], 2),
    ] {
        let run = with_env(&[arguments, &files].concat(), &[("ONE", SECRET), ("SHORT", &SECRET[..24])]);
        assert_eq!(run.code, Some(code), "{arguments:?}: {}{}", run.stdout, run.stderr);
        let said = run.stdout + &run.stderr;
        assert!(!said.contains(&SECRET[6..20]), "{arguments:?}: {said}");
    }
}

#[test]
fn misuse_says_what_is_needed() {
    let folder = Folder::new("misuse");
    let (body, headers) = (folder.file("body", "{}"), folder.file("headers.txt", "no header\n"));
    let files = ["--headers", &headers, "--body", &body];
    for (arguments, hint) in [
        (&["verify"][..], "needs --entry file:PATH"),
        (&["verify", "--profile", "standard-webhooks.v1"], "needs --secret file:PATH"),
        (&["verify", "--profile", "standard-webhooks.v1a"], "needs --public-key"),
        (&["verify", "--profile", "standard-webhooks.v1", "--secret", "env:MISSING_HERE"], "MISSING_HERE"),
        (
            &["verify", "--profile", "standard-webhooks.v1", "--secret", "file:/nowhere"],
            "/nowhere cannot be read",
        ),
        (&["verify", "--profile", "standard-webhooks.v1", "--secret", "env:ONE"], "line 1 is no header"),
        (&["verify", "--profile", "v1"], "standard-webhooks.v1"),
    ] {
        let run = with_env(&[arguments, &files].concat(), &[("ONE", SECRET)]);
        assert_eq!((run.code, run.stdout.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.stderr.contains(hint), "{arguments:?}: {}", run.stderr);
    }
    let unnamed = with_env(
        &["sign", "--profile", "standard-webhooks.v1", "--secret", "env:ONE", "--body", &body],
        &[("ONE", SECRET)],
    );
    assert!(unnamed.stderr.contains("needs --id"), "{}", unnamed.stderr);
}
