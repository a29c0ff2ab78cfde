//! Aeolus: what goes before the first credit, at its time to the picosecond; what is dropped of it, and how soon that comes again.

use crate::common::{cases, fct, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// 100 Gb/s, 1.25 us to a host: a packet takes 123.04 ns of a link, one without data 6.72 ns. A round trip takes 5.26 us, in
/// which a link carries 42 packets.
const RACK: &str =
    r#"{ kind = "rack", hosts = 16, link = { rate = "100Gbps", delay = "1250ns" }, framing = "38B" }"#;
const SYMMETRIC: &str = r#"{ kind = "ecmp", symmetric = true }"#;
const SELECTIVE: &str = r#"{ kind = "credit-limiter", drop_unscheduled_above = "6KB" }"#;
const PACKET_PS: u64 = 123_040;
const CONTROL_PS: u64 = 6_720;
/// Both links of a way.
const WAY_PS: u64 = 2_500_000;

/// Flows of [src, dst, bytes, start in ns] under ExpressPass with Aeolus, or whatever these keys say.
fn scenario(name: &str, keys: &str, queue: &str, list: &[[u64; 4]], more: &str) -> String {
    let file = format!("aeolus-{name}.csv");
    let rows = list.iter().map(|[src, dst, size, start]| format!("{src},{dst},{size},{start}\n"));
    write_file(&file, &format!("src,dst,size_bytes,start_ns\n{}", rows.collect::<String>()));
    format!(
        "topology = {RACK}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"it\"\ntransport = {{ kind = \"expresspass\"{keys} }}\n\
         queue = {queue}\nrouting = {SYMMETRIC}\n\
         {more}[run]\nmax_time = \"2s\"\n[measure]\nqueues = true\n"
    )
}

fn flows(name: &str, list: &[[u64; 4]]) -> Outcome {
    run(&scenario(name, ", aeolus = true", SELECTIVE, list, ""))
}

fn fcts_ps(outcome: &Outcome) -> Vec<u64> {
    outcome.flows.iter().map(|row| fct(row).as_ps()).collect()
}

fn sum(outcome: &Outcome, of: impl Fn(&packetloom::engine::Report) -> u32) -> u64 {
    outcome.flows.iter().map(|row| u64::from(of(&row.report))).sum()
}

#[test]
fn a_flow_within_a_bdp_takes_as_long_as_its_packets_at_line_rate() {
    let packets = |count: u64| count * 1_460;
    let list = [
        [0, 1, 1, 1_000],
        [0, 1, packets(1), 100_000],
        [2, 3, packets(30), 200_000],
        [2, 3, packets(41), 300_000],
        [2, 3, packets(42), 400_000],
    ];
    let outcome = flows("line-rate", &list);
    // The request goes ahead of the packets.
    let line_rate = |count: u64| CONTROL_PS + (count + 1) * PACKET_PS + WAY_PS;
    // The first credit comes after 5.03 us, before the last of 42 has gone: that goes for it, and behind the probe.
    let took = fcts_ps(&outcome);
    assert_eq!(took[..4], [3 * CONTROL_PS + WAY_PS, line_rate(1), line_rate(30), line_rate(41)]);
    assert_eq!(took[4], line_rate(42) + CONTROL_PS);
    // A packet more waits for the next credit, 2.08 us after the first, give or take a tenth.
    let beyond = fcts_ps(&flows("beyond", &[[0, 1, packets(43), 1_000]]))[0];
    let since_credit = beyond - (2 * WAY_PS + 4 * CONTROL_PS);
    let least = WAY_PS + 2 * PACKET_PS;
    assert!((least + 1_860_000..least + 2_290_000).contains(&since_credit), "{since_credit}");
    // Without Aeolus a packet takes a round trip more, and many packets take many.
    let asked =
        fcts_ps(&run(&scenario("asked", ", credit_spread = \"0B\"", "\"credit-limiter\"", &list, "")));
    assert_eq!(asked[1], 3 * WAY_PS + 4 * CONTROL_PS + 2 * PACKET_PS);
    assert!(asked[2] > 3 * line_rate(30), "{asked:?}");
}

#[test]
fn of_an_incast_the_link_carries_its_share_and_the_rest_comes_again_without_a_timer() {
    let list: Vec<[u64; 4]> = (1..=8).map(|src| [src, 0, 40 * 1_460, 1_000]).collect();
    let outcome = flows("incast", &list);
    let to_host = port(&outcome, "switch0", "host0");
    let dropped = to_host.counters.drops;
    // 320 packets come in the time of 40, which the link carries, and five wait behind: above 6 KB one is dropped.
    assert!((320 - 40 - 8..=320 - 40 - 2).contains(&dropped), "{dropped}");
    assert_eq!(sum(&outcome, |report| report.timeouts), 0);
    let again = sum(&outcome, |report| report.retransmissions);
    // What was dropped, and what a first credit went to before anything was known: fewer than 320 in all.
    assert!((dropped..320).contains(&again), "{again} sent again, {dropped} dropped");
    // There was room for what credits called for.
    let most = to_host.queue.as_ref().expect("watched").largest_bytes();
    assert!((6_000..30_000).contains(&most), "{most}");
}

#[test]
fn a_burst_of_others_neither_drops_a_flow_with_credits_nor_delays_it_beyond_the_threshold() {
    let mut list = vec![[1, 0, 20_000_000, 1_000]];
    let alone = fcts_ps(&flows("alone", &list))[0];
    list.extend((2..=11).map(|src| [src, 0, 42 * 1_460, 500_000]));
    let outcome = flows("beside", &list);
    assert_eq!(
        outcome.flows.iter().find(|row| row.flow.src == 1).map(|row| row.report.retransmissions),
        Some(0)
    );
    let to_host = port(&outcome, "switch0", "host0");
    assert!(to_host.counters.drops > 100, "{}", to_host.counters.drops);
    // 6 KB, the packet that was let in, and those that came for credits meanwhile.
    let most = to_host.queue.as_ref().expect("watched").largest_bytes();
    assert!((6_000..20_000).contains(&most), "{most}");
    // Ten BDPs more take ten BDPs' time, and credits' halving; not the retransmission of what was lost.
    let beside = fcts_ps(&outcome)[0];
    assert!(beside < alone + 20 * 5_260_000 * 2, "{alone} alone, {beside} beside others");
}

#[test]
fn whatever_is_lost_every_flow_ends() {
    let list: Vec<[u64; 4]> = (0..40).map(|nth| [1 + nth % 8, 0, 1 + nth * nth * 300, nth * 2_000]).collect();
    for probability in ["0.01", "0.2"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}\n");
        let name = format!("lost-{probability}");
        let outcome = run(&scenario(&name, ", aeolus = true, variant = \"nwsim\"", SELECTIVE, &list, &fault));
        let lost: u64 = outcome.ports.iter().map(|port| port.counters.corrupted).sum();
        assert!(lost > 30 && sum(&outcome, |report| report.retransmissions) > 0, "{lost}");
        for row in &outcome.flows {
            assert!(row.closed < Time::from_us(200_000), "{probability}: {row:?}");
        }
    }
}

