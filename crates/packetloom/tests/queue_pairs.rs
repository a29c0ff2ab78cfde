//! What RDMA's queue pairs cost their flows: handshakes, and what is lost of them; and what flows leave to those after
//! them.

use crate::common::{fct, port, run, write_file};
use packetloom::scenario::Scenario;
use packetloom::simulation::{FlowSample, Outcome};
use packetloom::units::{Rate, Time};
use std::path::Path;

const LOSSLESS: &str = r#"{ kind = "shared-buffer", pause_time = "100us" }"#;

/// REQ, REP and RTU have 322 B, which take 25.76 ns at 100 Gb/s; each way has two links of 1 us.
const MESSAGE: Time = Time(25_760);
const WAY: Time = Time(2 * (1_000_000 + 25_760));
/// REQ there, REP back, and the RTU before the data.
const HANDSHAKE: Time = Time(2 * WAY.0 + MESSAGE.0);

/// Flows of src, dst, bytes, start in ns, on 4 hosts of so many Gb/s at one switch, 1 us away.
fn scenario(gbps: u64, transport: &str, queue: &str, file: &str, flows: &[[u64; 4]], more: &str) -> String {
    let mut list = "src,dst,size_bytes,start_ns\n".to_owned();
    for [src, dst, size, start] in flows {
        list += &format!("{src},{dst},{size},{start}\n");
    }
    write_file(file, &list);
    format!(
        "topology = {{ kind = \"rack\", hosts = 4, link = {{ rate = \"{gbps}Gbps\", delay = \"1us\" }} }}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"RDMA\"\ntransport = {transport}\nqueue = {queue}\n{more}"
    )
}

fn outcome(transport: &str, file: &str, flows: &[[u64; 4]], more: &str) -> Outcome {
    run(&scenario(100, transport, LOSSLESS, file, flows, more))
}

fn with(transport: &str, connections: &str) -> String {
    format!("{{ kind = \"{transport}\", connections = {connections} }}")
}

fn alone(transport: &str, file: &str, bytes: u64) -> Time {
    fct(&outcome(transport, file, &[[0, 1, bytes, 0]], "").flows[0])
}

#[test]
fn a_fresh_queue_pair_costs_a_round_trip_of_its_messages_whatever_the_congestion_control() {
    for transport in ["roce", "dcqcn", "timely", "hpcc", "powertcp", "theta-powertcp", "swift", "rdma-dctcp"]
    {
        let both =
            |bytes| ["\"open\"", "\"fresh\""].map(|pairs| alone(&with(transport, pairs), "lone.csv", bytes));
        for bytes in [1_000, 20_000, 300_000] {
            let [open, fresh] = both(bytes);
            assert_eq!(fresh, open + HANDSHAKE, "{transport}, {bytes} B");
        }
        // A packet that is smaller than the RTU before it waits for that at the switch, too.
        let [open, fresh] = both(1);
        let packet = Time(open.since(Time::from_us(2)).as_ps() / 2);
        assert_eq!(fresh, WAY.times(3) + packet, "{transport}");
    }
}

