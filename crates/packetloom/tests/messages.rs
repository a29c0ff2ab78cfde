//! Hosts that take a time of their own for each message.

use crate::common::{cases, fct, run, simulate, write_file};
use packetloom::measure::fingerprint;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;

const COSTS: &str = "send_per_message = \"2us\"\nreceive_per_message = \"3us\"";

fn text(topology: &str, workload: &str, scheme: &str, more: &str) -> String {
    format!(
        "[topology]\n{topology}\n\n[[workload]]\n{workload}\n\n[[scheme]]\nname = \"any\"\n{scheme}\n{more}"
    )
}

fn rack(costs: &str, workload: &str, scheme: &str, more: &str) -> Outcome {
    run(&text(&format!("kind = \"rack\"\nhosts = 8\n{costs}"), workload, scheme, more))
}

const TCP: &str = "transport = \"tcp\"\nqueue = \"drop-tail\"";
const LOADED: &str = "[run]\nflows = 300\nloads = [0.6]\n";

/// 1460 B cross two links of 10 Gb/s and 0.4 us.
const ONE_PACKET: Time = Time::from_ns(2 * 1_600);

#[test]
fn a_message_takes_its_time_at_both_hosts() {
    let workload = "sizes = { kind = \"constant\", size = \"1460B\" }\narrivals = { kind = \"periodic\", interval = \"1ms\" }";
    let outcome = rack(COSTS, workload, TCP, "[run]\nflows = 20\n");
    for row in &outcome.flows {
        assert_eq!(fct(row), ONE_PACKET + Time::from_us(5));
        assert_eq!(row.best_fct, fct(row));
        // The sender has its acknowledgement, 40 B, before the receiver is done.
        assert_eq!(row.sender_fct(), Some(ONE_PACKET + Time::from_us(2) + Time::from_ns(2 * 432)));
    }
}

#[test]
fn a_host_sends_and_receives_one_message_at_a_time() {
    write_file(
        "messages-out.csv",
        "src,dst,size_bytes,start_ns\n0,1,1460,0\n0,2,1460,0\n0,3,1460,0\n4,5,1460,0\n6,5,1460,0\n7,5,1460,0\n",
    );
    let workload = "arrivals = { kind = \"list\", file = \"messages-out.csv\" }";
    let took = |costs: &str| {
        let outcome = rack(costs, workload, TCP, "");
        let mut took: Vec<u64> = outcome.flows.iter().map(|row| fct(row).as_ps() / 1_000).collect();
        // Which of the packets that come at one time is first is not what this is about.
        took[3..].sort_unstable();
        took
    };
    let each = |times: [u64; 6]| times.map(|over| 3_200 + over).to_vec();
    // Three packets to one host share its link, on which each takes 1200 ns.
    assert_eq!(took(""), each([0, 1_200, 2_400, 0, 1_200, 2_400]));
    // Each leaves when the host is done with it, not when the link is.
    assert_eq!(took("send_per_message = \"5us\""), each([5_000, 10_000, 15_000, 5_000, 6_200, 7_400]));
    // The second and third have to wait for the one before, which takes longer than they need on the link.
    assert_eq!(took("receive_per_message = \"5us\""), each([5_000, 6_200, 7_400, 5_000, 10_000, 15_000]));
}

#[test]
fn jobs_and_triggers_wait_for_hosts_too() {
    // Two ranks that exchange four messages in turn: each takes what a message takes at both hosts.
    let mut goal = ["num_ranks 2\nrank 0 {\n".to_owned(), "rank 1 {\n".to_owned()];
    for step in 0..4 {
        let (from, to) = (step % 2, (step + 1) % 2);
        goal[from] += &format!("s{step}: send 1460b to {to} tag {step}\n");
        goal[to] += &format!("r{step}: recv 1460b from {from} tag {step}\n");
        if step > 0 {
            goal[from] += &format!("s{step} requires r{}\n", step - 1);
        }
    }
    write_file("messages-turns.goal", &format!("{}}}\n{}}}\n", goal[0], goal[1]));
    let workload = "arrivals = { kind = \"goal\", file = \"messages-turns.goal\" }";
    let outcome = rack(COSTS, workload, TCP, "");
    assert_eq!(outcome.iterations[0].took(), Some((ONE_PACKET + Time::from_us(5)).times(4)));
}

#[test]
fn it_does_not_depend_on_windows_and_threads_and_zero_is_nothing() {
    let schemes = [
        TCP,
        "transport = \"ndp\"\nqueue = \"ndp\"\nrouting = \"permutation\"",
        "transport = \"homa\"\nqueue = { kind = \"classes\", strict = 8, queue = \"drop-tail\" }",
        "transport = \"hpcc\"\nqueue = \"shared-buffer\"",
    ];
    let workload = "sizes = { kind = \"exponential\", mean = \"20KB\" }";
    for scheme in schemes {
        let case = |costs: &str| {
            let topology = format!("kind = \"fat-tree\"\nk = 4\n{costs}");
            cases(&text(&topology, workload, scheme, LOADED)).remove(0)
        };
        let zero = "send_per_message = \"0us\"\nreceive_per_message = \"0us\"";
        let plain = fingerprint(&simulate(case("")).flows);
        assert_eq!(fingerprint(&simulate(case(zero)).flows), plain, "{scheme}");
        let charged = simulate(case(COSTS));
        assert!(charged.flows.iter().all(|row| fct(row) > Time::from_us(5)), "{scheme}");
        let charged = fingerprint(&charged.flows);
        assert_ne!(charged, plain, "{scheme}");
        for (longest, threads) in [(Time(1 << 17), 1), (Time::NEVER, 2), (Time(1 << 15), 4)] {
            let simulation = Simulation::new(case(COSTS)).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            let outcome = simulation.run(&Monitor::default()).expect("a sound case");
            assert_eq!(fingerprint(&outcome.flows), charged, "{scheme}: {longest}, {threads}");
        }
    }
}

#[test]
fn who_knows_of_no_hosts_refuses_them() {
    let workload = "sizes = { kind = \"exponential\", mean = \"20KB\" }";
    let topology = format!("kind = \"rack\"\nhosts = 8\n{COSTS}");
    let syn = "transport = \"syn\"\nrouting = \"controller\"\nqueue = \"drop-tail\"";
    for (scheme, why) in [
        ("transport = \"ideal\"", "a flow-level model has no hosts that take time"),
        (syn, "the controller plans departures without it"),
    ] {
        let case = cases(&text(&topology, workload, scheme, LOADED)).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        assert_eq!(complaint.key, "topology.send_per_message");
        assert!(complaint.message.contains(why), "{}", complaint.message);
    }
}
