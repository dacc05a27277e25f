//! What commands read from files, the environment and the clock. No message about it quotes it.

use std::env;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::SystemTime;

use hookproof_verify::{Subscriber, Timestamp};

use crate::Stop;
use crate::arguments::Received;

/// A message's parts, as [`Received`] names them.
pub(crate) struct Message {
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
    pub(crate) now: Timestamp,
}

impl Message {
    /// Reads the files.
    pub(crate) fn read(received: &Received) -> Result<Self, Stop> {
        let headers = headers(&received.headers)?;
        Ok(Self { headers, body: octets(&received.body)?, now: time(received.now.as_deref())? })
    }
}

/// A secret text from `file:PATH` or `env:NAME`, without a line end.
pub(crate) fn secret(source: &str) -> Result<String, Stop> {
    let text = match source.split_once(':') {
        Some(("file", path)) => fs::read_to_string(path)
            .map_err(|error| Stop::Misuse(format!("{path} cannot be read as text ({error})")))?,
        Some(("env", name)) => env::var_os(name)
            .and_then(|value| value.into_string().ok())
            .ok_or_else(|| Stop::Misuse(format!("the environment has no text under {name}")))?,
        // The argument may be the secret itself, and is not repeated.
        Some(_) | None => {
            return Err(Stop::Misuse(
                "secrets are not taken from the command line, where the shell's history and other users see \
                 them; give file:PATH or env:NAME"
                    .to_owned(),
            ));
        }
    };
    let line = text.strip_suffix('\n').unwrap_or(&text);
    Ok(line.strip_suffix('\r').unwrap_or(line).to_owned())
}

/// Several secrets.
pub(crate) fn secrets(sources: &[String]) -> Result<Vec<String>, Stop> {
    sources.iter().map(|source| secret(source)).collect()
}

/// Public keys may also stand on the command line.
pub(crate) fn public_keys(given: &[String]) -> Result<Vec<String>, Stop> {
    let one = |text: &String| {
        if text.starts_with("file:") || text.starts_with("env:") { secret(text) } else { Ok(text.clone()) }
    };
    given.iter().map(one).collect()
}

/// The subscriber of an entry.
pub(crate) fn subscriber(source: &str) -> Result<Subscriber, Stop> {
    Subscriber::from_json(&secret(source)?).map_err(|failure| Stop::Misuse(failure.to_string()))
}

/// A file's octets, or those of standard input.
pub(crate) fn octets(path: &Path) -> Result<Vec<u8>, Stop> {
    let read = if path == Path::new("-") {
        let mut all = Vec::new();
        io::stdin().lock().read_to_end(&mut all).map(|_| all)
    } else {
        fs::read(path)
    };
    read.map_err(|error| Stop::Misuse(format!("{} cannot be read ({error})", path.display())))
}

/// Lines `name: value`, up to the first empty one.
fn headers(path: &Path) -> Result<Vec<(String, Vec<u8>)>, Stop> {
    let octets = octets(path)?;
    let lines = octets.split(|&octet| octet == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    let mut out = Vec::new();
    for (number, line) in lines.enumerate().take_while(|(_, line)| !line.is_empty()) {
        let colon = line.iter().position(|&octet| octet == b':').filter(|&at| at > 0);
        let (name, value) = line.split_at(colon.unwrap_or(0));
        let name = str::from_utf8(name).ok().filter(|name| !name.is_empty() && !name.contains(' '));
        let (Some(name), Some(value)) = (name, value.strip_prefix(b":")) else {
            let (path, number) = (path.display(), number + 1);
            return Err(Stop::Misuse(format!("{path} line {number} is no header; write `name: value`")));
        };
        out.push((name.to_owned(), value.to_vec()));
    }
    Ok(out)
}

/// The time given, or the clock's.
pub(crate) fn time(given: Option<&str>) -> Result<Timestamp, Stop> {
    let Some(text) = given else {
        #[expect(clippy::disallowed_methods, reason = "only without --now, and only here")]
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let seconds = now.map_or(0, |since| i64::try_from(since.as_secs()).unwrap_or(i64::MAX));
        return Ok(Timestamp::from_unix(seconds));
    };
    let seconds = text.parse::<u32>().ok().map(|seconds| Timestamp::from_unix(i64::from(seconds)));
    seconds.or_else(|| Timestamp::parse(text)).ok_or_else(|| {
        Stop::Misuse(
            "--now is no time; write Unix seconds, or RFC 3339 in UTC like 2026-12-01T10:02:03Z".to_owned(),
        )
    })
}
