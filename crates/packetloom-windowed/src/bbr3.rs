//! BBR, version 3 (draft-ietf-ccwg-bbr-06): beside the bandwidth and the round trip, losses bound what it keeps in
//! flight, in the long term (`inflight_longterm`, inflight_hi in earlier versions) and until it probes again
//! (`inflight_shortterm`, `bw_shortterm`; inflight_lo, bw_lo).
//!
//! Sections are the draft's. Left out: the return from a recovery that turns out to be spurious (§5.5.11), which senders
//! here do not detect.

mod outputs;
mod states;

use super::bbr_aggregation::Aggregation;
use super::bbr_params as own;
use super::filter::Filter;
use super::windowed::{
    Acked, Congestion, Defaults, Delivery, Lost, Reacts, Window, Windowed, check, core, default_of,
};
use crate::flow::Flow;
use crate::random::{Purpose, Stream};
use crate::spec::{Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// BBR, version 3.
pub type Bbr3 = Windowed<Bbr3Control>;

/// §2.7: BBR.MinPipeCwnd.
const LEAST_WINDOW: f64 = 4.0;
/// §5.3.1.3: BBRStartupFullLossCnt.
const MOST_LOST_RANGES: u32 = 6;
/// §2.14.1: BBR.MaxBwFilterLen, in cycles, and BBR.ExtraAckedFilterLen, in round trips.
const BANDWIDTH_CYCLES: u64 = 2;
const EXTRA_ACKED_ROUNDS: u64 = 10;
/// §5.3.3.5.2: a flow probes as often as Reno would take to grow by this many packets, if that is sooner.
const MOST_RENO_ROUNDS: f64 = 63.0;
const INFINITE: f64 = f64::INFINITY;

const PARAMS: &[Param] = &[
    own::startup_gain("2.77", "draft-ietf-ccwg-bbr-06 §2.4: 4 ln(2)"),
    own::cwnd_gain("draft-ietf-ccwg-bbr-06 §2.5: 2; while it probes for bandwidth a quarter more"),
    param! {
        "drain_gain" = "0.5": Kind::Number(0.1, 1.0),
        "Pacing gain once the pipe is full, to drain the queue.",
        "draft-ietf-ccwg-bbr-06 §2.4: 0.5 (Linux's version 3: 0.35)"
    },
    param! {
        "down_gain" = "0.9": Kind::Number(0.1, 1.0),
        "Pacing gain after bandwidth was probed for, to give back what was taken.",
        "draft-ietf-ccwg-bbr-06 §5.3.3.1: 0.90"
    },
    param! {
        "loss_threshold" = "0.02": Kind::Number(0.0, 1.0),
        "The share of a round trip's packets that may be lost while bandwidth is probed for.",
        "draft-ietf-ccwg-bbr-06 §2.7: 2 %"
    },
    param! {
        "beta" = "0.7": Kind::Number(0.1, 1.0),
        "What is left of the bounds after a round trip with losses.", "draft-ietf-ccwg-bbr-06 §2.7: 0.7"
    },
    param! {
        "headroom" = "0.15": Kind::Number(0.0, 0.9),
        "The share of inflight_longterm that is left to others while the flow cruises.",
        "draft-ietf-ccwg-bbr-06 §2.7: 0.15"
    },
    param! {
        "probe_wait" = "2s": Kind::Time,
        "The least time from a probe for bandwidth to the next one. Up to half of it is added at random. The next probe comes sooner where Reno would be back sooner: after as many round trips as packets are in flight.",
        "draft-ietf-ccwg-bbr-06 §5.3.3.5.3: 2 to 3 s"
    },
    own::min_rtt_window(
        "10s",
        "For how long the least round-trip time counts as that of the path without a queue.",
        "draft-ietf-ccwg-bbr-06 §2.14: MinRTTFilterLen, 10 s",
    ),
    param! {
        "probe_rtt_interval" = "5s": Kind::Time,
        "How long after the least round-trip time was measured the flow keeps half of the bandwidth-delay product in flight, to measure it again. In a datacenter, where flows are short, it never comes to that.",
        "draft-ietf-ccwg-bbr-06 §2.14: ProbeRTTInterval, 5 s"
    },
    own::PROBE_RTT_DURATION,
    own::NOMINAL_RTT,
    own::PACING_MARGIN,
    own::SEND_QUANTUM,
];

/// §5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// What acknowledgements are of, around a probe for bandwidth (§5.3.3.6: BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Acks {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// What decides about a bound: a rate sample's, or a lost packet's.
#[derive(Clone, Copy, Debug)]
struct Evidence {
    /// RS.tx_in_flight and RS.lost, in packets.
    sent_in_flight: f64,
    lost: f64,
    is_app_limited: bool,
}

/// BBR's sender. Bandwidths are in bits of payload per second, windows in packets.
#[derive(Clone, Debug)]
pub struct Bbr3Control {
    cwnd_gain: f64,
    drain_gain: f64,
    down_gain: f64,
    loss_threshold: f64,
    beta: f64,
    headroom: f64,
    probe_wait: Time,
    min_rtt_window: Time,
    probe_rtt_interval: Time,
    shared: own::Shared,
    random: Stream,
    state: State,
    acks: Acks,
    /// BBR.max_bw_filter, by cycles; BBR.bw
    bandwidth: Filter<f64>,
    cycle: u64,
    bw: f64,
    min_rtt: Option<Time>,
    min_rtt_at: Time,
    probe_rtt_least: Option<Time>,
    probe_rtt_least_at: Time,
    probe_rtt_expired: bool,
    probe_rtt_ends: Option<Time>,
    has_probed_a_round: bool,
    round: u64,
    round_ends_bytes: u64,
    is_round_start: bool,
    drain_began: u64,
    rounds_since_probe: u32,
    full_bw: f64,
    full_count: u32,
    is_bw_full_now: bool,
    has_filled_pipe: bool,
    /// The latest round's signals of losses (§5.5.10.3).
    loss_round_ends_bytes: u64,
    is_loss_round_start: bool,
    is_loss_in_round: bool,
    bw_latest: f64,
    inflight_latest: f64,
    lost_ranges: u32,
    last_lost: Option<u32>,
    recovery_began: Option<u64>,
    /// The bounds.
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    /// The probe for bandwidth.
    phase_began: Time,
    waits: Time,
    acked_per_increase: f64,
    probe_acked: f64,
    probe_rounds: u32,
    is_probe_sample: bool,
    was_too_high: bool,
    was_precautionary: bool,
    /// §5.5.9: aggregated acknowledgements.
    aggregation: Aggregation,
    restarts: bool,
    pace: own::Pace,
    prior_cwnd: f64,
}

impl Congestion for Bbr3Control {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "bbr3",
        doc: "BBR, version 3: BBR whose probes for bandwidth end at a loss rate of 2 %, which then bounds what it keeps in flight. It probes every two or three seconds, or as often as Reno would be back.",
        source: "draft-ietf-ccwg-bbr-06",
        params: &[&core(Defaults { reacts: Reacts::Model, ..default_of() }), PARAMS],
        check,
    };
    const ECN: bool = false;
    const MEASURES: bool = true;
    const PACES: bool = true;
    const MODELS: bool = true;
    const RESTARTS: bool = false;
    const DRAWS: bool = true;

    fn new(values: &Values) -> Bbr3Control {
        let shared = own::Shared::of(values);
        Bbr3Control {
            cwnd_gain: values.number("cwnd_gain"),
            drain_gain: values.number("drain_gain"),
            down_gain: values.number("down_gain"),
            loss_threshold: values.number("loss_threshold"),
            beta: values.number("beta"),
            headroom: values.number("headroom"),
            probe_wait: values.time("probe_wait"),
            min_rtt_window: values.time("min_rtt_window"),
            probe_rtt_interval: values.time("probe_rtt_interval"),
            random: Stream::new(0, Purpose::Transport, 0),
            state: State::Startup,
            acks: Acks::Init,
            bandwidth: Filter::default(),
            cycle: 0,
            bw: 0.0,
            min_rtt: None,
            min_rtt_at: Time::ZERO,
            probe_rtt_least: None,
            probe_rtt_least_at: Time::ZERO,
            probe_rtt_expired: false,
            probe_rtt_ends: None,
            has_probed_a_round: false,
            round: 0,
            round_ends_bytes: 0,
            is_round_start: false,
            drain_began: 0,
            rounds_since_probe: 0,
            full_bw: 0.0,
            full_count: 0,
            is_bw_full_now: false,
            has_filled_pipe: false,
            loss_round_ends_bytes: 0,
            is_loss_round_start: false,
            is_loss_in_round: false,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            lost_ranges: 0,
            last_lost: None,
            recovery_began: None,
            bw_shortterm: INFINITE,
            inflight_shortterm: INFINITE,
            inflight_longterm: INFINITE,
            phase_began: Time::ZERO,
            waits: Time::ZERO,
            acked_per_increase: INFINITE,
            probe_acked: 0.0,
            probe_rounds: 0,
            is_probe_sample: false,
            was_too_high: false,
            was_precautionary: false,
            aggregation: Aggregation::from(Time::ZERO),
            restarts: false,
            pace: own::Pace::of(values, &shared),
            prior_cwnd: 0.0,
            shared,
        }
    }

    fn serve(&mut self, flow: &Flow) {
        (self.min_rtt_at, self.probe_rtt_least_at) = (flow.start, flow.start);
        self.aggregation = Aggregation::from(flow.start);
    }

    fn seed(&mut self, bits: u64) {
        self.random = Stream::new(bits, Purpose::Transport, 0);
    }

    fn knows_round_trip(&mut self, rtt: Time) {
        self.pace.knows_round_trip(&self.shared, rtt);
    }

    /// §5.4.1: HandleRestartFromIdle. What is delivered counts from zero again.
    fn resumed(&mut self, flow: &Flow, _: &mut Window) {
        self.restarts = true;
        (self.round_ends_bytes, self.loss_round_ends_bytes) = (0, 0);
        self.aggregation.restart(flow.start);
        (self.recovery_began, self.last_lost) = (None, None);
        if self.is_probing_state() {
            self.pace_at(1.0);
        }
    }

    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pace.rate())
    }

    fn is_restrained(&self) -> bool {
        self.state == State::ProbeRtt
    }

    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.learn(&acked, window);
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, window: &mut Window) {
        self.learn(&acked, window);
    }

    /// §5.5.10.2: HandleLostPacket.
    fn packet_lost(&mut self, lost: &Lost, window: &mut Window) {
        if !self.is_loss_in_round {
            self.loss_round_ends_bytes = lost.delivered_bytes;
            self.save_window(window);
        }
        self.is_loss_in_round = true;
        // Retransmissions are lost again in any order: only runs of neighbours count as one.
        if self.last_lost.is_none_or(|last| lost.seq != last.wrapping_add(1)) {
            self.lost_ranges += 1;
        }
        self.last_lost = Some(lost.seq);
        if !self.is_probe_sample {
            return;
        }
        let mut evidence = Evidence {
            sent_in_flight: f64::from(lost.sent_in_flight),
            lost: self.packets(lost.lost_bytes),
            is_app_limited: lost.is_app_limited,
        };
        if self.is_too_high(&evidence) {
            evidence.sent_in_flight = self.in_flight_at_loss(&evidence, self.packets(lost.bytes.into()));
            self.handle_too_high(&evidence, lost.now, lost.delivered_bytes, window);
        }
    }

    fn lost(&mut self, _: u32, window: &mut Window) {
        self.save_window(window);
        self.recovery_began = Some(self.round);
    }

    fn recovered(&mut self, window: &mut Window) {
        self.recovery_began = None;
        self.restore_window(window);
    }

    /// §5.6.4.4: OnEnterRTO.
    fn timed_out(&mut self, _: u32, _: bool, window: &mut Window) {
        self.save_window(window);
        self.recovery_began = None;
        window.collapse();
    }
}

