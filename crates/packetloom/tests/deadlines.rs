//! What the rate-based and deadline-aware transports are known to do, seen from outside.

use crate::common::{self, fct, run, write_file};
use packetloom::simulation::Outcome;
use packetloom::units::Time;

const RACK: &str = r#"
[topology]
kind = "rack"
hosts = 12
link = { rate = "1Gbps", delay = "20us" }
"#;

/// The flows of a list (source, destination, bytes, start in us, deadline in us from time zero) in a rack of 1 Gb/s
/// with a round trip of about 100 us.
fn flows(name: &str, list: &[(u32, u32, u64, u64, Option<u64>)], scheme: &str, rest: &str) -> Outcome {
    let rest = if rest.contains("[topology]") { rest.to_owned() } else { format!("{RACK}{rest}") };
    let row = |&(src, dst, bytes, start_us, deadline_us): &(u32, u32, u64, u64, Option<u64>)| {
        let deadline = deadline_us.map_or(String::new(), |us| format!("{us}000"));
        format!("{src},{dst},{bytes},{start_us}000,{deadline}\n")
    };
    let rows: String = list.iter().map(row).collect();
    write_file(&format!("{name}.csv"), &format!("src,dst,size_bytes,start_ns,deadline_ns\n{rows}"));
    run(&format!(
        r#"
[[workload]]
arrivals = {{ kind = "list", file = "{name}.csv" }}

[[scheme]]
name = "scheme"
{scheme}
{rest}
"#
    ))
}

/// `n` flows of so many bytes to host 0, all from the start on.
fn together(n: u32, bytes: u64) -> Vec<(u32, u32, u64, u64, Option<u64>)> {
    (1..=n).map(|src| (src, 0, bytes, 0, None)).collect()
}

fn fct_us(outcome: &Outcome, src: u32) -> f64 {
    let row = outcome.flows.iter().find(|row| row.flow.src == src).expect("a flow from there");
    fct(row).as_ns_f64() / 1e3
}

const DROP_TAIL: &str = r#"queue = { kind = "drop-tail", capacity = "1MB" }"#;

fn scheme(transport: &str) -> String {
    format!("transport = {transport}\n{DROP_TAIL}")
}

#[test]
fn d2tcp_gives_the_nearer_deadline_the_larger_share() {
    // Twenty megabytes each at 1 Gb/s: 160 ms alone, 320 ms at half the rate.
    let list = [(1, 0, 20_000_000, 0, Some(260_000)), (2, 0, 20_000_000, 0, Some(1_200_000))];
    let queue = r#"queue = { kind = "ecn", capacity = "225KB", mark_above = "30KB" }"#;
    let d2tcp = flows("d2tcp", &list, &format!("transport = \"d2tcp\"\n{queue}"), "");
    let dctcp = flows("d2tcp-dctcp", &list, &format!("transport = \"dctcp\"\n{queue}"), "");
    let [near, far] = [fct_us(&d2tcp, 1), fct_us(&d2tcp, 2)];
    assert!(near < 260_000.0 && far > near * 1.2, "D2TCP: {near} and {far} us");
    let [near, far] = [fct_us(&dctcp, 1), fct_us(&dctcp, 2)];
    assert!((far / near - 1.0).abs() < 0.1 && near > 280_000.0, "DCTCP: {near} and {far} us");
}

