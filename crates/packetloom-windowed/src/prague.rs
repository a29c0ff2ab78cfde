//! Prague (draft-briscoe-iccrg-prague-congestion-control-04; Linux's reference, L4STeam/linux net/ipv4/tcp_prague.c):
//! DCTCP for networks that mark by L4S, with accurate ECN, paced, and less dependent on the round-trip time.
//!
//! Sections are the draft's. Receivers count marked packets (draft-ietf-tcpm-accurate-ecn: the ACE field, here without
//! its wrapping at 8); the option that counts bytes too is not there, as all packets but a flow's last have one size.
//! What the draft does where a peer refuses ECN has no case here: every receiver understands it.

use super::windowed::{Acked, Congestion, Defaults, Reacts, Window, Windowed, check, core, default_of};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Needs, Param, Values, param};
use crate::units::{Rate, Time};

/// Prague.
pub type Prague = Windowed<PragueControl>;

/// What a round-trip time's scale adds to the estimate of how classic a queue's marks are, of its variation and of its
/// depth (Linux: V, D), and from which values on (V0, D0).
const WEIGHT: f64 = 0.5;
const VARIATION: Time = Time::from_us(750);
const DEPTH: Time = Time::from_us(2_000);
/// Between these the marks are taken to be of one kind and of the other (Linux: L_STICKY, C_STICKY).
const CERTAINLY_L4S: f64 = 8.0;
const CERTAINLY_CLASSIC: f64 = 2.0 * CERTAINLY_L4S + 1.0;
/// What is given up at least for marks of a classic queue is half of this (Linux: about 0.6).
const CLASSIC_ALPHA: f64 = 0.625;

const SCALES: &[Needs] = &[Needs::Is("rtt_scaling", &["rate", "scalable", "additive"])];

const PARAMS: &[Param] = &[
    param! {
        "g" = "0.0625": Kind::Number(0.000_001, 1.0),
        "The weight of a new observation in the estimate alpha of the marked share.",
        "draft-briscoe-iccrg-prague-congestion-control-04 §2.4.2: 1/16"
    },
    param! {
        "rtt_scaling" = "rate": Kind::Choice(&["rate", "scalable", "additive", "none"]),
        "How flows with round trips shorter than rtt_target grow. \"rate\": as fast as with a round trip of rtt_target. \"scalable\": so that a mark comes at least once in eight round trips. \"additive\": as if rtt_target were added to their round trip. \"none\": as DCTCP does.",
        "draft-briscoe-iccrg-prague-congestion-control-04 §2.4.4; Linux tcp_prague.c: rate"
    },
    param! {
        "rtt_target" = "25ms": Kind::Time,
        "The round-trip time for rtt_scaling. The default is one of the Internet: in a datacenter a flow that is older than rtt_transition hardly grows any more.",
        "draft-briscoe-iccrg-prague-congestion-control-04 §2.4.4; Linux tcp_prague.c: 25 ms"; acts SCALES
    },
    param! {
        "rtt_transition" = "500": Kind::Count(0),
        "For this many round trips after slow start a flow grows as DCTCP does.",
        "draft-briscoe-iccrg-prague-congestion-control-04 §2.4.4; Linux tcp_prague.c: 500"; acts SCALES
    },
    param! {
        "classic_fallback" = "false": Kind::Flag,
        "If round trips vary as behind a classic queue, which marks where it would drop, marks are answered nearly as losses are.",
        "draft-briscoe-iccrg-prague-congestion-control-04 §2.4.5; Linux tcp_prague.c: off"
    },
];

/// How flows with short round trips grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scaling {
    Rate,
    Scalable,
    Additive,
    None,
}

/// Prague's sender.
#[derive(Clone, Copy, Debug)]
pub struct PragueControl {
    g: f64,
    scaling: Scaling,
    target: Time,
    transition: u32,
    falls_back: bool,
    mss_bits: f64,
    alpha: f64,
    /// Whether there is a queue on the path that marks.
    saw_mark: bool,
    /// Packets acknowledged in this round, and those of them that were marked.
    acked: u32,
    marked: u32,
    round_end: u32,
    /// Rounds since slow start.
    rounds: u32,
    updated_at: Time,
    /// No second reduction until this packet is acknowledged, and until a target round trip after the last.
    reduced_until: u32,
    reduced_at: Option<Time>,
    /// Slow averages of the round-trip time and its variation, and how classic its queue seems.
    smoothed: f64,
    variation: f64,
    classic: f64,
    pacing: Option<Rate>,
}

