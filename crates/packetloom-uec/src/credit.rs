//! Credit at the sender: what its receiver lets it send, counted in quanta.

use crate::narrow::narrow;

/// How credit is counted.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Bytes of a quantum.
    pub quantum: i64,
    /// The most credit that a sender holds or requests, which is also what it begins with.
    pub most: i64,
    /// Bytes of a full packet.
    pub mtu: i64,
    /// Whether it is EQDS's; otherwise Ultra Ethernet's (RCCC).
    pub is_eqds: bool,
}

/// What a sender still has to send, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Wish {
    /// What was never sent.
    pub new: i64,
    /// What is to be sent again.
    pub again: i64,
    /// The window, where the sender has one of its own.
    pub cwnd: Option<i64>,
    /// How many flows of the host wait for its link, this one included.
    pub flows: usize,
}

/// What becomes of a turn at the host's link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// A packet goes.
    Sends,
    /// Nothing goes: credit that was only assumed is given up instead.
    GivesUp,
}

/// A flow's credit.
#[derive(Clone, Copy, Debug)]
pub struct Credit {
    settings: Settings,
    /// What was pulled, less what was sent for it. Ultra Ethernet's is all the credit that there is.
    pulled: i64,
    /// The speculative credit before the receiver answers: EQDS only.
    assumed: i64,
    /// The highest pull so far.
    pull: u32,
    /// The receiver has not answered yet.
    is_speculating: bool,
}

impl Credit {
    /// A new flow's.
    pub fn new(settings: Settings) -> Credit {
        let (pulled, assumed) = if settings.is_eqds { (0, settings.most) } else { (settings.most, 0) };
        Credit { settings, pulled, assumed, pull: 0, is_speculating: true }
    }

    /// Whether a packet may go, whatever its size: credit may fall below nothing by one packet.
    #[inline]
    pub fn lets_send(&self) -> bool {
        self.pulled + self.assumed > 0
    }

    /// Whether it is all used up, so that the receiver should acknowledge at once.
    #[inline]
    pub fn is_used_up(&self) -> bool {
        if self.settings.is_eqds { self.pulled < 0 } else { self.pulled <= 0 }
    }

    /// Whether the receiver has not answered yet.
    pub fn is_speculating(&self) -> bool {
        self.is_speculating
    }

    /// Whether nothing would go if it were the flow's turn.
    pub fn gives_up(&self) -> bool {
        self.settings.is_eqds && self.pulled <= 0 && !self.is_speculating
    }

    /// Spends so much.
    #[inline]
    pub fn spend(&mut self, bytes: i64) -> Turn {
        if !self.settings.is_eqds || self.pulled > 0 {
            self.pulled -= bytes;
            return Turn::Sends;
        }
        self.assumed -= bytes;
        if self.is_speculating { Turn::Sends } else { Turn::GivesUp }
    }

    /// The receiver has given so many quanta so far.
    pub fn pulled(&mut self, pull: u32) {
        let more = i64::from(pull.saturating_sub(self.pull)) * self.settings.quantum;
        self.pull = self.pull.max(pull);
        self.pulled += more;
        if !self.settings.is_eqds {
            self.pulled = self.pulled.min(self.settings.most);
        }
    }

    /// The receiver has answered: speculation ends.
    pub fn stop_speculating(&mut self) {
        if std::mem::replace(&mut self.is_speculating, false) && !self.settings.is_eqds {
            self.pulled = self.pulled.min(0);
        }
    }

    /// All the credit that the sender wants to have been given, in quanta.
    pub fn target(&self, wish: &Wish) -> u32 {
        let Settings { quantum, most, mtu, is_eqds } = self.settings;
        let backlog = if is_eqds { wish.new } else { wish.new + wish.again };
        let window = wish.cwnd.map_or(i64::MAX, |cwnd| cwnd + mtu);
        let mut wanted = backlog.min(window).min(most) - self.pulled - self.assumed;
        // Speculative credit is void as soon as the receiver answers, so short flows must be pulled from all the
        // same.
        if !is_eqds {
            if self.is_speculating && wish.new > 0 {
                wanted = wanted.max(mtu);
            }
            wanted /= narrow::<i64>(wish.flows.max(1));
        } else {
            // Rounded as in C++, towards zero (eqds.cpp, `EqdsSrc::computePullTarget`). What is missing may be less
            // than nothing: a sender held up by its own link has credit to spare, and requests none.
            let quanta = i64::from(self.pull) + (wanted + quantum - 1) / quantum;
            if quanta >= 0 {
                return narrow::<u32>(quanta);
            }
            // A flow shorter than a window, before it was pulled from for long. In htsim this wraps around, to pulls
            // without end.
            wanted = backlog;
        }
        self.quanta_with(wanted)
    }

