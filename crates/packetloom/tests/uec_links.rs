//! EQDS and Ultra Ethernet on hosts with several links: NICs with ports on several planes, and a switch inside each
//! server.

use crate::common::{cases, fct, port, run, write_file};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

/// Four servers of four accelerators: two planes of 100 Gb/s, and 800 Gb/s inside.
const RAILS: &str = "kind = \"rail-optimised\"\nservers = 4\naccelerators = 4\nplanes = 2\n\
    link = { rate = \"100Gbps\", delay = \"1us\" }\nscale_up = { rate = \"800Gbps\", delay = \"0.2us\" }";

/// A queue of 43 packets of 4160 B, which is more than a bandwidth-delay product of a port here.
const QUEUE: &str = "queue = { kind = \"ndp\", capacity = \"178880B\", header_capacity = \"357760B\", \
    ecn_min = \"37440B\", ecn_max = \"145600B\", ecn_last_hop = LAST_HOP }";

fn scheme(transport: &str, routing: &str) -> String {
    let marks = transport.contains("nscc");
    let queue = QUEUE.replace("LAST_HOP", &marks.to_string());
    format!("transport = {transport}\n{queue}\nrouting = {routing}")
}

const EQDS: &str = "\"eqds\"";
const NSCC: &str = "{ kind = \"uec\", control = \"nscc\" }";
const RCCC: &str = "{ kind = \"uec\", control = \"rccc\" }";
const BOTH: &str = "{ kind = \"uec\", control = \"both\" }";

fn text(topology: &str, workload: &str, scheme: &str, rest: &str) -> String {
    format!(
        "[topology]\n{topology}\n\n[[workload]]\n{workload}\n\n[[scheme]]\nname = \"it\"\n{scheme}\n\n{rest}\n"
    )
}

/// Flows that start together.
fn at_once(size: &str, pattern: &str) -> String {
    format!(
        "sizes = {{ kind = \"constant\", size = \"{size}\" }}\narrivals = \"at-once\"\npattern = {pattern}"
    )
}

fn pair(size: &str, src: u32, dst: u32) -> String {
    at_once(size, &format!("{{ kind = \"pair\", src = {src}, dst = {dst} }}"))
}

const ONE: &str = "[run]\nflows = 1";

/// The payload of a flow over the time that it took, in Gb/s.
fn gbps(outcome: &Outcome, size_bytes: f64) -> f64 {
    size_bytes * 8.0 / fct(&outcome.flows[0]).as_ns_f64()
}

/// What a link of 100 Gb/s carries of payload: 4096 of 4160 B.
const GOODPUT: f64 = 100.0 * 4096.0 / 4160.0;

fn bytes(outcome: &Outcome, from: &str, to: &str) -> f64 {
    port(outcome, from, to).counters.bytes as f64
}

#[test]
fn a_flow_alone_gets_the_rate_of_both_ports() {
    for transport in [NSCC, RCCC, BOTH, EQDS] {
        for routing in
            ["\"oblivious\"", "\"bitmap\"", "\"reps\"", "\"reps-legacy\"", "\"mixed\"", "\"permutation\""]
        {
            let outcome = run(&text(RAILS, &pair("20MB", 0, 8), &scheme(transport, routing), ONE));
            let share = gbps(&outcome, 20e6) / (2.0 * GOODPUT);
            assert!((0.95..1.0).contains(&share), "{transport} {routing}: {share} of two ports");
            let sent = ["rail0", "rail4"].map(|rail| bytes(&outcome, "host0", rail));
            assert!((0.9..1.1).contains(&(sent[0] / sent[1])), "{transport} {routing}: {sent:?}");
        }
    }
}

#[test]
fn where_a_flow_keeps_to_a_port_it_gets_the_rate_of_one() {
    for routing in ["\"ecmp\"", "\"spray-random\"", "\"plb\""] {
        let outcome = run(&text(RAILS, &pair("20MB", 0, 8), &scheme(NSCC, routing), ONE));
        let share = gbps(&outcome, 20e6) / GOODPUT;
        assert!((0.95..1.0).contains(&share), "{routing}: {share} of a port");
        assert_eq!(outcome.flows[0].report.retransmissions, 0, "{routing}: its window is of one port");
    }
}

