//! The states of the sender, and when it goes from one to another (§5.3).

use super::super::windowed::{Acked, Delivery, Limit, Window};
use super::{Acks, Bbr3Control, Evidence, INFINITE, MOST_LOST_RANGES, MOST_RENO_ROUNDS, State, bps};
use crate::units::Time;

/// The states (§5.3).
impl Bbr3Control {
    /// §5.3.1.2: CheckFullBWReached.
    pub(super) fn check_full_bandwidth(&mut self, acked: &Acked) {
        let Some(delivery) = acked.sample.delivery else { return };
        if self.is_bw_full_now || !self.is_round_start || delivery.is_app_limited {
            return;
        }
        if bps(&delivery) >= self.full_bw * 1.25 {
            self.reset_full_bandwidth(bps(&delivery));
            return;
        }
        self.full_count += 1;
        self.is_bw_full_now = self.full_count >= 3;
        self.has_filled_pipe |= self.is_bw_full_now;
    }

    fn reset_full_bandwidth(&mut self, baseline: f64) {
        (self.full_bw, self.full_count, self.is_bw_full_now) = (baseline, 0, false);
    }

    /// §5.3.1: CheckStartupDone, with CheckStartupHighLoss.
    pub(super) fn check_startup(&mut self, acked: &Acked) {
        if self.state == State::Startup && self.is_round_start {
            let has_repaired_a_round = self.recovery_began.is_some_and(|began| self.round > began);
            let evidence = acked.sample.delivery.map(|delivery| self.evidence(&delivery));
            if has_repaired_a_round
                && self.lost_ranges >= MOST_LOST_RANGES
                && evidence.is_some_and(|evidence| self.is_too_high(&evidence))
            {
                self.has_filled_pipe = true;
                self.inflight_longterm = self.bdp(1.0).max(self.inflight_latest);
            }
        }
        if self.is_round_start {
            self.lost_ranges = 0;
        }
        if self.state == State::Startup && self.has_filled_pipe {
            self.state = State::Drain;
            self.drain_began = self.round;
        }
    }

    pub(super) fn evidence(&self, delivery: &Delivery) -> Evidence {
        Evidence {
            sent_in_flight: f64::from(delivery.sent_in_flight),
            lost: self.packets(delivery.lost_bytes),
            is_app_limited: delivery.is_app_limited,
        }
    }

    /// §5.3.2: CheckDrainDone.
    pub(super) fn check_drain(&mut self, acked: &Acked) {
        let is_drained = || f64::from(acked.sample.in_flight) <= self.in_flight_at(1.0);
        if self.state == State::Drain && (is_drained() || self.round > self.drain_began + 3) {
            self.go_down(acked.now, acked.sample.delivered_bytes);
        }
    }

