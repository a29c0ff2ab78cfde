//! Copa (Arun and Balakrishnan, NSDI 2018): the window moves towards the rate 1 / (δ dq), where dq is the queueing delay
//! and rates are in packets; packets are paced at twice the window for each round trip.
//!
//! Where the queue is never nearly empty, others fill it, and 1/δ grows and shrinks as a TCP window does (§2.3).

use super::filter::Filter;
use super::windowed::{Acked, Congestion, Defaults, Reacts, Window, Windowed, check, core, default_of};
use crate::flow::Flow;
use crate::narrow::saturated;
use crate::spec::{Complaint, Component, Kind, Param, Values, param};
use crate::units::{Rate, Time};

/// Copa.
pub type Copa = Windowed<CopaControl>;

/// §2.3: the queue counts as nearly empty below this share of how much the round-trip time varies.
const NEARLY_EMPTY: f64 = 0.1;
/// §2.3: and it has to be so once in so many round trips; the variation is that of the last four.
const EMPTIED_WITHIN_ROUNDS: u64 = 5;
const VARIATION_ROUNDS: u64 = 4;
/// §2.1: the velocity doubles once the direction has been the same for so many round trips.
const SAME_FOR_ROUNDS: u32 = 3;
/// The window stays at two packets, so that it is not stopped by each loss.
const LEAST: f64 = 2.0;

const PARAMS: &[Param] = &[
    param! {
        "delta" = "0.5": Kind::Number(0.001, 1.0),
        "What a packet in the queue costs beside throughput: a flow alone keeps about 1/delta packets in the queue.",
        "Copa §2.1, §2.3: 0.5"
    },
    param! {
        "competes" = "true": Kind::Flag,
        "Beside flows that fill the queue, delta is no longer fixed: 1/delta grows by one for each round trip without a loss, and is halved by one.",
        "Copa §2.3: TCP-competitive mode"
    },
    param! {
        "min_rtt_window" = "10s": Kind::Time,
        "For how long the least round-trip time counts as that of the path without a queue.",
        "Copa §2.1: 10 s"
    },
];

/// Copa's sender. Windows are in packets.
#[derive(Clone, Debug)]
pub struct CopaControl {
    default_delta: f64,
    competes: bool,
    min_rtt_window: Time,
    mss_bytes: u64,
    delta: f64,
    velocity: f64,
    direction: Direction,
    /// For how many windows in a row it has been the same.
    same_for: u32,
    in_slow_start: bool,
    /// This window ends as all before the packet is acknowledged; what cwnd was as it began.
    round_end: u32,
    round_cwnd: f64,
    is_lossy: bool,
    /// Round-trip times: the least of ten seconds, of half a round trip, and the greatest of four.
    least: Filter<Time>,
    standing: Filter<Time>,
    greatest: Filter<Time>,
    /// When the queue was nearly empty last.
    emptied: Time,
    pacing: Option<Rate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

impl Congestion for CopaControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "copa",
        doc: "Copa: the window moves towards the rate at which a flow keeps 1/delta packets in the queue, faster the longer it moves one way; packets are paced. Beside flows that fill the queue it competes as TCP does.",
        source: "Arun and Balakrishnan, Copa, NSDI 2018",
        params: &[&core(Defaults { reacts: Reacts::Model, ..default_of() }), PARAMS],
        check: check_copa,
    };
    const ECN: bool = false;
    const MEASURES: bool = true;
    const PACES: bool = true;
    const MODELS: bool = true;
    const RESTARTS: bool = false;

    fn new(values: &Values) -> CopaControl {
        let delta = values.number("delta");
        CopaControl {
            default_delta: delta,
            competes: values.flag("competes"),
            min_rtt_window: values.time("min_rtt_window"),
            mss_bytes: values.bytes("mss"),
            delta,
            velocity: 1.0,
            direction: Direction::Up,
            same_for: 0,
            in_slow_start: true,
            round_end: 0,
            round_cwnd: 0.0,
            is_lossy: false,
            least: Filter::default(),
            standing: Filter::default(),
            greatest: Filter::default(),
            emptied: Time::ZERO,
            pacing: None,
        }
    }

    /// The packets of the next flow are numbered from 0 again.
    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        (self.round_end, self.round_cwnd) = (0, 0.0);
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }

    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.learn(&acked, window);
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, window: &mut Window) {
        self.learn(&acked, window);
    }

    /// Only in competitive mode does a loss matter, and there it does to delta.
    fn lost(&mut self, _: u32, _: &mut Window) {
        self.is_lossy = true;
        if self.delta < self.default_delta {
            self.delta = (2.0 * self.delta).min(self.default_delta);
        }
    }

    fn timed_out(&mut self, _: u32, _: bool, window: &mut Window) {
        window.collapse();
        (self.in_slow_start, self.velocity, self.same_for) = (true, 1.0, 0);
    }
}

