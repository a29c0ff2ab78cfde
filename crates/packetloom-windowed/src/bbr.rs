//! BBR, version 1 (draft-cardwell-iccrg-bbr-congestion-control-00; the constants are also Linux's, net/ipv4/tcp_bbr.c): a
//! model of the path, its bottleneck bandwidth and its round trip without a queue, sets the pacing rate and the window.
//!
//! Sections are the draft's. Of what only Linux has, the estimate of aggregated acknowledgements and targets in whole
//! packets are options; left out are the detection of policers, and the return to an earlier window where a loss turns
//! out to be spurious.

use super::bbr_aggregation::Aggregation;
use super::bbr_params as own;
use super::filter::Filter;
use super::windowed::{
    Acked, Congestion, Defaults, Reacts, Sample, Window, Windowed, check, core, default_of,
};
use crate::flow::Flow;
use crate::random::{Purpose, Stream};
use crate::spec::{Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// BBR, version 1.
pub type Bbr = Windowed<BbrControl>;

/// §4.3.4.2: the phases of ProbeBW in which neither more nor less is sent than the bandwidth.
const CYCLE: u32 = 8;
/// §4.2.3.1: BBRMinPipeCwnd.
const LEAST_WINDOW: f64 = 4.0;

const PARAMS: &[Param] = &[
    own::startup_gain(
        "2.885",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.2.1: 2/ln(2); Linux: 2.885",
    ),
    own::cwnd_gain("draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3.4: 2"),
    param! {
        "probe_gain" = "1.25": Kind::Number(1.0, 2.0),
        "Pacing gain of the phase that probes for bandwidth; the phase after it gives as much back (0.75).",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §4.3.4.2: 5/4 and 3/4"
    },
    param! {
        "bandwidth_window" = "10": Kind::Count(1),
        "The bandwidth is the greatest delivery rate of this number of round trips.",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.1.3: BtlBwFilterLen, 10"
    },
    param! {
        "ack_aggregation" = "false": Kind::Flag,
        "Whether as many more packets are in flight as are acknowledged at once beyond the bandwidth, at most what it delivers in 100 ms; once the pipe is full.",
        "Linux: bbr_update_ack_aggregation, on; draft-cardwell-iccrg-bbr-congestion-control-00 has none"
    },
    param! {
        "whole_packets" = "false": Kind::Flag,
        "Whether what may be in flight is rounded up to an even number of packets, of which there are two more while the flow probes for bandwidth.",
        "Linux: bbr_bdp, bbr_quantization_budget; draft-cardwell-iccrg-bbr-congestion-control-00 §4.2.3.2 rounds nothing"
    },
    own::min_rtt_window(
        "10s",
        "For how long the least round-trip time counts as that of the path without a queue; after that the flow empties the queue to measure it. In a datacenter, where flows are short, it never comes to that.",
        "draft-cardwell-iccrg-bbr-congestion-control-00 §4.1.2.3: RTpropFilterLen, 10 s",
    ),
    own::PROBE_RTT_DURATION,
    own::NOMINAL_RTT,
    own::PACING_MARGIN,
    own::SEND_QUANTUM,
];

/// Linux: bbr_extra_acked_win_rtts, twice, and bbr_extra_acked_max_us.
const AGGREGATION_ROUNDS: u64 = 10;
const MOST_AGGREGATION: Time = Time::from_ns(100_000_000);

/// The states of §4.3.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    /// In which of the eight phases.
    ProbeBw(u32),
    ProbeRtt,
}

/// BBR's sender. In brackets the draft's names; bandwidths are in bits of payload per second, windows in packets.
#[derive(Clone, Debug)]
pub struct BbrControl {
    cwnd_gain: f64,
    probe_gain: f64,
    bandwidth_window: u64,
    whole_packets: bool,
    min_rtt_window: Time,
    shared: own::Shared,
    random: Stream,
    state: State,
    /// BBR.BtlBwFilter
    bandwidth: Filter<u64>,
    /// BBR.RTprop and BBR.rtprop_stamp
    min_rtt: Option<Time>,
    min_rtt_at: Time,
    /// BBR.round_count, BBR.next_round_delivered, BBR.round_start
    round: u64,
    round_ends_bytes: u64,
    is_round_start: bool,
    /// BBR.full_bw, BBR.full_bw_count, BBR.filled_pipe
    full_bandwidth: u64,
    full_count: u32,
    has_filled_pipe: bool,
    /// BBR.cycle_stamp
    phase_began: Time,
    /// BBR.probe_rtt_done_stamp, BBR.probe_rtt_round_done
    probe_rtt_ends: Option<Time>,
    has_probed_a_round: bool,
    /// BBR.idle_restart
    restarts: bool,
    pace: own::Pace,
    /// Where it is estimated.
    aggregation: Option<Aggregation>,
    /// BBR.prior_cwnd
    prior_cwnd: f64,
    /// BBR.packet_conservation, in loss recovery, of which the first acknowledgement is to come.
    conserves: bool,
    enters_recovery: bool,
    is_in_recovery: bool,
}

