//! Inputs are judged octet for octet as they were given: no trimming, and an empty line is an input.

use std::io::{self, BufRead as _, Read as _};

use crate::Stop;

/// The argument that stands for standard input.
const STDIN: &str = "-";

/// The longest line that is read, in octets; no acceptable input comes near it.
const MAX_LINE: u64 = 1024 * 1024;

/// Calls `judge` for each argument, and for each line of standard input in the place of `-`.
///
/// A line is handed on as soon as it has been read. What is not UTF-8 is handed on as octets.
pub(crate) fn each(
    arguments: &[String],
    mut judge: impl FnMut(Result<&str, &[u8]>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    if arguments.iter().filter(|argument| *argument == STDIN).count() > 1 {
        return Err(Stop::Misuse("`-` was given twice; standard input can be read once".to_owned()));
    }
    for argument in arguments {
        if argument == STDIN { lines(&mut judge)? } else { judge(Ok(argument))? }
    }
    Ok(())
}

fn lines(judge: &mut impl FnMut(Result<&str, &[u8]>) -> Result<(), Stop>) -> Result<(), Stop> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    let mut empty = true;
    loop {
        line.clear();
        let read = input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line).map_err(|error| {
            Stop::Misuse(format!("standard input cannot be read ({error}); give one input a line"))
        })?;
        if read as u64 == MAX_LINE {
            return Err(Stop::Misuse("a line is longer than 1 MiB; give one input a line".to_owned()));
        }
        if read == 0 {
            break;
        }
        empty = false;
        // Only the line end goes; a carriage return is a part of the input and gets its verdict.
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        judge(str::from_utf8(text).map_err(|_| text))?;
    }
    if empty {
        return Err(Stop::Misuse("standard input was empty; give one input a line".to_owned()));
    }
    Ok(())
}
