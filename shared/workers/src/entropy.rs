//! The host's generator.

use hookproof_ports::Entropy;

/// `crypto.getRandomValues`.
#[derive(Clone, Copy, Debug, Default)]
pub struct WorkersEntropy;

impl Entropy for WorkersEntropy {
    fn fill(&self, out: &mut [u8]) {
        if getrandom::fill(out).is_err() {
            // Going on with zeros would make predictable keys; stopping is the only safe answer.
            wasm_bindgen::throw_str("the host gave no randomness");
        }
    }
}
