//! Aeolus at a sender: what a flow sends before its first credit, what became of it, and what each credit is spent on.
//!
//! | Rule | From |
//! |---|---|
//! | up to a BDP at line rate, then a probe behind it; the first credit ends it | Aeolus (SIGCOMM 2020), from memory |
//! | of what was sent so, all below the latest that is acknowledged is lost, and all once the probe is answered | the same |
//! | a credit goes to what is lost, then to what was never sent, then to what nothing is known of | the same; a port of its authors' code (kaist-ina/ns2-flexpass, `xpass/flexpass.cc`) |
//! | what is named as missing later is sent again first | packetloom: scheduled packets are lost to damage alone |
//!
//! The port sends two BDPs, and a probe after every fourth packet; here it is one of each. As there, credits begin without a
//! ramp (`config.rs`).

use crate::seq_set::SeqSet;

/// The packets of a flow that went, or may go, before its first credit: its first ones.
#[derive(Clone, Debug)]
pub struct Unscheduled {
    /// How many may go.
    most: u32,
    /// How many went.
    sent: u32,
    /// Whether no more go.
    is_over: bool,
    /// Those whose fate is known, or no longer matters as they were sent again.
    settled: SeqSet,
    /// What is to be sent again before all else.
    lost: SeqSet,
}

impl Unscheduled {
    /// Of a flow that may send so many packets before its first credit.
    pub fn new(most: u32) -> Unscheduled {
        Unscheduled { most, sent: 0, is_over: false, settled: SeqSet::default(), lost: SeqSet::default() }
    }

    /// The next packet that goes without a credit, if one does.
    pub fn next(&mut self) -> Option<u32> {
        let seq = self.sent;
        let goes = !self.is_over && seq < self.most;
        self.sent += u32::from(goes);
        goes.then_some(seq)
    }

    /// Whether the last of them went just now, or the first credit has come: from now on no more go. Then how many did, which
    /// a probe behind them says.
    pub fn end(&mut self, has_credit: bool) -> Option<u32> {
        let ends = !self.is_over && (has_credit || self.sent == self.most);
        self.is_over |= ends;
        ends.then_some(self.sent)
    }

    /// A packet came; those before it that did not are lost.
    pub fn acknowledged(&mut self, seq: u32) {
        self.lost_below(seq);
        self.settled.insert(seq);
    }

    /// All that are below a packet and of which nothing is known are lost.
    pub fn lost_below(&mut self, seq: u32) {
        let lost = &mut self.lost;
        self.settled.insert_range(0, seq.min(self.sent), |seq| {
            lost.insert(seq);
        });
    }

    /// These are missing, whatever was heard of them.
    pub fn lose(&mut self, from: u32, to: u32) {
        self.lost.insert_range(from, to, |_| {});
        self.settled.insert_range(from.min(self.sent), to.min(self.sent), |_| {});
    }

    /// A packet that is lost, which is sent again.
    pub fn take_lost(&mut self) -> Option<u32> {
        (!self.lost.is_empty()).then(|| self.lost.take_first())
    }

    /// A packet of which nothing is known, which is sent again.
    pub fn take_unsure(&mut self) -> Option<u32> {
        let seq = self.settled.first_absent(0);
        (seq < self.sent).then(|| {
            self.settled.insert(seq);
            seq
        })
    }

    /// How many are lost, or of unknown fate.
    pub fn left(&self) -> u32 {
        self.lost.len() + self.unsure()
    }

    /// Of how many nothing is known.
    pub fn unsure(&self) -> u32 {
        self.sent - self.settled.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many have been sent.
    fn sent(packets: u32) -> Unscheduled {
        let mut unscheduled = Unscheduled::new(packets);
        (0..packets).for_each(|seq| assert_eq!(unscheduled.next(), Some(seq)));
        unscheduled
    }

    #[test]
    fn it_ends_with_the_last_packet_or_the_first_credit_and_says_so_once() {
        let mut all = Unscheduled::new(2);
        assert_eq!((all.next(), all.end(false)), (Some(0), None));
        assert_eq!((all.next(), all.end(false)), (Some(1), Some(2)));
        assert_eq!((all.next(), all.end(true)), (None, None));
        let mut some = Unscheduled::new(9);
        assert_eq!((some.next(), some.end(true)), (Some(0), Some(1)));
        assert_eq!((some.next(), some.end(true)), (None, None));
    }

    #[test]
    fn gaps_below_the_latest_that_came_are_lost_and_all_others_with_the_probe() {
        let mut unscheduled = sent(8);
        unscheduled.acknowledged(0);
        assert_eq!((unscheduled.take_lost(), unscheduled.left()), (None, 7));
        unscheduled.acknowledged(3);
        assert_eq!((unscheduled.left(), unscheduled.unsure()), (6, 4));
        assert_eq!(
            [unscheduled.take_lost(), unscheduled.take_lost(), unscheduled.take_lost()],
            [Some(1), Some(2), None]
        );
        unscheduled.acknowledged(6);
        unscheduled.lost_below(8);
        assert_eq!((unscheduled.left(), unscheduled.unsure()), (3, 0));
        let again: Vec<u32> = std::iter::from_fn(|| unscheduled.take_lost()).collect();
        assert_eq!((again, unscheduled.left()), (vec![4, 5, 7], 0));
    }

    #[test]
    fn what_nothing_is_known_of_is_sent_again_once() {
        let mut unscheduled = sent(3);
        assert_eq!(unscheduled.take_unsure(), Some(0));
        // Its acknowledgement comes after all, and says nothing of the others.
        unscheduled.acknowledged(0);
        assert_eq!(
            [unscheduled.take_unsure(), unscheduled.take_unsure(), unscheduled.take_unsure()],
            [Some(1), Some(2), None]
        );
        unscheduled.lost_below(3);
        assert_eq!((unscheduled.take_lost(), unscheduled.left()), (None, 0));
    }

    #[test]
    fn what_is_missing_later_goes_again_even_below_what_went_before() {
        let mut unscheduled = sent(3);
        unscheduled.acknowledged(2);
        assert_eq!([unscheduled.take_lost(), unscheduled.take_lost()], [Some(0), Some(1)]);
        unscheduled.lose(1, 5);
        assert_eq!(unscheduled.left(), 4);
        let again: Vec<u32> = std::iter::from_fn(|| unscheduled.take_lost()).collect();
        assert_eq!(again, [1, 2, 3, 4]);
    }
}