    pub(super) fn is_probing_state(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    pub(super) fn go_down(&mut self, now: Time, delivered_bytes: u64) {
        self.reset_congestion_signals();
        self.acked_per_increase = INFINITE;
        self.rounds_since_probe = self.random.below(2);
        let more = self.random.unit() * self.probe_wait.as_ps() as f64 / 2.0;
        self.waits = self.probe_wait.saturating_add(Time(crate::narrow::saturated::<u64>(more)));
        self.phase_began = now;
        self.acks = Acks::ProbeStopping;
        self.begin_round(delivered_bytes);
        self.state = State::Down;
    }

    fn refill(&mut self, delivered_bytes: u64) {
        self.reset_short_term();
        (self.probe_rounds, self.probe_acked) = (0, 0.0);
        self.was_precautionary = false;
        self.acks = Acks::Refilling;
        self.begin_round(delivered_bytes);
        self.state = State::Refill;
    }

    fn go_up(&mut self, acked: &Acked, window: &Window) {
        self.acks = Acks::ProbeStarting;
        self.begin_round(acked.sample.delivered_bytes);
        self.reset_full_bandwidth(acked.sample.delivery.map_or(0.0, |delivery| bps(&delivery)));
        self.state = State::Up;
        self.raise_slope(window);
    }

    /// §5.3.3.6: UpdateProbeBWCyclePhase.
    pub(super) fn update_phase(&mut self, acked: &Acked, window: &Window) {
        if !self.has_filled_pipe || self.adapt_long_term(acked, window) || !self.is_probing_state() {
            return;
        }
        let goes_down = self.state == State::Up && self.is_time_to_go_down(acked, window);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(acked.now, window) => {
                self.refill(acked.sample.delivered_bytes);
            }
            State::Down if self.is_time_to_cruise(acked) => self.state = State::Cruise,
            State::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.go_up(acked, window);
            }
            State::Up if goes_down => {
                self.was_too_high = false;
                self.go_down(acked.now, acked.sample.delivered_bytes);
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self, now: Time, window: &Window) -> bool {
        let reno_rounds = self.target_in_flight(window).min(MOST_RENO_ROUNDS);
        now.since(self.phase_began) > self.waits || f64::from(self.rounds_since_probe) >= reno_rounds
    }

    fn is_time_to_cruise(&self, acked: &Acked) -> bool {
        let in_flight = f64::from(acked.sample.in_flight);
        in_flight <= self.in_flight_with_headroom() && in_flight <= self.in_flight_at(1.0)
    }

    fn is_time_to_go_down(&mut self, acked: &Acked, window: &Window) -> bool {
        if self.was_too_high && f64::from(acked.sample.in_flight) >= self.inflight_longterm {
            self.was_precautionary = true;
            return true;
        }
        if acked.sample.limit == Limit::Window && window.cwnd_packets() >= self.inflight_longterm {
            self.reset_full_bandwidth(acked.sample.delivery.map_or(0.0, |delivery| bps(&delivery)));
            return false;
        }
        self.is_bw_full_now
    }

    /// AdaptLongTermModel; whether it decided a transition.
    fn adapt_long_term(&mut self, acked: &Acked, window: &Window) -> bool {
        let Some(delivery) = acked.sample.delivery else { return false };
        if self.acks == Acks::ProbeStarting && self.is_round_start {
            self.acks = Acks::ProbeFeedback;
        }
        if self.acks == Acks::ProbeStopping && self.is_round_start {
            (self.is_probe_sample, self.acks) = (false, Acks::Init);
            if self.is_probing_state() && !delivery.is_app_limited {
                self.cycle += 1;
            }
            if self.is_probing_state() && self.was_precautionary && !self.was_too_high {
                self.refill(acked.sample.delivered_bytes);
                return true;
            }
        }
        let evidence = self.evidence(&delivery);
        if !self.is_too_high(&evidence) && self.inflight_longterm < INFINITE {
            self.inflight_longterm = self.inflight_longterm.max(evidence.sent_in_flight);
            if self.state == State::Up {
                self.probe_upward(acked, window);
            }
        }
        false
    }

    fn raise_slope(&mut self, window: &Window) {
        let growth = 2_f64.powi(i32::try_from(self.probe_rounds).unwrap_or(30));
        self.probe_rounds = (self.probe_rounds + 1).min(30);
        self.acked_per_increase = (window.cwnd_packets() / growth).max(1.0);
    }

    fn probe_upward(&mut self, acked: &Acked, window: &Window) {
        if acked.sample.limit != Limit::Window || window.cwnd_packets() < self.inflight_longterm {
            return;
        }
        self.probe_acked += f64::from(acked.packets);
        if self.probe_acked >= self.acked_per_increase {
            let times = libm::floor(self.probe_acked / self.acked_per_increase);
            self.probe_acked -= times * self.acked_per_increase;
            self.inflight_longterm += times;
        }
        if self.is_round_start {
            self.raise_slope(window);
        }
    }

    /// §5.3.4.3: CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, acked: &Acked, window: &mut Window) {
        if self.state != State::ProbeRtt && self.probe_rtt_expired && !self.restarts {
            self.save_window(window);
            self.state = State::ProbeRtt;
            self.probe_rtt_ends = None;
            self.acks = Acks::ProbeStopping;
            self.begin_round(acked.sample.delivered_bytes);
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(acked, window);
        }
        if acked.packets > 0 {
            self.restarts = false;
        }
    }

    fn probe_rtt(&mut self, acked: &Acked, window: &mut Window) {
        match self.probe_rtt_ends {
            None if f64::from(acked.sample.in_flight) <= self.probe_rtt_window() => {
                self.probe_rtt_ends = Some(acked.now.saturating_add(self.shared.probe_rtt_duration));
                self.has_probed_a_round = false;
                self.begin_round(acked.sample.delivered_bytes);
            }
            None => {}
            Some(end) => {
                self.has_probed_a_round |= self.is_round_start;
                if self.has_probed_a_round && acked.now > end {
                    self.probe_rtt_least_at = acked.now;
                    self.restore_window(window);
                    self.leave_probe_rtt(acked);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, acked: &Acked) {
        self.reset_short_term();
        if self.has_filled_pipe {
            self.go_down(acked.now, acked.sample.delivered_bytes);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }
}