/// 8 senders to a NIC: what its two ports carry, and the first packets' way.
#[test]
fn an_incast_fills_both_ports_of_its_receiver() {
    for transport in [NSCC, RCCC, BOTH, EQDS] {
        let pattern = "{ kind = \"incast\", fan_in = 8, receiver = 12 }";
        let outcome = run(&text(
            RAILS,
            &at_once("4MB", pattern),
            &scheme(transport, "\"oblivious\""),
            "[run]\nflows = 8\nseeds = [3]",
        ));
        // Those that are in the receiver's server come by its switch.
        let from_outside: f64 = ["rail8", "rail12"].iter().map(|rail| bytes(&outcome, rail, "host12")).sum();
        let last = outcome.flows.iter().filter(|row| row.flow.src / 4 != 3).map(fct).max().expect("flows");
        let share = from_outside * 8.0 / 200.0 / last.as_ns_f64();
        assert!((0.93..1.0).contains(&share), "{transport}: {share} of two ports");
    }
}

/// Inside a server the window, the delay that it aims at and timeouts are those of its switch: 800 Gb/s, and a round
/// trip of 0.9 us.
#[test]
fn inside_a_server_flows_go_by_its_switch_alone() {
    for transport in [NSCC, RCCC, BOTH, EQDS] {
        let outcome = run(&text(RAILS, &pair("80MB", 0, 3), &scheme(transport, "\"reps\""), ONE));
        let share = gbps(&outcome, 80e6) / (8.0 * GOODPUT);
        assert!((0.95..1.0).contains(&share), "{transport}: {share} of the link inside");
        assert_eq!(bytes(&outcome, "host0", "rail0") + bytes(&outcome, "host0", "rail4"), 0.0);
    }
}

/// What a sender has in flight at most: one and a half bandwidth-delay products of the network that it crosses, not of
/// the host's links.
#[test]
fn the_largest_window_is_that_of_the_flows_own_network() {
    // A full packet, 4160 B, and its answer of 64 B on each link, and the delays.
    let rtt = |links: f64, gbps: f64, delay_ns: f64| links * ((4_160.0 + 64.0) * 8.0 / gbps + 2.0 * delay_ns);
    let inside = 1.5 * rtt(2.0, 800.0, 200.0) * 800.0 / 8.0 / 4_160.0;
    let outside = 1.5 * rtt(4.0, 100.0, 1_000.0) * 200.0 / 8.0 / 4_160.0;
    for (dst, expected) in [(3, inside), (9, outside)] {
        let rest = "[measure]\nflows = [0]\nflows_interval = \"10ns\"\n\n[run]\nflows = 1";
        let outcome = run(&text(RAILS, &pair("4MB", 0, dst), &scheme(NSCC, "\"reps\""), rest));
        let windows =
            outcome.flow_series().filter_map(|sample| sample.window_bytes.map(|bytes| bytes / 4_096.0));
        let largest = windows.fold(0.0, f64::max);
        assert!((largest - expected).abs() < 0.01 * expected, "to {dst}: {largest}, not {expected}");
    }
}

fn finished(outcome: &Outcome) -> bool {
    outcome.flows.iter().all(|row| row.fct().is_some())
}

