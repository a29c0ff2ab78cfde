//! NDP at the settings of csg-htsim, its authors' own simulator (its figures: `packetloom validate peers`), and what
//! holds at any.

use packetloom::measure::{FlowRow, fingerprint};
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// A case of one scheme on a fat-tree of 100 Gb/s links, and what differs from htsim's setting.
struct Setting<'a> {
    k: u32,
    mss_bytes: u32,
    workload: String,
    run: String,
    transport: &'a str,
    queue: &'a str,
}

impl Setting<'_> {
    /// htsim: the packet in service counts towards the data queue, and headers always go first.
    fn htsim(k: u32, workload: String, run: String) -> Setting<'static> {
        let queue = "capacity = \"72000B\", count_service = true, service = \"strict\"";
        Setting { k, mss_bytes: 9_000, workload, run, transport: "", queue }
    }

    fn simulate(&self) -> Outcome {
        let Setting { k, mss_bytes, workload, run, transport, queue } = self;
        let text = format!(
            r#"
[topology]
kind = "fat-tree"
k = {k}
link = {{ rate = "100Gbps", delay = "1us" }}

[[workload]]
{workload}

[[scheme]]
name = "NDP"
transport = {{ kind = "ndp", mss = "{mss_bytes}B", {transport} }}
queue = {{ kind = "ndp", {queue} }}
routing = "permutation"

[run]
{run}
"#
        );
        simulate(&text)
    }
}

fn simulate(text: &str) -> Outcome {
    let scenario = Scenario::from_toml(text, "test", Path::new(""));
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let case = scenario.cases().next().expect("a case");
    let simulation = Simulation::new(case).unwrap_or_else(|complaint| panic!("{complaint:?}"));
    let outcome = simulation.run(&Monitor::default()).unwrap_or_else(|complaint| panic!("{complaint:?}"));
    assert!(outcome.flows.iter().all(|row| row.sender_fct().is_some()), "{:?}", outcome.warnings);
    assert!(outcome.flows.iter().all(|row| row.fct() >= Some(row.best_fct)), "faster than possible");
    outcome
}

/// Flows of one size that start together.
fn at_once(size_bytes: u32, pattern: &str) -> String {
    let sizes = format!("{{ kind = \"constant\", size = \"{size_bytes}B\" }}");
    format!("sizes = {sizes}\narrivals = \"at-once\"\npattern = {pattern}")
}

fn incast(k: u32, fan_in: u32, size_bytes: u32, seed: u32) -> Setting<'static> {
    let pattern = format!("{{ kind = \"incast\", fan_in = {fan_in}, receiver = 0 }}");
    Setting::htsim(k, at_once(size_bytes, &pattern), format!("flows = {fan_in}\nseeds = [{seed}]"))
}

fn permutation(k: u32, size_bytes: u32, seed: u32) -> Setting<'static> {
    let run = format!("flows = {}\nseeds = [{seed}]", k * k * k / 4);
    Setting::htsim(k, at_once(size_bytes, "\"permutation\""), run)
}

/// htsim's FCT: to the acknowledgement of the last byte.
fn fct_us(row: &FlowRow) -> f64 {
    row.sender_fct().unwrap_or(Time::NEVER).as_ns_f64() / 1e3
}

fn sorted(outcome: &Outcome, of: impl Fn(&FlowRow) -> f64) -> Vec<f64> {
    let mut values: Vec<f64> = outcome.flows.iter().map(of).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn last_fct_us(outcome: &Outcome) -> f64 {
    sorted(outcome, fct_us)[outcome.flows.len() - 1]
}

fn trims(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|row| row.counters.trims).sum()
}

fn drops(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|row| row.counters.drops).sum()
}

fn timeouts(outcome: &Outcome) -> u32 {
    outcome.flows.iter().map(|row| row.report.timeouts).sum()
}

fn assert_within(measured: f64, reference: f64, tolerance: f64, of: &str) {
    assert!((measured - reference).abs() <= tolerance, "{of}: {measured} is not {reference} ± {tolerance}");
}