/// The model of the path (§5.5).
impl Bbr3Control {
    /// §5.2.3: UpdateOnACK.
    fn learn(&mut self, acked: &Acked, window: &mut Window) {
        self.note_delivery(acked, window);
        self.note_aggregation(acked, window);
        self.check_full_bandwidth(acked);
        self.check_startup(acked);
        self.check_drain(acked);
        self.update_phase(acked, window);
        self.update_min_rtt(acked);
        self.check_probe_rtt(acked, window);
        if let Some(delivery) = acked.sample.delivery.filter(|_| self.is_loss_round_start) {
            self.bw_latest = bps(&delivery);
            self.inflight_latest = self.packets(delivery.bytes);
        }
        self.bw = self.max_bw().min(self.bw_shortterm);
        self.set_pacing_rate(acked, window);
        self.set_window(acked, window);
    }

    fn packets(&self, bytes: u64) -> f64 {
        bytes as f64 / self.shared.mss_bytes
    }

    fn max_bw(&self) -> f64 {
        self.bandwidth.best().unwrap_or(0.0)
    }

    /// §5.5.10.3: UpdateLatestDeliverySignals and UpdateCongestionSignals, with UpdateRound and UpdateMaxBw.
    fn note_delivery(&mut self, acked: &Acked, window: &Window) {
        (self.is_loss_round_start, self.is_round_start) = (false, false);
        let Some(delivery) = acked.sample.delivery else { return };
        let delivered_bytes = acked.sample.delivered_bytes;
        self.bw_latest = self.bw_latest.max(bps(&delivery));
        self.inflight_latest = self.inflight_latest.max(self.packets(delivery.bytes));
        if delivery.prior_delivered_bytes >= self.loss_round_ends_bytes {
            self.loss_round_ends_bytes = delivered_bytes;
            self.is_loss_round_start = true;
        }
        if delivery.prior_delivered_bytes >= self.round_ends_bytes {
            self.begin_round(delivered_bytes);
            self.round += 1;
            self.rounds_since_probe = self.rounds_since_probe.saturating_add(1);
            self.is_round_start = true;
        }
        let rate = bps(&delivery);
        if rate > 0.0 && (rate >= self.max_bw() || !delivery.is_app_limited) {
            self.note_bandwidth(rate);
        }
        if self.is_loss_round_start {
            self.adapt_lower_bounds(window);
            self.is_loss_in_round = false;
        }
    }

