//! The command line as its help describes it; what clap takes here is well-formed, not yet judged.

mod messages;

use std::net::IpAddr;

use clap::{Args, Parser, Subcommand};

pub(crate) use messages::{ChallengeAnswer, Profile, Received, Sign, Verify};

const EXAMPLES: &str = "\
Examples:
  hookproof endpoint check https://hooks.example.com/in
  hookproof endpoint check --address 1.1.1.1 https://hooks.example.com/in
  hookproof address check 1.1.1.1 169.254.169.254
  hookproof endpoint check --json - < urls.txt
  hookproof verify --entry file:entry.json --headers headers.txt --body body.json
  hookproof help verify

Exit codes:
  0  every input was accepted
  1  at least one was refused
  2  the command was not used as described here";

const ENDPOINT_EXAMPLES: &str = "\
Examples:
  hookproof endpoint check https://hooks.example.com/in
  hookproof endpoint check --allow-8443 https://hooks.example.com:8443/in
  hookproof endpoint check --address 1.1.1.1 --address 10.0.0.1 https://hooks.example.com/in
  hookproof endpoint check --json - < urls.txt

Exit codes:
  0  every URL was accepted
  1  at least one was refused
  2  the command was not used as described here, or standard input was empty";

const ADDRESS_EXAMPLES: &str = "\
Examples:
  hookproof address check 1.1.1.1
  hookproof address check 2606:4700:4700::1111 ::ffff:10.0.0.1
  dig +short hooks.example.com | hookproof address check -

Exit codes:
  0  every address is public
  1  at least one is not, or is no address
  2  the command was not used as described here, or standard input was empty";

/// Judges webhook endpoints, addresses and messages offline, with the code that Hookproof's functions run.
///
/// No command touches the network. Secrets are read from files or the environment, and never printed.
#[derive(Debug, Parser)]
#[command(name = "hookproof", version, arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Commands,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Commands {
    /// URLs that events are to be sent to
    #[command(subcommand)]
    Endpoint(EndpointCommand),
    /// Addresses that a connection would go to
    #[command(subcommand)]
    Address(AddressCommand),
    /// Say whether a message verifies, or exactly why not
    Verify(Verify),
    /// Print the headers that a sender would send with a body
    Sign(Sign),
    /// What a sender asks an endpoint before it sends to it
    #[command(subcommand)]
    Challenge(ChallengeCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum EndpointCommand {
    /// Say whether a URL may be an endpoint, in which spelling, or why not
    Check(EndpointCheck),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AddressCommand {
    /// Say whether an address is public, or which special-purpose block it is in
    Check(AddressCheck),
}

#[derive(Debug, Subcommand)]
pub(crate) enum ChallengeCommand {
    /// Print the answer to a challenge that verifies
    Answer(ChallengeAnswer),
}

#[derive(Debug, Args)]
#[command(after_help = ENDPOINT_EXAMPLES)]
pub(crate) struct EndpointCheck {
    /// The URLs; `-` reads one a line from standard input
    #[arg(value_name = "URL", required = true)]
    pub(crate) urls: Vec<String>,
    /// Print a JSON object for each URL, one a line
    #[arg(long)]
    pub(crate) json: bool,
    /// Accept port 8443 besides 443, as a deployment may
    #[arg(long)]
    pub(crate) allow_8443: bool,
    /// Judge this answer of a resolver too; may be given several times, and one address that is not
    /// public refuses all of them
    #[arg(long = "address", value_name = "IP")]
    pub(crate) resolved: Vec<IpAddr>,
}

#[derive(Debug, Args)]
#[command(after_help = ADDRESS_EXAMPLES)]
pub(crate) struct AddressCheck {
    /// The IPv4 or IPv6 addresses; `-` reads one a line from standard input
    #[arg(value_name = "IP", required = true)]
    pub(crate) addresses: Vec<String>,
    /// Print a JSON object for each address, one a line
    #[arg(long)]
    pub(crate) json: bool,
}
