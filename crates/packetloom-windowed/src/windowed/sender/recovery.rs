//! What is lost, and how the window comes down.

use super::{Sender, flight_of};
use crate::engine::Context;
use crate::units::Time;
use crate::windowed::config::Config;
use crate::windowed::extras::Extras;
use crate::windowed::header::Header;
use crate::windowed::prr::Prr;
use crate::windowed::rack::Found;
use crate::windowed::view::Acked;
use crate::windowed::window::Congestion;
use crate::windowed::{RETRANSMIT, purpose_of};

impl<C: Congestion> Sender<C> {
    /// Finds what is lost, and takes it from the pipe.
    pub(super) fn detect(&mut self, config: &Config, context: &mut Context<'_, Header>) -> Found {
        let Some(threshold) = config.duplicate_threshold else { return Found::default() };
        let found = if self.rack().is_some() {
            self.detect_by_time(threshold, context)
        } else {
            Found { lost: self.detect_by_count(threshold), again: false }
        };
        self.pipe -= found.lost;
        if C::MEASURES {
            self.report_lost(context.now);
        }
        found
    }

    /// RFC 6675's IsLost: a hole is lost once `threshold` packets beyond it have arrived. Returns how many are newly
    /// so.
    fn detect_by_count(&mut self, threshold: u32) -> u32 {
        let Some(proof) = self.sacked.nth_largest(threshold) else { return 0 };
        if proof <= self.lost_below {
            return 0;
        }
        let from = self.lost_below;
        if let Some(flight) = flight_of::<C>(&mut self.extras) {
            flight.lost.extend((from..proof).filter(|&seq| !self.sacked.contains(seq)));
        }
        self.lost_below = proof;
        // What arrived beyond what timed out is not sent again.
        self.resends_all = false;
        proof - from - self.sacked.count_in(from, proof)
    }

    /// RFC 8985 §6.2, after its step 3.
    fn detect_by_time(&mut self, threshold: u32, context: &mut Context<'_, Header>) -> Found {
        self.leave_recovery();
        let window = self.reordering_window(threshold);
        let Some(Extras { rack: Some(rack), flight, .. }) = self.extras.as_deref_mut() else {
            return Found::default();
        };
        let before = rack.looks_again;
        let mut noted = flight.as_mut().filter(|_| C::MEASURES);
        let note = |seq| noted.iter_mut().for_each(|flight| flight.lost.push_back(seq));
        let found = rack.detect(context.now, window, &self.sacked, note);
        if let Some(at) = rack.looks_again.filter(|&at| before != Some(at)) {
            context.set_timer(at, self.flow.id, purpose_of(RETRANSMIT, self.subflow));
        }
        found
    }

    /// Tells a control that measures of each packet that was found lost.
    pub(super) fn report_lost(&mut self, now: Time) {
        while let Some(lost) = flight_of::<C>(&mut self.extras).and_then(|flight| flight.next_lost(now)) {
            self.congestion.packet_lost(&lost, &mut self.window);
        }
    }

    /// How long RACK waits for what may come out of order.
    pub(super) fn reordering_window(&self, threshold: u32) -> Time {
        self.rack().map_or(Time::ZERO, |rack| {
            let is_repairing = self.recovery.is_some() || rack.after_timeout.is_some();
            rack.reordering_window(is_repairing || self.sacked.len() >= threshold, self.rto.smoothed())
        })
    }

    /// Whether a loss begins a recovery, in which the window is reduced. After a timeout, which reduced it, only the
    /// loss of a retransmission does (RFC 5681 §4.3: it counts twice). Under RACK a recovery or a timeout that is over
    /// leaves what was lost of the data sent since it began. That is a loss in the next window, for which the window is
    /// reduced again (§4.3), as on Linux (tcp_input.c: tcp_time_to_recover).
    pub(super) fn is_congestion(&self, found: Found) -> bool {
        if self.recovery.is_some() {
            return false;
        }
        match self.rack() {
            Some(rack) if rack.after_timeout.is_none() => rack.has_losses(),
            Some(_) => found.again,
            None => found.lost > 0,
        }
    }

    /// A loss was found as so many packets turned out to have arrived.
    pub(super) fn enter_recovery(&mut self, delivered: u32, config: &Config) {
        self.recovery = Some(self.next);
        self.congestion.lost(self.flight_size(), &mut self.window);
        let Some(extras) = &mut self.extras else { return };
        if config.prr {
            let outstanding = self.next - self.una - self.sacked.len();
            extras.prr = Some(Prr::new(outstanding + delivered, self.window.packets(), self.pipe));
            extras.reduces_until = self.next;
        }
        if let Some(rack) = &mut extras.rack {
            rack.after_timeout = None;
        }
    }

    /// The window shrank because of marks: the pipe follows as in loss recovery, until something is acknowledged
    /// that was sent after (RFC 3168 §6.1.2), as on Linux.
    pub(super) fn reduce_for_marks(&mut self, acked: Acked) {
        let Some(extras) = &mut self.extras else { return };
        let mut prr = Prr::new(self.pipe + acked.packets, self.window.packets(), self.pipe);
        prr.acknowledged(acked.packets, self.pipe, acked.advanced);
        extras.prr = Some(prr);
        extras.reduces_until = acked.next + 1;
    }

    /// Whether the pipe is on its way to a smaller window.
    pub(super) fn is_reducing(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.prr.is_some())
    }

    /// Ends loss recovery when all that was sent before it is acknowledged.
    pub(super) fn leave_recovery(&mut self) {
        if self.recovery.is_some_and(|point| self.una >= point) {
            self.recovery = None;
            self.congestion.recovered(&mut self.window);
        }
        if self.extras.as_ref().is_some_and(|extras| self.una >= extras.reduces_until) {
            self.end_prr();
        }
    }

    pub(super) fn end_prr(&mut self) {
        if let Some(extras) = &mut self.extras {
            extras.prr = None;
        }
    }

    /// What was sent and not cumulatively acknowledged (RFC 5681 §2: FlightSize). Where selective acknowledgements
    /// have moved the window on beyond a hole, no more than the window counts.
    pub(super) fn flight_size(&self) -> u32 {
        (self.next - self.una).min(self.window.packets())
    }
}