    fn note_bandwidth(&mut self, rate: f64) {
        let since = (self.cycle + 1).saturating_sub(BANDWIDTH_CYCLES);
        self.bandwidth.note_greatest(self.cycle, rate, since);
    }

    fn begin_round(&mut self, delivered_bytes: u64) {
        self.round_ends_bytes = delivered_bytes;
    }

    fn is_probing_for_bandwidth(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    fn adapt_lower_bounds(&mut self, window: &Window) {
        if self.is_probing_for_bandwidth() || !self.is_loss_in_round {
            return;
        }
        if self.bw_shortterm == INFINITE {
            self.bw_shortterm = self.max_bw();
        }
        if self.inflight_shortterm == INFINITE {
            self.inflight_shortterm = window.cwnd_packets();
        }
        self.bw_shortterm = self.bw_latest.max(self.beta * self.bw_shortterm);
        self.inflight_shortterm = self.inflight_latest.max(self.beta * self.inflight_shortterm);
    }

    fn reset_congestion_signals(&mut self) {
        self.is_loss_in_round = false;
        (self.bw_latest, self.inflight_latest) = (0.0, 0.0);
    }

    fn reset_short_term(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (INFINITE, INFINITE);
    }

    /// §5.5.9: UpdateACKAggregation.
    fn note_aggregation(&mut self, acked: &Acked, window: &Window) {
        let rounds = if self.has_filled_pipe { EXTRA_ACKED_ROUNDS } else { 1 };
        let since = (self.round + 1).saturating_sub(rounds);
        let expected = |took| self.shared.bdp(self.bw, took);
        self.aggregation.note(acked, expected, window.cwnd_packets(), (self.round, since));
    }

    /// §5.5.10.2: IsInflightTooHigh.
    fn is_too_high(&self, evidence: &Evidence) -> bool {
        evidence.lost > evidence.sent_in_flight * self.loss_threshold
    }

    fn handle_too_high(&mut self, evidence: &Evidence, now: Time, delivered_bytes: u64, window: &Window) {
        (self.was_too_high, self.is_probe_sample) = (true, false);
        if !evidence.is_app_limited {
            let least = self.target_in_flight(window) * self.beta;
            self.inflight_longterm = evidence.sent_in_flight.max(least);
        }
        if self.state == State::Up {
            self.go_down(now, delivered_bytes);
        }
    }

    /// At how much in flight the share of lost packets reached the threshold (InflightAtLoss).
    fn in_flight_at_loss(&self, evidence: &Evidence, packet: f64) -> f64 {
        let (in_flight, lost) = (evidence.sent_in_flight - packet, evidence.lost - packet);
        let prefix = (self.loss_threshold * in_flight - lost) / (1.0 - self.loss_threshold).max(1e-9);
        in_flight + prefix
    }

    /// §5.3.4.3: UpdateMinRTT.
    fn update_min_rtt(&mut self, acked: &Acked) {
        let now = acked.now;
        self.probe_rtt_expired = now.since(self.probe_rtt_least_at) > self.probe_rtt_interval;
        if let Some(rtt) = acked.sample.rtt
            && (self.probe_rtt_expired || self.probe_rtt_least.is_none_or(|least| rtt < least))
        {
            (self.probe_rtt_least, self.probe_rtt_least_at) = (Some(rtt), now);
        }
        let has_expired = now.since(self.min_rtt_at) > self.min_rtt_window;
        if let Some(least) = self.probe_rtt_least
            && (has_expired || self.min_rtt.is_none_or(|before| least < before))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(least), self.probe_rtt_least_at);
        }
    }
}

/// A sample's rate; 0 where it has none.
fn bps(delivery: &Delivery) -> f64 {
    delivery.rate.map_or(0.0, |rate| rate.as_bps() as f64)
}

#[cfg(test)]
mod tests;