impl CopaControl {
    fn learn(&mut self, acked: &Acked, window: &mut Window) {
        let Some(rtt) = acked.sample.rtt else { return };
        let now = acked.now.as_ps();
        self.least.note_least(now, rtt, now.saturating_sub(self.min_rtt_window.as_ps()));
        self.standing.note_least(now, rtt, now.saturating_sub(acked.rtt.as_ps() / 2));
        let four_rounds = acked.rtt.times(VARIATION_ROUNDS).as_ps();
        self.greatest.note_greatest(now, rtt, now.saturating_sub(four_rounds));
        let (Some(least), Some(standing)) = (self.least.best(), self.standing.best()) else { return };
        let delay = standing.since(least);
        self.watch(delay, least, acked);
        if acked.packets > 0 {
            self.steer(delay, standing, acked, window);
        }
        let per_rtt = 2.0 * window.cwnd_packets() * self.mss_bytes as f64 * 8.0;
        self.pacing = Some(Rate(saturated::<u64>(per_rtt / standing.as_secs_f64()).max(1)));
    }

    /// §2.3: whether others fill the queue.
    fn watch(&mut self, delay: Time, least: Time, acked: &Acked) {
        let most = self.greatest.best().unwrap_or(least).since(least);
        if delay.as_ps() as f64 <= NEARLY_EMPTY * most.as_ps() as f64 {
            self.emptied = acked.now;
        }
        let is_emptied = acked.now.since(self.emptied) <= acked.rtt.times(EMPTIED_WITHIN_ROUNDS);
        if is_emptied || !self.competes {
            self.delta = self.default_delta;
        }
    }

    /// Whether it competes with flows that fill the queue.
    fn is_competing(&self, acked: &Acked) -> bool {
        self.competes && acked.now.since(self.emptied) > acked.rtt.times(EMPTIED_WITHIN_ROUNDS)
    }

    /// §2.1, for each packet that is acknowledged.
    fn steer(&mut self, delay: Time, standing: Time, acked: &Acked, window: &mut Window) {
        let cwnd = window.cwnd_packets();
        // cwnd / RTTstanding <= 1 / (δ dq)
        let is_below = self.delta * cwnd * (delay.as_ps() as f64) <= standing.as_ps() as f64;
        if self.in_slow_start {
            if is_below {
                set(window, cwnd + f64::from(acked.packets));
                return;
            }
            self.in_slow_start = false;
        }
        if acked.una > self.round_end {
            self.end_round(cwnd, acked);
        }
        let direction = if is_below { Direction::Up } else { Direction::Down };
        if direction != self.direction && self.velocity > 1.0 {
            // As mvfst has it: what was gathered on the way to the target is not for the way back.
            (self.velocity, self.same_for) = (1.0, 0);
            self.direction = direction;
        }
        let step = self.velocity * f64::from(acked.packets) / (self.delta * cwnd);
        set(window, if is_below { cwnd + step } else { cwnd - step });
    }

