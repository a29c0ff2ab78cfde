//! Cutoffs that a host learns from the messages that it has sent and received.

use super::config::Config;
use super::cutoffs::Weights;

/// The cutoffs stay as they are for so many messages.
const BETWEEN: u32 = 256;

/// Sizes are distinguished by so many of their first bits, so that there are few of them.
const KEPT_BITS: u32 = 5;

/// What a host has seen.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    weights: Weights,
    messages: u32,
}

impl Seen {
    /// A message was seen; every now and then returns new cutoffs. What was seen before the last ones counts half.
    pub fn add(&mut self, size_bytes: u64, config: &Config) -> Option<Vec<u64>> {
        let messages = (coarse(size_bytes), 1.0);
        self.weights.add(messages, &config.counted());
        self.messages += 1;
        if !self.messages.is_multiple_of(BETWEEN) {
            return None;
        }
        let cutoffs = self.weights.cut(u64::from(config.unscheduled_levels));
        self.weights.fade();
        Some(cutoffs)
    }
}

/// The size, rounded up to its first bits.
fn coarse(size_bytes: u64) -> u64 {
    let dropped = (u64::BITS - size_bytes.leading_zeros()).saturating_sub(KEPT_BITS);
    size_bytes.div_ceil(1 << dropped) << dropped
}

#[cfg(test)]
mod tests {
    use super::coarse;

    #[test]
    fn sizes_are_rounded_up_by_less_than_a_sixteenth() {
        for size in [1, 31, 32, 33, 1_000, 65_535, 65_536, 65_537] {
            let coarse = coarse(size);
            assert!((size..=size + size / 16).contains(&coarse), "{size}: {coarse}");
        }
    }
}
