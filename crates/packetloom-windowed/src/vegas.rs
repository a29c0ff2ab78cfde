//! TCP Vegas (Brakmo and Peterson, IEEE JSAC 13(8), 1995): the window keeps a few packets of the flow in the queue, by
//! comparing the rate at which it is acknowledged with what it would be without a queue.
//!
//! Losses are found and answered as TCP does here, with half of the window; the paper's own retransmission rule (§3.1)
//! and its cut by a quarter are not there, as they are not on Linux.

use super::windowed::{Acked, Congestion, Window, Windowed, check, core, default_of};
use crate::flow::Flow;
use crate::spec::{Component, Kind, Param, Values, param};
use crate::units::Time;

/// Vegas.
pub type Vegas = Windowed<VegasControl>;

const PACKET: u64 = 1 << 20;

const PARAMS: &[Param] = &[
    param! {
        "alpha" = "2": Kind::Number(0.0, 1e6),
        "With fewer packets of the flow than this in the queue the window grows by one for each round trip.",
        "Brakmo and Peterson 1995 §3.2: Vegas-2,4; Linux tcp_vegas.c: 2"
    },
    param! {
        "beta" = "4": Kind::Number(0.0, 1e6),
        "With more packets of the flow than this in the queue the window shrinks by one for each round trip.",
        "Brakmo and Peterson 1995 §3.2: Vegas-2,4; Linux tcp_vegas.c: 4"
    },
    param! {
        "gamma" = "1": Kind::Number(0.0, 1e6),
        "Slow start ends with more packets of the flow than this in the queue.",
        "Brakmo and Peterson 1995 §3.3: one router buffer; Linux tcp_vegas.c: 1"
    },
    param! {
        "variant" = "linux": Kind::Choice(&["linux", "paper"]),
        "Linux uses the least round-trip time of a round, and doubles in each round of slow start. It ends slow start at the window that the path carries without a queue, and takes the queue as cwnd (RTT - base) / base, in whole packets. The paper uses the round's last round-trip time, doubles in every other round, and keeps the window when slow start ends. Its queue is cwnd (RTT - base) / RTT.",
        "Linux net/ipv4/tcp_vegas.c; Brakmo and Peterson 1995 §3.2, §3.3"
    },
];

/// Vegas's sender.
#[derive(Clone, Copy, Debug)]
pub struct VegasControl {
    alpha: f64,
    beta: f64,
    gamma: f64,
    is_paper: bool,
    /// The least round-trip time of the connection: what the path takes without a queue.
    base: Time,
    /// Of this round: its round-trip time, and how many were measured.
    round_rtt: Time,
    samples: u32,
    /// The round ends as all before this packet is acknowledged.
    round_end: u32,
    /// The paper's slow start: whether the window grows in this round.
    grows: bool,
    phase: Phase,
}

/// When round-trip times are of windows that Vegas has set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Vegas decides.
    Regular,
    /// A loss is being repaired.
    Repairs,
    /// The next acknowledgement begins a round, or after a timeout the end of what was sent before it.
    Restarts { timed_out: bool },
    /// After a timeout: until this packet is acknowledged.
    Resends { until: u32 },
}

impl Congestion for VegasControl {
    const COMPONENT: Component = Component {
        section: "transport",
        kind: "vegas",
        doc: "TCP Vegas: the window grows and shrinks by a packet for each round trip, so that the flow keeps between alpha and beta packets in the queue.",
        source: "Brakmo and Peterson, TCP Vegas, IEEE JSAC 1995; Linux net/ipv4/tcp_vegas.c",
        params: &[&core(default_of()), PARAMS],
        check,
    };
    const ECN: bool = false;
    const MEASURES: bool = true;

    fn new(values: &Values) -> VegasControl {
        let number = |key| values.number(key);
        let is_paper = values.text("variant") == "paper";
        VegasControl::unmeasured(number("alpha"), number("beta"), number("gamma"), is_paper)
    }

    /// As Linux does with a connection that was idle: the path may be another by now.
    fn resumed(&mut self, _: &Flow, _: &mut Window) {
        let VegasControl { alpha, beta, gamma, is_paper, .. } = *self;
        *self = VegasControl::unmeasured(alpha, beta, gamma, is_paper);
    }

