//! The states by the draft's numbers, on a path of 10 Gb/s and 40 us: 40 packets of 1250 B are one bandwidth-delay
//! product.

use super::*;
use crate::spec::Value;
use crate::windowed::testing::{Network, values};
use std::fmt::Write;

const AT: fn(u64) -> Time = Time::from_us;

fn control(probe_wait: Time, probe_rtt_interval: Time) -> Bbr3Control {
    let number = |key: &str, value| (key.to_owned(), Value::Number(value));
    let time = |key: &str, value| (key.to_owned(), Value::Time(value));
    let own = [
        number("startup_gain", 2.77),
        number("cwnd_gain", 2.0),
        number("drain_gain", 0.5),
        number("down_gain", 0.9),
        number("loss_threshold", 0.02),
        number("beta", 0.7),
        number("headroom", 0.15),
        number("pacing_margin", 0.01),
        ("send_quantum".to_owned(), Value::Count(1)),
        time("probe_wait", probe_wait),
        time("min_rtt_window", AT(10_000_000)),
        time("probe_rtt_interval", probe_rtt_interval),
        time("probe_rtt_duration", AT(200)),
        time("nominal_rtt", AT(1_000)),
    ];
    Bbr3Control::new(&values("bbr3", own))
}

const PUBLISHED: (Time, Time) = (Time::from_us(2_000_000), Time::from_us(5_000_000));

fn published() -> Bbr3Control {
    control(PUBLISHED.0, PUBLISHED.1)
}

#[test]
fn its_states_are_as_the_snapshot_says() {
    let mut network = Network::new(10, 40, 1_000);
    network.add(control(AT(500), AT(2_000)), 10, Time::ZERO);
    let mut found = "  time_us state     gain bw_gbps  window in_flight\n".to_owned();
    let mut last = None;
    network.watch(AT(3_600), |network| {
        let flow = &network.flows[0];
        let control = &flow.control;
        if last.replace(control.state) == Some(control.state) {
            return;
        }
        let name = format!("{:?}", control.state);
        let gain = if control.bw > 0.0 { control.pace.rate / control.bw } else { 0.0 };
        let (at, window) = (network.now.as_ns_f64() / 1e3, flow.window.cwnd_packets());
        writeln!(
            found,
            "{at:>9.1} {name:<8} {gain:>5.3} {:>7.3} {window:>7.2} {:>5}",
            control.bw / 1e9,
            flow.in_flight()
        )
        .expect("a string");
    });
    let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bbr3/states.txt");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &found).expect("a file to write to");
    }
    let kept = std::fs::read_to_string(&file).expect("the snapshot; UPDATE_SNAPSHOTS=1 writes it");
    assert_eq!(kept, found, "{}", file.display());
}

#[test]
fn gains_are_the_drafts() {
    let mut control = published();
    let states =
        [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up, State::ProbeRtt];
    let gains = states.map(|state| {
        control.state = state;
        control.gains()
    });
    let expected = [(2.77, 2.0), (0.5, 2.0), (0.9, 2.0), (1.0, 2.0), (1.0, 2.0), (1.25, 2.25), (1.0, 0.5)];
    assert_eq!(gains, expected);
}

#[test]
fn where_losses_pass_two_percent_is_what_may_be_in_flight() {
    let control = published();
    // The 100th packet in flight is lost, after two others: (0.02 · 99 - 2) / 0.98 = -0.0204.
    let evidence = Evidence { sent_in_flight: 100.0, lost: 3.0, is_app_limited: false };
    assert!(control.is_too_high(&evidence));
    assert!((control.in_flight_at_loss(&evidence, 1.0) - 98.9796).abs() < 1e-4);
    assert!(!control.is_too_high(&Evidence { lost: 2.0, ..evidence }), "it is 2 %, not more");
}

#[test]
fn a_round_with_losses_cuts_the_bounds_by_beta_but_not_below_what_is_delivered() {
    let (mut control, window) = (published(), Window::of_packets(80));
    control.state = State::Cruise;
    control.note_bandwidth(10e9);
    control.is_loss_in_round = true;
    (control.bw_latest, control.inflight_latest) = (6e9, 60.0);
    control.adapt_lower_bounds(&window);
    assert!((control.bw_shortterm - 7e9).abs() < 1.0 && control.inflight_shortterm == 60.0);
    control.adapt_lower_bounds(&window);
    assert!((control.bw_shortterm - 6e9).abs() < 1.0 && control.inflight_shortterm == 60.0);
    // While it probes for bandwidth, losses are no reason to do less.
    control.state = State::Up;
    control.bw_latest = 0.0;
    control.adapt_lower_bounds(&window);
    assert!((control.bw_shortterm - 6e9).abs() < 1.0);
}

#[test]
fn cruising_leaves_headroom_and_probing_goes_up_to_the_bound() {
    let mut control = published();
    control.inflight_longterm = 100.0;
    let bounds = [State::Cruise, State::ProbeRtt, State::Down, State::Refill, State::Up].map(|state| {
        control.state = state;
        control.bound()
    });
    assert_eq!(bounds, [85.0, 85.0, 100.0, 100.0, 100.0]);
    control.inflight_shortterm = 70.0;
    assert_eq!(control.bound(), 70.0);
}

#[test]
fn alone_it_fills_the_path_with_a_short_queue() {
    let mut network = Network::new(10, 40, 1_000);
    network.add(published(), 10, Time::ZERO);
    network.run(AT(20_000));
    let found = network.utilisation(AT(10_000));
    assert!(found > 0.97, "{found}");
    let waiting = network.mean_queue(AT(10_000));
    assert!(waiting < 12.0, "{waiting} packets wait");
}

#[test]
fn in_a_short_buffer_it_loses_few_packets() {
    let mut network = Network::new(10, 40, 6);
    network.add(published(), 10, Time::ZERO);
    network.run(AT(40_000));
    let control = &network.flows[0].control;
    assert!(control.inflight_longterm < INFINITE, "losses bound what is in flight");
    let found = network.utilisation(AT(20_000));
    assert!(found > 0.85, "{found}");
}

#[test]
fn two_flows_share_the_link() {
    let mut network = Network::new(10, 40, 1_000);
    network.add(control(AT(500), AT(5_000)), 10, Time::ZERO);
    network.add(control(AT(500), AT(5_000)), 10, AT(2_000));
    network.run(AT(60_000));
    let [first, second] = [0, 1].map(|flow| network.goodput(flow, AT(30_000)));
    assert!((first / second - 1.0).abs() < 0.3, "{first} and {second} Gb/s");
    assert!(first + second > 9.3, "{first} and {second} Gb/s");
}
