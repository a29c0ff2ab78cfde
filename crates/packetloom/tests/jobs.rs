//! Jobs take as long as theory predicts, and traces as what they describe.

use crate::common::{cases, run, write_file};
use packetloom::formats::chakra;
use packetloom::job::{Collective, Operation, Program, Rank, Sizes, Work};
use packetloom::measure::fingerprint;
use packetloom::scenario::Scenario;
use packetloom::simulation::{Monitor, Outcome, Simulation};
use packetloom::units::Time;
use std::path::Path;

/// Pulls at the full rate, so that nothing but the network takes time.
const NDP: &str =
    "transport = { kind = \"ndp\", pull_rate = 1.0 }\nqueue = \"ndp\"\nrouting = \"permutation\"";

fn text(hosts: u32, arrivals: &str) -> String {
    format!(
        "[topology]\nkind = \"rack\"\nhosts = {hosts}\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n\
         [[workload]]\narrivals = {{ {arrivals} }}\n\n[[scheme]]\nname = \"any\"\n{NDP}\n\n[measure]\noperations = true\n"
    )
}

fn job(hosts: u32, arrivals: &str) -> Outcome {
    let outcome = run(&text(hosts, arrivals));
    assert!(outcome.warnings.is_empty(), "{:?}", outcome.warnings);
    outcome
}

/// How long the only repetition took.
fn took(outcome: &Outcome) -> Time {
    assert_eq!(outcome.iterations.len(), 1);
    outcome.iterations[0].took().expect("it is done")
}

/// From one host of the rack to another: full packets of 9064 B take 725.12 ns on a link, and a link has 1 us of
/// delay. The last packet leaves after all others, and follows the one before it through the switch.
fn message(bytes: u64) -> Time {
    let (packets, last) = (bytes.div_ceil(9_000), bytes - (bytes.div_ceil(9_000) - 1) * 9_000 + 64);
    let (full, last) = (Time(725_120), Time(last * 80));
    if packets == 1 {
        return last.times(2) + Time::from_us(2);
    }
    (full.times(packets - 1) + last + last).max(full.times(packets) + last) + Time::from_us(2)
}

fn near(took: Time, expected: Time, what: &str) {
    let share = took.as_secs_f64() / expected.as_secs_f64();
    assert!((0.999..1.01).contains(&share), "{what}: {took} is {share} of {expected}");
}

#[test]
fn operations_among_any_number_of_hosts_take_as_long_as_their_closed_forms() {
    let of = |hosts: u32, operation: &str, algorithm: &str, bytes: u64, more: &str| {
        let what = format!(
            "kind = \"collective\", operation = \"{operation}\", algorithm = \"{algorithm}\", size = \"{bytes}B\"{more}"
        );
        job(hosts, &what).jobs[0].completion_time().expect("it is done")
    };
    // The last but one in a chain has done its part when its message was acknowledged.
    let acknowledged = Time::from_us(2);
    for hosts in [3, 6, 7] {
        let part = 900_000;
        let bytes = part * u64::from(hosts);
        let steps = u64::from(hosts - 1);
        near(of(hosts, "all-reduce", "ring", bytes, ""), message(part).times(2 * steps), "ring");
        near(of(hosts, "all-gather", "ring", bytes, ""), message(part).times(steps), "ring");
        near(of(hosts, "broadcast", "ring", part, ""), message(part).times(steps) + acknowledged, "chain");
        // All of a host's messages share its link.
        near(of(hosts, "reduce-scatter", "direct", bytes, ""), message(part * steps), "direct");
        near(of(hosts, "all-reduce", "direct", bytes, ""), message(part * steps).times(2), "direct");
    }
    // Six ranks fold to four; of large vectors the fold and the first halves share links.
    let halves = message(180) + message(90);
    let folded = of(6, "all-reduce", "halving-doubling", 360, "");
    near(folded, message(360).times(2) + halves.times(2), "halving");
    let reduced = of(8, "reduce", "tree", 9_000, "");
    near(reduced, message(9_000).times(3) + Time::from_us(2), "binomial, one packet each");
    // A pipeline of pieces, of which a rank has received one or two before it passes the first on.
    let pipeline = of(5, "broadcast", "ring", 9_000_000, ", chunks = 100");
    let [one, two] =
        [90_000, 180_000].map(|piece| message(9_000_000) + message(piece).times(3) + acknowledged);
    assert!(one <= pipeline && pipeline <= two, "{one} {pipeline} {two}");
}

