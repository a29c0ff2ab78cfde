//! What a sender does with an acknowledgement.

use super::{Sender, flight_of};
use crate::engine::Context;
use crate::routing::Fate;
use crate::units::Time;
use crate::windowed::config::Config;
use crate::windowed::extras::Extras;
use crate::windowed::header::Header;
use crate::windowed::rack::Arrival;
use crate::windowed::view::{Acked, Sample};
use crate::windowed::window::Congestion;

impl<C: Congestion> Sender<C> {
    /// An acknowledgement came.
    pub fn acknowledged(&mut self, header: &Header, config: &Config, context: &mut Context<'_, Header>) {
        self.timeouts_in_a_row = 0;
        let advanced = header.ack > self.una;
        if advanced && config.timer_first {
            self.set_timer_again(header.ack, config, context);
        }
        let rtt = self.measure_round_trip(header, config, context.now);
        let in_flight_before = self.pipe;
        let arrival = Arrival { now: context.now, echo: config.timestamps.then_some(header.sent_at) };
        let packets = self.advance(header.ack, arrival) + self.note_blocks(header, arrival);
        if packets > 0 {
            // PLB §3 counts marks by round trips, which end as what was sent in them is acknowledged.
            let fate = if header.echo { Fate::Marked } else { Fate::Whole };
            context.judge_flow(&self.flow, header.sent_at, fate);
        }
        let found = self.detect(config, context);
        let enters_recovery = self.is_congestion(found);
        if enters_recovery {
            self.enter_recovery(packets, config);
        }
        self.leave_recovery();
        if let Some(prr) = self.extras.as_mut().and_then(|extras| extras.prr.as_mut()) {
            prr.acknowledged(packets, self.pipe, advanced && found.lost == 0);
        }
        let sample = self.sample(header, rtt, in_flight_before);
        let acked = Acked {
            packets,
            advanced: advanced && !self.is_reducing(),
            echo: header.echo,
            una: self.una,
            next: self.next,
            now: context.now,
            rtt: self.rto.smoothed().unwrap_or(Time::ZERO),
            sample,
        };
        if self.recovery.is_some() {
            self.congestion.acknowledged_in_recovery(acked, &mut self.window);
        } else {
            let before = self.window.packets();
            self.congestion.acknowledged(acked, &mut self.window);
            if config.prr && self.window.packets() < before {
                self.reduce_for_marks(acked);
            }
        }
        if advanced && !config.timer_first {
            self.expires = Time::NEVER;
        }
        if enters_recovery && !config.prr && self.candidate() < self.next && self.pace_allows(context.now) {
            // RFC 6675 §5 (4.3): the first loss is repaired at once, regardless of the window.
            self.send_next(config, context);
        }
        self.transmit(config, context);
    }

    /// Before the acknowledgement counts in any other way, as in ns-2.
    fn set_timer_again(&mut self, ack: u32, config: &Config, context: &mut Context<'_, Header>) {
        if ack == self.next {
            self.expires = Time::NEVER;
        } else {
            self.restart_timer(config, context);
        }
        self.rto.end_doubling();
    }

    /// With timestamps every acknowledgement yields a round-trip time (RFC 7323 §4.1). Without them one packet at a
    /// time is timed, and only if it was sent once (Karn's algorithm, RFC 6298 §3). So the timeout stays doubled until
    /// something new was sent and acknowledged (§5.7). Returns what it took, if that is known.
    fn measure_round_trip(&mut self, header: &Header, config: &Config, now: Time) -> Option<Time> {
        let sent_at = if config.timestamps {
            header.sent_at
        } else {
            self.timed.take_if(|(seq, _)| header.ack > *seq)?.1
        };
        let rtt = now.since(sent_at);
        self.rto.measured(rtt, &config.rto);
        Some(rtt)
    }

    /// What a control that measures is told beside the rest.
    #[inline]
    fn sample(&mut self, header: &Header, rtt: Option<Time>, in_flight_before: u32) -> Sample {
        let in_flight = (in_flight_before, self.pipe);
        let Some(flight) = flight_of::<C>(&mut self.extras) else { return Sample::default() };
        let marked = if C::L4S { flight.newly_marked(header.seq) } else { 0 };
        Sample { marked, ..flight.deliveries.sample(rtt, in_flight) }
    }

    /// Whether a packet that is not acknowledged counts as in the pipe.
    #[inline]
    fn in_pipe(&self, seq: u32) -> bool {
        seq < self.next && (seq >= self.lost_below || seq < self.retransmit_next)
    }

    /// Every packet before `ack` arrived; returns how many of them are news.
    fn advance(&mut self, ack: u32, arrival: Arrival) -> u32 {
        let mut news = 0;
        for seq in self.una..ack {
            if !self.sacked.contains(seq) {
                news += 1;
                let left_pipe = match self.rack_mut() {
                    None => self.in_pipe(seq),
                    Some(rack) => rack.delivered(seq, arrival),
                };
                self.pipe -= u32::from(left_pipe);
                if let Some(flight) = flight_of::<C>(&mut self.extras) {
                    flight.deliveries.delivered(seq, arrival.now);
                }
            }
        }
        if ack > self.una {
            self.una = ack;
            if let Some(flight) = flight_of::<C>(&mut self.extras) {
                flight.deliveries.acknowledged(ack);
            }
            if let Some(rack) = self.rack_mut() {
                rack.acknowledged(ack);
            }
            self.lost_below = self.lost_below.max(ack);
            self.retransmit_next = self.retransmit_next.max(ack);
            self.sacked.drop_below(ack);
        }
        news
    }

    fn note_blocks(&mut self, header: &Header, arrival: Arrival) -> u32 {
        let (lost_below, retransmit_next) = (self.lost_below, self.retransmit_next);
        let (mut rack, mut flight) = match self.extras.as_deref_mut() {
            Some(Extras { rack, flight, .. }) => (rack.as_mut(), flight.as_mut().filter(|_| C::MEASURES)),
            None => (None, None),
        };
        let (mut news, mut left_pipe) = (0, 0);
        for block in header.blocks.iter().filter(|block| block.length > 0) {
            let from = (header.ack + u32::from(block.offset)).max(self.una);
            let to = header.ack + u32::from(block.offset) + u32::from(block.length);
            self.sacked.insert_range(from, to.max(from), |seq| {
                news += 1;
                if let Some(flight) = &mut flight {
                    flight.deliveries.delivered(seq, arrival.now);
                }
                left_pipe += u32::from(match &mut rack {
                    None => seq >= lost_below || seq < retransmit_next,
                    Some(rack) => rack.delivered(seq, arrival),
                });
            });
        }
        self.pipe -= left_pipe;
        news
    }
}
