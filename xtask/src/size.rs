//! No Worker grows past its budget unseen: what counts is the compressed module, as it is uploaded.

use crate::functions::Function;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

/// What a Worker may weigh, in KiB after `gzip -9`: least where strangers knock, most where one API has it all.
/// README's limits repeat it.
#[must_use]
pub fn budget_kib(function: Function) -> usize {
    match function {
        Function::Control => 1200,
        Function::Challenge | Function::Dispatch => 700,
        Function::Receipt | Function::Receiver => 400,
    }
}

/// The sizes of one built module in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Which Worker.
    pub function: Function,
    /// As it lies on disk.
    pub raw: usize,
    /// As it is uploaded.
    pub compressed: usize,
}

impl Size {
    /// The budget in bytes.
    fn budget(&self) -> usize {
        budget_kib(self.function) * 1024
    }

    fn within_budget(&self) -> bool {
        self.compressed <= self.budget()
    }
}

/// Measures all built Workers.
///
/// # Errors
/// When one is not built.
pub fn measure(workspace: &Workspace) -> Result<Vec<Size>> {
    Function::ALL.into_iter().map(|function| measure_one(workspace, function)).collect()
}

fn measure_one(workspace: &Workspace, function: Function) -> Result<Size> {
    let file = function.module(workspace);
    let module = fs::read(&file)
        .with_context(|| format!("{} is not built; run: cargo xtask build", file.display()))?;
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&module).context("The module cannot be compressed.")?;
    let compressed = encoder.finish().context("The module cannot be compressed.")?.len();
    Ok(Size { function, raw: module.len(), compressed })
}

/// The sizes as a table with each budget and the share of it that is used, and whether all are within.
#[must_use]
pub fn table(sizes: &[Size]) -> (String, bool) {
    let mut text = format!("{:<12}{:>12}{:>12}{:>12}{:>8}\n", "function", "raw", "gzip -9", "budget", "used");
    for size in sizes {
        let Size { function, raw, compressed } = size;
        let budget = size.budget();
        // Rounded up, so that 100 % is never more than the budget.
        let used = (compressed * 100).div_ceil(budget);
        let verdict = if size.within_budget() { "" } else { "  TOO LARGE" };
        let _ = writeln!(
            text,
            "{:<12}{raw:>12}{compressed:>12}{budget:>12}{used:>6} %{verdict}",
            function.name()
        );
    }
    (text, sizes.iter().all(Size::within_budget))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_byte_above_its_own_budget_is_too_large() {
        for function in Function::ALL {
            let budget = budget_kib(function) * 1024;
            let (text, within) = table(&[Size { function, raw: 0, compressed: budget }]);
            assert!(within && text.contains(" 100 %") && !text.contains("TOO LARGE"), "{text}");
            let (text, within) = table(&[Size { function, raw: 0, compressed: budget + 1 }]);
            assert!(!within && text.contains(" 101 %  TOO LARGE"), "{text}");
        }
    }

    #[test]
    fn the_readme_names_every_budget() {
        let readme = include_str!("../../README.md");
        let line = readme.lines().find(|line| line.contains("each Worker's module")).unwrap_or_default();
        for function in Function::ALL {
            let Some((_, after)) = line.split_once(function.name()) else {
                panic!("README's limits do not name {}", function.name());
            };
            let kib: String = after
                .chars()
                .skip_while(|c| !c.is_ascii_digit())
                .take_while(|c| c.is_ascii_digit() || *c == ',')
                .collect();
            assert_eq!(kib.replace(',', ""), budget_kib(function).to_string(), "{line}");
        }
    }
}