#[test]
fn results_do_not_depend_on_windows() {
    let list: Vec<[u64; 4]> = (0..60)
        .map(|nth| [nth * 5 % 16, (nth * 5 % 16 + 1 + nth % 7) % 16, 1 + nth * nth * 100, nth * 700])
        .collect();
    let case = cases(&scenario("windows", ", aeolus = true", SELECTIVE, &list, "")).remove(0);
    let of = |longest| {
        let simulation = Simulation::new(case.clone()).expect("a sound case").with_windows_up_to(longest);
        let outcome = simulation.run(&Monitor::default()).expect("a sound case");
        (fcts_ps(&outcome), outcome.tally.packet_hops)
    };
    assert_eq!(of(Time::NEVER), of(Time(1 << 15)));
}

#[test]
fn what_means_nothing_is_refused_and_what_is_odd_draws_a_warning() {
    let of_sizes = |keys: &str, queue: &str| {
        format!(
            "topology = {RACK}\n[[workload]]\nsizes = \"web-search\"\n[[scheme]]\nname = \"it\"\n\
             transport = {{ kind = \"expresspass\"{keys} }}\nqueue = {queue}\nrouting = {SYMMETRIC}\n\
             [run]\nloads = [0.5]\nflows = 10\n"
        )
    };
    for (keys, queue, message) in [
        ("", SELECTIVE, "write transport = { kind = \"expresspass\", aeolus = true }"),
        (
            ", aeolus = true, burst = \"100B\"",
            SELECTIVE,
            "has no room for a full packet; write 1500B or more",
        ),
        (
            ", aeolus = true",
            r#"{ kind = "credit-limiter", capacity = "9KB", drop_unscheduled_above = "9KB" }"#,
            "nothing is ever dropped before the rest",
        ),
        (
            "",
            r#"{ kind = "egress", aqm = "selective-drop" }"#,
            "drops data that no receiver has called for before the rest",
        ),
        (
            ", aeolus = true",
            r#"{ kind = "egress", aqm = "selective-drop", buffer = { kind = "private", capacity = "5KB" } }"#,
            "write less than 5000B",
        ),
    ] {
        let toml = of_sizes(keys, queue);
        let refused = match Scenario::from_toml(&toml, "test", Path::new("")) {
            Err(problems) => problems.to_string(),
            Ok(_) => Simulation::new(cases(&toml).remove(0)).expect_err("it is refused").message,
        };
        assert!(refused.contains(message), "{refused}");
    }
    let toml = of_sizes(", aeolus = true", "\"credit-limiter\"");
    let warnings = Scenario::from_toml(&toml, "test", Path::new("")).expect("sound").warnings;
    assert!(warnings.iter().any(|warning| warning.contains("drop_unscheduled_above")), "{warnings:?}");
}

