//! The command line of this repository's own tools; see `cargo xtask --help`.

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use std::process::ExitCode;
use xtask::build::Mode;
use xtask::functions::Function;
use xtask::progress::Progress;
use xtask::toolchain::Tools;
use xtask::workspace::Workspace;
use xtask::{build, check, run, size, test};

/// Set-up, build, local run and checks of Hookproof.
///
/// Needs Rust, Node 20 or newer and a C compiler; everything else is installed into a cache folder on first
/// use (~/.cache/hookproof, or HOOKPROOF_CACHE).
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Subcommand)]
enum Commands {
    /// Build the five Workers, start them locally and drive them through a webhook's whole life
    Run {
        /// End afterwards instead of going on until Ctrl-C
        #[arg(long)]
        exit: bool,
        /// Show the output of every step while it runs
        #[arg(long)]
        verbose: bool,
        /// Build without optimising: larger Workers, built again in seconds
        #[arg(long)]
        quick: bool,
    },
    /// Run everything that must pass: tests, checks, Workers' build and size, end-to-end tests on workerd
    Test,
    /// Format, lints for all targets, documentation, and the direction of dependencies
    Check,
    /// Build the Workers into functions/NAME/build
    Build {
        /// Only this one: control, challenge, dispatch, receipt or receiver
        #[arg(long, value_name = "NAME", value_parser = function)]
        function: Option<Function>,
        /// Build without optimising: larger Workers, built again in seconds
        #[arg(long)]
        quick: bool,
    },
    /// Print the built Workers' sizes and budgets; fails when one is above its own
    Size,
}

fn function(name: &str) -> Result<Function, String> {
    Function::from_name(name).ok_or_else(|| {
        format!("there is no such function; choose one of {}", Function::ALL.map(Function::name).join(", "))
    })
}

fn main() -> ExitCode {
    match carry_out(Arguments::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn mode(quick: bool) -> Mode {
    if quick { Mode::Quick } else { Mode::Deploy }
}

/// Says whether all is well; `false` has been explained on standard output.
fn carry_out(command: Commands) -> Result<bool> {
    let workspace = Workspace::locate()?;
    let progress = Progress::new(false);
    match command {
        Commands::Run { exit, verbose, quick } => run::run(exit, verbose, mode(quick)).map(|()| true),
        Commands::Test => Ok(test::test(&workspace, &progress)),
        Commands::Check => {
            let tools = Tools::prepare(&workspace, &progress)?;
            check::check(&tools, &progress).map(|()| true)
        }
        Commands::Build { function, quick } => {
            let tools = Tools::prepare(&workspace, &progress)?;
            let chosen = match function {
                Some(function) => vec![function.worker(&workspace)],
                None => Function::workers(&workspace),
            };
            build::build(&tools, &progress, &chosen, mode(quick)).map(|()| true)
        }
        Commands::Size => {
            let (table, within_budgets) =
                size::table(&size::measure(&workspace).context("Sizes are not known.")?);
            print!("{table}");
            if within_budgets {
                return Ok(true);
            }
            bail!(
                "A Worker is above its budget: `twiggy top` shows what it links; the budgets are in xtask/src/size.rs."
            )
        }
    }
}
