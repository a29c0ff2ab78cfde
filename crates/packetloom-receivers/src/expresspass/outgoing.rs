//! A flow at its sender: a packet for each credit, and when it tells its receiver to stop.

use super::config::Config;
use super::header::Header;
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::{exact, narrow};
use crate::packet::{Kind, Packet};
use crate::units::Time;

/// The silence after a stop is doubled up to this power of two for each that went unanswered.
const MOST_DOUBLINGS: u32 = 12;

/// What a flow waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The first credit after a request.
    Asked,
    /// Credits.
    Receiving,
    /// Its receiver's answer to a stop; credits that are under way still serve.
    Stopped,
    /// That answer, which is late.
    Closing,
}

/// A flow.
#[derive(Clone, Debug)]
pub struct Outgoing {
    flow: Flow,
    packets: u32,
    /// The packet to send next, and the first that was never sent.
    next: u32,
    fresh: u32,
    state: State,
    /// When the last request was sent, and when the timer that counts goes off.
    asked_at: Time,
    pub due: Time,
    /// When the last credit came.
    heard_at: Time,
    /// From the last request to its first credit (XPassAgent::recv_credit): a request that is repeated makes it shorter.
    rtt: Time,
    /// Credits since the last round trip began, and when that was.
    credits: u32,
    round_began: Time,
    stops: u32,
    report: Report,
}

impl Outgoing {
    pub fn new(flow: Flow, config: &Config, now: Time) -> Outgoing {
        Outgoing {
            flow,
            packets: exact::<u32>(config.packets(flow.size_bytes)),
            next: 0,
            fresh: 0,
            state: State::Asked,
            asked_at: now,
            due: now + config.retry,
            heard_at: now,
            rtt: Time::ZERO,
            credits: 0,
            round_began: now,
            stops: 0,
            report: Report::default(),
        }
    }

    pub fn flow(&self) -> &Flow {
        &self.flow
    }

    pub fn report(&self) -> Report {
        self.report
    }

    pub fn status(&self) -> FlowStatus {
        let waits_for = match self.state {
            State::Asked | State::Receiving => "credits",
            State::Stopped | State::Closing => "the final acknowledgement",
        };
        FlowStatus { flow: self.flow.id, arrived: self.next, packets: self.packets, waits_for }
    }

    /// Receivers acknowledge no single packet, so all that were sent count as in flight.
    pub fn sending(&self) -> Sending {
        Sending { in_flight: self.fresh, report: self.report, ..Sending::default() }
    }

    fn left(&self) -> u32 {
        self.packets - self.next
    }

    /// A request for credits for what is left.
    pub fn request(&mut self, config: &Config, now: Time) -> Header {
        (self.state, self.asked_at, self.due) = (State::Asked, now, now + config.retry);
        Header::Request { size_bytes: self.flow.size_bytes, packets_left: self.left() }
    }

    /// A credit came; whether it is the first since a request.
    pub fn hear(&mut self, config: &Config, now: Time) -> bool {
        self.credits += 1;
        self.heard_at = now;
        let is_first = self.state == State::Asked;
        if is_first {
            self.state = State::Receiving;
            (self.rtt, self.round_began, self.due) = (now.since(self.asked_at), now, now + config.silence());
        }
        is_first
    }

    /// The packet that a credit is for, if any is left.
    pub fn spend(&mut self, number: u32, sent_at: Time, config: &Config) -> Option<Packet<Header>> {
        (self.left() > 0).then(|| self.take(number, sent_at, config))
    }

