//! EQDS and Ultra Ethernet at the settings of htsim, their authors' own simulator (its other figures: `packetloom
//! validate peers`), and what holds at any.

use crate::common;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// 35 packets, as htsim_eqds has it; and a bandwidth-delay product, as htsim_uec has it, with marks where senders
/// have windows.
const EQDS: &str = r#"
transport = "eqds"
queue = { kind = "ndp", capacity = "145600B", header_capacity = "291200B", count_service = true, service = "strict" }
routing = { kind = "bitmap", penalty_trim = 1, penalty_max = 1, skip = "each" }
"#;
const UEC: &str = r#"
transport = { kind = "uec", control = "CONTROL" }
queue = { kind = "ndp", capacity = "178880B", header_capacity = "357760B", count_service = true, service = "strict", ecn_min = "37440B", ecn_max = "145600B", ecn_last_hop = LAST_HOP }
routing = "mixed"
"#;

fn scheme(name: &str) -> String {
    match name {
        "eqds" => EQDS.to_owned(),
        control => {
            let marks = (control == "nscc").to_string();
            UEC.replace("CONTROL", control).replace("LAST_HOP", &marks)
        }
    }
}

fn scenario(k: u32, workload: &str, scheme: &str, rest: &str) -> String {
    format!(
        "[topology]\nkind = \"fat-tree\"\nk = {k}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n[[workload]]\n{workload}\n\n\
         [[scheme]]\nname = \"it\"\n{scheme}\n\n{rest}"
    )
}

/// The same under one switch.
fn rack(hosts: u32, link: &str, workload: &str, scheme: &str, rest: &str) -> String {
    format!(
        "[topology]\nkind = \"rack\"\nhosts = {hosts}\n{link}\n\n[[workload]]\n{workload}\n\n\
         [[scheme]]\nname = \"it\"\n{scheme}\n\n{rest}"
    )
}

const FAST: &str = "link = { rate = \"100Gbps\", delay = \"1us\" }";

fn simulate(text: &str) -> Outcome {
    let scenario = Scenario::from_toml(text, "test", Path::new(""));
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let case = scenario.cases().next().expect("a case");
    let simulation = Simulation::new(case).unwrap_or_else(|complaint| panic!("{complaint:?}"));
    simulation.run(&Monitor::default()).unwrap_or_else(|complaint| panic!("{complaint:?}"))
}

/// Flows of one size that start together.
fn at_once(size_bytes: u32, pattern: &str) -> String {
    let sizes = format!("{{ kind = \"constant\", size = \"{size_bytes}B\" }}");
    format!("sizes = {sizes}\narrivals = \"at-once\"\npattern = {pattern}")
}

/// FCTs at the senders in us, in order.
fn fcts_us(outcome: &Outcome) -> Vec<f64> {
    let fct = |row: &packetloom::measure::FlowRow| row.sender_fct().map(|fct| fct.as_ps() as f64 / 1e6);
    let mut fcts: Vec<f64> = outcome.flows.iter().map(|row| fct(row).expect("it ended")).collect();
    fcts.sort_by(f64::total_cmp);
    fcts
}

fn trims(outcome: &Outcome) -> u64 {
    outcome.ports.iter().map(|port| port.counters.trims).sum()
}

#[test]
fn a_flow_alone_takes_as_long_as_on_htsim() {
    // 100 KB, 1 MB and 10 MB under one switch, in one pod, between pods: to the three digits that htsim's tables
    // have.
    let table = [
        ("nscc", [[12.471, 85.597, 816.846], [17.147, 90.273, 821.522], [21.823, 94.949, 826.198]]),
        ("rccc", [[12.471, 85.978, 824.507], [17.147, 90.504, 829.256], [21.823, 95.240, 833.769]]),
        ("both", [[12.471, 85.978, 824.507], [17.147, 90.504, 829.256], [21.823, 95.240, 833.769]]),
        ("eqds", [[12.471, 86.218, 828.076], [17.147, 90.910, 832.769], [21.823, 95.602, 837.461]]),
    ];
    for (name, by_distance) in table {
        for (dst, by_size) in [1, 2, 15].into_iter().zip(by_distance) {
            for (size, theirs) in [100_000, 1_000_000, 10_000_000].into_iter().zip(by_size) {
                let pattern = format!("{{ kind = \"pair\", src = 0, dst = {dst} }}");
                let outcome =
                    simulate(&scenario(4, &at_once(size, &pattern), &scheme(name), "[run]\nflows = 1\n"));
                let [ours] = fcts_us(&outcome)[..] else { panic!("one flow") };
                assert!(
                    (ours - theirs).abs() < 0.000_6,
                    "{name}, {size} B to host {dst}: {ours}, htsim {theirs}"
                );
            }
        }
    }
}

