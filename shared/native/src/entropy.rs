//! Octets from the system's generator; or, for tests that must repeat, from a seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hookproof_core::digest::sha256;
use hookproof_ports::Entropy;

/// The operating system's cryptographic generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, out: &mut [u8]) {
        if getrandom::fill(out).is_err() {
            // A nonce or a key that can be guessed is worse than a process that is gone.
            std::process::abort();
        }
    }
}

/// For tests only: SHA-256 of the seed and a counter, the same in every run. Clones draw from one stream.
#[derive(Clone, Debug)]
pub struct SeededEntropy {
    seed: u64,
    block: Arc<AtomicU64>,
}

impl SeededEntropy {
    /// The stream of `seed`, from its beginning.
    pub fn new(seed: u64) -> Self {
        Self { seed, block: Arc::default() }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, out: &mut [u8]) {
        for chunk in out.chunks_mut(32) {
            let block = self.block.fetch_add(1, Ordering::SeqCst);
            let octets = sha256(&[self.seed.to_be_bytes(), block.to_be_bytes()].concat());
            for (slot, octet) in chunk.iter_mut().zip(octets) {
                *slot = octet;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hookproof_ports::random;

    #[test]
    fn the_system_does_not_repeat_itself() {
        assert_ne!(random::<32>(&SystemEntropy), random::<32>(&SystemEntropy));
    }

    #[test]
    fn a_seed_repeats_and_another_seed_differs() {
        let stream = SeededEntropy::new(7);
        let (first, second) = (random::<40>(&stream), random::<40>(&stream.clone()));
        assert_ne!(first, second);
        let again = SeededEntropy::new(7);
        assert_eq!((random::<40>(&again), random::<40>(&again)), (first, second));
        assert_ne!(random::<40>(&SeededEntropy::new(8)), first);
    }
}
