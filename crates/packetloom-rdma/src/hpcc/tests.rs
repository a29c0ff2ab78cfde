//! Windows worked out by hand.

use super::*;

const PATH: FlowPath = FlowPath {
    rate: Rate::from_gbps(100),
    initial_rate: Rate::from_gbps(100),
    base_rtt: Time::from_ns(4_160),
    window_bytes: 52_000,
    mss_bytes: 1_000,
    hops: 2,
};
const PAPER: Settings = Settings {
    utilisation: 0.95,
    max_stage: 5,
    fast_react: true,
    sample_feedback: false,
    multi_rate: false,
    min_rate: Rate::from_gbps(1),
    increase: Increase::Window(80.0),
    widths: None,
    code: None,
};
const SIMULATOR: Settings = Settings { max_stage: 0, increase: Increase::Rate(Rate(50_000_000)), ..PAPER };

/// What one switch of 100 Gb/s says.
fn hops(at_ns: u64, sent_bytes: u64, queue_bytes: u32) -> Hops {
    let hop = Hop { link: 1, queue_bytes, at: Time::from_ns(at_ns), sent_bytes, rate: PATH.rate };
    let mut hops = Hops::default();
    hops.hops[0] = hop;
    hops.count = 1;
    hops
}

fn ack(acked_bytes: u64, sent_bytes: u64) -> AckInfo {
    AckInfo { now: Time::ZERO, acked_bytes, sent_bytes, arrived: 1, marked: false }
}

/// Algorithm 1 of the paper for one hop, in its own words.
struct Oracle {
    w: f64,
    wc: f64,
    u: f64,
    inc_stage: u32,
    last_update_seq: u64,
    l: Option<(f64, f64, f64)>,
}

impl Oracle {
    fn ack(&mut self, (ts, tx_bytes, qlen): (f64, f64, f64), seq: u64, snd_nxt: u64) {
        let (t, b, eta, w_ai) = (4_160.0, 12.5, 0.95, 80.0);
        let Some((l_ts, l_tx, l_qlen)) = self.l.replace((ts, tx_bytes, qlen)) else {
            self.last_update_seq = snd_nxt;
            return;
        };
        let mut tau = ts - l_ts;
        let u = f64::min(qlen, l_qlen) / (b * t) + (tx_bytes - l_tx) / tau / b;
        tau = tau.min(t);
        self.u = (1.0 - tau / t) * self.u + tau / t * u;
        let update = seq > self.last_update_seq;
        if self.u >= eta || self.inc_stage >= 5 {
            self.w = self.wc / (self.u / eta) + w_ai;
            if update {
                (self.inc_stage, self.wc) = (0, self.w);
            }
        } else {
            self.w = self.wc + w_ai;
            if update {
                (self.inc_stage, self.wc) = (self.inc_stage + 1, self.w);
            }
        }
        if update {
            self.last_update_seq = snd_nxt;
        }
    }
}

#[test]
fn each_acknowledgement_sets_the_window_of_algorithm_1() {
    use packetloom_base::random::{Purpose, Stream};
    let mut random = Stream::new(11, Purpose::Transport, 0);
    let mut control = HpccControl::new(&PAPER, &PATH);
    let mut oracle = Oracle { w: 52_000.0, wc: 52_000.0, u: 1.0, inc_stage: 0, last_update_seq: 0, l: None };
    let (mut at, mut sent, mut acked, mut bounded) = (0, 0, 0, 0);
    for _ in 0..3_000 {
        let gap = 90 + u64::from(random.below(300));
        at += gap;
        // Between 80 and 112 % of the link, and a queue now and then.
        sent += gap * u64::from(10 + random.below(5));
        let queue = u32::from(random.below(20) == 0) * random.below(5_000);
        acked += 1_000;
        let next = acked + 1_000 * u64::from(random.below(50));
        control.acknowledged(&PAPER, &ack(acked, next), &hops(at, sent, queue));
        oracle.ack((at as f64, sent as f64, f64::from(queue)), acked, next);
        // The paper does not say that a window stays below B T; here, as in its simulator, it does.
        if oracle.w > 52_000.0 || oracle.w < 520.0 {
            oracle.w = oracle.w.clamp(520.0, 52_000.0);
            oracle.wc = oracle.wc.clamp(520.0, 52_000.0);
            bounded += 1;
        }
        assert!((control.window - oracle.w).abs() < 1e-6 * oracle.w, "{} {}", control.window, oracle.w);
        assert_eq!(control.stage, oracle.inc_stage);
    }
    assert!(bounded < 1_000, "{bounded} windows at a bound show nothing");
}