#[test]
fn short_flows_need_no_timeout_however_little_of_them_is_left_when_the_receiver_is_heard() {
    for name in ["nscc", "rccc", "both", "eqds"] {
        for size in (10_000..300_000).step_by(14_500) {
            let pattern = "{ kind = \"pair\", src = 0, dst = 1 }";
            let outcome =
                simulate(&scenario(4, &at_once(size, pattern), &scheme(name), "[run]\nflows = 1\n"));
            let row = &outcome.flows[0];
            assert_eq!(row.report.timeouts, 0, "{name}, {size} B");
            let ideal = row.best_fct.as_ps() as f64;
            let fct = row.fct().expect("it ended").as_ps() as f64;
            assert!(fct < 1.05 * ideal, "{name}, {size} B: {}", fct / ideal);
        }
    }
}

#[test]
fn an_incast_of_one_packet_each_takes_as_long_as_its_bytes() {
    // 100 packets of 4160 B arrive at once where 43 fit: the others are trimmed, and come again at the pace of
    // pulls.
    for (name, slack_us) in [("eqds", 15.0), ("nscc", 30.0), ("rccc", 25.0)] {
        let pattern = "{ kind = \"incast\", fan_in = 100, receiver = 0 }";
        let outcome = simulate(&scenario(8, &at_once(4_096, pattern), &scheme(name), "[run]\nflows = 100\n"));
        let last = *fcts_us(&outcome).last().expect("flows");
        let serial = 100.0 * 0.332_8;
        assert!(last < serial + 14.028 + slack_us, "{name}: {last}, its bytes take {serial}");
        let sent: u32 = outcome.flows.iter().map(|row| row.report.packets_sent).sum();
        assert!(trims(&outcome) > 20 && u64::from(sent) == 100 + trims(&outcome), "{name}: {sent}");
        assert!(outcome.flows.iter().all(|row| row.report.timeouts == 0), "{name}");
    }
}

/// Of each of 64 flows to one host that go by credit: packets sent for the first time, timeouts, requests for credit.
fn turns(ack_every: &str) -> Vec<[u64; 3]> {
    let scheme = scheme("rccc").replace("\"rccc\"", &format!("\"rccc\", ack_every = \"{ack_every}\""));
    let workload = at_once(400_000, "{ kind = \"incast\", fan_in = 64, receiver = 0 }");
    let outcome = simulate(&rack(65, FAST, &workload, &scheme, "[run]\nflows = 64\n"));
    let rows = outcome.flows.iter();
    rows.map(|row| {
        assert!(row.is_over());
        let report = row.report;
        let all = common::port(&outcome, &format!("host{}", row.flow.src), "switch0").counters.packets;
        let new = report.packets_sent - report.retransmissions;
        [new.into(), report.timeouts.into(), all - u64::from(report.packets_sent)]
    })
    .collect()
}

#[test]
fn who_waits_for_its_turn_neither_times_out_nor_asks_for_it() {
    // Pulls of four packets take 1.3 us of the link, so each flow waits for 86 us between two, and a timeout is 45 us.
    // Nothing is outstanding meanwhile, if each packet is acknowledged at once.
    assert_eq!(turns("1B"), [[98, 0, 0]; 64]);
    // Otherwise what came alone of a first window may time out before the first pull.
    let flows = turns("16384B");
    assert!(flows.iter().all(|&[new, timeouts, requests]| new == 98 && requests <= timeouts), "{flows:?}");
    assert!(flows.iter().map(|[_, timeouts, _]| timeouts).sum::<u64>() < 64, "{flows:?}");
}

