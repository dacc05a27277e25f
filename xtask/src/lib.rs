//! Set-up, build, local run and checks of this repository; nothing here is part of what is deployed.
//!
//! The library half exists so that the end-to-end tests can start the same local stack as
//! `cargo xtask run`: [`ready`], then [`stack::Stack::start`].
#![expect(clippy::disallowed_methods, reason = "a development tool reads the clock and the environment")]

pub mod api;
pub mod build;
mod cargo_tools;
pub mod check;
mod directions;
pub mod drive;
pub mod functions;
pub mod journey;
mod leftover;
mod mirror;
mod node;
pub mod ports;
pub mod process;
pub mod progress;
mod registry;
pub mod run;
pub mod secrets;
pub mod single;
pub mod site;
pub mod size;
pub mod stack;
pub mod test;
pub mod toolchain;
pub mod workspace;

use anyhow::Result;

/// Set to `1` by `cargo xtask test` for the end-to-end tests: set-up and build were done before.
pub const BUILD_READY: &str = "HOOKPROOF_BUILD_READY";

/// Set to `quick` by whoever works on the code: [`ready`] then builds in seconds instead of as deployed.
pub const BUILD_MODE: &str = "HOOKPROOF_BUILD";

/// Makes sure that the tools are installed and the Workers are built, for tests that start a
/// [`stack::Stack`].
///
/// # Errors
/// A sentence that says what is missing and how to get it.
pub fn ready() -> Result<toolchain::Tools> {
    let workspace = workspace::Workspace::locate()?;
    let progress = progress::Progress::new(false);
    let tools = toolchain::Tools::prepare(&workspace, &progress)?;
    if std::env::var(BUILD_READY).as_deref() != Ok("1") {
        let quick = std::env::var(BUILD_MODE).as_deref() == Ok("quick");
        let mode = if quick { build::Mode::Quick } else { build::Mode::Deploy };
        build::build(&tools, &progress, &functions::Function::workers(&workspace), mode)?;
    }
    Ok(tools)
}