#[test]
fn it_costs_no_more_in_packets_than_its_three_messages() {
    let of = |connections| outcome(&with("roce", connections), "messages.csv", &[[0, 1, 20_000, 0]], "");
    let (open, fresh) = (of(r#""open""#), of(r#"{ kind = "fresh", message = "1KB" }"#));
    let sent = |outcome: &Outcome, from, to| {
        let counters = port(outcome, from, to).counters;
        (counters.packets, counters.bytes)
    };
    for (from, to, messages) in [("host0", "switch0", 2), ("host1", "switch0", 1)] {
        let (packets, bytes) = sent(&open, from, to);
        assert_eq!(sent(&fresh, from, to), (packets + messages, bytes + messages * 1_000));
    }
}

/// The link of a host is down for a while, given in ns.
fn down(host: &str, from: u64, until: u64) -> String {
    format!(
        "[[fault]]\nkind = \"link-down\"\nbetween = [\"{host}\", \"switch0\"]\nat = \"{from}ns\"\nuntil = \"{until}ns\"\n\
         learn_after = \"1s\"\n"
    )
}

fn fresh(req_us: u64, rep_us: u64) -> String {
    format!(
        "{{ kind = \"roce\", rto = \"100us\", connections = {{ kind = \"fresh\", req_timeout = \"{req_us}us\", rep_timeout = \"{rep_us}us\" }} }}"
    )
}

#[test]
fn a_lost_req_is_sent_again_after_a_timeout_that_does_not_double() {
    let open = alone(&with("roce", r#""open""#), "req-open.csv", 20_000);
    // Sent at 0, 50, 100 and 150 us.
    let lost = outcome(&fresh(50, 40), "req.csv", &[[0, 1, 20_000, 0]], &down("host1", 0, 120_000));
    assert_eq!(fct(&lost.flows[0]), Time::from_us(150) + HANDSHAKE + open);
    assert_eq!(lost.flows[0].report.timeouts, 3);
}

#[test]
fn a_lost_rep_is_sent_again_by_the_timeout_of_its_own_end() {
    let open = alone(&with("roce", r#""open""#), "rep-open.csv", 20_000);
    // It is on its last link from 3.1 us on. A REQ that comes again meanwhile is not answered.
    for (req_us, timeouts) in [(60, 0), (30, 1)] {
        let lost = outcome(&fresh(req_us, 40), "rep.csv", &[[0, 1, 20_000, 0]], &down("host0", 3_000, 3_500));
        assert_eq!(fct(&lost.flows[0]), Time::from_us(40) + HANDSHAKE + open);
        assert_eq!(lost.flows[0].report.timeouts, timeouts);
        let replies = port(&lost, "host1", "switch0").counters.packets - 20;
        assert_eq!(replies, 2, "a REP twice, and an ACK for each packet");
    }
}

#[test]
fn data_stands_for_a_lost_rtu() {
    let flows = [[0, 1, 400_000, 0]];
    let whole = outcome(&fresh(30, 20), "rtu-whole.csv", &flows, "");
    // The RTU is at the switch from 5.129 us on, the first data from 5.213 us.
    let lost = outcome(&fresh(30, 20), "rtu.csv", &flows, &down("host1", 5_100, 5_200));
    assert_eq!(port(&lost, "switch0", "host1").counters.lost, 1);
    assert_eq!(fct(&lost.flows[0]), fct(&whole.flows[0]));
    let answers = |outcome: &Outcome| port(outcome, "host1", "switch0").counters.packets;
    assert_eq!(answers(&lost), answers(&whole), "no REP is sent again");
}

#[test]
fn where_the_data_is_lost_too_the_rep_is_sent_again_and_answered_again() {
    let open = alone(&with("roce", r#""open""#), "both-open.csv", 1_000);
    let lost = outcome(&fresh(30, 20), "both.csv", &[[0, 1, 1_000, 0]], &down("host1", 5_100, 5_300));
    // go-back-n sends the packet again 100 us after it did.
    assert_eq!(fct(&lost.flows[0]), HANDSHAKE + open + Time::from_us(100));
    // REQ, RTU twice, data twice; REP twice, ACK.
    assert_eq!(port(&lost, "host0", "switch0").counters.packets, 5);
    assert_eq!(port(&lost, "host1", "switch0").counters.packets, 3);
}

#[test]
fn flows_that_wait_for_a_rep_say_so() {
    let toml = scenario(100, &fresh(30, 20), LOSSLESS, "waits.csv", &[[0, 1, 1_000, 0]], "")
        + &down("host1", 0, 1_000_000_000_000)
        + "[run]\nmax_time = \"1ms\"\n";
    let outcome = run(&toml);
    let row = &outcome.flows[0];
    assert_eq!((row.fct(), row.report.timeouts), (None, 33));
}

#[test]
fn where_no_queue_pair_is_idle_another_is_connected() {
    let transport = with("roce", r#"{ kind = "pool", warm = 1 }"#);
    let flows = [[0, 1, 1_000, 0], [0, 1, 1_000, 1_000], [0, 1, 1_000, 100_000], [0, 1, 1_000, 101_000]];
    let outcome = outcome(&transport, "pool.csv", &flows, "");
    let open = alone(&with("roce", r#""open""#), "pool-open.csv", 1_000);
    let times: Vec<Time> = outcome.flows.iter().map(fct).collect();
    assert_eq!(times, [open, open + HANDSHAKE, open, open]);
}

#[test]
fn the_next_flow_waits_for_the_pace_that_the_last_packet_left() {
    // At 1 Gb/s a packet of 1048 B takes 8.384 us; its ACK is there after 4.2 us.
    let pool = r#"{ kind = "roce", initial_rate = "1Gbps", connections = { kind = "pool", warm = 1 } }"#;
    let flows = [[0, 1, 1_000, 0], [0, 1, 1_000, 5_000]];
    let outcome = outcome(pool, "pace.csv", &flows, "");
    let open = alone(&with("roce", r#""open""#), "pace-open.csv", 1_000);
    let times: Vec<Time> = outcome.flows.iter().map(fct).collect();
    assert_eq!(times, [open, open + Time::from_ns(3_384)]);
}

const MARKING: &str =
    r#"{ kind = "shared-buffer", ecn_min = "10KB", ecn_max = "10KB", ecn_probability = 1.0 }"#;

fn samples_of(outcome: &Outcome, flow: u32) -> Vec<FlowSample> {
    outcome.flow_series().filter(|sample| sample.flow == flow).collect()
}

fn rates_of(outcome: &Outcome, flow: u32) -> Vec<(Time, Rate)> {
    let rate = |sample: FlowSample| Some((sample.at, sample.rate?));
    samples_of(outcome, flow).into_iter().filter_map(rate).collect()
}

/// Those of the flows sampled, at 40 Gb/s, under DCQCN.
fn under_dcqcn(connections: &str, file: &str, flows: &[[u64; 4]]) -> Outcome {
    let measure = "[measure]\nflows = [0, 1, 2, 3]\n";
    run(&scenario(40, &with("dcqcn", connections), MARKING, file, flows, measure))
}

#[test]
fn on_a_pool_dcqcns_rate_goes_on_and_its_timers_run_while_nothing_is_sent() {
    // A burst from host 2 causes one CNP. On one queue pair, two flows with a pause between them have at each moment
    // the rate that one without a pause has.
    let burst = [2, 0, 30_000, 20_000];
    let whole = under_dcqcn(r#""open""#, "one-flow.csv", &[[1, 0, 3_000_000, 0], burst]);
    let whole = rates_of(&whole, 0);
    let two = [[1, 0, 250_000, 0], burst, [1, 0, 200_000, 130_000]];
    let pooled = under_dcqcn(r#"{ kind = "pool", warm = 1 }"#, "two-flows.csv", &two);
    assert!(pooled.flows[0].closed < Time::from_us(115), "there is a pause: {}", pooled.flows[0].closed);
    let second = rates_of(&pooled, 2);
    assert!(second.len() > 30, "{second:?}");
    for (at, rate) in &second {
        let same = whole.iter().find(|(then, _)| then == at).expect("it is sampled at the same moments");
        assert_eq!(*rate, same.1, "at {at}");
    }
    let line = Rate::from_gbps(40);
    assert!(second.iter().all(|(_, rate)| *rate < line), "it has not recovered yet");
    let fresh = under_dcqcn(r#""fresh""#, "two-fresh.csv", &two);
    let rates = rates_of(&fresh, 2);
    assert!(
        !rates.is_empty() && rates.iter().all(|(_, rate)| *rate == line),
        "a new one begins at line rate"
    );
    let waits = samples_of(&fresh, 2).len() - rates.len();
    assert_eq!(waits, 5, "one a microsecond until the REP is there after 4.258 us");
}

#[test]
fn on_a_pool_a_queue_pair_sends_no_more_cnps_than_its_interval_allows() {
    // The second flow meets a burst less than 50 us after the first one's CNP.
    let flows = [[1, 0, 40_000, 0], [2, 0, 30_000, 0], [1, 0, 30_000, 28_000], [2, 0, 30_000, 28_000]];
    let of = |connections, file| {
        let rates = rates_of(&under_dcqcn(connections, file, &flows), 2);
        let mut distinct: Vec<u64> = rates.iter().map(|(_, rate)| rate.as_bps() / 1_000_000_000).collect();
        distinct.dedup();
        distinct
    };
    assert_eq!(of(r#""open""#, "cnp-open.csv"), [40, 20]);
    assert_eq!(of(r#"{ kind = "pool", warm = 1 }"#, "cnp-pool.csv"), [20]);
}

#[test]
fn on_a_pool_every_congestion_control_goes_on_where_it_was() {
    // Three senders into one host, and then another flow of the first of them.
    let flows =
        [[1, 0, 1_000_000, 0], [2, 0, 1_000_000, 0], [3, 0, 1_000_000, 0], [1, 0, 100_000, 3_000_000]];
    let first_of = |transport: &str, connections: &str| {
        let transport = with(transport, connections);
        let measure = "[measure]\nflows = [0, 3]\n";
        let outcome = run(&scenario(40, &transport, MARKING, "goes-on.csv", &flows, measure));
        let state = |sample: &FlowSample| (sample.rate, sample.window_bytes);
        let last = samples_of(&outcome, 0).last().map(state).expect("it was sampled");
        (last, samples_of(&outcome, 3).first().map(state).expect("it was sampled"))
    };
    for transport in ["timely", "hpcc", "swift", "rdma-dctcp"] {
        let (_, open) = first_of(transport, r#""open""#);
        let (left, pooled) = first_of(transport, r#"{ kind = "pool", warm = 1 }"#);
        assert_ne!(pooled, open, "{transport}");
        // What came between the last sample and the end changes little.
        let numbers = |(rate, window): (Option<Rate>, Option<f64>)| {
            (rate.map_or(1.0, |rate| rate.as_bps() as f64), window.unwrap_or(1.0))
        };
        let ((left_rate, left_window), (rate, window)) = (numbers(left), numbers(pooled));
        assert!((rate / left_rate - 1.0).abs() < 0.02, "{transport}: {left:?}, then {pooled:?}");
        assert_eq!(left_window, window, "{transport}");
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (connections, expected) in [
        (r#"{ kind = "fresh", message = "20B" }"#, "write a size from 49B to 1048B"),
        (r#"{ kind = "fresh", message = "70KB" }"#, "to 1048B, or another mss"),
        (r#"{ kind = "pool", req_timeout = "0s" }"#, "is too short to be repeated"),
        (r#"{ kind = "fresh", rep_timeout = "0s" }"#, "is too short to be repeated"),
        (r#"{ kind = "fresh", syn_rto = "1s" }"#, "syn_rto"),
    ] {
        let toml = scenario(100, &with("roce", connections), LOSSLESS, "refused.csv", &[[0, 1, 1, 0]], "");
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let problems = Scenario::from_toml(&toml, "refused.toml", directory).expect_err(connections);
        assert!(problems.to_string().contains(expected), "{problems}");
    }
}

fn in_order(transport: &str, more: &str) -> String {
    format!("{{ kind = \"{transport}\", connections = \"in-order\"{more} }}")
}

#[test]
fn messages_of_one_queue_pair_follow_each_other() {
    for transport in ["roce", "dcqcn", "timely", "hpcc", "powertcp", "theta-powertcp", "swift", "rdma-dctcp"]
    {
        let messages = [[0, 1, 100_000, 0], [0, 1, 50_000, 0], [0, 1, 50_000, 3_000]];
        let outcome = outcome(&in_order(transport, ""), "in-order.csv", &messages, "");
        let lone = |bytes| alone(&with(transport, r#""open""#), "in-order-lone.csv", bytes);
        let ends: Vec<Time> = outcome.flows.iter().map(|row| row.delivered).collect();
        // Together they are on the wire what one of their sizes is.
        assert_eq!(ends[0], lone(100_000), "{transport}");
        for (end, bytes) in [(ends[1], 150_000), (ends[2], 200_000)] {
            let share = end.as_secs_f64() / lone(bytes).as_secs_f64();
            assert!((0.99..1.01).contains(&share), "{transport}: {share}");
            assert!(transport != "roce" || end == lone(bytes));
        }
    }
}

#[test]
fn a_message_by_itself_takes_as_long_on_a_queue_pair_in_order_and_other_receivers_share() {
    let flows = [[0, 1, 40_000, 0], [0, 1, 30_000, 20_000], [0, 2, 30_000, 20_000], [3, 2, 9_000, 21_000]];
    let times = |connections: &str| {
        let outcome = outcome(&with("roce", connections), "in-order-apart.csv", &flows, "");
        outcome.flows.iter().map(|row| (row.delivered, row.closed)).collect::<Vec<_>>()
    };
    assert_eq!(times(r#""in-order""#), times(r#""open""#));
}

#[test]
fn messages_of_one_queue_pair_share_its_window() {
    let window = r#", window = "fixed", window_bytes = "10KB""#;
    let messages = [[0, 1, 4_000, 0]; 10];
    let outcome = outcome(&in_order("roce", window), "in-order-window.csv", &messages, "");
    let one = format!("{{ kind = \"roce\"{window} }}");
    let last = outcome.flows.iter().map(|row| row.delivered).max();
    assert_eq!(last, Some(alone(&one, "in-order-one.csv", 40_000)));
}

#[test]
fn flows_are_dealt_to_queue_pairs_in_turn() {
    let messages = [[0, 1, 4_000, 0]; 6];
    let ends = |connections: &str| {
        let outcome = outcome(&with("roce", connections), "in-order-several.csv", &messages, "");
        outcome.flows.iter().map(|row| (row.delivered, row.closed)).collect::<Vec<_>>()
    };
    // As many as there are flows: each has its own, as where queue pairs are open.
    assert_eq!(ends(r#"{ kind = "in-order", queue_pairs = 6 }"#), ends(r#""open""#));
    // Two take turns at the NIC, so the first two end together, and then the next two.
    let two = ends(r#"{ kind = "in-order", queue_pairs = 2 }"#);
    let one = ends(r#""in-order""#);
    assert!(two[0] > one[0] && two[1] == one[1] && two[2] > one[2] && two[3] == one[3], "{two:?} {one:?}");
}

#[test]
fn what_is_lost_of_one_message_is_sent_again_before_those_behind_it() {
    let messages: Vec<[u64; 4]> = (0..40).map(|nth| [0, 1 + nth % 2, 3_000 * (1 + nth % 7), 0]).collect();
    let fault = "[[fault]]\nkind = \"corruption\"\nprobability = 0.02\n";
    for recovery in [r#", recovery = "go-back-n", rto = "100us""#, r#", recovery = "irn""#] {
        for (transport, pairs) in [("roce", 1), ("dcqcn", 1), ("hpcc", 1), ("dcqcn", 3)] {
            let of_pairs = format!("connections = {{ kind = \"in-order\", queue_pairs = {pairs} }}");
            let scheme = in_order(transport, recovery).replace("connections = \"in-order\"", &of_pairs);
            let outcome = outcome(&scheme, "in-order-lost.csv", &messages, fault);
            let sent_again: u64 = outcome.flows.iter().map(|row| u64::from(row.report.retransmissions)).sum();
            assert!(sent_again > 0, "{transport}{recovery}");
            for row in &outcome.flows {
                assert!(
                    row.delivered <= row.closed && row.closed < Time::from_us(2_000),
                    "{transport}{recovery}"
                );
            }
        }
    }
}
