//! No Worker grows past its budget unseen: what counts is the compressed module, as it is uploaded.

use crate::functions::Function;
use crate::workspace::Workspace;
use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;

/// The budget of every module, in bytes after `gzip -9`.
pub const LIMIT: usize = 350 * 1024;

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

/// The sizes as a table, and whether all are within the limit.
#[must_use]
pub fn table(sizes: &[Size]) -> (String, bool) {
    let mut text = format!("{:<12}{:>12}{:>12}{:>12}\n", "function", "raw", "gzip -9", "limit");
    for Size { function, raw, compressed } in sizes {
        let verdict = if *compressed > LIMIT { "  TOO LARGE" } else { "" };
        let _ = writeln!(text, "{:<12}{raw:>12}{compressed:>12}{LIMIT:>12}{verdict}", function.name());
    }
    (text, sizes.iter().all(|size| size.compressed <= LIMIT))
}
