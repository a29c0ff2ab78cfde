//! CUBIC (RFC 9438): the window is a cubic function of the time since it was last reduced.
//!
//! As in TCP here: no answer to marks, no HyStart, and what turns out to be spurious is not undone (§4.9).

use super::windowed::{Acked, Congestion, Window, Windowed, check, core, default_of};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Needs, Values, param};
use crate::units::Time;

/// CUBIC.
pub type Cubic = Windowed<CubicControl>;

/// One packet, in the units of [`Window::packets_q20`].
const PACKET: f64 = (1 << 20) as f64;

/// RFC 9438's sender. Windows are in packets, as there, times in seconds.
#[derive(Clone, Copy, Debug)]
pub struct CubicControl {
    c: f64,
    beta: f64,
    fast_convergence: bool,
    reno_friendly: bool,
    reno_recovers: bool,
    /// Where the window was last reduced, less where fast convergence gives up more; 0 where it has no meaning:
    /// before the first loss and after a timeout.
    w_max: f64,
    /// The window when ssthresh was last set.
    cwnd_prior: f64,
    /// The congestion avoidance stage, from its first acknowledgement until the window is reduced.
    stage: Option<Stage>,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Stage {
    since: Time,
    /// The cubic function's plateau, and when it is reached.
    w_max: f64,
    k: f64,
    w_est: f64,
}

impl Congestion for CubicControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "cubic",
        doc: "CUBIC: TCP whose window grows as a cubic function of the time since the last loss.",
        source: "RFC 9438",
        params: &[
            &core(default_of()),
            &[
                param! {
                    "c" = "0.4": Kind::Number(0.001, 1e9),
                    "How steep the cubic function is, in packets per cubic second. At a datacenter's round-trip times 0.4 leaves the growth to the Reno-friendly region.",
                    "RFC 9438 §5: C = 0.4"
                },
                param! {
                    "beta" = "0.7": Kind::Number(0.1, 0.9),
                    "What is left of the window after a loss.", "RFC 9438 §4.6: 0.7"
                },
                param! {
                    "fast_convergence" = "true": Kind::Flag,
                    "Fast convergence: a flow whose window is reduced before it has reached its last maximum aims lower, in favour of others.",
                    "RFC 9438 §4.7"
                },
                param! {
                    "reno_friendly" = "true": Kind::Flag,
                    "The window grows at least as fast as that of a Reno which reduces it by as little at a loss.",
                    "RFC 9438 §4.3"
                },
                param! {
                    "reno_recovers" = "true": Kind::Flag,
                    "Whether Reno's window, once it is where it was last reduced, grows by a whole packet in a round trip again. Linux leaves it at its slower growth.",
                    "RFC 9438 §4.3: alpha = 1; Linux tcp_cubic.c: beta_scale throughout";
                    acts &[Needs::Is("reno_friendly", &["true"])]
                },
            ],
        ],
        check: check_cubic,
    };
    const ECN: bool = false;
    const SHORTENS: bool = true;

    fn new(values: &Values) -> CubicControl {
        CubicControl {
            c: values.number("c"),
            beta: values.number("beta"),
            fast_convergence: values.flag("fast_convergence"),
            reno_friendly: values.flag("reno_friendly"),
            reno_recovers: values.flag("reno_recovers"),
            w_max: 0.0,
            cwnd_prior: 0.0,
            stage: None,
        }
    }

    /// A stage counts time since it began, of which the connection was idle for some (RFC 9438 §5.8): another begins.
    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        self.stage = None;
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        if !acked.advanced {
            return;
        }
        if window.is_in_slow_start() {
            window.grow();
        } else {
            window.rise_to(saturated::<u64>(self.avoid_congestion(&acked, packets(window)) * PACKET));
        }
    }

    fn lost(&mut self, in_flight: u32, window: &mut Window) {
        let cwnd = packets(window);
        // RFC 9438 §4.7.
        let gives_way = self.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_way { cwnd * (1.0 + self.beta) / 2.0 } else { cwnd };
        self.reduce(in_flight, window);
        window.fall_to_threshold();
    }

    /// RFC 9438 §4.8: as RFC 5681 has it, but for ssthresh; the stage that follows slow start has its plateau where
    /// it begins.
    fn timed_out(&mut self, in_flight: u32, again: bool, window: &mut Window) {
        if !again {
            self.reduce(in_flight, window);
        }
        self.w_max = 0.0;
        window.collapse();
    }
}