    fn take(&mut self, number: u32, sent_at: Time, config: &Config) -> Packet<Header> {
        let seq = self.next;
        self.next += 1;
        self.report.packets_sent += 1;
        if seq < self.fresh {
            self.report.retransmissions += 1;
        }
        self.fresh = self.fresh.max(self.next);
        Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: 1,
            size_bytes: narrow::<u16>(config.data_bytes(seq, self.flow.size_bytes)),
            kind: Kind::Data,
            header: Header::Data { seq, number, sent_at },
            ..Packet::default()
        }
    }

    /// Whether to stop the credits after one came: all was sent, or, once a round trip, as many came in it as packets are
    /// left, for which those under way do.
    pub fn is_to_stop(&mut self, config: &Config, now: Time) -> bool {
        if self.state != State::Receiving {
            return false;
        }
        if self.left() == 0 {
            return true;
        }
        if now.since(self.round_began) < self.rtt {
            return false;
        }
        let is_enough = config.early_stop && self.credits >= self.left();
        (self.credits, self.round_began) = (0, now);
        is_enough
    }

    /// The stop, after which its receiver's answer takes two round trips at most, and longer each time.
    pub fn stop(&mut self, config: &Config, now: Time) -> Header {
        self.state = State::Stopped;
        self.due = now + self.patience(2, config);
        Header::Stop { is_last: self.left() == 0 }
    }

    fn patience(&self, rtts: u64, config: &Config) -> Time {
        let longest = config.silence().max(self.rtt.times(rtts));
        self.rtt.times(rtts << self.stops.min(MOST_DOUBLINGS)).min(longest).max(Time(1))
    }

    /// What is due now: nothing, or a word to its receiver.
    pub fn remind(&mut self, config: &Config, now: Time) -> Option<Header> {
        match self.state {
            // In the authors' ns-2 a credit that was under way ends the wait for those of a new request, which may be lost.
            State::Receiving if now.since(self.heard_at) < config.silence() => {
                self.due = self.heard_at + config.silence();
                None
            }
            State::Receiving => {
                self.report.timeouts += 1;
                let request = self.request(config, now);
                self.due = now + config.silence();
                Some(request)
            }
            State::Asked => {
                self.report.timeouts += 1;
                Some(self.request(config, now))
            }
            State::Stopped if self.left() > 0 => Some(self.request(config, now)),
            State::Stopped => {
                (self.state, self.due) = (State::Closing, now + self.patience(1, config));
                None
            }
            // In the authors' ns-2 the flow is over now unless credits still come. Here the answer, or what it answers, is lost.
            State::Closing => {
                self.stops += 1;
                self.report.timeouts += 1;
                Some(self.stop(config, now))
            }
        }
    }

    /// Its receiver misses packets from this one on. If it has stopped, it needs new credits.
    pub fn go_back(&mut self, next: u32, config: &Config, now: Time) -> Option<Header> {
        self.next = self.next.min(next);
        self.stops = 0;
        matches!(self.state, State::Stopped | State::Closing).then(|| self.request(config, now))
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::testing::config;
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_us(us)
    }

    fn outgoing(packets: u64, config: &Config) -> Outgoing {
        let flow = Flow {
            id: 1,
            src: 0,
            dst: 1,
            size_bytes: packets * 1_460,
            start: Time::ZERO,
            deadline: Time::NEVER,
            class: 0,
            source: 0,
            chain: None,
        };
        Outgoing::new(flow, config, us(0))
    }

    /// A credit comes: the number of the packet that is sent, and whether to stop.
    fn credit(flow: &mut Outgoing, config: &Config, now: Time) -> (Option<u32>, bool) {
        flow.hear(config, now);
        let sent = flow.spend(1, us(0), config).map(|packet| match packet.header {
            Header::Data { seq, .. } => seq,
            other => panic!("{other:?}"),
        });
        (sent, flow.is_to_stop(config, now))
    }

    #[test]
    fn a_flow_stops_once_a_round_trip_brings_as_many_credits_as_it_has_left() {
        let config = config();
        let mut flow = outgoing(10, &config);
        assert_eq!(credit(&mut flow, &config, us(10)), (Some(0), false));
        assert_eq!(flow.rtt, us(10));
        let sent: Vec<_> = (1..5).map(|nth| credit(&mut flow, &config, us(10 + nth))).collect();
        assert_eq!(sent, [1, 2, 3, 4].map(|seq| (Some(seq), false)));
        // Six came in the first round trip, the last one with it, and four are left.
        assert_eq!(credit(&mut flow, &config, us(20)), (Some(5), true));
        assert!(matches!(flow.stop(&config, us(20)), Header::Stop { is_last: false }));
        assert_eq!((credit(&mut flow, &config, us(21)), flow.due), ((Some(6), false), us(40)));
        // Those under way did not do.
        assert!(matches!(flow.remind(&config, us(40)), Some(Header::Request { packets_left: 3, .. })));
    }

    #[test]
    fn without_the_early_stop_a_flow_stops_after_its_last_packet() {
        let config = Config { early_stop: false, ..config() };
        let mut flow = outgoing(10, &config);
        let sent: Vec<_> = (1..=10).map(|nth| credit(&mut flow, &config, us(10 * nth)).1).collect();
        assert_eq!(sent.iter().position(|&stops| stops), Some(9));
        assert!(matches!(flow.stop(&config, us(100)), Header::Stop { is_last: true }));
        assert_eq!(credit(&mut flow, &config, us(101)), (None, false), "wasted");
        // Two round trips later it waits for one more, then stops again, and waits for longer.
        assert!(flow.remind(&config, us(120)).is_none());
        assert_eq!(flow.due, us(130));
        assert!(matches!(flow.remind(&config, us(130)), Some(Header::Stop { is_last: true })));
        assert_eq!(flow.due, us(170));
    }

    #[test]
    fn a_flow_whose_credits_cease_asks_again() {
        let config = config();
        let mut flow = outgoing(100, &config);
        (1..=3).for_each(|nth| {
            credit(&mut flow, &config, us(10 * nth));
        });
        assert_eq!(flow.due, us(10 + 1_600));
        assert!(flow.remind(&config, us(1_610)).is_none());
        assert_eq!(flow.due, us(30 + 1_600));
        assert!(matches!(flow.remind(&config, us(1_630)), Some(Header::Request { packets_left: 97, .. })));
    }

    #[test]
    fn what_is_missing_is_sent_again_with_all_that_follows() {
        let config = config();
        let mut flow = outgoing(3, &config);
        (1..=3).for_each(|nth| {
            credit(&mut flow, &config, us(10 + nth));
        });
        flow.stop(&config, us(13));
        assert!(matches!(flow.go_back(1, &config, us(20)), Some(Header::Request { packets_left: 2, .. })));
        assert_eq!(credit(&mut flow, &config, us(30)).0, Some(1));
        assert_eq!(credit(&mut flow, &config, us(31)), (Some(2), true));
        assert_eq!((flow.report.packets_sent, flow.report.retransmissions), (5, 2));
        assert!(flow.go_back(2, &config, us(31)).is_none(), "credits come already");
    }
}