#[test]
fn channels_overlap_their_latencies() {
    let of = |more: &str| {
        let what = "kind = \"collective\", operation = \"all-reduce\", size = \"72KB\"";
        took(&job(8, &format!("{what}{more}")))
    };
    // One packet per step either way; eight channels send eight smaller ones.
    assert!(of(", channels = 8") < of("").times(3).since(of("")));
}

fn write_chakra(name: &str, program: &Program) {
    let written = chakra::write(program, &[]).expect("Chakra has words for it");
    for (rank, file) in written.files.iter().enumerate() {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.{rank}.et"));
        std::fs::write(path, file).expect("a directory to write to");
    }
}

#[test]
fn a_traced_all_reduce_equals_the_built_in_one_to_the_nanosecond() {
    let mut program = Program { groups: vec![(0..4).collect()], ..Program::default() };
    let work = Work::Collective { operation: Collective::AllReduce, group: 0, sizes: Sizes::Whole(1 << 20) };
    let name = program.name("all_reduce");
    for _ in 0..4 {
        let mut rank = Rank::default();
        rank.add(Operation { work, stream: Some(2), name }, []);
        program.ranks.push(rank);
    }
    write_chakra("jobs-all-reduce", &program);
    let built_in =
        job(8, "kind = \"collective\", operation = \"all-reduce\", size = \"1048576B\", ranks = 4");
    let traced = job(8, "kind = \"chakra\", files = \"jobs-all-reduce\"");
    assert_eq!(took(&traced), took(&built_in));
    assert_eq!(fingerprint(&traced.flows), fingerprint(&built_in.flows));
    // The same ring as messages that wait for one another.
    write_file("jobs-ring.goal", &ring(4, (1 << 20) / 4));
    let schedule = job(8, "kind = \"goal\", file = \"jobs-ring.goal\"");
    assert_eq!(took(&schedule), took(&built_in));
}

/// A ring all-reduce in GOAL: at each step a rank sends on what it received at the step before.
fn ring(ranks: u32, bytes: u64) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        let (next, last) = ((rank + 1) % ranks, (rank + ranks - 1) % ranks);
        text += &format!("rank {rank} {{\n");
        for step in 0..2 * (ranks - 1) {
            text += &format!("s{step}: send {bytes}b to {next} tag {step}\n");
            text += &format!("r{step}: recv {bytes}b from {last} tag {step}\n");
            if step > 0 {
                text += &format!("s{step} requires r{}\n", step - 1);
            }
        }
        text += "}\n";
    }
    text
}

/// A binary tree of so many ranks: each passes a message of 8 B on to two, one after the other.
fn binary_tree(ranks: u32) -> String {
    let mut text = format!("num_ranks {ranks}\n");
    for rank in 0..ranks {
        text += &format!("rank {rank} {{\n");
        if rank > 0 {
            text += &format!("r: recv 8b from {} tag 0\n", (rank - 1) / 2);
        }
        for (nth, child) in
            [2 * rank + 1, 2 * rank + 2].into_iter().filter(|&child| child < ranks).enumerate()
        {
            text += &format!("s{nth}: send 8b to {child} tag 0\n");
            if rank > 0 {
                text += &format!("s{nth} requires r\n");
            }
        }
        text += "}\n";
    }
    text
}

#[test]
fn a_binary_tree_in_goal_takes_what_loggp_says() {
    write_file("jobs-tree.goal", &binary_tree(31));
    let costs = "send_cost = \"1.5us\", receive_cost = \"0.5us\"";
    let outcome = job(31, &format!("kind = \"goal\", file = \"jobs-tree.goal\", {costs}"));
    // L is what a packet of 72 B takes over two links and their delays; the second child's message leaves o later.
    let (latency, send, receive) = (message(8), Time::from_ns(1_500), Time::from_ns(500));
    assert_eq!(took(&outcome), (send.times(2) + latency + receive).times(4));
}

