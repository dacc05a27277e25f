//! Probe signatures: thirty-two, each wrong with probability one half, so that only a reader that
//! really verifies under the new key can say which are right.

use crate::base64;
use crate::signature::{SigningKey, VerifyKey};
use crate::tuple::Tuple;

/// How many probes a challenge carries.
pub const COUNT: u32 = 32;

/// Which probes verify: bit `i` is probe `i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProbeMap(pub u32);

impl ProbeMap {
    /// A map from random bits; `None` when all bits are equal, which must be drawn again.
    pub fn draw(bits: u32) -> Option<Self> {
        (bits != 0 && bits != u32::MAX).then_some(Self(bits))
    }

    fn right(self, index: u32) -> bool {
        self.0 >> index & 1 == 1
    }
}

fn probe_input(challenge_id: &str, index: u32, nonce: &[u8]) -> Vec<u8> {
    Tuple::new("hookproof-probe-v1").field(challenge_id).u32(index).field(nonce).into_bytes()
}

/// The probes of a challenge; a wrong one is a genuine signature over another index.
pub(crate) fn sign(map: ProbeMap, challenge_id: &str, nonce: &[u8], key: &SigningKey) -> Vec<String> {
    let one = |index| {
        let signed = if map.right(index) { index } else { index ^ (1 << 31) };
        base64::url(&key.sign(&probe_input(challenge_id, signed, nonce)))
    };
    (0..COUNT).map(one).collect()
}

/// Which probes verify under `key`; `None` unless there are exactly [`COUNT`] in canonical spelling.
pub(crate) fn read(probes: &[String], challenge_id: &str, nonce: &[u8], key: &VerifyKey) -> Option<ProbeMap> {
    if probes.len() != COUNT as usize {
        return None;
    }
    let mut map = 0;
    for (index, probe) in (0u32..).zip(probes) {
        let octets = base64::from_url(probe)?;
        map |= u32::from(key.verify(&probe_input(challenge_id, index, nonce), &octets)) << index;
    }
    Some(ProbeMap(map))
}