#[test]
fn an_incast_of_a_hundred_is_near_the_serial_bound_and_fair() {
    let outcome = incast(12, 100, 450_000, 1).simulate();
    let serial_us = 100.0 * 50.0 * 0.72512;
    assert!(last_fct_us(&outcome) < 1.02 * serial_us, "{} us", last_fct_us(&outcome));
    let goodputs = sorted(&outcome, |row| row.goodput_gbps().unwrap_or(0.0));
    let squares: Vec<f64> = goodputs.iter().map(|goodput| goodput * goodput).collect();
    let jain = mean(&goodputs).powi(2) / mean(&squares);
    assert!(jain > 0.95, "Jain's index {jain}");
}

#[test]
fn every_flow_finishes_though_headers_are_lost() {
    for (pull_order, service) in [("fair", "strict"), ("shortest", "weighted")] {
        let transport = format!("pull_order = \"{pull_order}\", rto = \"200us\"");
        let queue = format!(
            "capacity = \"2packets\", header_capacity = \"1packets\", trim = \"arrival\", service = \"{service}\""
        );
        for setting in [incast(4, 12, 450_000, 1), permutation(4, 2_007_000, 1)] {
            let outcome = Setting { transport: &transport, queue: &queue, ..setting }.simulate();
            assert!(drops(&outcome) > 0 && timeouts(&outcome) > 0, "nothing was lost");
            let again: u32 = outcome.flows.iter().map(|row| row.report.retransmissions).sum();
            assert!(u64::from(again) <= trims(&outcome) + drops(&outcome) + u64::from(timeouts(&outcome)));
        }
    }
}

fn returns(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|row| row.counters.returns).sum()
}

#[test]
fn headers_that_find_no_room_go_back_to_their_senders() {
    // A header queue of one packet, and a hundred senders at once.
    let queue = "header_capacity = \"1packets\", trim = \"arrival\"";
    let returning = format!("{queue}, return_to_sender = true");
    for pull_for in ["each", "needed"] {
        let transport = format!("pull_for = \"{pull_for}\"");
        let [dropping, returning] = [queue, &returning]
            .map(|queue| Setting { transport: &transport, queue, ..incast(8, 100, 450_000, 1) }.simulate());
        let again: u64 = returning.flows.iter().map(|row| u64::from(row.report.returns)).sum();
        assert!(returns(&dropping) == 0 && returns(&returning) > 500, "{}", returns(&returning));
        // What does not come back was dropped on its way back.
        assert!(again <= returns(&returning) && again > returns(&returning) / 2, "{again}");
        // The last flow ends ten times later than it could where headers are dropped, and nearly when it could where
        // they come back. A receiver that pulls only what it knows of leaves the rest to the senders' own devices.
        let serial_us = 100.0 * 50.0 * 0.72512;
        assert!(last_fct_us(&dropping) > 10.0 * serial_us, "{} us", last_fct_us(&dropping));
        let bound = if pull_for == "each" { 1.05 } else { 1.4 };
        assert!(last_fct_us(&returning) < bound * serial_us, "{} us", last_fct_us(&returning));
        assert!(timeouts(&returning) * 100 < timeouts(&dropping), "{} timeouts", timeouts(&returning));
    }
}

#[test]
fn what_is_trimmed_is_told_and_sent_again_once() {
    let outcome = incast(8, 40, 180_000, 1).simulate();
    let reported: u64 = outcome.flows.iter().map(|row| u64::from(row.report.trims)).sum();
    let again: u64 = outcome.flows.iter().map(|row| u64::from(row.report.retransmissions)).sum();
    assert_eq!((reported, again), (trims(&outcome), trims(&outcome)));
    assert!(trims(&outcome) > 500, "{} trims", trims(&outcome));
}

/// Two large flows and a small one of class 0 to host 0; the small one starts in their midst.
fn mixed(pulls: &str) -> Outcome {
    let source = |src: u32, size_bytes: u32, class: u32, start: &str| {
        let pair = format!("{{ kind = \"pair\", src = {src}, dst = 0 }}");
        format!("{}\nclass = {class}\nstart = \"{start}\"", at_once(size_bytes, &pair))
    };
    let sources =
        [source(5, 4_500_000, 1, "0us"), source(9, 4_500_000, 1, "0us"), source(13, 900_000, 0, "100us")];
    let setting = Setting::htsim(4, sources.join("\n[[workload]]\n"), String::new());
    Setting { transport: pulls, ..setting }.simulate()
}