#[test]
fn rcp_flows_get_equal_shares_and_leave_the_queue_near_empty() {
    // A round trip of 1 ms holds 83 packets.
    let rest = RACK.replace("20us", "250us") + "[run]\nmax_time = \"1s\"\n[measure]\nqueues = true\n";
    for n in [2_u32, 4, 10] {
        let name = format!("rcp-{n}");
        // What each sends in 200 ms at a share of 0.95 Gb/s, headers off.
        let bytes = (0.2 * 0.95e9 / 8.0 / f64::from(n) * 1460.0 / 1500.0) as u64;
        let outcome = flows(&name, &together(n, bytes), &scheme(r#"{ kind = "rcp", rtt = "1ms" }"#), &rest);
        let fcts: Vec<f64> = (1..=n).map(|src| fct_us(&outcome, src)).collect();
        // The start is slow: a link offers 5 % at first.
        for fct in &fcts {
            assert!((200_000.0..215_000.0).contains(fct), "{n} flows: {fcts:?} us");
        }
        let least = fcts.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = fcts.iter().copied().fold(0.0, f64::max);
        assert!(greatest / least < 1.01, "{n} flows: {fcts:?} us");
        let port = common::port(&outcome, "switch0", "host0");
        let queue = port.queue.as_ref().expect("watched");
        assert!(queue.mean_bytes() < 15_000.0, "{n} flows: {} B queued on average", queue.mean_bytes());
        assert_eq!(port.counters.drops, 0);
    }
}

#[test]
fn two_rcp_flows_have_the_fair_share_within_a_few_round_trips() {
    // One has sent alone for 20 ms when the other starts; their classes differ.
    let topology = RACK.replace("20us", "250us");
    let flow = |src: u32, class: u32, start: &str| {
        format!(
            "[[workload]]\nsizes = {{ kind = \"constant\", size = \"10MB\" }}\narrivals = \"at-once\"\n\
             pattern = {{ kind = \"pair\", src = {src}, dst = 0 }}\nclass = {class}\nstart = \"{start}\"\n"
        )
    };
    let scheme = scheme(r#"{ kind = "rcp", rtt = "1ms", initial_rate = 0.5 }"#);
    let measure = "[measure]\nseries_interval = \"1ms\"\nby_class = true\n[run]\nmax_time = \"60ms\"\n";
    let outcome = run(&format!(
        "{topology}{}{}[[scheme]]\nname = \"RCP\"\n{scheme}\n{measure}",
        flow(1, 0, "0us"),
        flow(2, 1, "20ms")
    ));
    let to_receiver = common::port(&outcome, "switch0", "host0").link as u32;
    let gbps = |class: u8, from_ms: f64, until_ms: f64| {
        let samples = outcome.class_samples().filter(|sample| {
            (sample.port, sample.class) == (to_receiver, class)
                && (from_ms * 1e6..until_ms * 1e6).contains(&sample.time_ns)
        });
        samples.map(|sample| sample.data_bytes as f64).sum::<f64>() * 8.0 / ((until_ms - from_ms) * 1e6)
    };
    assert!(gbps(0, 15.0, 20.0) > 0.9, "alone: {}", gbps(0, 15.0, 20.0));
    // Five round trips after the second starts they are equal; the queue of the first, in which both sent at all of
    // the link, has then been made up for, and they grow together to what there is.
    let [first, second] = [gbps(0, 25.0, 30.0), gbps(1, 25.0, 30.0)];
    assert!((first / second - 1.0).abs() < 0.1, "{first} and {second} Gb/s");
    let together: Vec<f64> =
        (20..59).map(f64::from).map(|ms| gbps(0, ms, ms + 1.0) + gbps(1, ms, ms + 1.0)).collect();
    assert!(together[25..].iter().all(|&gbps| gbps > 0.85), "{together:?}");
}

#[test]
fn deadlines_that_can_not_be_are_told() {
    let problem = |deadlines: &str| {
        let toml = format!(
            "{RACK}[[workload]]\nsizes = \"web-search\"\ndeadlines = {deadlines}\n[[scheme]]\nname = \"s\"\n\
             transport = \"tcp\"\nqueue = \"drop-tail\"\n[run]\nloads = [0.1]\nflows = 5\n"
        );
        let read = packetloom::scenario::Scenario::from_toml(&toml, "test", std::path::Path::new(""));
        read.err().map_or(String::new(), |problems| problems.to_string())
    };
    for at_the_start in [
        r#"{ kind = "fixed", after = "0us" }"#,
        r#"{ kind = "exponential", mean = "0us" }"#,
        r#"{ kind = "uniform", minimum = "0us", maximum = "0us" }"#,
    ] {
        assert!(problem(at_the_start).contains("can't be met; write a time above zero"), "{at_the_start}");
    }
    let before = problem(r#"{ kind = "fixed", after = "-5us" }"#);
    assert!(before.contains("after") && before.contains("-5us"), "{before}");
    assert_eq!(problem(r#"{ kind = "fixed", after = "5us" }"#), "");
}

#[test]
fn d3_meets_what_it_granted_and_inverts_deadlines() {
    // The first needs 0.8 Gb/s for its deadline and is granted that; the second, with the nearer deadline, comes a
    // little later, needs 0.4 Gb/s, and finds no more than what the first does not need.
    let list = [(1, 0, 1_000_000, 0, Some(10_700)), (2, 0, 100_000, 1_000, Some(3_200))];
    let outcome = flows("d3-inversion", &list, &scheme("\"d3\""), "");
    let met: Vec<bool> = outcome.flows.iter().map(|row| row.met_deadline()).collect();
    assert_eq!(met, [true, false], "{:?}", outcome.flows);
    // The other way round both are met: the near one comes first.
    let list = [(1, 0, 1_000_000, 1_000, Some(11_700)), (2, 0, 100_000, 0, Some(2_200))];
    let outcome = flows("d3-in-order", &list, &scheme("\"d3\""), "");
    assert!(outcome.flows.iter().all(|row| row.met_deadline()), "{:?}", outcome.flows);
}

#[test]
fn d3_gives_up_what_can_t_be_met() {
    let list = [(1, 0, 1_000_000, 0, Some(5_000)), (2, 0, 100_000, 0, Some(8_000))];
    let outcome = flows("d3-quench", &list, &scheme("\"d3\""), "");
    let given_up: Vec<bool> = outcome.flows.iter().map(|row| row.report.given_up).collect();
    assert_eq!(given_up, [true, false]);
    assert!(outcome.flows[1].met_deadline());
    let without = flows("d3-quench", &list, &scheme(r#"{ kind = "d3", quench = false }"#), "");
    assert!(without.flows.iter().all(|row| row.delivered != Time::NEVER && !row.report.given_up));
}

#[test]
fn pdq_finishes_equal_flows_one_after_another() {
    let outcome = flows("pdq-sjf", &together(8, 500_000), &scheme("\"pdq\""), "");
    let mut fcts: Vec<f64> = (1..=8).map(|src| fct_us(&outcome, src)).collect();
    fcts.sort_by(f64::total_cmp);
    // 343 packets at 1 Gb/s, one flow after another: shortest job first. Sharing, all would end with the last.
    let alone = 343.0 * 12.0;
    let shortest_first = alone * 4.5;
    let mean = common::mean(fcts.iter().copied());
    assert!((1.0..1.06).contains(&(mean / shortest_first)), "{mean} us, {fcts:?} us");
    let apart = fcts.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(fcts[0] < 1.1 * alone && apart.clone().all(|gap| gap > 0.9 * alone), "{fcts:?} us");
    assert_eq!(common::port(&outcome, "switch0", "host0").counters.drops, 0);
}

#[test]
fn pdq_lets_the_nearer_deadline_and_then_the_shorter_flow_go_first() {
    // The large flow is preempted by the small one, and both by the one with a deadline.
    let list =
        [(1, 0, 1_000_000, 0, None), (2, 0, 100_000, 1_000, None), (3, 0, 300_000, 1_500, Some(4_700))];
    let outcome = flows("pdq-preempts", &list, &scheme("\"pdq\""), "");
    let [large, small, urgent] = [fct_us(&outcome, 1), fct_us(&outcome, 2), fct_us(&outcome, 3)];
    assert!(outcome.flows[2].met_deadline(), "{urgent} us");
    assert!(urgent < 2_960.0 && small < 4_200.0 && large > 11_000.0, "{large}, {small}, {urgent} us");
}

#[test]
fn pdq_s_flows_ask_the_less_often_the_more_go_first() {
    let words = |spacing: f64| {
        let scheme = scheme(&format!(r#"{{ kind = "pdq", probe_spacing = {spacing} }}"#));
        let outcome = flows(&format!("pdq-probes-{spacing}"), &together(10, 500_000), &scheme, "");
        let sent = |src: u32| common::port(&outcome, &format!("host{src}"), "switch0").counters.packets;
        let data: u32 = outcome.flows.iter().map(|row| row.report.packets_sent).sum();
        (1..=10).map(sent).sum::<u64>() - u64::from(data)
    };
    // Of ten flows one sends; the others wait for 41 round trips of 100 us for each before them, and ask every X
    // times as many round trips as there are before them.
    let [often, seldom] = [words(0.0), words(1.0)];
    assert!((1_400..2_200).contains(&often), "once per round trip: {often}");
    assert!(seldom * 2 < often, "{seldom} and {often}");
}

#[test]
fn pdq_gives_up_what_can_t_be_met() {
    let list = [(1, 0, 1_000_000, 0, Some(9_000)), (2, 0, 1_000_000, 0, Some(9_500))];
    let outcome = flows("pdq-terminates", &list, &scheme("\"pdq\""), "");
    assert!(outcome.flows[0].met_deadline());
    assert!(outcome.flows[1].report.given_up && outcome.flows[1].closed < Time::from_us(2_000));
    let late = scheme(r#"{ kind = "pdq", early_termination = false }"#);
    let outcome = flows("pdq-late", &list, &late, "");
    assert!(outcome.flows.iter().all(|row| row.delivered != Time::NEVER && !row.report.given_up));
}

#[test]
fn schemes_whose_switches_remember_flows_need_one_path_per_flow() {
    let complaint = |transport: &str, routing: &str| {
        let toml = format!(
            "[topology]\nkind = \"fat-tree\"\nk = 4\n[[workload]]\nsizes = \"web-search\"\n[[scheme]]\n\
             name = \"s\"\ntransport = \"{transport}\"\nqueue = \"drop-tail\"\nrouting = {routing}\n\
             [run]\nloads = [0.5]\nflows = 10\n"
        );
        packetloom::simulation::Simulation::new(common::cases(&toml).remove(0)).err().map(|found| found.key)
    };
    let symmetric = r#"{ kind = "ecmp", symmetric = true }"#;
    let at_fault = Some("scheme.routing".to_owned());
    assert_eq!(complaint("rcp", "\"spray-random\""), None);
    assert_eq!(complaint("d3", "\"spray-random\""), at_fault);
    assert_eq!(complaint("d3", "\"ecmp\""), None);
    assert_eq!(complaint("pdq", "\"ecmp\""), at_fault);
    assert_eq!(complaint("pdq", symmetric), None);
}