#[test]
fn layers_of_simai_are_dependent_all_reduces() {
    write_file(
        "jobs-micro.simai",
        "DATA all_gpus: 8\n2\none -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 720000 0\n\
         two -1 0 NONE 0 0 NONE 0 0 ALLREDUCE 1440000 0\n",
    );
    let outcome = job(8, "kind = \"simai\", file = \"jobs-micro.simai\"");
    let mut bytes: Vec<u64> = outcome.jobs.iter().map(|row| row.operation.bytes).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [720_000, 1_440_000]);
    near(took(&outcome), (message(90_000) + message(180_000)).times(14), "two rings, one after the other");
}

/// Forward inside packages of four, back between the two packages, as many rings at once as there are groups.
#[test]
fn packages_of_simai_exchange_inside_and_between() {
    write_file(
        "jobs-packages.simai",
        "HYBRID_DATA_MODEL\n1\none -1 0 ALLGATHER 720000 0 ALLREDUCE 720000 0 ALLREDUCE 360000 0\n",
    );
    let outcome =
        job(8, "kind = \"simai\", file = \"jobs-packages.simai\", ranks = 8, ranks_per_package = 4");
    assert_eq!(
        outcome.jobs.len(),
        2 + 4,
        "each group once, and nothing for the first layer's input gradient"
    );
    let expected = message(180_000).times(3) + message(180_000).times(2);
    near(took(&outcome), expected, "a ring of four, then one of two");
}

#[test]
fn training_takes_what_its_pipeline_takes() {
    let degrees = "tensor = 2, pipeline = 2, data = 2, layers = 4, microbatches = 4";
    let costs = "forward = \"100us\", activations = \"9KB\", gradients = \"90KB\", update = \"50us\"";
    let outcome = job(8, &format!("kind = \"training\", {degrees}, {costs}"));
    let row = outcome.iterations[0];
    assert_eq!(row.compute, Time::from_us(4 * 2 * 300 + 50));
    // The bubble of a pipeline of two stages with four micro-batches is a forward and a backward pass of a stage:
    // (p − 1)/m of the rest. What is exchanged comes on top: 2 all-reduces among two per layer and direction.
    let exchanged = message(4_500).times(2 * 2);
    let passes = Time::from_us(300).times(2) + exchanged.times(2).times(2);
    let expected = passes.times(4 + 1) + message(9_000).times(2) + Time::from_us(50);
    let took = row.took().expect("it is done");
    let share = took.as_secs_f64() / expected.as_secs_f64();
    assert!((0.99..1.03).contains(&share), "{took} is {share} of {expected}");
    let overlap = row.overlap().expect("it is done");
    assert!(overlap < 1.0, "{overlap}");
}

#[test]
fn caches_and_tokens_arrive() {
    let caches = "kind = \"kv-cache\", prefill = 3, decode = 2, requests = 4, size = \"900KB\", messages = 2";
    let outcome = job(8, &format!("{caches}, prefill_time = \"100us\", decode_time = \"10us\""));
    assert_eq!(outcome.flows.len(), 3 * 4 * 2);
    assert!(took(&outcome) > Time::from_us(410) + message(450_000));
    let experts =
        "kind = \"moe\", experts = 16, tokens = 64, bytes_per_token = \"4KB\", skew = 1, layers = 2";
    let outcome = job(8, &format!("{experts}, compute = \"20us\""));
    assert_eq!(outcome.jobs.len(), 4);
    assert!(outcome.jobs.windows(2).all(|pair| pair[0].last_start <= pair[1].end));
}

const PINNED: [&str; 8] = [
    "321669625975f2e6",
    "29ea6af505e8913e",
    "a5c06fa07a139a07",
    "720db141e04da11a",
    "8fb732f714a1d12c",
    "f7e9297763e05fa0",
    "524509915740e115",
    "38d5c4143704bc2e",
];

