//! The host's generator.

use hookproof_ports::Entropy;

/// `wasi:random`.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinEntropy;

impl Entropy for SpinEntropy {
    fn fill(&self, out: &mut [u8]) {
        if getrandom::fill(out).is_err() {
            // Going on with zeros would make predictable keys; stopping is the only safe answer.
            std::process::abort();
        }
    }
}