/// NDP on the same network, with packets and answers of the same sizes, over switches that do not trim.
fn of_ndp(name: &str, list: &[[u64; 4]], more: &str) -> Outcome {
    const NDP: &str =
        r#"{ kind = "ndp", aeolus = true, mss = "1460B", header = "40B", ack = "46B", initial_window = 42 }"#;
    const FIFO: &str =
        r#"{ kind = "egress", aqm = "selective-drop", buffer = { kind = "private", capacity = "200KB" } }"#;
    let toml = scenario(name, "", FIFO, list, more).replace("{ kind = \"expresspass\" }", NDP);
    run(&toml.replace(SYMMETRIC, "\"spray-random\""))
}

#[test]
fn ndp_without_trimming_fills_the_link_after_an_incast_without_a_timer() {
    let line_rate = |count: u64| (count + 1) * PACKET_PS + WAY_PS;
    let alone = of_ndp("ndp-alone", &[[0, 1, 1_460, 1_000], [2, 3, 42 * 1_460, 1_000]], "");
    assert_eq!(fcts_ps(&alone), [line_rate(1), line_rate(42)]);
    let list: Vec<[u64; 4]> = (1..=8).map(|src| [src, 0, 40 * 1_460, 1_000]).collect();
    let outcome = of_ndp("ndp-incast", &list, "");
    let to_host = port(&outcome, "switch0", "host0");
    let dropped = to_host.counters.drops;
    assert!((320 - 40 - 8..=320 - 40 - 2).contains(&dropped), "{dropped}");
    assert_eq!(sum(&outcome, |report| report.timeouts), 0);
    assert_eq!(sum(&outcome, |report| report.retransmissions), dropped, "what was lost, and nothing else");
    // Of all that comes the link is idle for the round trip of the first pulls at most, and a hundredth of the rest.
    let last = outcome.flows.iter().map(|row| fct(row).as_ps()).max().unwrap();
    let least = line_rate(320);
    assert!((least..least * 102 / 100 + 2 * 5_260_000).contains(&last), "{last} ps, at least {least}");
}