#[test]
fn two_flows_at_line_rate_are_cut_to_half_within_a_round_trip() {
    // The link is full, and a queue of one B T waits: U -> 2, so W -> W / 2.1.
    let mut control = HpccControl::new(&SIMULATOR, &PATH);
    control.acknowledged(&SIMULATOR, &ack(1_000, 52_000), &hops(0, 0, 52_000));
    let after = hops(4_160, 52_000, 52_000);
    control.acknowledged(&SIMULATOR, &ack(53_000, 104_000), &after);
    let expected = 100e9 / (2.0 / 0.95) + 50e6;
    assert!((control.rate().as_bps() as f64 - expected).abs() <= 1.0, "{}", control.rate());
    assert_eq!(control.rate_ref, control.rate);
}

#[test]
fn the_papers_queue_is_a_share_of_b_t_and_the_simulators_of_the_window() {
    // The link is full, and 5200 B wait: a tenth of B T, and half of the window.
    let narrow = FlowPath { window_bytes: 10_400, ..PATH };
    for (settings, expected) in [(PAPER, 1.1), (SIMULATOR, 1.5)] {
        let mut control = HpccControl::new(&settings, &narrow);
        control.acknowledged(&settings, &ack(1_000, 52_000), &hops(0, 0, 5_200));
        control.acknowledged(&settings, &ack(53_000, 104_000), &hops(4_160, 52_000, 5_200));
        assert!((control.in_use - expected).abs() < 1e-9, "{} instead of {expected}", control.in_use);
    }
}

#[test]
fn a_fast_reaction_starts_from_the_rate_of_the_last_round_trip() {
    let mut control = HpccControl::new(&SIMULATOR, &PATH);
    control.acknowledged(&SIMULATOR, &ack(1_000, 52_000), &hops(0, 0, 0));
    for step in 1..=40 {
        // Half of the link is in use; no full round trip is over.
        control.acknowledged(&SIMULATOR, &ack(1_000 + step, 52_000), &hops(step * 83, step * 519, 0));
        let u = control.in_use;
        let expected = (100e9 / (u / 0.95) + 50e6).min(100e9);
        assert!((control.rate().as_bps() as f64 - expected).abs() <= 1.0);
        assert_eq!(control.rate_ref, PATH.rate);
    }
    let settings = Settings { fast_react: false, ..SIMULATOR };
    let rate = control.rate();
    control.acknowledged(&settings, &ack(2_000, 52_000), &hops(9_000, 999_999, 0));
    assert_eq!(control.rate(), rate);
}

#[test]
fn another_port_is_not_compared_with_the_last() {
    let mut control = HpccControl::new(&SIMULATOR, &PATH);
    control.acknowledged(&SIMULATOR, &ack(1_000, 52_000), &hops(0, 0, 0));
    let mut other = hops(100, 5, 0);
    other.hops[0].link = 9;
    control.acknowledged(&SIMULATOR, &ack(60_000, 90_000), &other);
    assert_eq!((control.in_use, control.rate()), (1.0, PATH.rate));
}
/// What two switches of 100 Gb/s say: bytes sent, and the queue.
fn two(at_ns: u64, of_each: [(u64, u32); 2]) -> Hops {
    let mut both = Hops { count: 2, ..Hops::default() };
    for (nth, (sent_bytes, queue_bytes)) in of_each.into_iter().enumerate() {
        let link = nth as u32;
        both.hops[nth] = Hop { link, queue_bytes, at: Time::from_ns(at_ns), sent_bytes, rate: PATH.rate };
    }
    both
}

