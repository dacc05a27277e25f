//! `cargo xtask run`: from a fresh clone to five running Workers, driven once through their whole work.

use crate::functions::Function;
use crate::ports::Ports;
use crate::progress::Progress;
use crate::secrets::Secrets;
use crate::stack::{Host, Settings, Stack, StackOptions};
use crate::toolchain::Tools;
use crate::workspace::Workspace;
use crate::{build, drive};
use anyhow::{Result, bail};
use std::io::stdout;
use std::thread::sleep;
use std::time::Duration;

/// Sets up, builds, starts the stack and drives it. Stays afterwards until Ctrl-C unless `exit`.
///
/// # Errors
/// When a step fails or something did not happen as promised.
pub fn run(exit: bool, verbose: bool, mode: build::Mode) -> Result<()> {
    let workspace = Workspace::locate()?;
    let progress = Progress::new(verbose);
    let tools = Tools::prepare(&workspace, &progress)?;
    build::build(&tools, &progress, &Function::workers(&workspace), mode)?;
    let (ports, notes) = Ports::fixed_or_free()?;
    for note in notes {
        progress.say(&note);
    }
    let mut options = StackOptions::new(workspace.state(), ports);
    options.settings = settings(&ports, &mut Secrets::open(&options.state)?)?;
    let stack = progress.during("start the Workers", || Stack::start(&tools, options))?;
    for host in Host::ALL {
        progress.say(&format!("     {:<9} log {}", host.name(), stack.log_file(host).display()));
    }
    let (confirmed, _sample) = drive::drive(&stack, &mut stdout())?;
    if !exit {
        let urls = stack.urls();
        progress.say(&format!(
            "The Workers go on running: API {}, receipts {}, receiver {}. Ctrl-C ends them.",
            urls.control, urls.receipt, urls.receiver
        ));
        progress.say(&format!(
            "The sample tenant's token is in {}, the root and receiver tokens in {}.",
            stack.state().join(drive::KEPT).display(),
            stack.state().join("secrets.json").display()
        ));
        loop {
            sleep(Duration::from_secs(3600));
        }
    }
    if !confirmed {
        bail!(
            "Something did not happen as promised; see above, and the logs in {}.",
            stack.state().join("logs").display()
        );
    }
    Ok(())
}

/// What a local stack runs with.
///
/// # Errors
/// When a secret cannot be made.
pub fn settings(ports: &Ports, secrets: &mut Secrets) -> Result<Settings> {
    let urls = ports.urls();
    let variable = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let secret = |function, name: &str, value: String| (function, name.to_owned(), value);
    let id_key = secrets.get("ID_KEY")?;
    let first = |key: String| format!("1:{key}");
    Ok(Settings {
        vars: vec![
            variable("DEPLOYMENT", "development"),
            variable("DANGER_LOOPBACK_HTTP", "true"),
            variable("ISSUER", &urls.control),
            variable("RECEIPTS_URL", &format!("{}/receipts", urls.receipt)),
            variable("REGION", "local"),
        ],
        secrets: vec![
            secret(Function::Control, "ROOT_TOKEN", secrets.get("ROOT_TOKEN")?),
            secret(Function::Control, "ID_KEY", id_key.clone()),
            secret(Function::Dispatch, "ID_KEY", id_key.clone()),
            secret(Function::Dispatch, "MASTER_KEYS", first(secrets.get("MASTER_KEY")?)),
            secret(Function::Dispatch, "ISSUER_KEYS", first(secrets.get("ISSUER_KEY")?)),
            secret(Function::Receipt, "ID_KEY", id_key),
            secret(Function::Receiver, "ADMIN_TOKEN", secrets.get("ADMIN_TOKEN")?),
            secret(Function::Receiver, "MASTER_KEYS", first(secrets.get("RECEIVER_MASTER_KEY")?)),
        ],
    })
}