#[test]
fn jobs_do_not_depend_on_windows_and_threads() {
    write_file("jobs-threads.goal", &binary_tree(13));
    let fat_tree = |arrivals: &str| {
        text(16, arrivals).replace("kind = \"rack\"\nhosts = 16", "kind = \"fat-tree\"\nk = 4")
    };
    let mut found = Vec::new();
    for arrivals in [
        "kind = \"training\", tensor = 2, pipeline = 2, data = 4, experts = 2, layers = 4, microbatches = 3, forward = \"5us\", activations = \"30KB\", gradients = \"50KB\", sharded = true, order = \"random\"",
        "kind = \"moe\", experts = 32, tokens = 32, bytes_per_token = \"1KB\", skew = 1, layers = 2, compute = \"3us\", repeat = 2",
        "kind = \"goal\", file = \"jobs-threads.goal\", send_cost = \"100ns\", receive_cost = \"50ns\", repeat = 3",
        "kind = \"collective\", operation = \"all-reduce\", algorithm = \"tree\", size = \"1000003B\", chunks = 5, channels = 2, repeat = 2",
        "kind = \"collective\", operation = \"all-to-all\", algorithm = \"hierarchical\", server = 4, size = \"1000003B\"",
        "kind = \"collective\", operation = \"barrier\", repeat = 3, send_cost = \"1us\"",
        "kind = \"perftest\", size = \"3001B\", messages = 40, outstanding = 5, pairs = 6, bidirectional = true, order = \"random\", send_cost = \"20ns\"",
        "kind = \"perftest\", test = \"latency\", size = \"3001B\", messages = 40, pairs = 6, receive_cost = \"20ns\", repeat = 2",
    ] {
        let case = cases(&fat_tree(arrivals)).remove(0);
        let run = |longest, threads| {
            let simulation = Simulation::new(case.clone()).expect("a sound case");
            let simulation = simulation.with_windows_up_to(longest).with_threads(threads);
            let outcome = simulation.run(&Monitor::default()).expect("a sound case");
            let spans: Vec<_> = outcome.operations.iter().map(|row| (row.rank, row.span)).collect();
            (fingerprint(&outcome.flows), outcome.iterations, spans)
        };
        let full = run(Time::NEVER, 1);
        for (longest, threads) in [(Time(1 << 17), 1), (Time(1 << 15), 1), (Time::NEVER, 2), (Time::NEVER, 4)]
        {
            assert!(run(longest, threads) == full, "{arrivals}: {longest}, {threads}");
        }
        found.push(format!("{:016x}", full.0));
    }
    assert_eq!(found, PINNED);
}

#[test]
fn who_waits_for_ever_is_named() {
    write_file(
        "jobs-stuck.goal",
        "num_ranks 2\nrank 0 {\nr: recv 8b from 1 tag 0\ns: send 8b to 1 tag 0\ns requires r\n}\n\
         rank 1 {\nr: recv 8b from 0 tag 0\ns: send 8b to 0 tag 0\ns requires r\n}\n",
    );
    let outcome = run(&text(2, "kind = \"goal\", file = \"jobs-stuck.goal\""));
    let stalled = outcome.stalled.expect("it is stuck");
    assert!(stalled.contains("rank 0 at r for rank 1, rank 1 at r for rank 0"), "{stalled}");
    assert_eq!(outcome.iterations[0].took(), None);
}

#[test]
fn what_can_not_be_done_is_told() {
    let message = |arrivals: &str| {
        let case = cases(&text(8, arrivals)).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        format!("{}: {}", complaint.key, complaint.message)
    };
    let training =
        "kind = \"training\", layers = 4, forward = \"1us\", activations = \"1KB\", gradients = \"1KB\"";
    assert_eq!(
        message(&format!("{training}, data = 9")),
        "workload[0].arrivals.data: tensor × data × pipeline are 9 ranks among 8 hosts; write fewer"
    );
    assert_eq!(
        message(&format!("{training}, data = 2, placement = [1, 1]")),
        "workload[0].arrivals.placement: host 1 has two ranks; write each host once"
    );
    assert_eq!(
        message(&format!("{training}, data = 2, placement = [1]")),
        "workload[0].arrivals.placement: has 1 hosts for 2 ranks; write one for each"
    );
    assert_eq!(
        message("kind = \"kv-cache\", prefill = 1, decode = 4294967296, size = \"1MB\""),
        "workload[0].arrivals.decode: 4294967297 ranks among 8 hosts; write fewer"
    );
    assert_eq!(
        message("kind = \"collective\", operation = \"all-reduce\", size = \"1MB\", server = 4294967297"),
        "workload[0].arrivals.server: write 4294967295 at most"
    );
    let experts = "kind = \"moe\", experts = 8000000000000, tokens = 1, bytes_per_token = \"1KB\"";
    let unread = Scenario::from_toml(&text(8, experts), "test", Path::new("."));
    let problems = unread.expect_err("it says so as it is read").to_string();
    assert!(problems.contains("workload[0].arrivals.experts: write 65536 at most"), "{problems}");
}