impl Congestion for BbrControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "bbr",
        doc: "BBR, version 1: paces at the bottleneck bandwidth that it measures, probes for more in one of eight round trips, and keeps two bandwidth-delay products in flight at most; losses do not reduce its rate.",
        source: "draft-cardwell-iccrg-bbr-congestion-control-00; Linux net/ipv4/tcp_bbr.c",
        params: &[&core(Defaults { reacts: Reacts::Model, ..default_of() }), PARAMS],
        check,
    };
    const ECN: bool = false;
    const MEASURES: bool = true;
    const PACES: bool = true;
    const MODELS: bool = true;
    const RESTARTS: bool = false;
    const DRAWS: bool = true;

    fn new(values: &Values) -> BbrControl {
        let shared = own::Shared::of(values);
        BbrControl {
            cwnd_gain: values.number("cwnd_gain"),
            probe_gain: values.number("probe_gain"),
            bandwidth_window: values.count("bandwidth_window"),
            whole_packets: values.flag("whole_packets"),
            min_rtt_window: values.time("min_rtt_window"),
            random: Stream::new(0, Purpose::Transport, 0),
            state: State::Startup,
            bandwidth: Filter::default(),
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            round: 0,
            round_ends_bytes: 0,
            is_round_start: false,
            full_bandwidth: 0,
            full_count: 0,
            has_filled_pipe: false,
            phase_began: Time::ZERO,
            probe_rtt_ends: None,
            has_probed_a_round: false,
            restarts: false,
            pace: own::Pace::of(values, &shared),
            aggregation: values.flag("ack_aggregation").then(|| Aggregation::from(Time::ZERO)),
            prior_cwnd: 0.0,
            conserves: false,
            enters_recovery: false,
            is_in_recovery: false,
            shared,
        }
    }

    fn serve(&mut self, flow: &Flow) {
        self.min_rtt_at = flow.start;
        self.aggregation = self.aggregation.take().map(|_| Aggregation::from(flow.start));
    }

    fn seed(&mut self, bits: u64) {
        self.random = Stream::new(bits, Purpose::Transport, 0);
    }

    /// §4.2.1: InitPacingRate, where the handshake has measured a round trip.
    fn knows_round_trip(&mut self, rtt: Time) {
        self.pace.knows_round_trip(&self.shared, rtt);
    }

    /// §4.4.3: restarting from idle. What is delivered counts from zero again.
    fn resumed(&mut self, flow: &Flow, _: &mut Window) {
        self.restarts = true;
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.restart(flow.start);
        }
        self.round_ends_bytes = 0;
        (self.conserves, self.enters_recovery, self.is_in_recovery) = (false, false, false);
        if matches!(self.state, State::ProbeBw(_)) {
            self.pace_at(1.0);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pace.rate())
    }

    /// §4.3.5: samples in ProbeRTT say nothing of the bandwidth.
    fn is_restrained(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.learn(&acked, window);
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, window: &mut Window) {
        self.learn(&acked, window);
    }

    /// §4.2.3.5: OnEnterFastRecovery; the acknowledgement that proved the loss is counted next.
    fn lost(&mut self, _: u32, window: &mut Window) {
        self.save_window(window);
        (self.enters_recovery, self.is_in_recovery) = (true, true);
    }

    fn recovered(&mut self, window: &mut Window) {
        (self.conserves, self.enters_recovery, self.is_in_recovery) = (false, false, false);
        self.restore_window(window);
    }

    fn timed_out(&mut self, _: u32, _: bool, window: &mut Window) {
        self.save_window(window);
        self.is_in_recovery = false;
        window.collapse();
    }
}

impl BbrControl {
    /// §3.2: BBRUpdateOnACK.
    fn learn(&mut self, acked: &Acked, window: &mut Window) {
        let sample = &acked.sample;
        self.update_bandwidth(sample);
        self.note_aggregation(acked, window);
        if let State::ProbeBw(phase) = self.state
            && self.is_phase_over(phase, acked)
        {
            self.begin_phase(phase + 1, acked.now);
        }
        self.check_full_pipe(sample);
        self.check_drain(acked);
        self.update_min_rtt(acked, window);
        self.set_pacing_rate(acked, window);
        self.set_window(acked, window);
    }