#[test]
fn an_eqds_sender_that_its_own_link_holds_up_requests_no_credit_to_spare() {
    let busy: String = (1..=8).map(|dst| format!("0,{dst},20000000,0\n")).collect();
    let list = format!("src,dst,size_bytes,start_ns\n{busy}9,1,10000000,400000\n");
    common::write_file("eqds-to-spare.csv", &list);
    let arrivals = "arrivals = { kind = \"list\", file = \"eqds-to-spare.csv\" }";
    let outcome = common::run(&rack(10, FAST, arrivals, EQDS, "[run]\nmax_time = \"2ms\"\n"));
    let late = outcome.flows.iter().find(|row| row.flow.src == 9).expect("a flow from host 9");
    // At 7/8 of the link 10 MB take 0.93 ms. Pulled from as often as host 0, which does not use half of that, 1.65 ms.
    let ms = common::fct(late).as_ps() as f64 / 1e9;
    assert!((0.92..1.1).contains(&ms), "{ms}");
}

#[test]
fn receivers_pull_for_packets_with_their_framing() {
    // By bytes alone what they pull for takes 2.5 % more than their link has, and of 32 MB that overflows the queue.
    let scheme = scheme("rccc").replace("\"rccc\"", "\"rccc\", mss = \"1436B\"");
    let workload = at_once(4_000_000, "{ kind = \"incast\", fan_in = 8, receiver = 0 }");
    let of = |framing: &str| {
        let link = format!("{FAST}\nframing = \"{framing}\"");
        trims(&simulate(&rack(9, &link, &workload, &scheme, "[run]\nflows = 8\n")))
    };
    let [without, with] = ["0B", "38B"].map(of);
    assert!(with * 2 < without * 3, "{with} trims instead of {without}");
}

#[test]
fn where_a_window_would_be_less_than_a_packet_one_goes_each_round_trip() {
    for window in ["nscc", "dctcp", "constant"] {
        let keys = format!("control = \"nscc\", window = \"{window}\", max_window = 0.1");
        let scheme = scheme("nscc").replace("control = \"nscc\"", &keys);
        let link = "link = { rate = \"10Gbps\", delay = \"250ns\" }";
        let workload = at_once(40_960, "{ kind = \"pair\", src = 0, dst = 1 }");
        let outcome = simulate(&rack(2, link, &workload, &scheme, "[run]\nflows = 1\n"));
        assert_eq!(outcome.flows[0].report.timeouts, 0, "{window}");
        // Two links of 250 ns for 4160 B and for 64 B back, ten times.
        let [fct] = fcts_us(&outcome)[..] else { panic!("one flow") };
        assert!((fct - 10.0 * 7.758_4).abs() < 0.01, "{window}: {fct}");
    }
}

#[test]
fn a_permutation_comes_close_to_the_rate_of_the_links() {
    // 2 MB at 100 Gb/s with headers are 162.5 us, and the round trip 14.
    for (name, most) in [("nscc", 1.12), ("rccc", 1.12), ("both", 1.12), ("eqds", 1.18)] {
        let outcome = simulate(&scenario(
            8,
            &at_once(2_000_000, "\"permutation\""),
            &scheme(name),
            "[run]\nflows = 128\n",
        ));
        let fcts = fcts_us(&outcome);
        let mean = fcts.iter().sum::<f64>() / fcts.len() as f64;
        assert!(mean < most * (162.5 + 14.0), "{name}: {mean}");
    }
}

/// What is lost of a flow between pods by so many us after one of its two links up died at 50 us, of which no switch
/// learns.
fn lost_by(us: u32, routing: &str) -> u64 {
    let scheme = scheme("nscc").replace("\"mixed\"", routing);
    let workload = at_once(50_000_000, "{ kind = \"pair\", src = 0, dst = 15 }");
    let rest = format!(
        "[[fault]]\nkind = \"link-down\"\nbetween = [\"edge0\", \"aggregation0\"]\nat = \"50us\"\nlearn_after = \"1s\"\n\n\
         [run]\nflows = 1\nmax_time = \"{}us\"\n",
        50 + us
    );
    // Answers are lost, too, on their way back: receivers can't learn of that.
    let outcome = simulate(&scenario(4, &workload, &scheme, &rest));
    common::port(&outcome, "edge0", "aggregation0").counters.lost
}