/// Two accelerators of a server send each other 9 MB: over the rail switches where the server has no switch of its own,
/// by that switch where it has one, and by the two ports of a NIC on two planes.
#[test]
fn the_roofline_has_what_crosses_all_ports_of_a_nic() {
    let uec = "transport = { kind = \"uec\", control = \"nscc\" }\nrouting = \"reps\"\n\
               queue = { kind = \"ndp\", capacity = \"300KB\", ecn_min = \"60KB\", ecn_max = \"240KB\" }";
    let of = |more: &str, scheme: &str| {
        let arrivals = "kind = \"collective\", operation = \"all-reduce\", size = \"9MB\", ranks = 2";
        let rails = format!("kind = \"rail-optimised\"\nservers = 2\naccelerators = 2\n{more}");
        let rails = text(4, arrivals).replace("kind = \"rack\"\nhosts = 4", &rails).replace(NDP, scheme);
        run(&rails).iterations[0]
    };
    // 8·S·f/B with f = 2 (2 − 1)/2 = 1.
    assert_eq!(of("", ROCE).communication, Time::from_us(720));
    assert_eq!(of("planes = 2\n", uec).communication, Time::from_us(360));
    let inside = of("scale_up = { rate = \"800Gbps\", delay = \"0.5us\" }\n", ROCE);
    assert!(inside.took().is_some());
    assert_eq!((inside.communication, inside.ratio(), inside.overlap()), (Time::ZERO, None, None));
}

/// A decode rank's NIC takes what two prefill ranks send. Two rings leave a server by a NIC each, and a step of training
/// computes while it sends: both are done before 8·S·f/B, or that and the computing one after the other, would be.
#[test]
fn nothing_is_below_the_roofline() {
    let caches = run(&text(4, "kind = \"kv-cache\", prefill = 2, decode = 1, size = \"9MB\"")).iterations[0];
    assert_eq!(caches.communication, Time::from_us(1440));
    near(caches.took().expect("it is done"), caches.roofline(), "two caches into one NIC");

    let rails = "kind = \"rail-optimised\"\nservers = 2\naccelerators = 2\nscale_up = { rate = \"800Gbps\", delay = \"0.5us\" }\n";
    let rings = "kind = \"collective\", operation = \"all-reduce\", algorithm = \"rail-ring\", channels = 2, size = \"9MB\"";
    let rings = text(4, rings).replace("kind = \"rack\"\nhosts = 4", rails).replace(NDP, ROCE);
    let rings = run(&rings).iterations[0];
    assert_eq!(rings.communication, Time::from_us(540));
    assert!(rings.took().expect("it is done") < Time::from_us(1080));
    assert!(rings.ratio().expect("it is done") >= 1.0);

    let training = "kind = \"training\", data = 4, layers = 8, forward = \"300us\", activations = \"1KB\", gradients = \"6MB\"";
    let training = job(4, training).iterations[0];
    assert!(training.ratio().expect("it is done") >= 1.0);
    assert!(training.took().expect("it is done") < training.compute + training.communication);
}

#[test]
fn operations_are_of_the_network_that_their_ranks_need() {
    let of = |ranks: u32, more: &str| {
        let arrivals =
            format!("kind = \"collective\", operation = \"all-reduce\", size = \"9MB\", ranks = {ranks}");
        let rails = format!("kind = \"rail-optimised\"\nservers = 2\naccelerators = 2\n{more}");
        let rails = text(4, &arrivals).replace("kind = \"rack\"\nhosts = 4", &rails).replace(NDP, ROCE);
        run(&rails).jobs[0].network()
    };
    let scale_up = "scale_up = { rate = \"800Gbps\", delay = \"0.5us\" }\n";
    assert_eq!([of(2, scale_up), of(4, scale_up), of(2, "")], ["scale-up", "fabric", "fabric"]);
}

#[test]
fn computations_at_once_count_once() {
    write_file(
        "jobs-at-once.goal",
        "num_ranks 2\nrank 0 {\ncalc 3000 cpu 0\ncalc 2000 cpu 1\nsend 8b to 1 tag 0\n}\n\
         rank 1 {\nrecv 8b from 0 tag 0\n}\n",
    );
    let outcome = job(8, "kind = \"goal\", file = \"jobs-at-once.goal\"");
    assert_eq!(outcome.iterations[0].compute, Time::from_us(3));
}

