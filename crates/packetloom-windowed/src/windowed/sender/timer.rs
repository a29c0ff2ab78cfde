//! The retransmission timer, and RACK's.

use super::{Sender, flight_of};
use crate::engine::Context;
use crate::packet::{Kind, Packet};
use crate::routing::Fate;
use crate::units::Time;
use crate::windowed::config::Config;
use crate::windowed::extras::Extras;
use crate::windowed::header::Header;
use crate::windowed::window::Congestion;
use crate::windowed::{RETRANSMIT, purpose_of};

impl<C: Congestion> Sender<C> {
    /// The alarm of the retransmission timer went off.
    pub fn timer(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        if self.rack().and_then(|rack| rack.looks_again).is_some_and(|at| at <= context.now) {
            self.look_again(config, context);
        }
        if flight_of::<C>(&mut self.extras).is_some_and(|flight| flight.pacer.expired(context.now)) {
            self.transmit(config, context);
        }
        if context.now < self.alarm {
            return;
        }
        self.alarm = Time::NEVER;
        if self.expires > context.now {
            self.set_alarm(context);
            return;
        }
        self.report.timeouts += 1;
        self.timeouts_in_a_row += 1;
        context.judge_flow(&self.flow, context.now, Fate::Lost);
        self.reduce_after_timeout(config);
        self.hold_lost(config, context.now);
        self.recovery = None;
        self.timed = None;
        self.rto.expired(&config.rto);
        if config.timer_first {
            self.rto.doubt_smoothed();
        }
        self.expires = Time::NEVER;
        if config.probe_after.is_some_and(|limit| self.timeouts_in_a_row >= limit) {
            self.send_probe(config, context);
            self.restart_timer(config, context);
        } else {
            self.transmit(config, context);
        }
    }

    fn reduce_after_timeout(&mut self, config: &Config) {
        let again = self.timeouts_in_a_row > 1;
        if config.halves_window {
            // In whole packets, and each time: a second timeout in a row finds a window of one.
            let window = self.window.packets() / 2 * 2;
            self.congestion.timed_out(window, false, &mut self.window);
            if again {
                self.congestion.starving();
            }
        } else {
            self.congestion.timed_out(self.flight_size(), again, &mut self.window);
        }
    }

    /// After a timeout: all that was sent and not acknowledged is lost, under RACK only what was sent long enough
    /// ago. One packet may be sent in any case (RFC 6298 §5.4).
    pub fn hold_lost(&mut self, config: &Config, now: Time) {
        self.end_prr();
        let window = self.reordering_window(config.duplicate_threshold.unwrap_or(u32::MAX));
        if let Some(Extras { rack: Some(rack), flight, .. }) = self.extras.as_deref_mut() {
            let mut noted = flight.as_mut().filter(|_| C::MEASURES);
            let note = |seq| noted.iter_mut().for_each(|flight| flight.lost.push_back(seq));
            self.pipe -= rack.timed_out(self.next, now, window, &self.sacked, note);
            self.window.make_room(self.pipe + 1);
        } else {
            if let Some(flight) = flight_of::<C>(&mut self.extras) {
                let in_pipe = |seq| seq >= self.lost_below || seq < self.retransmit_next;
                let missing = (self.una..self.next).filter(|&seq| !self.sacked.contains(seq));
                flight.lost.extend(missing.filter(|&seq| in_pipe(seq)));
            }
            self.lost_below = self.next;
            self.retransmit_next = self.una;
            self.resends_all = config.resends_all;
            self.pipe = 0;
        }
        if C::MEASURES {
            self.report_lost(now);
        }
    }

    /// RACK's reordering timer went off: what has not come by now is lost.
    fn look_again(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let found = self.detect(config, context);
        if self.is_congestion(found) {
            self.enter_recovery(0, config);
        }
        self.transmit(config, context);
    }

    /// A packet without payload that requests an acknowledgement (pFabric's probe mode).
    fn send_probe(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        let remaining_bytes = self.remaining_bytes(config);
        context.send(Packet {
            flow: self.flow.id,
            dst: self.flow.dst,
            priority: config.priority.number(&self.flow, remaining_bytes, context.now),
            size_bytes: config.format.ack_bytes,
            kind: Kind::Control,
            class: C::bare_class(self.flow.class),
            path: self.subflow.into(),
            header: Header {
                sent_at: context.now,
                seq: self.una,
                subflow: self.subflow,
                ..Header::default()
            },
            ..Packet::default()
        });
    }

    pub(super) fn restart_timer(&mut self, config: &Config, context: &mut Context<'_, Header>) {
        self.expires = context.now + self.rto.current(&config.rto);
        if self.alarm > self.expires {
            self.set_alarm(context);
        }
    }

    fn set_alarm(&mut self, context: &mut Context<'_, Header>) {
        self.alarm = self.expires;
        if self.alarm != Time::NEVER {
            context.set_timer(self.alarm, self.flow.id, purpose_of(RETRANSMIT, self.subflow));
        }
    }
}
