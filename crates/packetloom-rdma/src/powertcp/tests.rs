use super::theta::ThetaControl;
use super::*;
use packetloom_base::random::{Purpose, Stream};

const RATE: Rate = Rate::from_gbps(25);
const PATH: FlowPath = FlowPath {
    rate: RATE,
    initial_rate: RATE,
    base_rtt: Time::from_ns(8_000),
    window_bytes: 25_000,
    mss_bytes: 1_000,
    hops: 2,
};
const PAPER: Settings = Settings {
    law: Law::Window { flows: 10.0 },
    gamma: 0.9,
    min_rate: Rate(100_000_000),
    widths: None,
    scales: false,
};
const SIMULATOR: Settings = Settings { law: Law::Rate { increase: 150e6, target: 0.95 }, ..PAPER };
const THETA: Settings = Settings { law: Law::Rate { increase: 150e6, target: 1.0 }, gamma: 0.7, ..PAPER };

fn hops(at_ns: u64, arrived_bytes: u64, queue_bytes: u32) -> Hops {
    let hop = Hop { link: 1, queue_bytes, at: Time::from_ns(at_ns), sent_bytes: arrived_bytes, rate: RATE };
    let mut hops = Hops::default();
    hops.hops[0] = hop;
    hops.count = 1;
    hops
}

fn ack(now_ns: u64, acked_bytes: u64, sent_bytes: u64) -> AckInfo {
    AckInfo { now: Time::from_ns(now_ns), acked_bytes, sent_bytes, arrived: 1, marked: false }
}

fn close(found: f64, expected: f64) -> bool {
    (found / expected - 1.0).abs() < 1e-6
}

/// The authors' simulator in its own words, for one hop, in bits, bits per second and seconds.
struct Oracle {
    r: f64,
    u: f64,
    last: (f64, f64),
    last_update_seq: u64,
}

impl Oracle {
    fn ack(&mut self, (ts, rx_bytes, qlen): (f64, f64, f64), seq: u64, snd_nxt: u64) -> f64 {
        let (t, c) = (8e-6, 25e9);
        let tau = ts - self.last.0;
        let a = f64::max((rx_bytes - self.last.1) * 8.0 / tau, 0.5 * c);
        self.last = (ts, rx_bytes);
        let power = a * (8.0 * qlen + c * t) / (c * c * t);
        let dt = f64::min(tau, t);
        self.u = (self.u * (t - dt) + power * dt) / t;
        let new = (0.9 * (self.r / (self.u / 0.95) + 150e6) + 0.1 * self.r).clamp(100e6, c);
        if seq > self.last_update_seq {
            self.r = new;
            self.last_update_seq = snd_nxt;
        }
        new
    }
}

#[test]
fn each_acknowledgement_sets_the_rate_of_the_authors_simulator() {
    let mut random = Stream::new(12, Purpose::Transport, 0);
    let mut control = PowerControl::new(&SIMULATOR, &PATH);
    let mut oracle = Oracle { r: 25e9, u: 1.0, last: (0.0, 0.0), last_update_seq: 0 };
    let (mut at, mut arrived, mut acked, mut below) = (5_000, 9_000, 0, 0);
    for _ in 0..3_000 {
        let gap = 300 + u64::from(random.below(900));
        at += gap;
        // Between 32 and 128 % of the link, and a queue now and then.
        arrived += gap * u64::from(1 + random.below(4));
        let queue = u32::from(random.below(4) == 0) * random.below(30_000);
        acked += 1_000;
        let next = acked + 1_000 * u64::from(random.below(25));
        control.acknowledged(&SIMULATOR, &ack(at, acked, next), &hops(at, arrived, queue));
        let expected = oracle.ack((at as f64 * 1e-9, arrived as f64, f64::from(queue)), acked, next);
        assert!(
            close(control.rate().as_bps() as f64, expected),
            "{} for {expected}",
            control.rate().as_bps()
        );
        below += u32::from(expected < 24e9);
    }
    assert!((10..2_990).contains(&below), "some are at the line, {below} of 3,000 are below it");
}

/// What arrives in a base round trip at a port that has it alone, of a sender with this rate.
fn settled(settings: &Settings, queue_bytes: u32) -> f64 {
    let mut control = PowerControl::new(settings, &PATH);
    let (mut at, mut arrived) = (0, 0);
    for nth in 1..400 {
        at += 8_000;
        arrived += control.rate().as_bps() * 8 / 8_000_000;
        control.acknowledged(settings, &ack(at, nth * 1_000, nth * 1_000), &hops(at, arrived, queue_bytes));
    }
    control.rate().as_bps() as f64 / 1e9
}