impl CubicControl {
    /// RFC 9438 §4.6.
    fn reduce(&mut self, in_flight: u32, window: &mut Window) {
        self.cwnd_prior = packets(window);
        self.stage = None;
        let left = libm::round(f64::from(in_flight) * self.beta * PACKET);
        window.set_threshold(saturated::<u64>(left), self.least_threshold());
    }

    /// The window after an acknowledgement: Reno's where that is larger (RFC 9438 §4.3), else nearer to where the
    /// cubic function is a round trip from now (§4.4, §4.5).
    fn avoid_congestion(&mut self, acked: &Acked, cwnd: f64) -> f64 {
        let mut stage = self.stage.unwrap_or_else(|| self.begin(acked.now, cwnd));
        let is_slower = !self.reno_recovers || stage.w_est < self.cwnd_prior;
        let alpha = if is_slower { 3.0 * (1.0 - self.beta) / (1.0 + self.beta) } else { 1.0 };
        stage.w_est += alpha * f64::from(acked.packets) / cwnd;
        self.stage = Some(stage);
        let elapsed = acked.now.since(stage.since);
        if self.reno_friendly && self.cubic(&stage, elapsed) < stage.w_est {
            return stage.w_est;
        }
        let target = self.cubic(&stage, elapsed + acked.rtt).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd
    }

    /// RFC 9438 §4.2, with K = 0 where the window begins at its plateau (§4.8, §4.10).
    fn begin(&self, now: Time, cwnd: f64) -> Stage {
        let w_max = self.w_max.max(cwnd);
        Stage { since: now, w_max, k: libm::cbrt((w_max - cwnd) / self.c), w_est: cwnd }
    }

    /// W_cubic(t) = C (t − K)³ + W_max.
    fn cubic(&self, stage: &Stage, elapsed: Time) -> f64 {
        let from_plateau = elapsed.as_secs_f64() - stage.k;
        self.c * from_plateau * from_plateau * from_plateau + stage.w_max
    }
}

fn packets(window: &Window) -> f64 {
    window.packets_q20() as f64 / PACKET
}

