//! A message at its receiver: what came of it, and for how much of it there was credit.

use super::config::Config;
use crate::flow::{FlowId, HostId};
use crate::narrow::exact;
use crate::reassembly::Reassembly;
use crate::units::Time;

/// A message's rank among those that need credit: by what is to come of it, or by turn; then by age.
pub type Rank = (u64, u64, FlowId);

/// A message.
#[derive(Clone, Debug)]
pub struct Incoming {
    pub flow: FlowId,
    pub src: HostId,
    pub size_bytes: u64,
    pub packets: u32,
    /// For how many packets there was credit. It serves any message of the sender, so which ones it brings is the sender's
    /// to say.
    pub credited: u32,
    arrived: u32,
    arrived_bytes: u64,
    have: Reassembly,
    /// The turn with which it began.
    number: u64,
    /// When its turn comes, where messages get credit in turn.
    turn: u64,
    /// Its rank among those that need credit.
    pub rank: Option<Rank>,
    /// Since when something should come and nothing has.
    silent_since: Time,
    /// How often what is missing was asked for since anything new came.
    requests: u32,
}

impl Incoming {
    /// Of which nothing has come, and `allotted` packets come without asking.
    pub fn new(
        (flow, src): (FlowId, HostId),
        (size_bytes, allotted): (u64, u32),
        turn: u64,
        config: &Config,
        now: Time,
    ) -> Incoming {
        let packets = exact::<u32>(config.layout.packets(size_bytes));
        Incoming {
            flow,
            src,
            size_bytes,
            packets,
            credited: allotted.min(packets),
            arrived: 0,
            arrived_bytes: 0,
            have: Reassembly::default(),
            number: turn,
            turn,
            rank: None,
            silent_since: now,
            requests: 0,
        }
    }

    /// Takes in a packet; returns whether it is new.
    pub fn note(&mut self, seq: u32, config: &Config, now: Time) -> bool {
        self.silent_since = now;
        if seq >= self.packets || seq < self.have.next() || self.have.above().contains(seq) {
            return false;
        }
        self.requests = 0;
        self.have.add(seq, seq + 1 == self.packets);
        self.arrived += 1;
        self.arrived_bytes += config.layout.payload(seq, self.size_bytes);
        true
    }

    /// Whether all of it is there.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.arrived == self.packets
    }

    /// Whether there was credit for all of it. What has come whole may have come by the credit of others.
    #[inline]
    pub fn is_credited(&self) -> bool {
        self.credited == self.packets
    }

    /// Its rank, if it needs credit.
    pub fn rank_now(&self, config: &Config) -> Option<Rank> {
        let first = if config.in_turn { self.turn } else { self.size_bytes - self.arrived_bytes };
        (!self.is_credited()).then_some((first, self.number, self.flow))
    }

    /// The credit that it needs next.
    #[inline]
    pub fn needs(&self, config: &Config) -> u64 {
        config.layout.wire_bytes(self.credited, self.size_bytes)
    }

    /// It gets that; its next turn is this one.
    pub fn credit(&mut self, turn: u64, now: Time) {
        if self.arrived >= self.credited {
            // Until now nothing should have come.
            self.silent_since = now;
        }
        self.credited += 1;
        self.turn = turn;
    }

    /// Whether what should have come is late. Otherwise when to look again.
    pub fn is_late(&mut self, config: &Config, now: Time) -> Result<(), Time> {
        let patient_until = self.silent_since + config.after_requests(config.resend_after, self.requests);
        if patient_until > now {
            return Err(patient_until.min(now + config.resend_after));
        }
        if self.arrived >= self.credited {
            return Err(now + config.resend_after);
        }
        self.silent_since = now;
        self.requests += 1;
        Ok(())
    }

    /// Each run of packets that have not come, from which to which.
    pub fn missing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let (above, packets) = (self.have.above(), self.packets);
        let mut next = self.have.next();
        std::iter::from_fn(move || {
            let (from, to) = (next, above.first_present(next).unwrap_or(packets).min(packets));
            next = above.first_absent(to);
            (from < packets).then_some((from, to))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    #[test]
    fn only_what_has_credit_is_late_and_each_request_waits_for_twice_as_long() {
        let config = config();
        let mut message = Incoming::new((1, 2), (10 * 1_458, 0), 0, &config, us(0));
        assert_eq!(message.is_late(&config, us(5_000)), Err(us(6_000)), "there was no credit");
        (0..3).for_each(|turn| message.credit(turn, us(6_000)));
        assert_eq!(message.is_late(&config, us(6_000)), Err(us(7_000)));
        assert!(message.note(1, &config, us(6_500)));
        assert_eq!(message.is_late(&config, us(7_000)), Err(us(7_500)));
        assert_eq!(message.is_late(&config, us(7_500)), Ok(()));
        assert_eq!(message.is_late(&config, us(8_500)), Err(us(9_500)));
        assert_eq!(message.is_late(&config, us(9_500)), Ok(()));
        assert_eq!(message.missing().collect::<Vec<_>>(), [(0, 1), (2, 10)]);
        assert!(!message.note(1, &config, us(9_600)), "a second time");
    }

    #[test]
    fn a_message_is_ranked_by_what_is_to_come_until_it_has_all_its_credit() {
        let config = config();
        let mut message = Incoming::new((7, 2), (3_000, 1), 4, &config, us(0));
        assert_eq!(message.rank_now(&config), Some((3_000, 4, 7)));
        message.note(0, &config, us(1));
        assert_eq!(message.rank_now(&config), Some((1_542, 4, 7)));
        assert_eq!(message.needs(&config), 1_538);
        message.credit(0, us(1));
        assert_eq!(message.needs(&config), 84 + 38 + 42);
        message.credit(0, us(1));
        assert_eq!(message.rank_now(&config), None);
    }
}