#[test]
fn alone_it_settles_where_what_is_added_makes_up_for_the_target() {
    // R = 0.9 (R / (R / C / eta) + beta) + 0.1 R.
    assert!((settled(&SIMULATOR, 0) - (0.95 * 25.0 + 0.15)).abs() < 0.01, "{}", settled(&SIMULATOR, 0));
    // The paper's has no target: the window's bound is what holds it.
    assert!(close(settled(&PAPER, 0), 25.0));
}

#[test]
fn a_queue_and_its_growth_each_lower_the_window() {
    let after = |arrived: u64, queue: u32| {
        let mut control = PowerControl::new(&PAPER, &PATH);
        control.acknowledged(&PAPER, &ack(8_000, 1_000, 25_000), &hops(8_000, 25_000, 0));
        assert_eq!(control.window_bytes(), 25_000, "the first telemetry has none before it");
        control.acknowledged(&PAPER, &ack(16_000, 2_000, 25_000), &hops(16_000, 25_000 + arrived, queue));
        control.window_bytes() as f64
    };
    let law = |power: f64| (0.9 * (25_000.0 / power + 2_500.0) + 0.1 * 25_000.0).min(25_000.0);
    for (arrived, queue, power) in
        [(25_000, 0, 1.0), (25_000, 25_000, 2.0), (50_000, 0, 2.0), (50_000, 25_000, 4.0)]
    {
        assert!((after(arrived, queue) - law(power).floor()).abs() <= 1.0, "{arrived} and {queue}");
    }
}

#[test]
fn the_papers_window_goes_by_that_of_a_round_trip_ago() {
    let mut control = PowerControl::new(&PAPER, &PATH);
    control.acknowledged(&PAPER, &ack(8_000, 1_000, 25_000), &hops(8_000, 50_000, 0));
    let mut windows = Vec::new();
    for nth in 2..6 {
        control.acknowledged(
            &PAPER,
            &ack(8_000 * nth, 1_000 * nth, 99_000),
            &hops(8_000 * nth, 50_000 * nth, 0),
        );
        windows.push(control.window_bytes());
    }
    // Power 2 each time: from 25,000 B to 0.9 (12,500 + 2,500) + 0.1 w, again and again from the same 25,000 B.
    assert_eq!(windows, [16_000, 15_100, 15_010, 15_001]);
}

#[test]
fn telemetry_of_another_link_says_nothing() {
    let mut control = PowerControl::new(&PAPER, &PATH);
    control.acknowledged(&PAPER, &ack(8_000, 1_000, 25_000), &hops(8_000, 25_000, 0));
    let mut other = hops(16_000, 900_000, 90_000);
    other.hops[0].link = 2;
    control.acknowledged(&PAPER, &ack(16_000, 2_000, 25_000), &other);
    assert_eq!(control.window_bytes(), 25_000);
}

#[test]
fn theta_goes_by_round_trip_times_and_how_they_rise() {
    let mut control = ThetaControl::new(&THETA, &PATH);
    let at = |control: &mut ThetaControl, now_ns: u64, rtt_ns: u64, acked: u64| {
        let sent_at = Time::from_ns(now_ns - rtt_ns);
        control.acknowledged(&THETA, &ack(now_ns, acked, acked + 1_000), &sent_at);
        control.rate().as_bps() as f64 / 1e9
    };
    // At the least round-trip time the margin lets it go on at the line's rate.
    assert!(close(at(&mut control, 10_000, 8_000, 1_000), 25.0));
    // Twice the round-trip time after 8 us: it rose by one, so the power is 2 times 2 over the margin.
    let power: f64 = 4.0 / 1.05;
    assert!(close(at(&mut control, 18_000, 16_000, 2_001), 0.7 * (25.0 / power + 0.15) + 0.3 * 25.0));
}

#[test]
fn the_papers_theta_takes_one_round_trip_time_in_each() {
    let mut control = ThetaControl::new(&PAPER, &PATH);
    control.acknowledged(&PAPER, &ack(10_000, 1_000, 26_000), &Time::from_ns(2_000));
    for nth in 2..20 {
        let sent_at = Time::from_ns(1_000 * nth);
        control.acknowledged(&PAPER, &ack(30_000 + nth, 1_000 * nth, 30_000), &sent_at);
    }
    assert_eq!(control.window_bytes(), 25_000);
}