fn check_cubic(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    if !values.flag("rto_estimation") {
        let message =
            "cubic looks a round trip ahead, and only knows how long that is with rto_estimation = true";
        return Err(Complaint::new("rto_estimation", message));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Time = Time::from_us(10_000);

    fn control(fast_convergence: bool, reno_friendly: bool) -> CubicControl {
        CubicControl {
            c: 0.4,
            beta: 0.7,
            fast_convergence,
            reno_friendly,
            reno_recovers: true,
            w_max: 0.0,
            cwnd_prior: 0.0,
            stage: None,
        }
    }

    /// The windows at the end of so many round trips, in each of which every packet is acknowledged by itself.
    fn rounds(control: &mut CubicControl, window: &mut Window, since: Time, count: u64) -> Vec<f64> {
        let mut end_of_round = |round: u64| {
            let acks = u64::from(window.packets());
            for ack in 0..acks {
                let now = since + RTT.times(round) + Time(RTT.as_ps() * ack / acks);
                let acked = Acked { packets: 1, advanced: true, now, rtt: RTT, ..Acked::default() };
                control.acknowledged(acked, window);
            }
            packets(window)
        };
        (0..count).map(&mut end_of_round).collect()
    }

    #[test]
    fn grows_as_the_closed_form_has_it_below_and_above_the_plateau() {
        let (mut control, mut window) = (control(true, false), Window::of_packets(1000));
        control.lost(1000, &mut window);
        assert!((packets(&window) - 700.0).abs() < 0.01, "{window:?}");
        // K = ∛(1000 · 0.3 / 0.4) = 9.086 s; 18 s are 1800 rounds.
        let k = libm::cbrt(750.0);
        for (round, found) in rounds(&mut control, &mut window, Time::ZERO, 1800).into_iter().enumerate() {
            // A round ends at (round + 1) RTT; the window aims at what holds a round trip later, and lags as long.
            let at = |rounds_later: f64| {
                let t = (round as f64 + 1.0 + rounds_later) * RTT.as_secs_f64();
                0.4 * (t - k).powi(3) + 1000.0
            };
            assert!(at(-1.0) - 0.1 < found && found < at(1.0), "round {round}: {found} for {}", at(0.0));
        }
    }

    #[test]
    fn a_small_window_grows_as_reno_does_that_gives_up_as_little() {
        let (mut control, mut window) = (control(true, true), Window::of_packets(20));
        control.lost(20, &mut window);
        let found = rounds(&mut control, &mut window, Time::ZERO, 40);
        // By α / cwnd for each packet, so cwnd² by 2α, with α = 3 · 0.3 / 1.7 until 20 packets are reached, then 1
        // (RFC 9438 §4.3).
        let alpha = 0.9 / 1.7;
        let packets_until_reached = (400.0 - 196.0) / (2.0 * alpha);
        let mut acked = 0.0;
        for (round, &window) in found.iter().enumerate() {
            acked += if round == 0 { 14.0 } else { found[round - 1].floor() };
            let squared = if acked < packets_until_reached {
                196.0 + 2.0 * alpha * acked
            } else {
                400.0 + 2.0 * (acked - packets_until_reached)
            };
            let reno = libm::sqrt(squared);
            assert!((window - reno).abs() < 0.1, "round {round}: {window} for {reno}");
        }
        assert!(found[39] > 40.0);
    }

    /// cwnd² by 2α for each packet, with α = 3 · 0.3 / 1.7, beyond the 20 packets too.
    #[test]
    fn linuxs_reno_stays_slower_beyond_its_last_window() {
        let (mut control, mut window) = (control(true, true), Window::of_packets(20));
        control.reno_recovers = false;
        control.lost(20, &mut window);
        let found = rounds(&mut control, &mut window, Time::ZERO, 30);
        let mut acked = 14.0;
        for (round, &window) in found.iter().enumerate() {
            acked += if round == 0 { 0.0 } else { found[round - 1].floor() };
            let reno = libm::sqrt(196.0 + 2.0 * 0.9 / 1.7 * acked);
            assert!((window - reno).abs() < 0.1, "round {round}: {window} for {reno}");
        }
        assert!(found[29] > 24.0);
    }

    #[test]
    fn a_flow_that_is_cut_before_it_is_back_aims_lower() {
        for (fast_convergence, aim) in [(true, 0.85 * 800.0), (false, 800.0)] {
            let (mut control, mut window) = (control(fast_convergence, true), Window::of_packets(1000));
            control.lost(1000, &mut window);
            assert_eq!(control.w_max, 1000.0);
            let mut window = Window::of_packets(800);
            control.lost(800, &mut window);
            assert!((control.w_max - aim).abs() < 1e-9, "{} for {aim}", control.w_max);
            assert_eq!(window.packets(), 560);
        }
    }

    #[test]
    fn after_a_timeout_slow_start_leads_to_a_plateau() {
        let (mut control, mut window) = (control(true, false), Window::of_packets(1000));
        control.timed_out(1000, false, &mut window);
        control.timed_out(1, true, &mut window);
        assert_eq!(window.packets(), 1);
        // 1, 2, 4, ... 512, and 700 on the way to 1024.
        let found = rounds(&mut control, &mut window, Time::ZERO, 110);
        assert_eq!(found[8], 512.0);
        let stage = control.stage.expect("congestion avoidance");
        assert_eq!((stage.k, stage.w_max), (0.0, 700.0));
        // One second after its beginning in the tenth round: 700 + 0.4 · 1³, a round trip sooner.
        assert!((700.3..700.5).contains(&found[109]), "{}", found[109]);
    }

    #[test]
    fn never_more_than_half_as_much_again_in_a_round_trip() {
        let (mut control, mut window) = (control(true, false), Window::of_packets(10));
        control.c = 1e9;
        let found = rounds(&mut control, &mut window, Time::ZERO, 10);
        assert!(
            found.windows(2).all(|pair| pair[1] > pair[0] && pair[1] <= 1.5 * pair[0] + 0.5),
            "{found:?}"
        );
    }
}
