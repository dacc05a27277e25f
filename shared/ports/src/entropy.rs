//! Unpredictable octets.

/// Fills buffers from the host's cryptographic generator.
pub trait Entropy {
    /// Fills all of `out`.
    fn fill(&self, out: &mut [u8]);
}

/// `N` fresh octets.
pub fn random<const N: usize>(entropy: &(impl Entropy + ?Sized)) -> [u8; N] {
    let mut out = [0; N];
    entropy.fill(&mut out);
    out
}