/// A rail's switch on one plane dies at 50 us, of which nobody learns. What goes there until the first timeout is lost
/// and sent again by the other plane, to which path management keeps from then on.
#[test]
fn a_dead_plane_delays_flows_and_path_management_leaves_it() {
    let fault =
        "[[fault]]\nkind = \"switch-down\"\nnode = \"rail0\"\nat = \"50us\"\nlearn_after = \"1s\"\n\n";
    let of = |transport: &str, routing: &str| {
        let rest = format!("{fault}{ONE}\nmax_time = \"1s\"");
        let outcome = run(&text(RAILS, &pair("50MB", 0, 8), &scheme(transport, routing), &rest));
        assert!(finished(&outcome), "{transport} {routing}: {:?}", outcome.warnings);
        (port(&outcome, "host0", "rail0").counters.lost, fct(&outcome.flows[0]))
    };
    // Of a bandwidth-delay product, 29 packets, htsim's timeout has six and 15 us; EQDS's is of 6 * 35 and 150 us.
    let packet = Time(332_800);
    let timeout = Time::from_us(15) + packet.times(6 * 29);
    let of_eqds = Time::from_us(150) + packet.times(6 * 35);
    for (transport, timeout) in [(NSCC, timeout), (RCCC, timeout), (BOTH, timeout), (EQDS, of_eqds)] {
        let (lost, took) = of(transport, "\"reps\"");
        let most = timeout.as_ps() / packet.as_ps();
        assert!((10..=most).contains(&lost), "{transport}: {lost}, a port sends {most} in that time");
        // 12 208 packets by one port. EQDS's credit is lost with its pulls, which take any plane; a sender that hears
        // nothing asks after 8 timeouts, and then after 16.
        let alone = packet.times(12_208) + timeout.times(2);
        let most = if transport == EQDS { alone.times(2) + timeout.times(8 + 16) } else { alone };
        assert!(took < most, "{transport}: {took}, {alone}");
    }
    // Who learns nothing goes on, and loses what it sends there.
    for transport in [RCCC, EQDS] {
        let (lost, _) = of(transport, "\"oblivious\"");
        assert!(lost > 5_000, "{transport}: {lost}");
    }
}

/// Where hosts learn that a plane is dead, what they choose goes by the other, at the rate of that.
#[test]
fn a_plane_that_is_known_to_be_dead_is_not_used() {
    let fault = "[[fault]]\nkind = \"link-down\"\nbetween = [\"host0\", \"rail0\"]\nat = \"0us\"\nlearn_after = \"0us\"\n\n";
    for (transport, routing) in
        [(NSCC, "\"reps\""), (RCCC, "\"oblivious\""), (BOTH, "\"mixed\""), (EQDS, "\"permutation\"")]
    {
        let outcome =
            run(&text(RAILS, &pair("20MB", 0, 8), &scheme(transport, routing), &format!("{fault}{ONE}")));
        assert!(finished(&outcome), "{transport} {routing}");
        assert_eq!(bytes(&outcome, "host0", "rail0"), 0.0);
        let share = gbps(&outcome, 20e6) / GOODPUT;
        assert!((0.9..1.0).contains(&share), "{transport} {routing}: {share} of a port");
    }
}

/// The planes take over where the switch of a server is known to be dead.
#[test]
fn flows_go_round_a_dead_switch_in_their_server() {
    let fault =
        "[[fault]]\nkind = \"switch-down\"\nnode = \"scale-up0\"\nat = \"0us\"\nlearn_after = \"0us\"\n\n";
    let outcome = run(&text(RAILS, &pair("4MB", 0, 3), &scheme(NSCC, "\"reps\""), &format!("{fault}{ONE}")));
    assert!(finished(&outcome));
    assert!(bytes(&outcome, "host0", "rail0") > 1e6 && bytes(&outcome, "host0", "rail4") > 1e6);
}

#[test]
fn results_do_not_depend_on_windows_nor_threads() {
    for (transport, routing) in [
        (NSCC, "\"reps\""),
        (RCCC, "\"mixed\""),
        (BOTH, "\"permutation\""),
        (EQDS, "\"bitmap\""),
        (NSCC, "\"plb\""),
    ] {
        let text = text(RAILS, &at_once("200KB", "\"all-to-all\""), &scheme(transport, routing), "");
        let case = cases(&text).remove(0);
        let of = |longest, threads| {
            let simulation = Simulation::new(case.clone()).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            let outcome = simulation.run(&Monitor::default()).expect("it runs");
            assert!(finished(&outcome), "{transport} {routing}: {:?}", outcome.warnings);
            fingerprint(&outcome.flows)
        };
        let full = of(Time::NEVER, 1);
        let others = [(1 << 16, 1), (1 << 17, 2), (u64::MAX, 2), (u64::MAX, 3), (u64::MAX, 4)];
        assert_eq!(others.map(|(longest, threads)| of(Time(longest), threads)), [full; 5], "{transport}");
    }
}