    fn greatest_bandwidth(&self) -> u64 {
        self.bandwidth.best().unwrap_or(0)
    }

    /// §4.1.1: BBRUpdateRound and BBRUpdateBtlBw.
    fn update_bandwidth(&mut self, sample: &Sample) {
        self.is_round_start = false;
        let Some(delivery) = sample.delivery else { return };
        if delivery.prior_delivered_bytes >= self.round_ends_bytes {
            self.round_ends_bytes = sample.delivered_bytes;
            self.round += 1;
            self.is_round_start = true;
            self.conserves = false;
        }
        let Some(rate) = delivery.rate.map(Rate::as_bps) else { return };
        if rate >= self.greatest_bandwidth() || !delivery.is_app_limited {
            let since = (self.round + 1).saturating_sub(self.bandwidth_window);
            self.bandwidth.note_greatest(self.round, rate, since);
        }
    }

    fn note_aggregation(&mut self, acked: &Acked, window: &Window) {
        let bandwidth = self.greatest_bandwidth() as f64;
        let since = (self.round + 1).saturating_sub(AGGREGATION_ROUNDS);
        if let Some(aggregation) = &mut self.aggregation {
            let expected = |took| self.shared.bdp(bandwidth, took);
            aggregation.note(acked, expected, window.cwnd_packets(), (self.round, since));
        }
    }

    /// What is in flight beside the target, for acknowledgements that come together.
    fn aggregated(&self) -> f64 {
        let Some(aggregation) = self.aggregation.as_ref().filter(|_| self.has_filled_pipe) else {
            return 0.0;
        };
        let most = self.shared.bdp(self.greatest_bandwidth() as f64, MOST_AGGREGATION);
        aggregation.extra_packets().min(most)
    }

    /// §4.2.3.2: BBRInflight, in packets, of which some are for `aggregated` acknowledgements.
    fn in_flight_at(&self, gain: f64, aggregated: f64) -> f64 {
        let Some(min_rtt) = self.min_rtt else { return self.shared.initial_window + aggregated };
        let bdp = gain * self.shared.bdp(self.greatest_bandwidth() as f64, min_rtt);
        let quanta = 3.0 * self.shared.send_quantum;
        if !self.whole_packets {
            return bdp + quanta + aggregated;
        }
        let packets = bdp.ceil() + aggregated.floor() + quanta;
        2.0 * (packets / 2.0).ceil() + if self.state == State::ProbeBw(0) { 2.0 } else { 0.0 }
    }

    /// §4.3.4.3: BBRIsNextCyclePhase.
    fn is_phase_over(&self, phase: u32, acked: &Acked) -> bool {
        let is_full_length = acked.now.since(self.phase_began) > self.min_rtt.unwrap_or(Time::ZERO);
        let before = f64::from(acked.sample.in_flight_before);
        let in_flight = self.in_flight_at(if phase == 0 { self.probe_gain } else { 1.0 }, 0.0);
        // Linux: what leaves next counts, too (bbr_packets_in_net_at_edt).
        let next = if self.whole_packets { self.shared.send_quantum } else { 0.0 };
        match phase {
            0 => is_full_length && (acked.sample.newly_lost_bytes > 0 || before + next >= in_flight),
            1 => is_full_length || before <= in_flight,
            _ => is_full_length,
        }
    }

    fn phase_gain(&self, phase: u32) -> f64 {
        match phase {
            0 => self.probe_gain,
            1 => 2.0 - self.probe_gain,
            _ => 1.0,
        }
    }

    fn begin_phase(&mut self, phase: u32, now: Time) {
        self.phase_began = now;
        self.state = State::ProbeBw(phase % CYCLE);
    }

    /// §4.3.4.4: any phase but the one that gives back.
    fn enter_probe_bw(&mut self, now: Time) {
        let phase = CYCLE - 1 - self.random.below(CYCLE - 1);
        self.begin_phase(phase + 1, now);
    }

    /// §4.3.2.2: BBRCheckFullPipe.
    fn check_full_pipe(&mut self, sample: &Sample) {
        let is_app_limited = sample.delivery.is_some_and(|delivery| delivery.is_app_limited);
        if self.has_filled_pipe || !self.is_round_start || is_app_limited {
            return;
        }
        let bandwidth = self.greatest_bandwidth();
        if bandwidth as f64 >= 1.25 * self.full_bandwidth as f64 {
            (self.full_bandwidth, self.full_count) = (bandwidth, 0);
            return;
        }
        self.full_count += 1;
        self.has_filled_pipe = self.full_count >= 3;
    }

