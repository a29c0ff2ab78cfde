//! Which of several packets that arrive at a switch at the same instant is taken first.

use crate::units::{ByteTime, Time};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// The order of a switch.
pub(in crate::engine) enum Ties {
    /// Link by link, beginning with another each time, so that none of equal senders finds the buffer always full.
    Rotate {
        /// How often that was done.
        turn: usize,
    },
    /// As in ns-3, where events of the same time happen in the order in which they were scheduled: a link that just began to
    /// send does so by an event that is older than those by which the others go on, and from then on stays before them.
    Ns3(Vec<Run>),
}

/// When a link's run began, and its number: the last to begin comes first.
type Age = (Reverse<Time>, u32);

/// The packets that came by a link one behind the other.
pub(in crate::engine) struct Run {
    byte_time: ByteTime,
    framing_bytes: u64,
    began: Time,
    last: Time,
}

impl Run {
    /// Of a link by which nothing came yet.
    pub(in crate::engine) fn new(byte_time: ByteTime, framing_bytes: u64) -> Run {
        Run { byte_time, framing_bytes, began: Time::ZERO, last: Time::ZERO }
    }

    fn note(&mut self, now: Time, size_bytes: u16) {
        let takes = self.byte_time.of(u64::from(size_bytes) + self.framing_bytes);
        if self.last + takes < now {
            self.began = now;
        }
        self.last = now;
    }
}

impl Ties {
    /// In which order arrivals by these links, of these sizes, are taken.
    pub(super) fn order(
        &mut self,
        now: Time,
        arrivals: impl ExactSizeIterator<Item = (u32, u16)>,
    ) -> SmallVec<[usize; 8]> {
        let count = arrivals.len();
        match self {
            Ties::Rotate { .. } if count == 1 => (0..1).collect(),
            Ties::Rotate { turn } => {
                let mut links: SmallVec<[(u32, usize); 8]> =
                    arrivals.map(|(link, _)| link).zip(0..).collect();
                links.sort_unstable();
                *turn += 1;
                links.rotate_left(*turn % count);
                links.into_iter().map(|(_, nth)| nth).collect()
            }
            Ties::Ns3(runs) => {
                let began = |(link, size_bytes): (u32, u16)| {
                    let run = &mut runs[link as usize];
                    run.note(now, size_bytes);
                    (Reverse(run.began), link)
                };
                let mut links: SmallVec<[(Age, usize); 8]> = arrivals.map(began).zip(0..).collect();
                links.sort_unstable();
                links.into_iter().map(|(_, nth)| nth).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    #[test]
    fn each_link_is_first_in_its_turn() {
        let mut ties = Ties::Rotate { turn: 0 };
        let firsts = (0..6).map(|_| ties.order(Time::ZERO, [(2, 0), (0, 0), (5, 0)].into_iter())[0]);
        // By link: the second, the first, the third.
        assert_eq!(firsts.collect::<Vec<_>>(), [0, 2, 1, 0, 2, 1]);
    }

    #[test]
    fn in_ns3_whoever_began_last_goes_first_and_stays_there() {
        let runs = (0..3).map(|_| Run::new(ByteTime::at(Rate::from_gbps(8)), 0)).collect();
        let mut ties = Ties::Ns3(runs);
        let at = |nth: u64| Time::from_ns(5_000 + 1_000 * nth);
        let mut order = |nth, links: &[u32]| {
            let arrivals: Vec<(u32, u16)> = links.iter().map(|&link| (link, 1_000)).collect();
            let order = ties.order(at(nth), arrivals.into_iter());
            order.into_iter().map(|nth| links[nth]).collect::<Vec<u32>>()
        };
        assert_eq!(order(0, &[1, 0]), [0, 1]);
        assert_eq!(order(1, &[0, 1, 2]), [2, 0, 1]);
        assert_eq!(order(2, &[0, 2, 1]), [2, 0, 1]);
        // The first falls silent for a while.
        assert_eq!(order(3, &[1, 2]), [2, 1]);
        assert_eq!(order(4, &[0, 1, 2]), [0, 2, 1]);
    }
}
