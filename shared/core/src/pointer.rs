//! Where in a JSON text something is: a JSON Pointer (RFC 6901), built while walking down.

use std::fmt;

/// Longest pointer that is shown, in octets; names in somebody's data have any length.
const SHOWN: usize = 256;

/// A place in a JSON value, as a link to the place above it.
#[derive(Clone, Copy, Debug)]
pub struct Pointer<'a> {
    above: Option<&'a Self>,
    step: Step<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Step<'a> {
    /// A pointer that is already written.
    Root(&'a str),
    Name(&'a str),
    Index(usize),
}

impl<'a> Pointer<'a> {
    /// Starts from a pointer as written: empty, or `/data`.
    pub fn root(text: &'a str) -> Self {
        Self { above: None, step: Step::Root(text) }
    }

    /// A member of the object here.
    pub fn then<'b>(&'b self, name: &'b str) -> Pointer<'b>
    where
        'a: 'b,
    {
        Pointer { above: Some(self), step: Step::Name(name) }
    }

    /// An element of the array here.
    pub fn index(&self, index: usize) -> Pointer<'_> {
        Pointer { above: Some(self), step: Step::Index(index) }
    }

    fn write(&self, out: &mut String) {
        if let Some(above) = self.above {
            above.write(out);
        }
        match self.step {
            Step::Root(text) => out.push_str(text),
            Step::Name(name) => {
                out.push('/');
                let shown = name.chars().take(SHOWN);
                for character in shown {
                    match character {
                        '~' => out.push_str("~0"),
                        '/' => out.push_str("~1"),
                        other => out.push(other),
                    }
                }
            }
            Step::Index(index) => {
                out.push('/');
                out.push_str(&index.to_string());
            }
        }
    }
}

impl fmt::Display for Pointer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out);
        if out.len() > SHOWN {
            out.truncate((0..=SHOWN).rev().find(|&at| out.is_char_boundary(at)).unwrap_or(0));
            out.push('…');
        }
        f.write_str(&out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_long_ones_cut() {
        let root = Pointer::root("/data");
        let (slashed, long) = (root.then("a/b~c"), "é".repeat(1000));
        assert_eq!(slashed.index(3).to_string(), "/data/a~1b~0c/3");
        assert_eq!(Pointer::root("").to_string(), "");
        let cut = root.then(&long).to_string();
        assert!(cut.len() <= SHOWN + '…'.len_utf8() && cut.ends_with('…'), "{}", cut.len());
    }
}
