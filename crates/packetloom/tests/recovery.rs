//! What a loss in a recovery does to the window that follows it, worked out by hand.

use crate::common::run;
use packetloom::engine::Report;
use packetloom::units::Time;

/// A flow with a window of 40 packets over three links of 10 Gb/s and 10 us, of which that in the middle is down from
/// each of these times on, in us, for as long as they say. Returns what its sender did, and its window every 5 us.
fn flow_with_outages(reduction: &str, outages: &[(u32, u32)]) -> (Report, Vec<(Time, f64)>) {
    let link = r#"{ rate = "10Gbps", delay = "10us" }"#;
    let faults = outages.iter().map(|&(at, lasts)| {
        let until = at + lasts;
        format!(
            "[[fault]]\nkind = \"link-down\"\nbetween = [\"switch0\", \"switch1\"]\nat = \"{at}us\"\n\
             until = \"{until}us\"\nlearn_after = \"1s\"\n"
        )
    });
    let faults: String = faults.collect();
    let outcome = run(&format!(
        r#"
topology = {{ kind = "dumbbell", left = 1, right = 1, host_link = {link}, bottleneck = {link} }}

[[workload]]
sizes = {{ kind = "constant", size = "{size}B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[scheme]]
name = "one"
queue = "drop-tail"

[scheme.transport]
kind = "tcp"
initial_window = 40
initial_ssthresh = 40
min_rto = "5ms"
loss_detection = "rack"
reduction = {reduction:?}

{faults}
[measure]
flows = [0]
flows_interval = "5us"
"#,
        size = 400 * 1_460
    ));
    let windows =
        outcome.flow_series().filter_map(|sample| Some((sample.at, sample.window_bytes? / 1_460.0)));
    (outcome.flows[0].report, windows.collect())
}

/// A packet takes 1.2 us on each link, so packet k is on the second link's wire from 11.2 us + k × 1.2 us, as it begins
/// to be sent, to 22.4 us + k × 1.2 us: packets 7 to 16 are lost at 30 us. As three of those after them are
/// acknowledged, 49 packets were sent, and 20 may be in flight.
///
/// Under PRR the ten leave one by one, until all but 20 packets have arrived; packet 49 follows the last. At 130 us
/// these two are on that wire. That they were lost is found in the recovery, which ends as packet 16 arrives the third
/// time it is sent. Packet 49, which was sent since it began, is a loss in the next window, so 10 may be in flight.
#[test]
fn a_loss_in_a_recovery_of_what_was_sent_since_it_began_reduces_the_window_again() {
    let (once, windows) = flow_with_outages("prr", &[(30, 1)]);
    assert_eq!((once.packets_sent, once.retransmissions, once.timeouts), (410, 10, 0));
    let least = |windows: &[(Time, f64)]| windows.iter().map(|&(_, window)| window).fold(f64::MAX, f64::min);
    assert_eq!(least(&windows), 20.0);

    let (twice, windows) = flow_with_outages("prr", &[(30, 1), (130, 3)]);
    assert_eq!((twice.packets_sent, twice.retransmissions, twice.timeouts), (412, 12, 0));
    assert_eq!(least(&windows), 10.0);
    // Not before the recovery ends: a round trip after packet 16 was sent for the third time, itself no less than a
    // round trip after the second.
    let ends = windows.iter().find(|(_, window)| *window == 10.0).expect("it is reduced").0;
    assert!((Time::from_us(240)..Time::from_us(270)).contains(&ends), "{ends}");
    let in_recovery = Time::from_us(90)..ends;
    let mut during = windows.iter().filter(|(at, _)| in_recovery.contains(at));
    assert!(during.all(|(_, window)| *window == 20.0), "{windows:?}");

    // Where it is reduced at once, the ten leave as soon as they may; the same is lost but for the moments.
    let (at_once, windows) = flow_with_outages("at-once", &[(30, 1), (130, 3)]);
    assert_eq!((at_once.retransmissions, at_once.timeouts, least(&windows)), (13, 0, 10.0));
}
