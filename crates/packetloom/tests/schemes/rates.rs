//! Rates of senders over time, against those that HPCC's simulator on ns-3 wrote down: samples of the senders' rate
//! variable, to six digits after the point. One flow has a link alone for a millisecond, then a second one joins it
//! (converge2).

use crate::common::{cases, write_file};
use crate::watched::{Step, watch};
use packetloom::flow::FlowId;
use packetloom::units::Time;

/// Microseconds, and both flows' Gb/s.
type Sample = (u64, f64, f64);

fn steps(transport: &str, queue: &str, file: &str) -> Vec<Step> {
    write_file(file, "src,dst,size_bytes,start_ns\n1,0,60000000,0\n2,0,20000000,999999\n");
    let toml = format!(
        "topology = {{ kind = \"rack\", hosts = 17, link = {{ rate = \"100Gbps\", delay = \"1us\" }}, whole_ns = true }}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"RDMA\"\nqueue = {queue}\ntransport = {transport}\n\
         [run]\nmax_time = \"1550us\"\n"
    );
    watch(&cases(&toml).remove(0)).expect("a scheme with packets").1
}

fn rate_at(steps: &[Step], flow: FlowId, at: Time) -> f64 {
    let before = steps.iter().rfind(|step| step.flow == flow && step.at <= at);
    let rate = before.and_then(|step| step.after).and_then(|after| after.rate);
    rate.map_or(0.0, |rate| rate.as_bps() as f64 / 1e9)
}

fn assert_rates(steps: &[Step], samples: &[Sample], bound: f64) {
    for &(at_us, first, second) in samples {
        let found = [0, 1].map(|flow| rate_at(steps, flow, Time::from_us(at_us)));
        let apart = (found[0] - first).abs().max((found[1] - second).abs());
        assert!(apart <= bound, "at {at_us} us {found:?} instead of {first} and {second}");
    }
}

/// Packets that tie at the switch are taken as ns-3 takes them, so nothing differs.
#[test]
fn two_hpcc_flows_have_the_rates_that_they_have_in_hpccs_simulator() {
    let transport = r#"{ kind = "hpcc", variant = "hpcc-ns3", quantise = true }"#;
    let steps = steps(transport, r#"{ kind = "shared-buffer", ties = "ns-3" }"#, "rates-hpcc.csv");
    let exact = [
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
        (1_200, 49.115711, 46.797752),
        (1_500, 48.255099, 47.701096),
    ];
    assert_rates(&steps, &exact, 0.000_001);
}

/// With marks in steps, at 30 KB.
#[test]
fn two_dctcp_flows_have_the_rates_that_they_have_in_hpccs_simulator() {
    let marking = r#"{ kind = "shared-buffer", ties = "ns-3", pause_frame = "43B", ecn_min = "30KB", ecn_max = "30KB", ecn_probability = 1.0 }"#;
    let steps = steps("\"rdma-dctcp\"", marking, "rates-dctcp.csv");
    let exact = [
        (990, 100.0, 0.0),
        (1_000, 100.0, 100.0),
        (1_010, 99.999988, 50.0),
        (1_020, 100.0, 50.615),
        (1_030, 100.0, 51.23),
        (1_040, 100.0, 52.46),
        (1_050, 97.776474, 33.631865),
        (1_060, 98.391474, 34.246865),
        (1_070, 99.621474, 35.476865),
        (1_080, 100.0, 36.091865),
        (1_100, 100.0, 38.551865),
        (1_150, 100.0, 43.471865),
        (1_200, 100.0, 48.391865),
        (1_300, 99.453304, 50.797015),
        (1_500, 96.823741, 53.456733),
    ];
    assert_rates(&steps, &exact, 0.000_001);
}

/// Marks are drawn, so the number of cuts differs. What a first cut leaves does not (it comes 4 us after the first
/// mark, when alpha has fallen three or four times), nor what 300 us without a mark give back.
#[test]
fn two_dcqcn_flows_fall_and_come_back_as_they_do_in_hpccs_simulator() {
    let marking = r#"{ kind = "shared-buffer", ties = "ns-3", pause_frame = "43B", ecn_min = "400KB", ecn_max = "1600KB" }"#;
    let steps = steps(r#"{ kind = "dcqcn", variant = "mellanox" }"#, marking, "rates-dcqcn.csv");
    assert_rates(&steps, &[(1_000, 100.0, 100.0), (1_030, 100.0, 100.0)], 0.0);
    for flow in [0, 1] {
        let rates = steps.iter().filter(|step| step.flow == flow).filter_map(|step| step.after?.rate);
        let first_cut = rates.map(|rate| rate.as_bps()).find(|&bps| bps < 100_000_000_000).expect("a cut");
        // Theirs: 50.581372 and 50.776684.
        assert!([50_581_372, 50_776_684].contains(&(first_cut / 1_000)), "{first_cut}");
        let [low, high] = [1_300, 1_500].map(|us| rate_at(&steps, flow, Time::from_us(us)));
        assert!(low < 30.0, "{low}");
        // Theirs: 4.100797 and 52.050398.
        assert!((high - (50.0 + low / 2.0)).abs() < 0.000_001, "{low} {high}");
    }
}
