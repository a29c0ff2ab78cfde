//! What follows of the model: the pacing rate and the window (§5.6).

use super::super::windowed::{Acked, Window};
use super::{Bbr3Control, INFINITE, LEAST_WINDOW, State};

/// The pacing rate and the window (§5.6).
impl Bbr3Control {
    /// The pacing gain and the window's, by the state (§5.6.1).
    pub(super) fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (self.pace.startup_gain, self.cwnd_gain),
            State::Drain => (self.drain_gain, self.cwnd_gain),
            State::Down => (self.down_gain, self.cwnd_gain),
            State::Cruise | State::Refill => (1.0, self.cwnd_gain),
            State::Up => (1.25, self.cwnd_gain + 0.25),
            State::ProbeRtt => (1.0, 0.5),
        }
    }

    pub(super) fn set_pacing_rate(&mut self, acked: &Acked, window: &Window) {
        self.pace.learn(&self.shared, acked, window);
        self.pace_at(self.gains().0);
    }

    pub(super) fn pace_at(&mut self, gain: f64) {
        self.pace.follow(&self.shared, gain * self.bw, self.has_filled_pipe);
    }

    /// BDPMultiple.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        self.min_rtt.map_or(self.shared.initial_window, |rtt| gain * self.shared.bdp(self.bw, rtt))
    }

    /// QuantizationBudget.
    fn budget(&self, packets: f64) -> f64 {
        let least = packets.max(3.0 * self.shared.send_quantum).max(LEAST_WINDOW);
        if self.state == State::Up { least + 2.0 } else { least }
    }

    pub(super) fn in_flight_at(&self, gain: f64) -> f64 {
        self.budget(self.bdp(gain))
    }

    pub(super) fn target_in_flight(&self, window: &Window) -> f64 {
        self.bdp(1.0).min(window.cwnd_packets())
    }

    pub(super) fn in_flight_with_headroom(&self) -> f64 {
        if self.inflight_longterm == INFINITE {
            return INFINITE;
        }
        let headroom = (self.headroom * self.inflight_longterm).max(1.0);
        (self.inflight_longterm - headroom).max(LEAST_WINDOW)
    }

    pub(super) fn probe_rtt_window(&self) -> f64 {
        self.bdp(0.5).max(LEAST_WINDOW)
    }

    /// §5.6.4.6 and §5.6.4.7: SetCwnd and its bounds.
    pub(super) fn set_window(&self, acked: &Acked, window: &mut Window) {
        let most = self.budget(self.bdp(self.gains().1) + self.aggregation.extra_packets());
        let delivered = f64::from(acked.packets);
        let is_young = self.packets(acked.sample.delivered_bytes) < self.shared.initial_window;
        let mut cwnd = window.cwnd_packets();
        if self.has_filled_pipe {
            cwnd = (cwnd + delivered).min(most);
        } else if cwnd < most || is_young {
            cwnd += delivered;
        }
        cwnd = cwnd.max(LEAST_WINDOW);
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_window());
        }
        window.set_packets(cwnd.min(self.bound()));
    }

    /// BoundCwndForModel.
    pub(super) fn bound(&self) -> f64 {
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.in_flight_with_headroom(),
            State::Startup | State::Drain => INFINITE,
        };
        long_term.min(self.inflight_shortterm).max(LEAST_WINDOW)
    }

    pub(super) fn save_window(&mut self, window: &Window) {
        let cwnd = window.cwnd_packets();
        let is_cut = self.recovery_began.is_some() || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    pub(super) fn restore_window(&self, window: &mut Window) {
        window.set_packets(window.cwnd_packets().max(self.prior_cwnd));
    }
}