/// The all-reduce of `jobs.rs` in two levels, with the framing of Ultra Ethernet.
#[test]
fn an_all_reduce_in_two_levels_takes_the_sum_of_them() {
    let rails = "kind = \"rail-optimised\"\nservers = 8\naccelerators = 4\nservers_per_rail_switch = 8\nPLANES\n\
        link = { rate = \"100Gbps\", delay = \"1us\" }\nscale_up = { rate = \"800Gbps\", delay = \"0.5us\" }";
    for planes in [1, 2] {
        let rails = rails.replace("PLANES", &format!("planes = {planes}"));
        for order in ["by-number", "by-rail"] {
            let workload = format!(
                "arrivals = {{ kind = \"collective\", operation = \"all-reduce\", algorithm = \"hierarchical\", size = \"115.2MB\", order = \"{order}\" }}"
            );
            let outcome = run(&text(&rails, &workload, &scheme(NSCC, "\"reps\""), ""));
            // Inside: three of four parts over one link at 800 Gb/s, twice; each packet of 4160 B in 41.6 ns.
            let inside = 3.0 * (28_800_000.0_f64 / 4_096.0).ceil() * 41.6 + 41.6 + 1_000.0;
            // Between servers: 14 messages of an eighth of a quarter, one after the other, over all planes.
            let packets = (3_600_000.0_f64 / 4_096.0).ceil();
            let message = packets * 332.8 / f64::from(planes) + 332.8 + 2_000.0;
            let expected = 2.0 * inside + 14.0 * message;
            let took = outcome.jobs[0].completion_time().expect("it is done").as_ns_f64();
            assert!(
                (0.999..1.01).contains(&(took / expected)),
                "{planes} planes, {order}: {took}, not {expected}"
            );
        }
    }
}

/// Hosts 0 and 3 have links to both switches, hosts 1 and 2 to one each.
const SHARED: &str = "6 2 7\n0 1\n2 0 100Gbps 1us 0\n2 1 100Gbps 1us 0\n3 0 100Gbps 1us 0\n4 1 100Gbps 1us 0\n\
    5 0 100Gbps 1us 0\n5 1 100Gbps 1us 0\n0 1 100Gbps 1us 0\n";

fn refusal(topology: &str, transport: &str, routing: &str) -> Option<String> {
    let case =
        cases(&text(topology, &at_once("50KB", "\"all-to-all\""), &scheme(transport, routing), "")).remove(0);
    let complaint = Simulation::new(case).map(|_| ()).err()?;
    Some(format!("{}: {}", complaint.key, complaint.message))
}

#[test]
fn credit_that_no_source_defines_is_refused() {
    for transport in [RCCC, BOTH, EQDS] {
        let by_flow = refusal(RAILS, transport, "\"ecmp\"");
        let expected = "scheme.routing: ecmp keeps a flow to one of its host's links, and receivers pull at the rate of all of a NIC's ports together; write one by which hosts spread packets, such as \"reps\"";
        assert_eq!(by_flow.as_deref(), Some(expected), "{transport}");
        assert!(
            refusal(RAILS, transport, "\"plb\"")
                .is_some_and(|why| why.starts_with("scheme.routing: plb keeps"))
        );
        assert_eq!(refusal(&RAILS.replace("planes = 2", "planes = 1"), transport, "\"ecmp\""), None);
        write_file("shared.txt", SHARED);
        let shared = refusal("kind = \"hpcc\"\nfile = \"shared.txt\"", transport, "\"reps\"");
        assert!(
            shared.is_some_and(
                |why| why.starts_with("scheme.transport: receivers pull at the rate of the links")
            )
        );
    }
    let shared = run(&text(
        "kind = \"hpcc\"\nfile = \"shared.txt\"",
        &at_once("500KB", "{ kind = \"pair\", src = 0, dst = 3 }"),
        &scheme(NSCC, "\"reps\""),
        ONE,
    ));
    assert!(finished(&shared));
}
