//! `hookproof`: every command judges with the code that the functions run, touches no network, and
//! prints no secret.

#![forbid(unsafe_code)]

mod address;
mod arguments;
mod challenge;
mod endpoint;
mod inputs;
mod material;
mod output;
mod sign;
mod verdict;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::{AddressCommand, Arguments, ChallengeCommand, Commands, EndpointCommand};
use crate::output::Output;
use crate::verdict::Verdict;

/// All inputs were accepted.
const ACCEPTED: u8 = 0;
/// At least one input was refused.
const REFUSED: u8 = 1;
/// The command was not used as its help says; clap ends with the same code.
const MISUSE: u8 = 2;
/// The reader of the output went away: what a shell reports for SIGPIPE.
const BROKEN_PIPE: u8 = 141;

/// Why a command ended before all its inputs were judged.
#[derive(Debug)]
enum Stop {
    /// Nobody reads the output any more.
    BrokenPipe,
    /// The user has to call it otherwise; the text says how.
    Misuse(String),
    /// What was given is well-formed and still cannot be used; the text says why.
    Refused(String),
}

fn main() -> ExitCode {
    ExitCode::from(match carry_out(Arguments::parse().command) {
        Ok(true) => ACCEPTED,
        Ok(false) => REFUSED,
        Err(Stop::BrokenPipe) => BROKEN_PIPE,
        Err(Stop::Misuse(what)) => {
            output::complain(&what);
            MISUSE
        }
        Err(Stop::Refused(why)) => {
            output::complain(&why);
            REFUSED
        }
    })
}

/// Says whether every input was accepted.
fn carry_out(command: Commands) -> Result<bool, Stop> {
    match command {
        Commands::Endpoint(EndpointCommand::Check(arguments)) => {
            let judge = endpoint::Judge::new(&arguments);
            judge_each(&arguments.urls, arguments.json, |input| judge.judge(input))
        }
        Commands::Address(AddressCommand::Check(arguments)) => {
            judge_each(&arguments.addresses, arguments.json, address::judge)
        }
        Commands::Verify(arguments) => verify::verify(&arguments),
        Commands::Sign(arguments) => sign::sign(&arguments),
        Commands::Challenge(ChallengeCommand::Answer(arguments)) => challenge::answer(&arguments),
    }
}

fn judge_each(inputs: &[String], json: bool, judge: impl Fn(&str) -> Verdict) -> Result<bool, Stop> {
    let mut output = Output::new(json);
    let mut all_accepted = true;
    inputs::each(inputs, |input| {
        let verdict = match input {
            Ok(text) => judge(text),
            Err(octets) => Verdict::not_text(octets),
        };
        all_accepted &= verdict.is_accepted();
        output.verdict(&verdict)
    })?;
    output.finish()?;
    Ok(all_accepted)
}