impl Congestion for PragueControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "prague",
        doc: "Prague: DCTCP for L4S. Its packets say ECT(1), receivers count marks, every unmarked packet lets the window grow, and packets are paced. Flows with short round trips grow as slowly as those with long ones. It needs a queue that marks.",
        source: "draft-briscoe-iccrg-prague-congestion-control-04; L4STeam/linux net/ipv4/tcp_prague.c",
        params: &[&core(Defaults { reacts: Reacts::Marks, ..default_of() }), PARAMS],
        check: check_prague,
    };
    const ECN: bool = true;
    const L4S: bool = true;
    const MEASURES: bool = true;
    const PACES: bool = true;

    fn new(values: &Values) -> PragueControl {
        let scalings = [
            ("rate", Scaling::Rate),
            ("scalable", Scaling::Scalable),
            ("additive", Scaling::Additive),
            ("none", Scaling::None),
        ];
        PragueControl {
            g: values.number("g"),
            scaling: values.meaning("rtt_scaling", &scalings),
            target: values.time("rtt_target"),
            transition: values.count_u32("rtt_transition"),
            falls_back: values.flag("classic_fallback"),
            mss_bits: values.bytes("mss") as f64 * 8.0,
            alpha: 1.0,
            saw_mark: false,
            acked: 0,
            marked: 0,
            round_end: 0,
            rounds: 0,
            updated_at: Time::ZERO,
            reduced_until: 0,
            reduced_at: None,
            smoothed: 0.0,
            variation: 0.0,
            classic: 0.0,
            pacing: None,
        }
    }

    /// The next flow's packets are numbered from 0 again. Alpha stays.
    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        (self.acked, self.marked) = (0, 0);
        (self.round_end, self.reduced_until) = (0, 0);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.saw_mark |= acked.sample.marked > 0;
        if acked.sample.marked > 0 && self.may_reduce(&acked, window) {
            self.reduce(&acked, window);
        }
        self.increase(&acked, window);
        self.observe(&acked, window);
        self.pace(&acked, window);
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, window: &mut Window) {
        self.saw_mark |= acked.sample.marked > 0;
        self.observe(&acked, window);
        self.pace(&acked, window);
    }

    /// §2.4.1: as Reno, half of the window.
    fn lost(&mut self, _: u32, window: &mut Window) {
        window.shrink(1 << 19);
    }
}

impl PragueControl {
    /// Whether its round-trip time counts as another.
    fn is_scaled(&self, window: &Window) -> bool {
        self.scaling != Scaling::None && !window.is_in_slow_start() && self.rounds >= self.transition
    }

    fn target(&self, rtt: Time) -> Time {
        if self.scaling == Scaling::Additive { self.target + rtt } else { self.target }
    }

    /// Once in a round trip (§2.4.3), or in what counts as one.
    fn may_reduce(&self, acked: &Acked, window: &Window) -> bool {
        let is_early = |at| self.is_scaled(window) && acked.now.since(at) < self.target(acked.rtt);
        acked.una > self.reduced_until && !self.reduced_at.is_some_and(is_early)
    }

    fn reduce(&mut self, acked: &Acked, window: &mut Window) {
        let classic = (self.classic.min(CERTAINLY_L4S + 1.0) - CERTAINLY_L4S).max(0.0);
        let alpha = self.alpha.max(if self.falls_back { CLASSIC_ALPHA * classic } else { 0.0 });
        window.shrink(saturated::<u64>(alpha / 2.0 * f64::from(1 << 20)));
        (self.reduced_until, self.reduced_at) = (acked.next, Some(acked.now));
    }

    /// §2.4.3: each packet that was not marked counts, whether or not others were.
    fn increase(&self, acked: &Acked, window: &mut Window) {
        let unmarked = f64::from(acked.packets.saturating_sub(acked.sample.marked));
        if window.is_in_slow_start() {
            (0..acked.packets.saturating_sub(acked.sample.marked)).for_each(|_| window.grow());
            return;
        }
        let cwnd = window.cwnd_packets();
        window.set_packets(cwnd + unmarked * self.step(acked.rtt, window) / cwnd);
    }