#[test]
fn priority_pulling_speeds_up_whom_it_should() {
    let fcts = |order| {
        let outcome = mixed(&format!("pull_order = \"{order}\", pull_for = \"needed\""));
        let of = |size_bytes: u64| {
            let flows = outcome.flows.iter().filter(|row| row.flow.size_bytes == size_bytes);
            mean(&flows.map(fct_us).collect::<Vec<_>>())
        };
        (of(900_000), of(4_500_000), last_fct_us(&outcome))
    };
    let (fair, class, shortest) = (fcts("fair"), fcts("class"), fcts("shortest"));
    let alone_us = 6.0 * (1.72512 + 1.00512) + 99.0 * 0.72512;
    assert!(fair.0 > 2.0 * alone_us, "{} us in turn with two others", fair.0);
    assert!(class.0 < 1.5 * alone_us && shortest.0 < 1.5 * alone_us, "{class:?} {shortest:?}");
    assert!(shortest.1 < 0.9 * fair.1, "the large ones one after the other: {shortest:?} {fair:?}");
    for order in [class, shortest] {
        assert_within(order.2, fair.2, 0.01 * fair.2, "all of them together take as long");
    }
}

#[test]
fn a_receiver_pulls_from_all_in_turn() {
    let outcome = incast(4, 3, 9_000_000, 1).simulate();
    let fcts = sorted(&outcome, fct_us);
    assert!(fcts[0] > 0.97 * fcts[2], "{fcts:?}");
}

#[test]
fn results_stay_the_same() {
    let of = |setting: Setting<'_>| format!("{:016x}", fingerprint(&setting.simulate().flows));
    let prints = [of(incast(4, 12, 450_000, 1)), of(permutation(4, 2_007_000, 1))];
    assert_eq!(prints, ["3d43e8694f5a68d0", "a863e4341247653f"]);
}

/// Where queues are observed, headers wait in them like data; otherwise those that go first are on the link at
/// once.
#[test]
fn headers_leave_as_they_would_if_they_waited() {
    let seen = |outcome: &Outcome| {
        let ports = outcome.ports.iter().map(|row| {
            let counters = row.counters;
            [counters.packets, counters.bytes, counters.drops, counters.trims, counters.returns]
        });
        (fingerprint(&outcome.flows), outcome.tally, ports.collect::<Vec<_>>())
    };
    for queue in [
        "service = \"strict\", count_service = true",
        "service = \"weighted\"",
        "service = \"weighted\", weight = 2, trim_to = \"100B\"",
        "service = \"strict\", header_capacity = \"3packets\"",
        "service = \"weighted\", header_capacity = \"500B\", return_to_sender = true",
    ] {
        for make in [|| incast(4, 15, 180_000, 1), || permutation(4, 450_000, 1)] {
            let [alone, watched] = ["", "\n[measure]\nqueues = true"].map(|measure| {
                let setting = make();
                Setting { queue, run: setting.run + measure, ..setting }.simulate()
            });
            assert_eq!(seen(&alone), seen(&watched), "{queue}");
        }
    }
}

#[test]
fn an_outcast_shares_its_senders_link() {
    let pattern = "{ kind = \"outcast\", fan_out = 12, sender = 0 }";
    let outcome = Setting::htsim(4, at_once(450_000, pattern), "flows = 12".to_owned()).simulate();
    let fcts = sorted(&outcome, fct_us);
    let serial_us = 12.0 * 50.0 * 0.72512;
    assert!(fcts[11] < 1.05 * serial_us, "{} us", fcts[11]);
    assert!(fcts[0] > 0.8 * serial_us, "{} us", fcts[0]);
    assert_eq!(trims(&outcome), 0);
}

