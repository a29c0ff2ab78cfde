//! The bytes of parts of a whole.

use crate::narrow::exact;
use std::ops::Range;

/// A whole in nearly equal parts.
#[derive(Clone, Copy, Debug)]
pub struct Shares {
    /// Bytes of the whole.
    pub bytes: u64,
    /// How many parts.
    pub parts: u32,
}

impl Shares {
    /// The bytes of some neighbouring parts; at least 1, as a message of none could not be sent.
    pub fn of(self, parts: Range<u32>) -> u64 {
        let before = |part: u32| match self.bytes.checked_mul(part.into()) {
            Some(product) => product / u64::from(self.parts),
            None => exact::<u64>(u128::from(self.bytes) * u128::from(part) / u128::from(self.parts)),
        };
        (before(parts.end) - before(parts.start)).max(1)
    }

    /// The bytes of one part.
    pub fn one(self, part: u32) -> u64 {
        self.of(part..part + 1)
    }
}