    #[inline]
    fn acknowledged(&mut self, acked: Acked, window: &mut Window) {
        self.measure(acked.sample.rtt);
        self.go_on(&acked);
        if !acked.advanced {
            return;
        }
        if self.phase != Phase::Regular {
            window.grow();
        } else if acked.una > self.round_end {
            self.end_round(acked.next, window);
        } else if window.is_in_slow_start() && (self.grows || !self.is_paper) {
            window.grow();
        }
    }

    fn acknowledged_in_recovery(&mut self, acked: Acked, _: &mut Window) {
        self.measure(acked.sample.rtt);
    }

    fn lost(&mut self, in_flight: u32, window: &mut Window) {
        self.phase = Phase::Repairs;
        window.halve_threshold(in_flight, self.least_threshold());
        window.fall_to_threshold();
    }

    fn recovered(&mut self, _: &mut Window) {
        self.phase = Phase::Restarts { timed_out: false };
    }

    fn timed_out(&mut self, in_flight: u32, again: bool, window: &mut Window) {
        self.phase = Phase::Restarts { timed_out: true };
        if !again {
            window.halve_threshold(in_flight, self.least_threshold());
        }
        window.collapse();
    }
}

impl VegasControl {
    fn unmeasured(alpha: f64, beta: f64, gamma: f64, is_paper: bool) -> VegasControl {
        VegasControl {
            alpha,
            beta,
            gamma,
            is_paper,
            base: Time::NEVER,
            round_rtt: Time::NEVER,
            samples: 0,
            round_end: 0,
            grows: true,
            phase: Phase::Regular,
        }
    }

    fn measure(&mut self, rtt: Option<Time>) {
        let Some(rtt) = rtt else { return };
        self.base = self.base.min(rtt);
        self.round_rtt = if self.is_paper { rtt } else { self.round_rtt.min(rtt) };
        self.samples += 1;
    }

    /// After a loss Vegas waits for a whole round of windows that it has set (Linux: vegas_enable).
    fn go_on(&mut self, acked: &Acked) {
        match self.phase {
            Phase::Restarts { timed_out: true } => self.phase = Phase::Resends { until: acked.next },
            Phase::Restarts { timed_out: false } => self.restart(acked.next),
            Phase::Resends { until } if acked.una >= until => self.restart(acked.next),
            _ => {}
        }
    }

    fn restart(&mut self, next: u32) {
        self.phase = Phase::Regular;
        self.begin_round(next);
    }

    fn begin_round(&mut self, next: u32) {
        (self.round_end, self.round_rtt, self.samples) = (next, Time::NEVER, 0);
    }

    fn end_round(&mut self, next: u32, window: &mut Window) {
        // Two samples may both be of delayed acknowledgements; then Linux grows as Reno.
        if self.samples <= 2 && !self.is_paper {
            window.grow();
        } else if self.samples > 0 {
            self.adjust(window);
        }
        self.grows = !self.grows;
        self.begin_round(next);
    }

    /// How many of the flow's packets are in the queue.
    fn queued(&self, window: &Window) -> f64 {
        let packets = f64::from(window.packets());
        let (base, rtt) = (self.base.as_ps() as f64, self.round_rtt.as_ps() as f64);
        if self.is_paper { packets * (rtt - base) / rtt } else { libm::floor(packets * (rtt - base) / base) }
    }

    fn adjust(&mut self, window: &mut Window) {
        let queued = self.queued(window);
        let cwnd = window.packets_q20();
        if window.is_in_slow_start() {
            if queued > self.gamma {
                self.end_slow_start(window);
            } else if self.grows || !self.is_paper {
                window.grow();
            }
        } else if queued > self.beta {
            window.set_packets_q20((cwnd - PACKET.min(cwnd)).max(2 * PACKET));
            window.set_threshold(cwnd.min(window.packets_q20()), 2);
        } else if queued < self.alpha {
            window.set_packets_q20(cwnd + PACKET);
        }
    }

