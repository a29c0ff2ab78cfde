//! Sizes and gaps of credits as they are in the authors' ns-2 (kaist-ina/ns2-xpass, xpass/xpass.cc). There they come from
//! libc's `rand`, and a switch with several ways for a packet seeds that with the packet's flow and hosts, to choose one
//! (classifier/classifier-mpath.cc). So they follow from the flow whose packet was last given a way, in the whole network.
//!
//! A host here knows of the packets that come to it, and of its own credits. Where all flows go to one host that is the
//! same, but for microseconds; where receivers share nothing but a sender it is not.

use crate::flow::{FlowId, HostId};
use crate::topology::Topology;
use std::sync::Arc;

/// In the hash: what their script calls a leaf (`nodetype_` of scripts/large-scale-fattree.tcl).
const LEAF: u32 = 2;
/// Runs differ in where the numbers of flows begin: so many further on for each seed.
const NUMBERS_PER_SEED: u64 = 1_000_003;
/// The greatest that `rand` gives.
const RAND_MAX: u32 = i32::MAX.unsigned_abs();

/// What is drawn of a credit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drawn {
    pub size: u32,
    /// From 0 to 1.
    pub gap: f64,
}

/// What there is to know of a run.
#[derive(Clone, Debug)]
pub struct Hashing {
    /// The switch of each host.
    switches: Arc<[u32]>,
    first_number: u64,
    seed: u32,
}

/// `rand`, as a host knows it.
#[derive(Clone, Debug)]
pub struct Draws {
    rand: Rand,
    /// With what it was seeded since the last draw.
    seeded: Option<u32>,
}

impl Hashing {
    pub fn new(topology: &Topology, seed: u64) -> Hashing {
        let switch = |host: HostId| topology.links[topology.nodes[host as usize].ports.start as usize].dst;
        Hashing {
            switches: (0..topology.hosts).map(switch).collect(),
            first_number: seed.saturating_sub(1).wrapping_mul(NUMBERS_PER_SEED),
            seed: low_bits(seed),
        }
    }

    /// With what a packet of a flow seeds `rand`; nothing, if it has but one way.
    pub fn seed_of(&self, flow: FlowId, src: HostId, dst: HostId) -> Option<u32> {
        if self.switches[src as usize] == self.switches[dst as usize] {
            return None;
        }
        let number = low_bits(self.first_number.wrapping_add(flow.into()));
        let parts = [number, LEAF, src.min(dst), src.max(dst)];
        Some(parts.into_iter().map(|part| Rand::new(part).next()).fold(0, std::ops::BitXor::bitxor))
    }

    /// Of a host, before anything has come.
    pub fn draws(&self) -> Draws {
        Draws { rand: Rand::new(self.seed), seeded: None }
    }
}

impl Draws {
    /// A packet was given a way.
    pub fn seed(&mut self, seed: u32) {
        self.seeded = Some(seed);
    }

    /// Of a credit, whose size is drawn if there is a choice, and then the gap.
    pub fn draw(&mut self, has_sizes: bool) -> Drawn {
        if let Some(seed) = self.seeded.take() {
            self.rand = Rand::new(seed);
            // The way.
            self.rand.next();
        }
        let size = if has_sizes { self.rand.next() } else { 0 };
        Drawn { size, gap: f64::from(self.rand.next()) / f64::from(RAND_MAX) }
    }
}

fn low_bits(number: u64) -> u32 {
    u32::try_from(number & u64::from(RAND_MAX)).unwrap_or_default()
}

/// libc's `rand` after `srand`: each number is the sum of the third last and the 31st last (random(3) of glibc, TYPE_3).
#[derive(Clone, Debug)]
struct Rand {
    last: [u32; 31],
    /// Where the oldest is.
    place: usize,
}

impl Rand {
    fn new(seed: u32) -> Rand {
        let mut last = [seed.max(1); 31];
        for nth in 1..last.len() {
            // A linear congruential generator's.
            let next = u64::from(last[nth - 1]) * 16_807 % u64::from(RAND_MAX);
            last[nth] = low_bits(next);
        }
        // The sequence goes on with three of these as they are.
        let mut rand = Rand { last, place: 3 };
        for _ in 0..310 {
            rand.next();
        }
        rand
    }

    fn next(&mut self) -> u32 {
        let count = self.last.len();
        let third_last = self.last[(self.place + count - 3) % count];
        let sum = self.last[self.place].wrapping_add(third_last);
        self.last[self.place] = sum;
        self.place = (self.place + 1) % count;
        sum >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashing() -> Hashing {
        Hashing { switches: (0..16).map(|host| 100 + host / 8).collect(), first_number: 0, seed: 1 }
    }

    #[test]
    fn numbers_are_those_of_libc() {
        let first = |seed| {
            let mut rand = Rand::new(seed);
            [rand.next(), rand.next(), rand.next()]
        };
        // Of glibc 2.36.
        assert_eq!(first(1), [1_804_289_383, 846_930_886, 1_681_692_777]);
        assert_eq!(first(42), [71_876_166, 708_592_740, 1_483_128_881]);
        assert_eq!(first(0), first(1));
        let mut rand = Rand::new(1);
        assert_eq!((0..1_000).map(|_| rand.next()).last(), Some(1_143_565_421));
    }

    #[test]
    fn a_flow_between_switches_has_one_size_and_one_gap() {
        let seed = hashing().seed_of(15, 0, 8).unwrap();
        assert_eq!((hashing().seed_of(15, 8, 0), hashing().seed_of(15, 0, 7)), (Some(seed), None));
        let mut draws = hashing().draws();
        draws.seed(seed);
        let drawn = draws.draw(true);
        // 78 B, and 4.4 % more than the mean gap: in `validation/expresspass_ns2/10g_lone_x.csv` 6,873 credits of this
        // flow take 9.43 ms.
        assert_eq!(76 + drawn.size % 17, 78);
        assert!((drawn.gap * 0.2 - 0.1 - 0.044_445).abs() < 1e-6, "{drawn:?}");
        assert_ne!(draws.draw(true), drawn, "the generator goes on");
        draws.seed(seed);
        assert_eq!(draws.draw(true), drawn);
    }
}
