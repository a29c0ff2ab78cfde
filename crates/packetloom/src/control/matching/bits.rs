//! A set of small numbers, a bit each.

/// A set of numbers below a bound.
#[derive(Clone, Debug)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// An empty set of numbers below `bound`.
    pub fn new(bound: u32) -> Bits {
        Bits(vec![0; bound.div_ceil(64) as usize])
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Whether `number` is in the set.
    #[inline]
    pub fn has(&self, number: u32) -> bool {
        self.0[(number >> 6) as usize] >> (number & 63) & 1 == 1
    }

    /// Puts `number` in.
    #[inline]
    pub fn insert(&mut self, number: u32) {
        self.0[(number >> 6) as usize] |= 1 << (number & 63);
    }
}