#[test]
fn ndp_without_trimming_delivers_whatever_is_lost() {
    let list: Vec<[u64; 4]> = (0..40).map(|nth| [1 + nth % 8, 0, 1 + nth * nth * 300, nth * 2_000]).collect();
    for probability in ["0.01", "0.2"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}\n");
        let outcome = of_ndp(&format!("ndp-lost-{probability}"), &list, &fault);
        assert!(sum(&outcome, |report| report.retransmissions) > 30);
        for row in &outcome.flows {
            assert!(row.closed < Time::from_us(200_000), "{probability}: {row:?}");
        }
    }
}

/// Homa on the same network, with packets and answers of the same sizes; a BDP goes without a grant. One message is granted
/// at a time: seven windows of a BDP would be more than a port holds.
fn of_homa(name: &str, list: &[[u64; 4]], more: &str) -> Outcome {
    const HOMA: &str = r#"{ kind = "homa", aeolus = true, mss = "1460B", header = "40B", blind_header = "0B", ack = "46B", blind = "61320B", window = "64596B", scheduled_levels = 1, resend_after = "200us" }"#;
    const STRICT: &str = r#"{ kind = "egress", scheduler = { kind = "strict", classes = 8 }, aqm = "selective-drop", buffer = { kind = "private", capacity = "200KB" } }"#;
    let toml = scenario(name, "", STRICT, list, more).replace("{ kind = \"expresspass\" }", HOMA);
    run(&toml.replace(SYMMETRIC, "\"spray-random\"\nnic = \"drop-tail\""))
}

#[test]
fn what_homa_loses_of_an_incast_is_granted_again_without_a_timer() {
    let line_rate = |count: u64| (count + 1) * PACKET_PS + WAY_PS;
    let alone = of_homa("homa-alone", &[[0, 1, 1_460, 1_000], [2, 3, 42 * 1_460, 1_000]], "");
    assert_eq!(fcts_ps(&alone), [line_rate(1), line_rate(42)]);
    let list: Vec<[u64; 4]> = (1..=8).map(|src| [src, 0, 60 * 1_460, 1_000]).collect();
    let outcome = of_homa("homa-incast", &list, "");
    let dropped = port(&outcome, "switch0", "host0").counters.drops;
    // Of 336 that come without a grant the link carries 42, and some wait; what is granted meanwhile waits, too.
    assert!((336 - 42 - 8..=336 - 42 + 42).contains(&dropped), "{dropped}");
    assert_eq!(sum(&outcome, |report| report.timeouts), 0);
    assert_eq!(sum(&outcome, |report| report.retransmissions), dropped, "what was lost, and nothing else");
    let last = outcome.flows.iter().map(|row| fct(row).as_ps()).max().unwrap();
    let least = line_rate(480);
    assert!((least..least + 2 * 5_260_000).contains(&last), "{last} ps, at least {least}");
}

#[test]
fn homa_delivers_whatever_is_lost() {
    let list: Vec<[u64; 4]> = (0..40).map(|nth| [1 + nth % 8, 0, 1 + nth * nth * 300, nth * 2_000]).collect();
    for probability in ["0.01", "0.2"] {
        let fault = format!("[[fault]]\nkind = \"corruption\"\nprobability = {probability}\n");
        let outcome = of_homa(&format!("homa-lost-{probability}"), &list, &fault);
        assert!(sum(&outcome, |report| report.retransmissions) > 30);
        for row in &outcome.flows {
            assert!(row.closed < Time::from_us(200_000), "{probability}: {row:?}");
        }
    }
}

#[test]
fn only_the_simulators_homa_grants_single_packets() {
    for (keys, message) in [
        ("aeolus = true, variant = \"linux\"", "grants no single packet"),
        ("aeolus = true, acknowledge = false", "packets are lost with it"),
    ] {
        let toml = format!(
            "topology = {RACK}\n[[workload]]\nsizes = \"web-search\"\n[[scheme]]\nname = \"it\"\n\
             transport = {{ kind = \"homa\", {keys} }}\n\
             queue = {{ kind = \"egress\", scheduler = \"strict\", aqm = \"selective-drop\" }}\n\
             [run]\nloads = [0.5]\nflows = 10\n"
        );
        let problems =
            Scenario::from_toml(&toml, "test", Path::new("")).expect_err("it is refused").to_string();
        assert!(problems.contains(message), "{problems}");
    }
}