#[test]
fn parts_that_can_not_be_numbered_or_have_no_effect_are_refused() {
    let message = |hosts: u32, arrivals: &str| {
        let case = cases(&text(hosts, arrivals)).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        format!("{}: {}", complaint.key, complaint.message)
    };
    let rings =
        "kind = \"collective\", operation = \"all-reduce\", algorithm = \"rail-ring\", size = \"8MB\"";
    assert_eq!(
        message(4096, &format!("{rings}, server = 4096, channels = 1024, chunks = 1024")),
        "workload[0].arrivals.algorithm: all-reduce has more parts than can be numbered; write fewer channels or chunks"
    );
}

#[test]
fn models_that_plan_ahead_refuse_jobs_before_they_run() {
    let job = text(8, "kind = \"collective\", operation = \"all-reduce\", size = \"1MB\"");
    for scheme in [
        "transport = \"ideal\"",
        "transport = \"max-min\"",
        "transport = \"syn\"\nrouting = \"controller\"\nqueue = \"drop-tail\"",
    ] {
        let case = cases(&job.replace(NDP, scheme)).remove(0);
        let complaint = Simulation::new(case).expect_err("a mistake");
        assert!(complaint.message.contains("flows that wait for others"), "{scheme}: {}", complaint.message);
    }
}

/// Eight servers of four accelerators on four rails, 100 Gb/s each, and 800 Gb/s inside servers.
const RAILS: &str = "kind = \"rail-optimised\"\nservers = 8\naccelerators = 4\nservers_per_rail_switch = 8\n\
                     scale_up = { rate = \"800Gbps\", delay = \"0.5us\" }";

const ROCE: &str = "transport = { kind = \"roce\", mss = \"9000B\", header = \"64B\", ack_class = 0 }\n\
                    queue = { kind = \"shared-buffer\", buffer = \"64MB\" }";

#[test]
fn a_hierarchical_all_reduce_on_rails_takes_the_sum_of_its_levels() {
    let arrivals =
        "kind = \"collective\", operation = \"all-reduce\", algorithm = \"hierarchical\", size = \"115.2MB\"";
    // Senders at the rate of the link that they use: a receiver would pull at its NIC's.
    let rails = text(32, arrivals).replace("kind = \"rack\"\nhosts = 32", RAILS).replace(NDP, ROCE);
    let outcome = run(&rails);
    // Inside: three of four parts leave over one link at 800 Gb/s, 9064 B in 90.64 ns; twice.
    let parts = (3 * 28_800_000_u64).div_ceil(9_000);
    let inside = Time(90_640).times(parts) + Time(90_640) + Time::from_us(1);
    // Between servers: a ring of eight on a quarter.
    let between = message(28_800_000 / 8).times(2 * 7);
    near(took(&outcome), inside.times(2) + between, "two levels");
    // Which ranks share a server follows from the placement, in whatever order they are.
    for order in ["order = \"by-rail\"", "placement = [PLACES]"] {
        let places: Vec<String> = (0..32).map(|rank| (rank * 13 % 32).to_string()).collect();
        let order = order.replace("PLACES", &places.join(", "));
        let other = run(&rails.replace("size = ", &format!("{order}, size = ")));
        assert_eq!(took(&other), took(&outcome), "{order}");
    }
    // Four rings, of a quarter each, leave servers by another NIC, which one ring has for itself. A queue pair sends its
    // messages one after the other. They come to it faster than they leave, as links inside are faster: the NIC sends all
    // 62, of 100 packets, without a gap.
    let rings = rails
        .replace("hierarchical", "rail-ring")
        .replace("ack_class = 0", "ack_class = 0, connections = \"in-order\"");
    let by_rail = run(&rings.replace("\"rail-ring\"", "\"rail-ring\", order = \"by-rail\""));
    let rings = run(&rings);
    near(took(&rings), Time(725_120).times(100 * 2 * 31), "rings over all NICs");
    assert_eq!(rings.flows.len(), 4 * 32 * 2 * 31);
    assert_eq!(took(&by_rail), took(&rings));
    // Two servers have four of nine ranks each, and another one.
    let few = rails.replace("size = ", "ranks = 9, size = ");
    let refused = Simulation::new(cases(&few).remove(0)).map(|_| ()).expect_err("one server has one rank");
    assert!(
        refused
            .message
            .contains("hierarchical needs equally many ranks of a group in each server; write ranks")
    );
    // The rail's switch carried nothing of what stayed inside.
    let bytes: u64 = outcome
        .flows
        .iter()
        .filter(|row| row.flow.src / 4 == row.flow.dst / 4)
        .map(|row| row.flow.size_bytes)
        .sum();
    assert_eq!(bytes, 32 * 2 * 3 * 28_800_000);
}

