//! The four phases by the draft's numbers, on a path of 10 Gb/s and 40 us: 40 packets of 1250 B are one
//! bandwidth-delay product.

use super::*;
use crate::narrow::saturated;
use crate::spec::Value;
use crate::windowed::testing::{Network, values};
use std::fmt::Write;

const AT: fn(u64) -> Time = Time::from_us;

fn control(min_rtt_window: Time, probe_rtt_duration: Time) -> BbrControl {
    let number = |key: &str, value| (key.to_owned(), Value::Number(value));
    let own = [
        number("startup_gain", 2.885),
        number("cwnd_gain", 2.0),
        number("probe_gain", 1.25),
        number("pacing_margin", 0.0),
        ("bandwidth_window".to_owned(), Value::Count(10)),
        ("send_quantum".to_owned(), Value::Count(1)),
        ("ack_aggregation".to_owned(), Value::Flag(false)),
        ("whole_packets".to_owned(), Value::Flag(false)),
        ("min_rtt_window".to_owned(), Value::Time(min_rtt_window)),
        ("probe_rtt_duration".to_owned(), Value::Time(probe_rtt_duration)),
        ("nominal_rtt".to_owned(), Value::Time(AT(1_000))),
    ];
    BbrControl::new(&values("bbr", own))
}

/// A line for each change of state: when, which, the gain of its pacing rate over the bandwidth, and what there is.
fn phases(network: &mut Network<BbrControl>, until: Time) -> String {
    let mut text = String::new();
    let mut last = None;
    network.watch(until, |network| {
        let flow = &network.flows[0];
        let control = &flow.control;
        if last == Some(control.state) {
            return;
        }
        last = Some(control.state);
        let name = match control.state {
            State::Startup => "Startup".to_owned(),
            State::Drain => "Drain".to_owned(),
            State::ProbeBw(phase) => format!("ProbeBW {phase}"),
            State::ProbeRtt => "ProbeRTT".to_owned(),
        };
        let bandwidth = control.greatest_bandwidth() as f64;
        let gain = if bandwidth > 0.0 { control.pace.rate / bandwidth } else { 0.0 };
        writeln!(
            text,
            "{:>9.1} {name:<10} {gain:>6.3} {:>7.3} {:>7.1} {:>7.2} {:>5}",
            network.now.as_ns_f64() / 1e3,
            bandwidth / 1e9,
            control.min_rtt.unwrap_or(Time::ZERO).as_ns_f64() / 1e3,
            flow.window.cwnd_packets(),
            flow.in_flight(),
        )
        .expect("a string");
    });
    text
}

#[test]
fn its_four_phases_are_as_the_snapshot_says() {
    let mut network = Network::new(10, 40, 1_000);
    network.add(control(AT(1_500), AT(200)), 10, Time::ZERO);
    let found = "  time_us state        gain bw_gbps min_rtt  window in_flight\n".to_owned()
        + &phases(&mut network, AT(2_400));
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bbr/phases.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &found).expect("a file to write to");
    }
    let kept = std::fs::read_to_string(&file).expect("the snapshot; UPDATE_SNAPSHOTS=1 writes it");
    assert_eq!(kept, found, "{}", file.display());
}

#[test]
fn gains_are_the_drafts() {
    let mut control = control(AT(10_000_000), AT(200_000));
    assert_eq!(control.gains(), (2.885, 2.885));
    control.state = State::Drain;
    assert!((control.gains().0 - 0.3466).abs() < 1e-4 && control.gains().1 == 2.885);
    let gains = (0..8).map(|phase| {
        control.state = State::ProbeBw(phase);
        control.gains()
    });
    let gains: Vec<(f64, f64)> = gains.collect();
    assert_eq!(gains[..2], [(1.25, 2.0), (0.75, 2.0)]);
    assert!(gains[2..].iter().all(|&gains| gains == (1.0, 2.0)));
    control.state = State::ProbeRtt;
    assert_eq!(control.gains(), (1.0, 1.0));
}

/// 39.2 packets and three for what is sent at once: 40 and 3, so 44; 49 and 3, so 52, and two more while it probes.
#[test]
fn what_may_be_in_flight_is_rounded_up_to_even_packets() {
    let mut control = control(AT(10_000_000), AT(200_000));
    let bits = 39.2 * control.shared.mss_bytes * 8.0 / AT(40).as_secs_f64();
    control.bandwidth.note_greatest(1, saturated::<u64>(bits.round()), 0);
    control.min_rtt = Some(AT(40));
    assert!((control.in_flight_at(1.0, 0.9) - 43.1).abs() < 1e-6);
    control.whole_packets = true;
    assert_eq!(control.in_flight_at(1.0, 0.9), 44.0);
    assert_eq!(control.in_flight_at(1.0, 1.0), 44.0);
    assert_eq!(control.in_flight_at(1.25, 0.0), 52.0);
    control.state = State::ProbeBw(0);
    assert_eq!(control.in_flight_at(1.25, 0.0), 54.0);
}

/// 2.885 · 10 packets of 10,000 bits in the nominal millisecond, and in 40 us once that is known.
#[test]
fn the_initial_window_is_paced() {
    let mut control = control(AT(10_000_000), AT(200_000));
    assert_eq!(control.pacing_rate(), Some(Rate(288_500_000)));
    control.knows_round_trip(AT(40));
    let rate = control.pace.rate.round();
    assert!((rate - 7_212_500_000.0).abs() < 10.0, "{rate}");
}

#[test]
fn startup_ends_after_three_rounds_without_a_quarter_more_and_the_pipe_stays_full() {
    let mut network = Network::new(10, 40, 1_000);
    network.add(control(AT(10_000_000), AT(200_000)), 10, Time::ZERO);
    network.run(AT(20_000));
    let control = &network.flows[0].control;
    let bandwidth = control.greatest_bandwidth() as f64 / 1e9;
    assert!((bandwidth - 10.0).abs() < 0.05, "{bandwidth} Gb/s");
    assert_eq!(control.min_rtt, Some(AT(40)));
    // 2 · 40 packets and three quanta.
    assert!(network.flows[0].window.cwnd_packets() <= 83.5);
    assert!(network.utilisation(AT(10_000)) > 0.97);
    // Probing at 1.25 for a round trip of 40 us brings 10 packets more than a bandwidth-delay product, and three.
    let (_, most) = network.queue_over(AT(10_000));
    assert!(most <= 16.0, "{most} packets wait");
}

#[test]
fn losses_do_not_reduce_its_rate() {
    // A buffer of 4 packets: each probe loses some.
    let mut network = Network::new(10, 40, 4);
    network.add(control(AT(10_000_000), AT(200_000)), 10, Time::ZERO);
    network.run(AT(20_000));
    let found = network.utilisation(AT(10_000));
    assert!(found > 0.9, "{found}");
}

#[test]
fn two_flows_share_the_link() {
    let mut network = Network::new(10, 40, 1_000);
    network.add(control(AT(5_000), AT(200)), 10, Time::ZERO);
    network.add(control(AT(5_000), AT(200)), 10, AT(2_000));
    network.run(AT(60_000));
    let [first, second] = [0, 1].map(|flow| network.goodput(flow, AT(30_000)));
    assert!((first / second - 1.0).abs() < 0.25, "{first} and {second} Gb/s");
    assert!(first + second > 9.3, "{first} and {second} Gb/s");
}
