//! Whatever breaks, every flow finishes, and every packet is accounted for.

use crate::common::{cases, fct, port, run, simulate};
use packetloom::fault::Faults;
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

/// Transport, queue, routing.
const SCHEMES: [(&str, &str, &str); 23] = [
    (r#""tcp""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""cubic""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""dctcp""#, r#"{ kind = "ecn", capacity = "225KB" }"#, r#""ecmp""#),
    (
        r#"{ kind = "dctcp", fast_retransmit = false }"#,
        r#"{ kind = "ecn", capacity = "225KB" }"#,
        r#""spray-random""#,
    ),
    (r#""min-tcp""#, r#"{ kind = "pfabric", capacity = "22.5KB" }"#, r#""spray-round-robin""#),
    (r#""line-rate""#, r#"{ kind = "pfabric", capacity = "22.5KB" }"#, r#""spray-random""#),
    (r#""ndp""#, r#""ndp""#, r#""permutation""#),
    (r#""ndp""#, r#"{ kind = "ndp", header_capacity = "64B" }"#, r#""spray-random""#),
    (
        r#""ndp""#,
        r#"{ kind = "ndp", header_capacity = "64B", return_to_sender = true }"#,
        r#"{ kind = "permutation", penalties = true }"#,
    ),
    (r#""d2tcp""#, r#"{ kind = "ecn", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""fixed-window""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""rcp""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#"{ kind = "ecmp", symmetric = true }"#),
    (r#""d3""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#"{ kind = "ecmp", symmetric = true }"#),
    (r#""pdq""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#"{ kind = "ecmp", symmetric = true }"#),
    (r#""mptcp""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""numfabric""#, r#""weighted-fair""#, r#""ecmp""#),
    (
        r#"{ kind = "roce", recovery = "irn" }"#,
        r#"{ kind = "drop-tail", capacity = "225KB" }"#,
        r#""spray-random""#,
    ),
    (r#"{ kind = "dcqcn", rto = "1ms" }"#, r#"{ kind = "ecn", capacity = "225KB" }"#, r#""ecmp""#),
    (r#"{ kind = "hpcc", rto = "1ms" }"#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""swift""#, r#"{ kind = "drop-tail", capacity = "225KB" }"#, r#""ecmp""#),
    (r#""fastpass""#, r#"{ kind = "drop-tail", capacity = "100KB" }"#, r#""spray-random""#),
    (r#""flowtune""#, r#"{ kind = "drop-tail", capacity = "100KB" }"#, r#""ecmp""#),
    (
        r#""pias""#,
        r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "ecn", capacity = "225KB" } }"#,
        r#""ecmp""#,
    ),
];

/// 16 hosts, 200 flows at a load of 0.5 in about 1 ms, under each of the schemes.
fn fabric(faults: &str) -> String {
    let schemes: String = SCHEMES
        .iter()
        .enumerate()
        .map(|(number, (transport, queue, routing))| {
            format!(
                "[[scheme]]\nname = \"{number}\"\ntransport = {transport}\nqueue = {queue}\n\
                 nic = \"drop-tail\"\nrouting = {routing}\n"
            )
        })
        .collect();
    format!(
        r#"
[topology]
kind = "fat-tree"
k = 4

[[workload]]
sizes = {{ kind = "exponential", mean = "60KB" }}

{faults}
{schemes}
[run]
loads = [0.5]
flows = 200
max_time = "2s"
"#
    )
}

fn sum(outcome: &Outcome, of: fn(&packetloom::engine::PortCounters) -> u64) -> u64 {
    outcome.ports.iter().map(|port| of(&port.counters)).sum()
}

/// What reaches the far end of links: what was put onto them but for what was lost there.
fn arrived<'a>(outcome: &'a Outcome, is_it: impl Fn(usize) -> bool + 'a) -> u64 {
    let ports = outcome.ports.iter().filter(|port| is_it(port.link)).map(|port| port.counters);
    ports.map(|counters| counters.packets - counters.corrupted - counters.lost).sum()
}

fn every_flow_finishes_and_packets_are_conserved(outcome: &Outcome, context: &str) {
    assert!(outcome.warnings.is_empty(), "{context}: {:?}", outcome.warnings);
    assert!(outcome.flows.iter().all(|row| row.sender_fct().is_some()), "{context}");
    let links = &outcome.topology.links;
    for switch in outcome.topology.hosts..outcome.topology.nodes.len() as u32 {
        let into = arrived(outcome, |link| links[link].dst == switch);
        let out_of = outcome.ports.iter().filter(|port| links[port.link].src == switch);
        let out_of: u64 = out_of.map(|port| port.counters.packets + port.counters.drops).sum();
        assert_eq!(into, out_of, "{context}: {}", outcome.topology.node_name(switch));
    }
    assert_eq!(outcome.tally.packet_hops, arrived(outcome, |_| true), "{context}");
}

#[test]
fn every_transport_survives_corruption() {
    for probability in ["1e-4", "0.01"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}");
        for case in cases(&fabric(&fault)) {
            let context = format!("{:?} at {probability}", case.scheme.component("transport").kind);
            let outcome = simulate(case);
            every_flow_finishes_and_packets_are_conserved(&outcome, &context);
            let (corrupted, carried) = (sum(&outcome, |c| c.corrupted), sum(&outcome, |c| c.packets));
            let expected = probability.parse::<f64>().expect("a number") * carried as f64;
            let deviation = expected.sqrt() * 5.0;
            assert!((corrupted as f64 - expected).abs() < deviation, "{context}: {corrupted} of {carried}");
            assert_eq!(sum(&outcome, |c| c.lost), 0);
        }
    }
}

#[test]
fn every_transport_survives_a_link_that_goes_down() {
    // One that comes back before any switch learns of it, and one that stays down and is learned of.
    let faults = [
        ("until = \"1.5ms\"\nlearn_after = \"10ms\"", false),
        ("learn_after = \"200us\"", true),
        ("until = \"900us\"\nlearn_after = \"100us\"", true),
    ];
    for (times, is_learned) in faults {
        let fault = format!(
            "[[fault]]\nkind = \"link-down\"\nbetween = [\"edge0\", \"aggregation0\"]\nat = \"300us\"\n{times}"
        );
        for case in cases(&fabric(&fault)) {
            let context = format!("{:?}, {times}", case.scheme.component("transport").kind);
            let outcome = simulate(case);
            every_flow_finishes_and_packets_are_conserved(&outcome, &context);
            let lost = sum(&outcome, |c| c.lost);
            let on_the_link = port(&outcome, "edge0", "aggregation0").counters.lost
                + port(&outcome, "aggregation0", "edge0").counters.lost;
            assert!(lost > 0 && lost == on_the_link, "{context}: {lost}, {on_the_link}");
            assert!(is_learned || lost > 20, "{context}: {lost}");
        }
    }
}

#[test]
fn every_transport_survives_a_switch_that_reboots() {
    let fault = "[[fault]]\nkind = \"switch-down\"\nnode = \"core1\"\nat = \"300us\"\nuntil = \"2ms\"\n\
                 learn_after = \"300us\"\n\n[[fault]]\nkind = \"switch-down\"\nnode = \"edge3\"\n\
                 at = \"400us\"\nuntil = \"800us\"";
    for case in cases(&fabric(fault)) {
        let context = format!("{:?}", case.scheme.component("transport").kind);
        let outcome = simulate(case);
        every_flow_finishes_and_packets_are_conserved(&outcome, &context);
        assert!(sum(&outcome, |c| c.lost) > 0, "{context}");
    }
}

#[test]
fn every_transport_survives_a_link_that_is_slow() {
    let fault = "[[fault]]\nkind = \"link-degraded\"\nbetween = [\"edge0\", \"aggregation0\"]\n\
                 rate = \"1Gbps\"\nat = \"300us\"\nuntil = \"1ms\"";
    for case in cases(&fabric(fault)) {
        let context = format!("{:?}", case.scheme.component("transport").kind);
        let outcome = simulate(case);
        every_flow_finishes_and_packets_are_conserved(&outcome, &context);
        assert_eq!(sum(&outcome, |c| c.lost + c.corrupted), 0, "{context}");
    }
}

/// Two hosts; ten packets of 1500 B in a row; the first link is slow for a while.
fn ten_packets(nic: &str, times: &str) -> (Time, Vec<u64>) {
    let outcome = |max_time: &str| {
        run(&format!(
            r#"
[topology]
kind = "rack"
hosts = 2
link = {{ rate = "10Gbps", delay = "1us" }}

[[workload]]
sizes = {{ kind = "constant", size = "14600B" }}
arrivals = "at-once"
pattern = {{ kind = "pair", src = 0, dst = 1 }}

[[fault]]
kind = "link-degraded"
between = ["host0", "switch"]
rate = "1Gbps"
{times}

[[scheme]]
name = "any"
transport = {{ kind = "tcp", initial_window = 10 }}
queue = "drop-tail"
nic = {nic}

[run]
{max_time}
"#
        ))
    };
    let sent_by = |us: u32| {
        let outcome = outcome(&format!("max_time = \"{us}us\""));
        port(&outcome, "host0", "switch0").counters.packets
    };
    (fct(&outcome("").flows[0]), [1, 14, 15, 26, 50].map(sent_by).to_vec())
}

#[test]
fn packets_that_start_while_a_link_is_slow_take_longer() {
    for nic in [r#""drop-tail""#, r#""fair""#] {
        // A packet takes 1.2 us, and 12 us if it starts in [2 us, 20 us): those of 2.4 us and of 14.4 us do.
        let (slow, sent) = ten_packets(nic, "at = \"2us\"\nuntil = \"20us\"");
        // Eight others and those two, then 1.2 us of the last at the switch, and the two propagation delays.
        assert_eq!(slow, Time::from_ns(8 * 1_200 + 2 * 12_000 + 1_200 + 2_000), "{nic}");
        assert_eq!(sent, [1, 3, 4, 4, 10], "{nic}");
        let (whole, _) = ten_packets(nic, "at = \"1ms\"");
        assert_eq!(whole, Time::from_ns(11 * 1_200 + 2_000), "{nic}");
    }
}

#[test]
fn what_is_cut_off_for_good_is_told() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host3\", \"edge1\"]\nat = \"300us\"";
    for case in cases(&fabric(fault).replace("2s", "20ms")) {
        let context = format!("{:?}", case.scheme.component("transport").kind);
        let outcome = simulate(case);
        let lost: Vec<_> = outcome.flows.iter().filter(|row| row.fct().is_none()).collect();
        assert!(
            !lost.is_empty() && lost.iter().all(|row| row.flow.src == 3 || row.flow.dst == 3),
            "{context}"
        );
        let first = lost[0].flow;
        let begins = format!("{} of 200 flows were not finished when the run ended", lost.len());
        let names = format!("{} (host{} to host{}, cut off for good)", first.id, first.src, first.dst);
        let (warning, others) = outcome.warnings.split_first().expect("a warning");
        assert!(warning.starts_with(&begins) && warning.contains(&names), "{context}: {warning}");
        // What was whole just before the link went down is finished, whether its sender heard so or not.
        let deaf = outcome.flows.iter().filter(|row| row.fct().is_some() && !row.is_over()).count();
        let of_deaf =
            format!("the senders of {deaf} finished flows did not know so yet when the run ended: ");
        assert_eq!(others.len(), usize::from(deaf > 0), "{context}: {others:?}");
        assert!(others.iter().all(|other| other.starts_with(&of_deaf)), "{context}: {others:?}");
    }
}

/// Two racks and two spines; one flow at a time from each of the four hosts of one rack to those of the other.
fn two_spines(routing: &str, transport: &str, fault: &str) -> Outcome {
    run(&format!(
        r#"
[topology]
kind = "leaf-spine"
spines = 2
leaves = 3
hosts_per_leaf = 4

[[workload]]
sizes = {{ kind = "constant", size = "2MB" }}
arrivals = "at-once"
pattern = "permutation"

{fault}
[[scheme]]
name = "any"
transport = {transport}
queue = "drop-tail"
routing = "{routing}"

[run]
max_time = "1s"
"#
    ))
}

#[test]
fn what_switches_know_they_go_around() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"leaf1\", \"spine0\"]\nlearn_after = \"0us\"\n";
    for routing in ["ecmp", "spray-random", "spray-round-robin", "permutation"] {
        let outcome = two_spines(routing, r#"{ kind = "tcp", fast_retransmit = false }"#, fault);
        every_flow_finishes_and_packets_are_conserved(&outcome, routing);
        assert_eq!(sum(&outcome, |c| c.lost), 0, "{routing}");
        // The other racks still use both spines between themselves, and only one to the rack that lost a link.
        assert!(port(&outcome, "leaf0", "spine0").counters.packets > 0, "{routing}");
        assert_eq!(port(&outcome, "spine0", "leaf1").counters.packets, 0, "{routing}");
        assert_eq!(port(&outcome, "leaf1", "spine0").counters.packets, 0, "{routing}");
    }
}

#[test]
fn subflows_leave_a_dead_path_that_nobody_knows_of() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"leaf1\", \"spine0\"]\nat = \"100us\"\nlearn_after = \"10s\"\n";
    let mptcp = two_spines("ecmp", r#"{ kind = "mptcp", subflows = 8 }"#, fault);
    every_flow_finishes_and_packets_are_conserved(&mptcp, "mptcp");
    assert!(mptcp.flows.iter().map(|row| row.report.timeouts).sum::<u32>() > 0);
    // TCP has flows with no other path.
    let tcp = two_spines("ecmp", r#""tcp""#, fault);
    assert!(tcp.flows.iter().any(|row| row.fct().is_none()));
    assert!(mptcp.flows.iter().all(|row| fct(row) < Time::from_ns(30_000_000)));
}

#[test]
fn faults_do_not_depend_on_the_length_of_windows() {
    let faults = "[[fault]]\nkind = \"corruption\"\nprobability = 0.001\n\n[[fault]]\nkind = \"link-down\"\n\
                  between = [\"aggregation\", \"core0\"]\nat = \"300us\"\nuntil = \"700us\"\nlearn_after = \"50us\"\n\n\
                  [[fault]]\nkind = \"link-degraded\"\nbetween = [\"edge\", \"aggregation1\"]\nrate = \"2Gbps\"\n\
                  at = \"200us\"\nuntil = \"600us\"";
    for case in cases(&fabric(faults)) {
        let in_windows = |longest| {
            let simulation = Simulation::new(case.clone()).expect("a sound case").with_windows_up_to(longest);
            let outcome = simulation.run(&Monitor::default()).expect("a sound case");
            (fingerprint(&outcome.flows), outcome.tally)
        };
        let full = in_windows(Time::NEVER);
        for longest in [Time(1 << 17), Time(1 << 15)] {
            assert_eq!(in_windows(longest), full, "{}", case.scheme.component("transport").kind);
        }
    }
}

#[test]
fn a_run_cut_short_counts_only_what_was_sent() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host\", \"edge\"]\nat = \"100us\"\n";
    let toml = fabric(fault).replace("max_time = \"2s\"", "max_time = \"150us\"");
    for case in cases(&toml) {
        let outcome = simulate(case);
        for port in &outcome.ports {
            let busy = outcome.topology.links[port.link].rate.time_for(port.counters.bytes);
            assert!(busy <= outcome.simulated + Time::from_ns(1_200), "{port:?}");
        }
        assert!(sum(&outcome, |c| c.lost) > 0);
    }
}

#[test]
fn what_there_is_not_can_not_break() {
    let message = |fault: &str| {
        let case = cases(&fabric(&format!("[[fault]]\n{fault}"))).remove(0);
        let complaint = Simulation::new(case).expect_err("a fault that can't be");
        format!("{}: {}", complaint.key, complaint.message)
    };
    assert_eq!(
        message("kind = \"link-down\"\nbetween = [\"edg0\", \"core\"]"),
        "fault[0].between: no node is called \"edg0\"; write a tier (host, edge, aggregation, core) or one node, such as \"edge0\""
    );
    assert_eq!(
        message("kind = \"corruption\"\nprobability = 0.1\nbetween = [\"edge\", \"core\"]"),
        "fault[0].between: there is no link between these; write neighbours"
    );
    let degraded = "kind = \"link-degraded\"\nbetween = [\"edge\", \"host\"]";
    assert_eq!(
        message(&format!("{degraded}\nrate = \"10Gbps\"")),
        "fault[0].rate: the link has 10Gbps anyway; write a lower rate"
    );
    assert_eq!(
        message("kind = \"switch-down\"\nnode = \"host3\""),
        "fault[0].node: \"host3\" is a host; write a switch"
    );
    let fluid = fabric("[[fault]]\nkind = \"corruption\"\nprobability = 0.1").replace("\"tcp\"", "\"ideal\"");
    let complaint = Simulation::new(cases(&fluid).remove(0)).expect_err("no packets");
    assert!(complaint.message.starts_with("\"ideal\" is a flow-level model"), "{}", complaint.message);
    assert!(Faults::default().known_outages().is_empty());
}