    /// By how many packets the window grows in a round trip without marks.
    fn step(&self, rtt: Time, window: &Window) -> f64 {
        let target = self.target(rtt);
        if !self.is_scaled(window) || rtt >= target {
            return 1.0;
        }
        match self.scaling {
            Scaling::Rate | Scaling::Additive => {
                let share = rtt.as_secs_f64() / target.as_secs_f64();
                share * share
            }
            // Linux: R0 about 16 ms, R1 about 1.5 ms.
            Scaling::Scalable => {
                let (rtt, longest, shortest) = (rtt.as_secs_f64(), 0.016_384, 0.001_536);
                (longest / 8.0 + (rtt - shortest).clamp(0.0, longest)) * rtt / (longest * longest)
            }
            Scaling::None => 1.0,
        }
    }

    /// §2.4.2: alpha, once in a round trip, or in what counts as one; not before a mark was seen.
    fn observe(&mut self, acked: &Acked, window: &Window) {
        self.acked += acked.packets;
        self.marked += acked.sample.marked;
        self.measure(acked, window);
        let is_early = self.is_scaled(window) && acked.now.since(self.updated_at) < self.target(acked.rtt);
        if acked.una < self.round_end || is_early {
            return;
        }
        if self.saw_mark {
            self.judge_queue(acked);
            let share = f64::from(self.marked.min(self.acked)) / f64::from(self.acked.max(1));
            self.alpha += self.g * (share - self.alpha);
            self.updated_at = acked.now;
        }
        (self.acked, self.marked, self.round_end) = (0, 0, acked.next);
        self.rounds = self.rounds.saturating_add(u32::from(!window.is_in_slow_start()));
    }

    /// Averages over longer than a round trip, the longer the larger the window is (Linux: g_srtt_shift).
    fn measure(&mut self, acked: &Acked, window: &Window) {
        let Some(rtt) = acked.sample.rtt.filter(|_| self.falls_back).map(Time::as_secs_f64) else { return };
        if self.smoothed == 0.0 {
            self.smoothed = rtt;
            return;
        }
        let cwnd = window.ssthresh_packets().min(window.cwnd_packets()).max(1.0);
        let gain = 1.0 / (2.0 * cwnd * libm::sqrt(cwnd)).min(262_144.0);
        let error = rtt - self.smoothed;
        self.smoothed += gain * error;
        self.variation += gain / 2.0 * (error.abs() - self.variation);
    }

    /// §2.4.5: a queue that varies by much and is deep seems to be a classic one.
    fn judge_queue(&mut self, acked: &Acked) {
        let Some(least) = acked.sample.min_rtt.filter(|_| self.falls_back && self.variation > 0.0) else {
            return;
        };
        let scale = |seconds: f64, from: Time| WEIGHT * libm::log2(seconds / from.as_secs_f64());
        let depth = self.smoothed - least.as_secs_f64();
        self.classic += scale(self.variation, VARIATION);
        if depth > 0.0 {
            self.classic += scale(depth, DEPTH).max(0.0);
        }
        self.classic = self.classic.clamp(0.0, CERTAINLY_CLASSIC);
    }

    /// The window in a round trip; in the first half of slow start twice as much (§2.4.6; Linux:
    /// prague_update_pacing_rate).
    fn pace(&mut self, acked: &Acked, window: &Window) {
        if acked.rtt == Time::ZERO {
            return;
        }
        let bits = window.cwnd_packets() * self.mss_bits / acked.rtt.as_secs_f64();
        let is_early = window.cwnd_packets() < window.ssthresh_packets() / 2.0;
        self.pacing = Some(Rate(saturated::<u64>(if is_early { 2.0 * bits } else { bits }).max(1)));
    }
}

