//! A flow at its sender: a packet for each credit, and when it tells its receiver to stop.

use super::config::Config;
use super::header::Header;
use super::unscheduled::Unscheduled;
use crate::Sending;
use crate::engine::{FlowStatus, Report};
use crate::flow::Flow;
use crate::narrow::{exact, narrow};
use crate::packet::{Ecn, Kind, Packet};
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
    /// What goes before the first credit, with Aeolus.
    early: Option<Box<Unscheduled>>,
    report: Report,
}

impl Outgoing {
    pub fn new(flow: Flow, config: &Config, now: Time) -> Outgoing {
        let packets = exact::<u32>(config.packets(flow.size_bytes));
        Outgoing {
            flow,
            packets,
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
            early: config.burst.map(|burst| Box::new(Unscheduled::new(burst.min(packets)))),
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

    /// How many packets still need credits, as far as is known.
    fn left(&self) -> u32 {
        self.packets - self.next + self.early.as_ref().map_or(0, |early| early.left())
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
        let seq = self.choose()?;
        Some(self.send(seq, Header::Data { seq, number, sent_at }, config.ecn(), config))
    }

    /// The next packet without a credit, if one goes.
    pub fn send_early(&mut self, config: &Config) -> Option<Packet<Header>> {
        let seq = self.early.as_mut()?.next()?;
        self.next = seq + 1;
        // Switches drop it first, as one that can't be marked where others can.
        Some(self.send(seq, Header::Unscheduled { seq }, Ecn::NotCapable, config))
    }

    /// The probe behind what went without credits, if no more of it goes from now on.
    pub fn end_early(&mut self, has_credit: bool) -> Option<Header> {
        let sent = self.early.as_mut()?.end(has_credit)?;
        Some(Header::Probe { sent })
    }

    fn choose(&mut self) -> Option<u32> {
        if let Some(seq) = self.early.as_mut().and_then(|early| early.take_lost()) {
            return Some(seq);
        }
        if self.next < self.packets {
            self.next += 1;
            return Some(self.next - 1);
        }
        self.early.as_mut()?.take_unsure()
    }

    fn send(&mut self, seq: u32, header: Header, ecn: Ecn, config: &Config) -> Packet<Header> {
        self.report.packets_sent += 1;
        if seq < self.fresh {
            self.report.retransmissions += 1;
        }
        self.fresh = self.fresh.max(seq + 1);
        Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: 1,
            size_bytes: narrow::<u16>(config.data_bytes(seq, self.flow.size_bytes)),
            kind: Kind::Data,
            ecn,
            header,
            ..Packet::default()
        }
    }

    /// Its receiver says what came of that which went without credits. Whether all has come, so that none is needed.
    pub fn answered(&mut self, answer: Header, now: Time) -> bool {
        let Some(early) = &mut self.early else { return false };
        match answer {
            Header::Came { seq } => early.acknowledged(seq),
            Header::Probed { sent } => early.lost_below(sent),
            _ => {}
        }
        if self.rtt == Time::ZERO {
            self.rtt = now.since(self.asked_at);
        }
        self.left() == 0 && matches!(self.state, State::Asked | State::Receiving)
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
        let unsure = self.early.as_ref().map_or(0, |early| early.unsure());
        let is_enough = config.early_stop && unsure == 0 && self.credits >= self.left();
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
        match &mut self.early {
            Some(early) => early.lose(next.min(self.next), self.next),
            None => self.next = self.next.min(next),
        }
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
    fn with_aeolus_credits_go_to_what_is_lost_then_what_is_new_then_what_nothing_is_known_of() {
        let config = Config { burst: Some(4), early_stop: false, ..config() };
        let mut flow = outgoing(6, &config);
        let early: Vec<_> = std::iter::from_fn(|| flow.send_early(&config)).collect();
        assert_eq!(early.iter().map(|packet| packet.ecn == Ecn::NotCapable).collect::<Vec<_>>(), [true; 4]);
        assert!(matches!(flow.end_early(false), Some(Header::Probe { sent: 4 })));
        assert!(flow.end_early(true).is_none());
        assert!(!flow.answered(Header::Came { seq: 2 }, us(9)));
        // 0 and 1 are lost, 4 and 5 new, and 3 may have come.
        let sent: Vec<_> = (0..6).map(|nth| credit(&mut flow, &config, us(10 + nth))).collect();
        let all = [(Some(0), false), (Some(1), false), (Some(4), false), (Some(5), false), (Some(3), true)];
        assert_eq!(sent[..5], all);
        assert_eq!(sent[5].0, None);
        assert_eq!((flow.report.packets_sent, flow.report.retransmissions), (9, 3));
        // What comes is known to come: that it was sent again no longer matters.
        flow.stop(&config, us(16));
        assert!(!flow.answered(Header::Probed { sent: 4 }, us(17)));
        assert_eq!(flow.left(), 0);
    }

    #[test]
    fn with_aeolus_a_flow_that_has_come_needs_no_credit() {
        let config = Config { burst: Some(4), ..config() };
        let mut flow = outgoing(2, &config);
        let early = std::iter::from_fn(|| flow.send_early(&config)).count();
        assert_eq!((early, flow.answered(Header::Came { seq: 0 }, us(9))), (2, false));
        assert!(flow.answered(Header::Came { seq: 1 }, us(10)));
        assert!(matches!(flow.stop(&config, us(10)), Header::Stop { is_last: true }));
        // Two round trips, of which it knows by the first acknowledgement.
        assert_eq!(flow.due, us(28));
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