    /// §4.3.3: BBRCheckDrain.
    fn check_drain(&mut self, acked: &Acked) {
        if self.state == State::Startup && self.has_filled_pipe {
            self.state = State::Drain;
        }
        if self.state == State::Drain && f64::from(acked.sample.in_flight) <= self.in_flight_at(1.0, 0.0) {
            self.enter_probe_bw(acked.now);
        }
    }

    /// §4.1.2.3 and §4.3.5: BBRUpdateRTprop and BBRCheckProbeRTT.
    fn update_min_rtt(&mut self, acked: &Acked, window: &mut Window) {
        let now = acked.now;
        let has_expired = now.since(self.min_rtt_at) > self.min_rtt_window;
        if let Some(rtt) = acked.sample.rtt
            && (has_expired || self.min_rtt.is_none_or(|least| rtt <= least))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(rtt), now);
        }
        if has_expired && !self.restarts && self.state != State::ProbeRtt {
            self.save_window(window);
            self.state = State::ProbeRtt;
            self.probe_rtt_ends = None;
        }
        if self.state == State::ProbeRtt {
            self.probe_rtt(acked, window);
        }
        self.restarts = false;
    }

    fn probe_rtt(&mut self, acked: &Acked, window: &mut Window) {
        match self.probe_rtt_ends {
            None if f64::from(acked.sample.in_flight) <= LEAST_WINDOW => {
                self.probe_rtt_ends = Some(acked.now.saturating_add(self.shared.probe_rtt_duration));
                self.has_probed_a_round = false;
                self.round_ends_bytes = acked.sample.delivered_bytes;
            }
            None => {}
            Some(end) => {
                self.has_probed_a_round |= self.is_round_start;
                if self.has_probed_a_round && acked.now > end {
                    self.min_rtt_at = acked.now;
                    self.restore_window(window);
                    self.leave_probe_rtt(acked.now);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.has_filled_pipe {
            self.enter_probe_bw(now);
        } else {
            self.state = State::Startup;
        }
    }

    /// The pacing gain and the window's, by the state.
    fn gains(&self) -> (f64, f64) {
        match self.state {
            State::Startup => (self.pace.startup_gain, self.pace.startup_gain),
            State::Drain => (1.0 / self.pace.startup_gain, self.pace.startup_gain),
            State::ProbeBw(phase) => (self.phase_gain(phase), self.cwnd_gain),
            State::ProbeRtt => (1.0, 1.0),
        }
    }

    /// §4.2.1: BBRSetPacingRate.
    fn set_pacing_rate(&mut self, acked: &Acked, window: &Window) {
        self.pace.learn(&self.shared, acked, window);
        self.pace_at(self.gains().0);
    }

    fn pace_at(&mut self, gain: f64) {
        self.pace.follow(&self.shared, gain * self.greatest_bandwidth() as f64, self.has_filled_pipe);
    }

    /// §4.2.3: BBRSetCwnd.
    fn set_window(&mut self, acked: &Acked, window: &mut Window) {
        let target = self.in_flight_at(self.gains().1, self.aggregated());
        let delivered = f64::from(acked.packets);
        let in_flight = f64::from(acked.sample.in_flight);
        let lost = acked.sample.newly_lost_bytes as f64 / self.shared.mss_bytes;
        let mut cwnd = window.cwnd_packets();
        if lost > 0.0 {
            cwnd = (cwnd - lost).max(1.0);
        }
        if std::mem::take(&mut self.enters_recovery) {
            // A round of packet conservation begins.
            self.conserves = true;
            self.round_ends_bytes = acked.sample.delivered_bytes;
            cwnd = in_flight + delivered.max(1.0);
        }
        if self.conserves {
            cwnd = cwnd.max(in_flight + delivered);
        } else {
            if self.has_filled_pipe {
                cwnd = (cwnd + delivered).min(target);
            } else if cwnd < target || self.is_young(acked) {
                cwnd += delivered;
            }
            cwnd = cwnd.max(LEAST_WINDOW);
        }
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(LEAST_WINDOW);
        }
        window.set_packets(cwnd);
    }

    /// Before the initial window is delivered.
    fn is_young(&self, acked: &Acked) -> bool {
        (acked.sample.delivered_bytes as f64) < self.shared.initial_window * self.shared.mss_bytes
    }

    fn save_window(&mut self, window: &Window) {
        let cwnd = window.cwnd_packets();
        let is_cut = self.is_in_recovery || self.state == State::ProbeRtt;
        self.prior_cwnd = if is_cut { self.prior_cwnd.max(cwnd) } else { cwnd };
    }

    fn restore_window(&self, window: &mut Window) {
        window.set_packets(window.cwnd_packets().max(self.prior_cwnd));
    }
}

#[cfg(test)]
mod tests;
