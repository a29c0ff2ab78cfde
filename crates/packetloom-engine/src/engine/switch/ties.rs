//! Which of several packets that arrive at a switch at the same instant is taken first.

use smallvec::SmallVec;
use std::cmp::Reverse;

/// The order of a switch.
pub(in crate::engine) enum Ties {
    /// Link by link, beginning with another each time, so that none of equal senders finds the buffer always full.
    Rotate {
        /// How often that was done.
        turn: usize,
    },
    /// As in ns-3, where events of the same time happen in the order in which they were scheduled: first what is
    /// longest on its link, then what its host planned first, or by what had been planned first, where it says so, and
    /// then the link whose last packet came longest ago, as a link that goes on schedules its next packet with its
    /// last one.
    Ns3 {
        /// How many packets came.
        turn: usize,
        /// By link: which of them was its last.
        last_turns: Vec<usize>,
    },
}

/// A packet that arrives: what the order is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tied {
    pub(super) link: u32,
    pub(super) size_bytes: u16,
    /// How long ago its host planned it, and what planned it (`packetloom-rdma/src/plans.rs`), as one number that is
    /// larger for what goes first; 0, if it does not say.
    pub(super) planned_ago: u32,
}

impl Ties {
    /// The order of ns-3, at a switch with so many links.
    pub(in crate::engine) fn as_in_ns3(links: usize) -> Ties {
        Ties::Ns3 { turn: 0, last_turns: vec![0; links] }
    }

    /// Whether a packet has to be put in order that arrives alone, too, because that counts later.
    pub(super) fn orders_all(&self) -> bool {
        matches!(self, Ties::Ns3 { .. })
    }

    /// In which order arrivals are taken.
    pub(super) fn order(
        &mut self,
        mut arrivals: impl ExactSizeIterator<Item = Tied>,
    ) -> SmallVec<[usize; 8]> {
        let count = arrivals.len();
        match self {
            Ties::Rotate { .. } if count == 1 => (0..1).collect(),
            Ties::Rotate { turn } => {
                let mut links: SmallVec<[(u32, usize); 8]> =
                    arrivals.map(|arrival| arrival.link).zip(0..).collect();
                links.sort_unstable();
                *turn += 1;
                links.rotate_left(*turn % count);
                links.into_iter().map(|(_, nth)| nth).collect()
            }
            Ties::Ns3 { turn, last_turns } if count == 1 => {
                if let Some(Tied { link, .. }) = arrivals.next() {
                    *turn += 1;
                    last_turns[link as usize] = *turn;
                }
                (0..1).collect()
            }
            Ties::Ns3 { turn, last_turns } => {
                let key = |Tied { link, size_bytes, planned_ago }| {
                    (Reverse(size_bytes), Reverse(planned_ago), last_turns[link as usize], link)
                };
                let mut keys: SmallVec<[_; 8]> = arrivals.map(key).zip(0..).collect();
                keys.sort_unstable();
                for &((.., link), _) in &keys {
                    *turn += 1;
                    last_turns[link as usize] = *turn;
                }
                keys.into_iter().map(|(_, nth)| nth).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn by(link: u32) -> Tied {
        Tied { link, size_bytes: 1_000, planned_ago: 0 }
    }

    fn order(ties: &mut Ties, arrivals: &[Tied]) -> Vec<u32> {
        let order = ties.order(arrivals.iter().copied());
        order.into_iter().map(|nth| arrivals[nth].link).collect()
    }

    #[test]
    fn each_link_is_first_in_its_turn() {
        let mut ties = Ties::Rotate { turn: 0 };
        let firsts = (0..6).map(|_| ties.order([by(2), by(0), by(5)].into_iter())[0]);
        // By link: the second, the first, the third.
        assert_eq!(firsts.collect::<Vec<_>>(), [0, 2, 1, 0, 2, 1]);
    }

    #[test]
    fn in_ns3_whoever_was_silent_longest_goes_first_and_stays_there() {
        let mut ties = Ties::as_in_ns3(3);
        assert_eq!(order(&mut ties, &[by(1), by(0)]), [0, 1]);
        assert_eq!(order(&mut ties, &[by(0), by(1), by(2)]), [2, 0, 1]);
        assert_eq!(order(&mut ties, &[by(0), by(2), by(1)]), [2, 0, 1]);
        // The first falls silent for a while.
        assert_eq!(order(&mut ties, &[by(0)]), [0]);
        assert_eq!(order(&mut ties, &[by(1), by(0), by(2)]), [2, 1, 0]);
    }

    #[test]
    fn in_ns3_what_began_first_or_was_planned_first_goes_first() {
        let mut ties = Ties::as_in_ns3(3);
        let short = Tied { size_bytes: 60, planned_ago: 900, ..by(0) };
        let early = Tied { planned_ago: 500, ..by(2) };
        assert_eq!(order(&mut ties, &[short, by(1), early]), [2, 1, 0]);
    }
}