fn check_prague(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    if !values.flag("rto_estimation") {
        let message = "prague paces by round-trip times, which it only knows with rto_estimation = true";
        return Err(Complaint::new("rto_estimation", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use crate::windowed::Sample;
    use crate::windowed::testing::{Network, values};

    fn control(scaling: &str, transition: u64) -> PragueControl {
        let own = [
            ("g".to_owned(), Value::Number(0.0625)),
            ("rtt_scaling".to_owned(), Value::Text(scaling.to_owned())),
            ("rtt_target".to_owned(), Value::Time(Time::from_us(25_000))),
            ("rtt_transition".to_owned(), Value::Count(transition)),
            ("classic_fallback".to_owned(), Value::Flag(false)),
        ];
        PragueControl::new(&values("prague", own))
    }

    fn acked(packets: u32, marked: u32, una: u32, next: u32) -> Acked {
        let rtt = Time::from_us(5_000);
        let sample = Sample { rtt: Some(rtt), marked, ..Sample::default() };
        Acked { packets, advanced: true, echo: marked > 0, una, next, now: rtt, rtt, sample }
    }

    #[test]
    fn alpha_is_the_average_of_the_marked_share_with_a_gain_of_a_sixteenth() {
        let mut control = control("none", 500);
        let mut window = Window::of_packets(20);
        // Nothing is marked: alpha waits.
        control.acknowledged(acked(10, 0, 10, 20), &mut window);
        assert_eq!(control.alpha, 1.0);
        // 5 of 10 in the next round: 1 - 1/16 + 0.5/16. The window was halved before, as alpha was 1.
        let before = window.cwnd_packets();
        control.acknowledged(acked(10, 5, 20, 30), &mut window);
        assert_eq!(control.alpha, 1.0 - 0.5 / 16.0);
        let halved = before / 2.0;
        assert!((window.cwnd_packets() - (halved + 5.0 / halved)).abs() < 1e-4);
        // All of the next: back towards 1 by a sixteenth of what is missing; the window falls by half of alpha.
        let before = window.cwnd_packets();
        control.acknowledged(acked(10, 10, 31, 41), &mut window);
        assert_eq!(control.alpha, 0.96875 + 0.03125 / 16.0);
        assert!((window.cwnd_packets() - before * (1.0 - 0.96875 / 2.0)).abs() < 1e-4);
        // Marks of the same round trip change nothing more, and what is not marked lets it grow.
        let before = window.cwnd_packets();
        control.acknowledged(acked(4, 1, 35, 41), &mut window);
        assert!((window.cwnd_packets() - (before + 3.0 / before)).abs() < 1e-4);
    }

    #[test]
    fn short_round_trips_grow_as_the_target_s() {
        let window = Window::of_packets(20);
        let rtt = Time::from_us(5_000);
        // (5 / 25)²; as if it were 5 + 25: (5 / 30)².
        assert!((control("rate", 0).step(rtt, &window) - 0.04).abs() < 1e-12);
        assert!((control("additive", 0).step(rtt, &window) - 1.0 / 36.0).abs() < 1e-12);
        // (2.048 + 3.464) · 5 / 16.384² ms.
        assert!((control("scalable", 0).step(rtt, &window) - 0.102_67).abs() < 1e-4);
        assert_eq!(control("none", 0).step(rtt, &window), 1.0);
        assert_eq!(control("rate", 500).step(rtt, &window), 1.0, "it is young");
        assert_eq!(control("rate", 0).step(Time::from_us(30_000), &window), 1.0);
    }

    #[test]
    fn alone_it_keeps_the_queue_at_the_threshold() {
        let mut network = Network::new(10, 40, 1_000).marking(8);
        network.add(control("none", 500), 10, Time::ZERO);
        network.run(Time::from_us(20_000));
        let found = network.utilisation(Time::from_us(10_000));
        assert!(found > 0.97, "{found}");
        let (_, most) = network.queue_over(Time::from_us(10_000));
        assert!(most <= 12.0, "{most} packets wait");
        assert!(network.flows[0].marked > 0);
    }

    #[test]
    fn behind_a_deep_queue_it_falls_back() {
        let mut control = control("none", 500);
        control.falls_back = true;
        let mut window = Window::of_packets(20);
        // Queues from 0 to 20 ms, marked now and then.
        for round in 1..200_u32 {
            let rtt = Time::from_us(10_000 + 1_000 * u64::from(round % 21));
            let (una, next) = (20 * round, 20 * (round + 1));
            let mut ack = acked(20, u32::from(round % 20 == 0), una, next);
            (ack.rtt, ack.now) = (rtt, rtt.times(u64::from(round)));
            (ack.sample.rtt, ack.sample.min_rtt) = (Some(rtt), Some(Time::from_us(10_000)));
            control.acknowledged(ack, &mut window);
        }
        assert!(control.classic > CERTAINLY_L4S + 1.0, "{}", control.classic);
        assert!(control.alpha < 0.2, "{}", control.alpha);
        let before = window.cwnd_packets();
        control.reduce(&acked(1, 1, 9_000, 9_020), &mut window);
        assert!((window.cwnd_packets() / before - (1.0 - CLASSIC_ALPHA / 2.0)).abs() < 1e-3);
    }
}