    /// The window is what the path carries without a queue, and a packet for what is cut off (Linux); or it stays.
    fn end_slow_start(&self, window: &mut Window) {
        if !self.is_paper {
            let cwnd = u128::from(window.packets());
            let carried = cwnd * u128::from(self.base.as_ps()) / u128::from(self.round_rtt.as_ps().max(1));
            let packets = u64::try_from(carried).unwrap_or(u64::MAX).saturating_add(1);
            window.set_packets_q20(window.packets_q20().min(packets.saturating_mul(PACKET)).max(2 * PACKET));
        }
        window.set_threshold(window.packets_q20(), 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Value;
    use crate::windowed::Sample;
    use crate::windowed::testing::{Network, values};

    fn control(variant: &str) -> VegasControl {
        let number = |key: &str, value| (key.to_owned(), Value::Number(value));
        let own = [number("alpha", 2.0), number("beta", 4.0), number("gamma", 1.0)];
        let mut all = values("vegas", own);
        all.entries.insert("variant".to_owned(), Value::Text(variant.to_owned()));
        VegasControl::new(&all)
    }

    /// A round of acknowledgements, each with this round-trip time; returns the window after the one that ends it.
    fn round(control: &mut VegasControl, window: &mut Window, una: &mut u32, rtt_us: u64) -> f64 {
        let next = *una + window.packets();
        for seq in *una + 1..=next {
            let sample = Sample { rtt: Some(Time::from_us(rtt_us)), ..Sample::default() };
            let acked = Acked { packets: 1, advanced: true, una: seq, next, sample, ..Acked::default() };
            control.acknowledged(acked, window);
        }
        *una = next;
        window.cwnd_packets()
    }

    #[test]
    fn the_window_moves_by_a_packet_for_each_round_by_what_is_in_the_queue() {
        // cwnd (RTT - base) / base of 20 packets, base 100 us: 105 us are 1 packet, 110 us 2, 120 us 4, 125 us 5.
        for (rtt_us, change) in [(105, 1.0), (110, 0.0), (120, 0.0), (125, -1.0)] {
            let (mut control, mut window, mut una) = (control("linux"), Window::of_packets(20), 0);
            control.base = Time::from_us(100);
            round(&mut control, &mut window, &mut una, rtt_us);
            let before = window.cwnd_packets();
            let after = round(&mut control, &mut window, &mut una, rtt_us);
            assert!((after - before - change).abs() < 1e-6, "{rtt_us} us: {before} to {after}");
        }
    }

    #[test]
    fn the_paper_divides_by_the_round_trip_time() {
        let mut control = control("paper");
        (control.base, control.round_rtt) = (Time::from_us(100), Time::from_us(125));
        assert!((control.queued(&Window::of_packets(20)) - 4.0).abs() < 1e-9);
        control.is_paper = false;
        assert!((control.queued(&Window::of_packets(20)) - 5.0).abs() < 1e-9);
    }

    #[test]
    fn slow_start_ends_at_what_the_path_carries() {
        let mut window = Window::of_packets(40);
        window.set_ssthresh_packets(1e6);
        let mut control = control("linux");
        (control.base, control.round_rtt) = (Time::from_us(100), Time::from_us(160));
        control.adjust(&mut window);
        // 40 · 100 / 160 = 25, and one.
        assert_eq!((window.cwnd_packets(), window.ssthresh_packets()), (26.0, 26.0));
        control.is_paper = true;
        let mut window = Window::of_packets(40);
        window.set_ssthresh_packets(1e6);
        control.adjust(&mut window);
        assert_eq!((window.cwnd_packets(), window.ssthresh_packets()), (40.0, 40.0));
    }

    #[test]
    fn alone_on_a_path_it_keeps_between_alpha_and_beta_packets_in_the_queue() {
        for variant in ["linux", "paper"] {
            let mut network = Network::new(10, 40, 1_000);
            network.add(control(variant), 10, Time::ZERO);
            // Slow start ends late, as bursts hide the queue, and the window comes down by a packet for each round.
            network.run(Time::from_us(40_000));
            let (least, most) = network.queue_over(Time::from_us(30_000));
            assert!(least >= 1.0 && most <= 6.0, "{variant}: {least} to {most} packets wait");
            assert!(network.utilisation(Time::from_us(30_000)) > 0.999, "{variant}");
        }
    }
}