#[test]
fn frozen_reps_sends_no_more_into_a_dead_link_and_spraying_goes_on() {
    // The first timeout comes 100 us after the link has died.
    for (routing, continues) in
        [("\"reps\"", false), ("{ kind = \"reps\", freeze = \"0s\" }", true), ("\"oblivious\"", true)]
    {
        let [early, late] = [150, 1_500].map(|us| lost_by(us, routing));
        assert!((10..=100).contains(&early), "{routing}: {early}, the window is of 63");
        assert_eq!(late > early + 5, continues, "{routing}: {early}, then {late}");
    }
}

#[test]
fn sleek_recovers_what_is_dropped_without_a_timeout() {
    let queue = r#"
transport = { kind = "uec", sleek = true }
queue = { kind = "ndp", trimming = false, capacity = "894400B", count_service = true, service = "strict", ecn_min = "37440B", ecn_max = "145600B" }
routing = "mixed"
"#;
    let pattern = "{ kind = \"incast\", fan_in = 8, receiver = 0 }";
    let outcome = simulate(&scenario(4, &at_once(2_000_000, pattern), queue, "[run]\nflows = 8\n"));
    let of = |what: fn(&packetloom::measure::FlowRow) -> u32| outcome.flows.iter().map(what).sum::<u32>();
    let [again, timeouts] = [of(|row| row.report.retransmissions), of(|row| row.report.timeouts)];
    assert!(again > 100 && timeouts * 5 < again, "{again} sent again, {timeouts} timeouts");
    let last = *fcts_us(&outcome).last().expect("flows");
    assert!(last < 1.3 * 8.0 * 162.5, "{last}");
}

#[test]
fn where_the_fabric_is_oversubscribed_receivers_pull_for_what_it_carries() {
    let of = |oversubscription: &str| {
        let scheme =
            scheme("rccc").replace("control = \"rccc\"", &format!("control = \"rccc\"{oversubscription}"));
        let topology = "kind = \"leaf-spine\"\nspines = 1\nleaves = 2\nhosts_per_leaf = 8\nlink = { rate = \"100Gbps\", delay = \"1us\" }";
        let text = format!(
            "[topology]\n{topology}\n\n[[workload]]\n{}\n\n[[scheme]]\nname = \"it\"\n{scheme}\n\n[run]\nflows = 16\n",
            at_once(4_000_000, "\"permutation\"")
        );
        trims(&simulate(&text))
    };
    let [without, with] = [of(""), of(", oversubscription = 8")];
    assert!(with * 2 < without, "{with} trims instead of {without}");
}

#[test]
fn results_do_not_depend_on_windows_nor_threads() {
    for (name, routing) in [("both", "\"reps\""), ("nscc", "\"plb\""), ("eqds", "\"mixed\"")] {
        let scheme = scheme(name);
        let scheme = scheme.replace("\"mixed\"", routing);
        let text = scenario(4, &at_once(300_000, "\"permutation\""), &scheme, "[run]\nflows = 48\n");
        let case = Scenario::from_toml(&text, "test", Path::new("")).expect("a scenario").cases().next();
        let of = |longest, threads| {
            let simulation = Simulation::new(case.clone().expect("a case")).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            packetloom::measure::fingerprint(&simulation.run(&Monitor::default()).expect("it runs").flows)
        };
        let full = of(Time::NEVER, 1);
        assert_eq!([of(Time(1 << 17), 1), of(Time::NEVER, 2), of(Time::NEVER, 4)], [full; 3], "{name}");
    }
}

#[test]
fn a_routing_that_learns_needs_a_transport_that_tells() {
    let tcp = "transport = \"tcp\"\nqueue = \"drop-tail\"\nrouting = \"reps\"";
    let text = scenario(4, &at_once(10_000, "\"permutation\""), tcp, "[run]\nflows = 4\n");
    let case = Scenario::from_toml(&text, "test", Path::new("")).expect("a scenario").cases().next();
    let complaint = Simulation::new(case.expect("a case")).map(|_| ()).expect_err("a complaint");
    assert_eq!(complaint.key, "scheme.routing");
    assert!(complaint.message.contains("needs the fate of each packet, which tcp does not report"));
    let spray = text.replace("\"reps\"", "\"oblivious\"");
    assert!(fcts_us(&simulate(&spray)).len() == 4);
}
