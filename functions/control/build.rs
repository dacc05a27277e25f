//! Writes `docs/openapi.json` without the white space between its tokens, to be served as it is.

#![expect(clippy::disallowed_methods, reason = "a build script is told where to write by a variable")]

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let page = "../../docs/openapi.json";
    println!("cargo::rerun-if-changed={page}");
    let (mut small, mut in_text, mut escaped) = (String::new(), false, false);
    for c in fs::read_to_string(page)?.chars() {
        if in_text || !c.is_ascii_whitespace() {
            small.push(c);
        }
        in_text ^= c == '"' && !escaped;
        escaped = in_text && c == '\\' && !escaped;
    }
    fs::write(Path::new(&env::var("OUT_DIR")?).join("openapi.json"), small)?;
    Ok(())
}