#[test]
fn with_a_rate_for_each_link_one_link_alone_is_as_without() {
    use packetloom_base::random::{Purpose, Stream};
    let each = Settings { multi_rate: true, ..SIMULATOR };
    let mut random = Stream::new(12, Purpose::Transport, 0);
    let (mut one, mut many) = (HpccControl::new(&SIMULATOR, &PATH), HpccControl::new(&each, &PATH));
    let (mut at, mut sent) = (0, 0);
    for step in 0..2_000 {
        let gap = 90 + u64::from(random.below(300));
        (at, sent) = (at + gap, sent + gap * u64::from(10 + random.below(5)));
        let said = hops(at, sent, u32::from(random.below(20) == 0) * random.below(5_000));
        let acked = ack(1_000 * (step + 1), 1_000 * (step + 1 + u64::from(random.below(50))));
        one.acknowledged(&SIMULATOR, &acked, &said);
        many.acknowledged(&each, &acked, &said);
        assert_eq!(one.rate(), many.rate(), "step {step}");
    }
}

#[test]
fn with_a_rate_for_each_link_the_lowest_holds_and_the_others_are_not_forgotten() {
    let each = Settings { multi_rate: true, ..SIMULATOR };
    let (mut one, mut many) = (HpccControl::new(&SIMULATOR, &PATH), HpccControl::new(&each, &PATH));
    // Both links are full; in the next round trip only the first is, with a window's queue, then only the
    // second.
    let said = [
        two(0, [(0, 0), (0, 0)]),
        two(4_160, [(52_000, 0), (52_000, 0)]),
        two(8_320, [(104_000, 0), (78_000, 0)]),
        two(12_480, [(130_000, 0), (130_000, 0)]),
    ];
    for (round, said) in (1..).zip(said) {
        let acked = ack(52_000 * round, 52_000 * (round + 1) - 1);
        one.acknowledged(&SIMULATOR, &acked, &said);
        many.acknowledged(&each, &acked, &said);
    }
    // U of the fullest is 1 in each round trip: three cuts. Each link alone was full in two, and half full in
    // one, in which its own rate rose as far as it may.
    let (eta, ai, line) = (0.95, 50e6, 100e9);
    let cut = |rate: f64| rate * eta + ai;
    let raised = |rate: f64| f64::min(rate * eta / 0.5 + ai, line);
    let first = raised(cut(cut(line)));
    let second = cut(raised(cut(line)));
    let near = |rate: Rate, expected: f64| (rate.as_bps() as f64 - expected).abs() < 10.0;
    assert!(near(one.rate(), cut(cut(cut(line)))), "{}", one.rate());
    assert!(near(many.rate(), f64::min(first, second)), "{}", many.rate());
    let links = many.links.expect("there are two");
    assert!(near(links[0].rate_ref, first) && near(links[1].rate_ref, second), "{links:?}");
}

#[test]
fn links_without_a_queue_are_left_out_until_the_round_trip_ends() {
    let sampled = Settings { sample_feedback: true, ..SIMULATOR };
    let mut control = HpccControl::new(&sampled, &PATH);
    control.acknowledged(&sampled, &ack(1_000, 52_000), &two(0, [(0, 0), (0, 0)]));
    // Nothing waits anywhere: as if it had not come.
    control.acknowledged(&sampled, &ack(2_000, 53_000), &two(100, [(2_500, 0), (1_250, 0)]));
    assert_eq!((control.in_use, control.rate(), control.last.hops[1].sent_bytes), (1.0, PATH.rate, 0));
    // Something waits before the second link, of which 200 ns were measured: (5000 B / 200 ns) / B = 2.
    control.acknowledged(&sampled, &ack(3_000, 54_000), &two(200, [(9_000, 0), (5_000, 1)]));
    let weight = 200.0 / 4_160.0;
    assert!((control.in_use - (1.0 - weight + 2.0 * weight)).abs() < 1e-9, "{}", control.in_use);
    let kept = control.last.hops;
    assert_eq!((kept[0].sent_bytes, kept[1].sent_bytes), (0, 5_000));
    // As the round trip ends all links count, the first since it was last taken.
    control.acknowledged(&sampled, &ack(60_000, 99_000), &two(300, [(9_000, 0), (5_000, 0)]));
    assert_eq!(control.last.hops[0].sent_bytes, 9_000);
}