    /// Once in a window: the velocity, by whether the window went the same way as in the one before; and in
    /// competitive mode the next delta.
    fn end_round(&mut self, cwnd: f64, acked: &Acked) {
        let direction = if cwnd > self.round_cwnd { Direction::Up } else { Direction::Down };
        if direction == self.direction {
            self.same_for += 1;
            if self.same_for >= SAME_FOR_ROUNDS {
                // No faster than a doubling for each round trip.
                self.velocity = (2.0 * self.velocity).min(self.delta * cwnd);
            }
        } else {
            (self.direction, self.velocity, self.same_for) = (direction, 1.0, 0);
        }
        self.velocity = self.velocity.max(1.0);
        if self.is_competing(acked) && !self.is_lossy {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        (self.round_end, self.round_cwnd, self.is_lossy) = (acked.next, cwnd, false);
    }
}

fn set(window: &mut Window, packets: f64) {
    window.set_packets(packets.max(LEAST));
}

fn check_copa(values: &Values) -> Result<(), Complaint> {
    check(values)?;
    if !values.flag("rto_estimation") {
        let message = "copa goes by round trips, and only knows how long one is with rto_estimation = true";
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

    fn control(competes: bool) -> CopaControl {
        let own = [
            ("delta".to_owned(), Value::Number(0.5)),
            ("competes".to_owned(), Value::Flag(competes)),
            ("min_rtt_window".to_owned(), Value::Time(Time::from_us(10_000_000))),
        ];
        CopaControl::new(&values("copa", own))
    }

    fn acked(at_us: u64, rtt_us: u64, una: u32, next: u32) -> Acked {
        let rtt = Time::from_us(rtt_us);
        let sample = Sample { rtt: Some(rtt), ..Sample::default() };
        Acked {
            packets: 1,
            advanced: true,
            una,
            next,
            now: Time::from_us(at_us),
            rtt,
            sample,
            ..Acked::default()
        }
    }

    #[test]
    fn the_window_moves_by_velocity_over_delta_cwnd_towards_the_target() {
        let (mut control, mut window) = (control(true), Window::of_packets(20));
        control.acknowledged(acked(0, 100, 1, 21), &mut window);
        assert_eq!(window.packets(), 21, "slow start: nothing waits");
        // 1 / (δ dq) = 1 / (0.5 · 20 us) = 0.1 packets/us; 21 / 120 us = 0.175 is above.
        control.acknowledged(acked(200, 120, 2, 22), &mut window);
        assert!((window.cwnd_packets() - (21.0 - 1.0 / (0.5 * 21.0))).abs() < 1e-5);
        // 2 · cwnd for each round trip: 2 · 20.90 · 1250 B / 120 us.
        let pacing = control.pacing_rate().expect("a rate").as_bps() as f64;
        assert!((pacing / (2.0 * window.cwnd_packets() * 10_000.0 / 120e-6) - 1.0).abs() < 1e-6);
        // 1 / (0.5 · 5 us) = 0.4 is above 20.9 / 105 us = 0.2.
        let before = window.cwnd_packets();
        control.acknowledged(acked(400, 105, 3, 23), &mut window);
        assert!((window.cwnd_packets() - (before + 1.0 / (0.5 * before))).abs() < 1e-5);
    }

    #[test]
    fn velocity_doubles_once_the_window_went_the_same_way_for_three_round_trips() {
        let (mut control, mut window) = (control(true), Window::of_packets(50));
        control.acknowledged(acked(0, 100, 0, 50), &mut window);
        control.in_slow_start = false;
        let mut found = Vec::new();
        for round in 1..7 {
            // 1 us of queue: the target is far above.
            control.acknowledged(acked(200 * u64::from(round), 101, 50 * round, 50 * round), &mut window);
            control.round_end = 50 * round;
            found.push(control.velocity);
        }
        assert_eq!(found[..5], [1.0, 1.0, 2.0, 4.0, 8.0]);
        // No faster than a doubling for each round trip: δ cwnd.
        assert!(found[5] <= 0.5 * window.cwnd_packets() && found[5] > 8.0, "{found:?}");
        // 101 us of queue: down.
        control.acknowledged(acked(1_400, 201, 350, 400), &mut window);
        assert_eq!(control.velocity, 1.0);
    }

    #[test]
    fn alone_it_keeps_about_one_over_delta_packets_in_the_queue() {
        let mut network = Network::new(10, 40, 1_000);
        network.add(control(true), 10, Time::ZERO);
        network.run(Time::from_us(20_000));
        let waiting = network.mean_queue(Time::from_us(10_000));
        // It swings around 1/δ = 2.
        assert!((0.5..5.0).contains(&waiting), "{waiting} packets wait");
        assert!(network.utilisation(Time::from_us(10_000)) > 0.99);
    }

    #[test]
    fn two_flows_converge_to_the_same_rate() {
        let mut network = Network::new(10, 40, 1_000);
        network.add(control(true), 10, Time::ZERO);
        network.add(control(true), 10, Time::from_us(3_000));
        network.run(Time::from_us(40_000));
        let [first, second] = [0, 1].map(|flow| network.goodput(flow, Time::from_us(20_000)));
        assert!((first / second - 1.0).abs() < 0.1, "{first} and {second} Gb/s");
        assert!(network.utilisation(Time::from_us(20_000)) > 0.99);
    }

    /// Beside a queue that never empties 1/δ grows by one for each round trip, and a loss halves it.
    #[test]
    fn beside_others_that_fill_the_queue_delta_goes_as_a_tcp_window_does() {
        let (mut control, mut window) = (control(true), Window::of_packets(50));
        control.acknowledged(acked(0, 100, 0, 50), &mut window);
        let mut deltas = Vec::new();
        for round in 1..12 {
            // RTTs swing between 180 and 200 us: never within a tenth of their variation of 100.
            let rtt_us = if round % 2 == 0 { 180 } else { 200 };
            control.acknowledged(
                acked(200 * u64::from(round), rtt_us, 50 * round + 1, 50 * (round + 1)),
                &mut window,
            );
            deltas.push(1.0 / control.delta);
        }
        assert!(deltas.windows(2).any(|pair| (pair[1] - pair[0] - 1.0).abs() < 1e-9), "{deltas:?}");
        let before = 1.0 / control.delta;
        assert!(before > 3.0, "{deltas:?}");
        control.lost(50, &mut window);
        assert!((1.0 / control.delta - (before / 2.0).max(2.0)).abs() < 1e-9);
        // The queue empties: the default mode is back.
        control.acknowledged(acked(4_000, 100, 1_000, 1_050), &mut window);
        assert_eq!(control.delta, 0.5);
    }
}