#[test]
fn the_queue_of_pulls_is_what_the_receiver_owes() {
    let incast = Setting {
        run: "flows = 10\n[measure]\nseries_interval = \"1us\"".to_owned(),
        ..incast(4, 10, 450_000, 1)
    };
    let outcome = incast.simulate();
    let of = |host| outcome.pull_samples().filter(move |sample| sample.0 == host).map(|sample| sample.2);
    // Each sender's 20 packets beyond its first window of 30 are pulled one by one; the queue ends up empty.
    assert!(of(0).max() > Some(50) && of(0).last() == Some(0), "{:?}", of(0).max());
    // A pull goes every 0.73 us; more leave the queue at once only when one of the ten connections is over.
    let leaps = of(0).zip(of(0).skip(1)).filter(|(before, after)| before > &(after + 2)).count();
    assert!(leaps <= 10, "{leaps}");
    assert!((1..16).all(|host| of(host).all(|pulls| pulls == 0)));
}

/// A first window of a hundred packets takes 73 us to leave its host, longer than the timeout.
#[test]
fn what_waits_at_its_own_host_is_not_late() {
    let pattern = "{ kind = \"outcast\", fan_out = 1, sender = 0 }";
    let setting = Setting {
        transport: "rto = \"60us\", initial_window = 100",
        ..Setting::htsim(4, at_once(900_000, pattern), "flows = 1".to_owned())
    };
    let outcome = setting.simulate();
    assert_eq!(timeouts(&outcome), 0);
    assert!(outcome.flows.iter().all(|row| row.report.retransmissions == 0));
}

/// Four hundred senders wait 293 us each for their next pull, and with a shorter timeout send before it comes.
#[test]
fn who_waits_for_a_pull_for_longer_than_the_timeout_sends_without_one() {
    let queue =
        "count_service = true, capacity = \"72000B\", service = \"strict\", header_capacity = \"2MB\"";
    let [long, short] = ["1ms", "200us"].map(|rto| {
        let transport = format!("rto = {rto:?}");
        Setting { transport: &transport, queue, ..incast(12, 400, 450_000, 1) }.simulate()
    });
    assert_eq!([drops(&long), drops(&short)], [0, 0]);
    assert_eq!(timeouts(&long), 0);
    assert!(timeouts(&short) > 400, "{}", timeouts(&short));
    // Each time nothing was in flight and nothing came for all of it; answers between do not let it grow.
    for row in &short.flows {
        let waited = Time::from_us(200).times(row.report.timeouts.into());
        assert!(Some(waited) < row.sender_fct(), "flow {}: {waited}", row.flow.id);
    }
}

/// All hosts of a fat-tree send to another each, while one link of the core has a tenth of its rate: goodputs,
/// sorted.
fn beside_a_slow_link(routing: &str, fault: &str) -> Vec<f64> {
    let outcome = simulate(&format!(
        r#"
[topology]
kind = "fat-tree"
k = 8
link = {{ rate = "100Gbps", delay = "1us" }}

[[workload]]
sizes = {{ kind = "constant", size = "20MB" }}
arrivals = "at-once"
pattern = "permutation"

{fault}
[[scheme]]
name = "NDP"
transport = "ndp"
queue = "ndp"
routing = {routing}

[run]
flows = 128
"#
    ));
    sorted(&outcome, |row| row.goodput_gbps().unwrap_or(0.0))
}

#[test]
fn paths_that_stand_out_are_left_out() {
    let fault =
        "[[fault]]\nkind = \"link-degraded\"\nbetween = [\"aggregation0\", \"core0\"]\nrate = \"10Gbps\"\n";
    let penalties = r#"{ kind = "permutation", penalties = true }"#;
    let [plain, penalised] = [r#""permutation""#, penalties];
    // Where all paths are alike, none is left out.
    let whole = beside_a_slow_link(plain, "");
    assert_eq!(whole, beside_a_slow_link(penalised, ""));
    // A sixteenth of the packets of a whole pod takes the slow path, which has a tenth of the capacity.
    let (unaware, aware) = (beside_a_slow_link(plain, fault), beside_a_slow_link(penalised, fault));
    assert!(whole[0] > 85.0 && unaware[0] < 50.0 && aware[0] > 75.0, "{} {}", unaware[0], aware[0]);
    let [whole, unaware, aware] = [whole, unaware, aware].map(|goodputs| mean(&goodputs));
    assert!(unaware < 0.92 * whole && aware > 0.97 * whole, "{whole} {unaware} {aware}");
}