    /// The same in a request to be pulled from. EQDS's receivers take a request for one packet, so what else was lost
    /// is part of the target; credit that is only assumed does not send it.
    pub fn requested(&self, wish: &Wish) -> u32 {
        let target = self.target(wish);
        if !self.settings.is_eqds {
            return target;
        }
        let missing = wish.again.min(self.settings.most) - self.pulled;
        target.max(self.quanta_with(missing.max(0)))
    }

    /// What was given so far and so many bytes, in quanta.
    fn quanta_with(&self, bytes: i64) -> u32 {
        let quantum = self.settings.quantum;
        let bytes = narrow::<u64>((i64::from(self.pull) * quantum + bytes).max(0));
        narrow::<u32>(bytes.div_ceil(narrow::<u64>(quantum)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EQDS: Settings = Settings { quantum: 512, most: 50 * 4_160, mtu: 4_160, is_eqds: true };
    const RCCC: Settings = Settings { quantum: 256, most: 263_016, mtu: 4_160, is_eqds: false };

    fn wish(new: i64) -> Wish {
        Wish { new, again: 0, cwnd: None, flows: 1 }
    }

    #[test]
    fn what_is_assumed_lasts_until_the_receiver_is_heard() {
        let mut rccc = Credit::new(RCCC);
        for _ in 0..64 {
            assert!(rccc.lets_send());
            rccc.spend(4_160);
        }
        assert!(!rccc.lets_send(), "64 packets are more than 263016 B");
        let mut rccc = Credit::new(RCCC);
        rccc.spend(4_160);
        rccc.stop_speculating();
        assert!(!rccc.lets_send());
        rccc.pulled(64);
        assert!(rccc.lets_send());
        (0..4).for_each(|_| assert_eq!(rccc.spend(4_160), Turn::Sends));
        assert!(!rccc.lets_send(), "16384 B are spent");
    }

    #[test]
    fn eqds_gives_up_what_it_assumed_packet_by_packet() {
        let mut eqds = Credit::new(EQDS);
        (0..48).for_each(|_| assert_eq!(eqds.spend(4_160), Turn::Sends));
        eqds.stop_speculating();
        eqds.pulled(8);
        // 4096 B for a packet of 4160 B; then what was assumed goes, without a packet.
        assert_eq!([eqds.spend(4_160), eqds.spend(4_160)], [Turn::Sends, Turn::GivesUp]);
        assert!(eqds.lets_send() && eqds.is_used_up());
        assert_eq!(eqds.spend(4_160), Turn::GivesUp);
        assert!(!eqds.lets_send());
    }

    #[test]
    fn a_target_is_the_credit_missing_for_what_is_left() {
        let mut eqds = Credit::new(EQDS);
        assert_eq!(eqds.spend(4_160), Turn::Sends);
        // One packet of 50: 4160 B are nine quanta.
        assert_eq!(eqds.target(&wish(1_000_000)), 9);
        assert_eq!(eqds.target(&wish(0)), 0);
        assert_eq!(eqds.target(&wish(10_000)), 20, "the whole of a short flow, in quanta of 512 B");
        eqds.pulled(500);
        // Of 50 packets' credit it has 49 assumed and 256000 B pulled: 251840 B too much, 490 quanta and a part.
        assert_eq!(eqds.target(&wish(1_000_000)), 10, "nothing beyond the 500 quanta that it was given");
        assert_eq!(eqds.requested(&Wish { again: 260_000, ..wish(0) }), 500, "256000 B send a window");
        assert_eq!(
            Credit::new(EQDS).requested(&Wish { again: 20_000, ..wish(0) }),
            40,
            "what is assumed sends nothing"
        );
        let mut rccc = Credit::new(RCCC);
        rccc.spend(4_160);
        assert_eq!(rccc.target(&wish(10_000)), 17, "at least a packet while it speculates");
        rccc.stop_speculating();
        rccc.pulled(64);
        assert_eq!(
            rccc.target(&wish(20_000)),
            64 + 15,
            "20000 B less the 16384 B at hand, in quanta of 256 B"
        );
        assert_eq!(rccc.target(&Wish { flows: 2, ..wish(20_000) }), 64 + 8);
        assert_eq!(rccc.target(&Wish { cwnd: Some(15_000), ..wish(200_000) }), 64 + 11);
        assert_eq!(rccc.target(&wish(10_000_000)), 64 + (263_016_u32 - 16_384).div_ceil(256));
    }

    #[test]
    fn a_later_pull_makes_up_for_a_lost_one() {
        let mut rccc = Credit::new(RCCC);
        rccc.stop_speculating();
        [128, 64, 128].into_iter().for_each(|pull| rccc.pulled(pull));
        (0..7).for_each(|_| assert!(rccc.spend(4_160) == Turn::Sends && rccc.lets_send()));
        rccc.spend(4_160);
        assert!(!rccc.lets_send());
    }
}
