//! Rates of senders over time, against those that HPCC's simulator on ns-3 wrote down (converge2_hpcc: its own samples
//! of the senders' rate variable, to six digits after the point).

use crate::common::{cases, write_file};
use crate::watched::watch;
use packetloom::units::Time;

/// Samples: microseconds, and both flows' Gb/s.
const SAMPLES: [(u64, f64, f64); 16] = [
    (10, 91.433369, 0.0),
    (20, 94.292569, 0.0),
    (30, 94.673795, 0.0),
    (50, 94.800127, 0.0),
    (100, 95.376765, 0.0),
    (500, 94.571948, 0.0),
    (990, 94.978563, 0.0),
    (1_000, 95.083367, 100.0),
    (1_010, 51.168026, 61.092479),
    (1_020, 42.988852, 40.169221),
    (1_030, 53.400932, 50.231408),
    (1_040, 44.693151, 42.493320),
    (1_050, 50.727744, 47.643155),
    (1_060, 47.946542, 45.092458),
    (1_080, 48.024312, 45.512906),
    (1_100, 48.364089, 45.485379),
];

/// One HPCC flow alone for a millisecond, then a second one. Until packets tie at the switch 65 us later, and the two
/// simulators let another one go first, nothing differs.
#[test]
fn two_hpcc_flows_have_the_rates_that_they_have_in_hpccs_simulator() {
    write_file("rates.csv", "src,dst,size_bytes,start_ns\n1,0,60000000,0\n2,0,20000000,999999\n");
    let toml = "topology = { kind = \"rack\", hosts = 17, link = { rate = \"100Gbps\", delay = \"1us\" }, whole_ns = true }\n\
                [[workload]]\narrivals = { kind = \"list\", file = \"rates.csv\" }\n\
                [[scheme]]\nname = \"HPCC\"\nqueue = \"shared-buffer\"\n\
                transport = { kind = \"hpcc\", variant = \"hpcc-ns3\", quantise = true }\n\
                [run]\nmax_time = \"1150us\"\n";
    let (_, steps) = watch(&cases(toml).remove(0)).expect("a scheme with packets");
    let rate_at = |flow, at: Time| {
        let before = steps.iter().rfind(|step| step.flow == flow && step.at <= at);
        let rate = before.and_then(|step| step.after).and_then(|after| after.rate);
        rate.map_or(0.0, |rate| rate.as_bps() as f64 / 1e9)
    };
    for (at_us, first, second) in SAMPLES {
        let found = [0, 1].map(|flow| rate_at(flow, Time::from_us(at_us)));
        let apart = (found[0] - first).abs().max((found[1] - second).abs());
        let bound = if at_us <= 1_060 { 0.000_001 } else { 0.1 };
        assert!(apart <= bound, "at {at_us} us {found:?} instead of {first} and {second}");
    }
}
