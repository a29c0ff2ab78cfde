//! Random streams keyed by (seed, purpose, entity).
//!
//! A component draws from a stream of its own, so adding one does not shift another's draws, and
//! the order in which components draw changes no result. The generator is xoshiro256++ (Blackman
//! and Vigna, 2019), seeded by SplitMix64; logarithms come from `libm`, whose bits do not depend on
//! the machine.

use crate::narrow::exact;

/// What a stream is for. Two purposes never share a draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// When flows start.
    Arrivals = 1,
    /// How large they are.
    Sizes = 2,
    /// From where to where.
    Pattern = 3,
    /// Their deadlines.
    Deadlines = 4,
    /// Which next hop a packet takes.
    Paths = 5,
    /// How a queue breaks a tie or draws a mark.
    Queue = 6,
    /// What a transport decides by chance.
    Transport = 7,
    /// Which packets a link corrupts.
    Faults = 8,
    /// Which way around a dead link a packet takes.
    Detours = 9,
    /// How long packets are.
    PacketLengths = 16,
    /// What happens between servers and a central controller.
    Control = 17,
    /// What a host takes to process a packet.
    Processing = 18,
    /// Which delay of a link a flow is taken to have had there, where it was estimated.
    Estimates = 19,
}

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream([u64; 4]);

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mix(*state)
}

/// SplitMix64's finaliser: a bijection that spreads every bit. Also the hash of per-flow ECMP.
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Stream {
    /// The stream of `entity` (a host, a switch, a traffic source) for `purpose` under `seed`.
    pub fn new(seed: u64, purpose: Purpose, entity: u64) -> Stream {
        let mut state = mix(mix(mix(seed) ^ purpose as u64) ^ entity);
        Stream(std::array::from_fn(|_| split_mix(&mut state)))
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.0;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform on `0..n`, for n ≥ 1 (Lemire's multiplication; bias below n / 2^32).
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.bits() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// Puts items in an order of which each is as likely as any other (Fisher and Yates, from the last on).
    ///
    /// # Panics
    /// With more than 2^32 of them.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..exact::<u32>(items.len())).rev() {
            items.swap(last as usize, self.below(last + 1) as usize);
        }
    }

    /// Uniform on [0, 1), in steps of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Normal with mean 0 and variance 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        let radius = libm::sqrt(2.0 * self.exponential());
        radius * libm::cos(std::f64::consts::TAU * self.unit())
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_apart_and_repeatable() {
        let draw = |purpose, entity| Stream::new(7, purpose, entity).bits();
        assert_eq!(draw(Purpose::Sizes, 3), draw(Purpose::Sizes, 3));
        assert_ne!(draw(Purpose::Sizes, 3), draw(Purpose::Sizes, 4));
        assert_ne!(draw(Purpose::Sizes, 3), draw(Purpose::Paths, 3));
    }

    #[test]
    fn normal_has_mean_zero_and_variance_one() {
        let mut stream = Stream::new(1, Purpose::Control, 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| x * x).sum::<f64>() / f64::from(n);
        assert!(mean.abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.015, "{variance}");
    }

    #[test]
    fn exponential_has_mean_and_variance_one() {
        let mut stream = Stream::new(1, Purpose::Arrivals, 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.exponential()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        assert!((variance - 1.0).abs() < 0.03, "{variance}");
    }
}
