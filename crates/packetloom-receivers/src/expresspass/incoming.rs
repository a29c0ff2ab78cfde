//! A flow at its receiver: what came of it, and its credits.

use super::config::Config;
use super::feedback::Feedback;
use crate::flow::HostId;
use crate::narrow::exact;
use crate::seq_set::SeqSet;
use crate::units::Time;

/// A flow.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub src: HostId,
    pub packets: u32,
    /// The first packet that has not come.
    pub next: u32,
    /// What came beyond it, where that is kept: Aeolus' senders fill gaps.
    beyond: Option<Box<SeqSet>>,
    pub feedback: Feedback,
    /// When the next credit goes; never, while they are stopped.
    pub credit_at: Time,
    /// When to say again that packets are missing, if any are.
    pub nack_at: Time,
    /// With what its packets seed the generator of sizes and gaps, where they do.
    pub seed: Option<u32>,
}

/// What a packet is to a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Came {
    /// The next, or one that is kept until those before it come.
    InOrder,
    /// One beyond what is missing, which nobody has said is so.
    Gap,
    /// One that is of no use.
    InVain,
}

impl Incoming {
    pub fn new(src: HostId, size_bytes: u64, feedback: Feedback, config: &Config) -> Incoming {
        Incoming {
            src,
            packets: exact::<u32>(config.packets(size_bytes)),
            next: 0,
            beyond: config.burst.map(|_| Box::default()),
            feedback,
            credit_at: Time::NEVER,
            nack_at: Time::NEVER,
            seed: None,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.next == self.packets
    }

    /// Whether its sender wants credits.
    pub fn has_credits(&self) -> bool {
        self.credit_at != Time::NEVER
    }

    /// A packet came. Only the next one is kept: the sender goes back (XPassAgent::process_ack). With Aeolus all are.
    pub fn note(&mut self, seq: u32) -> Came {
        if let Some(beyond) = &mut self.beyond {
            if seq < self.next || !beyond.insert(seq) {
                return Came::InVain;
            }
            if seq == self.next {
                self.next = beyond.first_absent(seq);
                beyond.drop_below(self.next);
                self.nack_at = Time::NEVER;
            }
            return Came::InOrder;
        }
        if seq == self.next {
            self.next += 1;
            self.nack_at = Time::NEVER;
            return Came::InOrder;
        }
        if seq > self.next && self.nack_at == Time::NEVER { Came::Gap } else { Came::InVain }
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    #[test]
    fn a_gap_is_told_once_until_it_is_filled() {
        let config = config();
        let feedback = Feedback::new(1_000, 5, &config, Time::ZERO);
        let mut flow = Incoming::new(1, 5 * 1_460, feedback, &config);
        assert_eq!(flow.note(0), Came::InOrder);
        assert_eq!(flow.note(2), Came::Gap);
        flow.nack_at = Time::from_us(100);
        assert_eq!([flow.note(3), flow.note(0)], [Came::InVain; 2]);
        assert_eq!([flow.note(1), flow.note(2), flow.note(4)], [Came::InOrder, Came::InOrder, Came::Gap]);
        assert!(!flow.is_whole());
    }

    #[test]
    fn with_aeolus_packets_are_kept_whatever_their_order() {
        let config = Config { burst: Some(3), ..config() };
        let feedback = Feedback::new(1_000, 5, &config, Time::ZERO);
        let mut flow = Incoming::new(1, 5 * 1_460, feedback, &config);
        assert_eq!(
            [0, 2, 4, 2, 0].map(|seq| flow.note(seq) == Came::InOrder),
            [true, true, true, false, false]
        );
        assert_eq!((flow.next, flow.is_whole()), (1, false));
        assert_eq!([flow.note(1), flow.note(3)], [Came::InOrder; 2]);
        assert!(flow.is_whole());
    }
}