/// Two jobs of three hosts each across a link of a host's rate, or each on a switch of its own.
fn beside(first: &str, second: &str, rest: &str) -> String {
    let job = |placement: &str, repeat: u32| {
        format!(
            "[[workload]]\narrivals = {{ kind = \"collective\", operation = \"all-to-all\", size = \"900KB\", \
             ranks = 3, repeat = {repeat}, placement = {placement} }}\n"
        )
    };
    let second = if second.is_empty() { String::new() } else { job(second, 4) };
    format!(
        "[topology]\nkind = \"dumbbell\"\nleft = 3\nright = 3\nlink = {{ rate = \"100Gbps\", delay = \"1us\" }}\n\n\
         {}{second}[[scheme]]\nname = \"any\"\ntransport = \"dctcp\"\n\
         queue = {{ kind = \"ecn\", mark_above = \"100KB\" }}\n\n{rest}",
        job(first, 2)
    )
}

#[test]
fn a_job_by_itself_is_the_scenario_with_no_other() {
    const ALONE: &str = "[measure]\nalone = true\n";
    let times = |outcome: &Outcome| -> Vec<_> {
        let own = outcome.iterations.iter().filter(|row| row.source == 0);
        own.map(|row| (row.start, row.took().expect("it is done"))).collect()
    };
    let only = run(&beside("[0, 1, 3]", "", ""));
    let shared = run(&beside("[0, 1, 3]", "[2, 4, 5]", ALONE));
    let alone: Vec<_> = shared.iterations.iter().filter(|row| row.source == 0).map(|row| row.alone).collect();
    assert_eq!(alone, times(&only).into_iter().map(Some).collect::<Vec<_>>());
    let factors = |outcome: &Outcome| -> Vec<f64> {
        outcome.iterations.iter().map(|row| row.interference().expect("it was measured")).collect()
    };
    assert_eq!(factors(&shared).len(), 2 + 4);
    assert!(factors(&shared)[..2].iter().all(|&factor| factor > 1.2), "{:?}", factors(&shared));
    let apart = run(&beside("[0, 1, 2]", "[3, 4, 5]", ALONE));
    assert!(factors(&apart).iter().all(|&factor| factor == 1.0), "{:?}", factors(&apart));
    // What is measured beside changes nothing of the case itself.
    let without = run(&beside("[0, 1, 3]", "[2, 4, 5]", ""));
    assert_eq!((fingerprint(&without.flows), without.tally), (fingerprint(&shared.flows), shared.tally));
    assert_eq!(times(&without), times(&shared));
    // Of what is in the background nothing is asked.
    let background = beside("[0, 1, 3]", "[2, 4, 5]", ALONE).replacen(
        "[[workload]]\narrivals",
        "[[workload]]\nbackground = true\narrivals",
        1,
    );
    let rows = run(&background).iterations;
    assert!(rows.iter().all(|row| row.alone.is_some() == (row.source == 1)), "{rows:?}");
}

#[test]
fn alone_where_nothing_is_beside_a_job_is_refused() {
    let refused = |text: &str| {
        let case = cases(text).remove(0);
        let complaint = Simulation::new(case).expect_err("it means nothing");
        (complaint.key, complaint.message)
    };
    let (key, message) = refused(&beside("[0, 1, 3]", "", "[measure]\nalone = true\n"));
    assert_eq!(key, "measure.alone");
    assert_eq!(message, "the job is alone anyway; leave this out, or write a second [[workload]]");
    let flows = "[[workload]]\nsizes = \"web-search\"\narrivals = \"at-once\"\n\n";
    let text = text(8, "").replace("[[workload]]\narrivals = {  }\n", &flows.repeat(2));
    let (_, message) = refused(&text.replace("operations", "alone"));
    assert_eq!(message, "the case waits for no job; leave this out");
}
