//! Proportional rate reduction (RFC 9937): in loss recovery packets are sent as others arrive, so that the pipe
//! comes down to the window without a pause or a burst. Linux does the same where marks reduce the window.

use crate::narrow::narrow;

/// A reduction's state.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// The pipe at its beginning (RecoverFS), and what it is to become (ssthresh).
    from: u32,
    to: u32,
    delivered: u32,
    out: u32,
    /// The pipe may grow to this: the RFC's cwnd.
    limit: u32,
}

impl Prr {
    /// Recovery begins, with so many packets in the pipe that are not held lost. One may be sent at once.
    pub fn new(from: u32, to: u32, pipe: u32) -> Prr {
        Prr { from: from.max(1), to, delivered: 0, out: 0, limit: pipe + 1 }
    }

    /// A packet is sent.
    pub fn sent(&mut self) {
        self.out += 1;
    }

    /// How large the pipe may be.
    pub fn limit(&self) -> u32 {
        self.limit
    }

    /// An acknowledgement reports that so many packets arrived and leaves so many in the pipe. It `is_safe` if it
    /// is cumulative and nothing more was found lost (§5: safeACK).
    pub fn acknowledged(&mut self, delivered: u32, pipe: u32, is_safe: bool) {
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let send = if pipe > self.to {
            let share = (u64::from(self.delivered) * u64::from(self.to)).div_ceil(u64::from(self.from));
            narrow::<u32>(share).saturating_sub(self.out)
        } else {
            let one_for_one = self.delivered.saturating_sub(self.out).max(delivered);
            (one_for_one + u32::from(is_safe)).min(self.to - pipe)
        };
        self.limit = pipe + if self.out == 0 { send.max(1) } else { send };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of so many acknowledgements lets a sender send, that always has something to.
    fn sent(prr: &mut Prr, mut pipe: u32, acknowledgements: u32, is_safe: bool) -> (Vec<u32>, u32) {
        let per_acknowledgement = (0..acknowledgements).map(|_| {
            pipe -= 1;
            prr.acknowledged(1, pipe, is_safe);
            let count = prr.limit() - pipe;
            (0..count).for_each(|_| prr.sent());
            pipe = prr.limit();
            count
        });
        (per_acknowledgement.collect(), pipe)
    }

    #[test]
    fn a_pipe_that_is_to_be_halved_is_refilled_by_every_second_packet() {
        // Of 20 two have arrived; with the third the first is found lost.
        let mut prr = Prr::new(18, 10, 16);
        let (counts, pipe) = sent(&mut prr, 17, 16, false);
        assert_eq!(counts, [1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1]);
        assert_eq!(pipe, 10);
        assert_eq!(sent(&mut prr, pipe, 3, false), (vec![1; 3], 10), "then it is kept");
    }

    #[test]
    fn a_pipe_that_fell_too_far_is_kept_until_it_is_safe_to_grow() {
        // 20 to 14, of which 12 were lost: one is sent for each that arrives.
        let mut prr = Prr::new(20, 14, 8);
        let (counts, pipe) = sent(&mut prr, 8, 5, false);
        assert_eq!((counts, pipe), (vec![1; 5], 8));
        // Then, as in slow start, two, until there are 14 (SSRB).
        let (counts, pipe) = sent(&mut prr, pipe, 8, true);
        assert_eq!((counts, pipe), (vec![2, 2, 2, 2, 2, 2, 1, 1], 14));
    }

    #[test]
    fn the_first_is_sent_at_once_and_what_tells_nothing_changes_nothing() {
        let mut prr = Prr::new(100, 10, 50);
        assert_eq!(prr.limit(), 51);
        // 0.1 packets would be its share.
        prr.acknowledged(1, 50, false);
        assert_eq!(prr.limit(), 51);
        prr.sent();
        prr.acknowledged(0, 40, true);
        assert_eq!(prr.limit(), 51);
        prr.acknowledged(1, 49, false);
        assert_eq!(prr.limit(), 49);
    }
}
