//! Critical paths add up to what jobs took, and name who waited for what.

use crate::common::{run, write_file};
use packetloom::simulation::{Outcome, PathRow, Spent};
use packetloom::units::Time;

const NDP: &str =
    "transport = { kind = \"ndp\", pull_rate = 1.0 }\nqueue = \"ndp\"\nrouting = \"permutation\"";

const RACK: &str = "kind = \"rack\"\nhosts = 8\nlink = { rate = \"100Gbps\", delay = \"1us\" }";
const TREE: &str = "kind = \"fat-tree\"\nk = 4\nlink = { rate = \"100Gbps\", delay = \"1us\" }";

fn job(topology: &str, arrivals: &str, scheme: &str) -> Outcome {
    let outcome = run(&format!(
        "[topology]\n{topology}\n\n[[workload]]\narrivals = {{ {arrivals} }}\n\n\
         [[scheme]]\nname = \"any\"\n{scheme}\n\n[measure]\noperations = true\n"
    ));
    // Rings in which a rank is late are among what paths must add up for.
    let others: Vec<_> = outcome.warnings.iter().filter(|one| !one.contains("a rank was late")).collect();
    assert!(others.is_empty(), "{others:?}");
    outcome
}

/// Every part of a repetition's path begins when the one before it ended, and together they are all of it.
fn check_whole(outcome: &Outcome, what: &str) {
    for iteration in &outcome.iterations {
        let is_own = |row: &&PathRow| (row.source, row.iteration) == (iteration.source, iteration.iteration);
        let path: Vec<&PathRow> = outcome.critical_path.iter().filter(is_own).collect();
        assert_eq!(path.first().expect("a path").start, iteration.start, "{what}: {path:#?}");
        assert_eq!(path.last().expect("a path").end, iteration.end, "{what}");
        assert!(path.windows(2).all(|pair| pair[0].end == pair[1].start), "{what}: {path:#?}");
        assert!(path.iter().all(|row| row.start < row.end), "{what}");
        assert!(path.iter().zip(0..).all(|(row, step)| row.step == step), "{what}");
    }
}

fn spent(outcome: &Outcome, on: Spent) -> Time {
    let own = outcome.critical_path.iter().filter(|row| row.spent == on);
    own.fold(Time::ZERO, |sum, row| sum + (row.end - row.start))
}

#[test]
fn the_parts_add_up_for_every_kind_of_job() {
    write_file(
        "path-any.goal",
        "num_ranks 4\nrank 0 {\nc: calc 2000\ns: send 9000b to 1 tag 0\ns requires c\nr: recv 9000b from 3 tag 0\n\
         d: calc 10\nd requires r\n}\nrank 1 {\nr: recv 9000b from 0 tag 0\ns: send 20000b to 2 tag 1\ns requires r\n}\n\
         rank 2 {\nc: calc 1000\nr: recv 20000b from 1 tag 1\nr requires c\ns: send 5b to 3 tag 0\ns irequires r\n}\n\
         rank 3 {\nr: recv 5b from 2 tag 0\ns: send 9000b to 0 tag 0\ns requires r\n}\n",
    );
    for arrivals in [
        "kind = \"training\", tensor = 2, pipeline = 2, data = 4, experts = 2, layers = 4, microbatches = 3, forward = \"5us\", activations = \"30KB\", gradients = \"50KB\", sharded = true, order = \"random\", repeat = 2",
        "kind = \"moe\", experts = 32, tokens = 32, bytes_per_token = \"1KB\", skew = 1, layers = 2, compute = \"3us\", repeat = 2",
        "kind = \"kv-cache\", prefill = 3, decode = 2, requests = 4, size = \"900KB\", messages = 2, prefill_time = \"100us\", decode_time = \"10us\"",
        "kind = \"goal\", file = \"path-any.goal\", repeat = 3",
        "kind = \"goal\", file = \"path-any.goal\", send_cost = \"100ns\", receive_cost = \"50ns\", repeat = 3",
        "kind = \"collective\", operation = \"all-reduce\", algorithm = \"tree\", size = \"1000003B\", chunks = 5, channels = 2, repeat = 2",
        "kind = \"collective\", operation = \"all-reduce\", algorithm = \"halving-doubling\", size = \"1000003B\", send_cost = \"1us\"",
        "kind = \"collective\", operation = \"broadcast\", size = \"1000003B\", chunks = 9",
        "kind = \"collective\", operation = \"all-to-all\", algorithm = \"hierarchical\", server = 4, size = \"1000003B\"",
        "kind = \"collective\", operation = \"all-to-all\", algorithm = \"in-turn\", size = \"1000003B\"",
        "kind = \"collective\", operation = \"barrier\", repeat = 3, send_cost = \"1us\", receive_cost = \"1us\"",
    ] {
        check_whole(&job(TREE, arrivals, NDP), arrivals);
        check_whole(&job(TREE, arrivals, "transport = \"dctcp\"\nqueue = \"ecn\""), arrivals);
    }
}

#[test]
fn a_ring_is_a_chain_of_messages_around_it() {
    let arrivals = "kind = \"collective\", operation = \"all-reduce\", size = \"72KB\"";
    let outcome = job(RACK, arrivals, NDP);
    assert_eq!(outcome.critical_path.len(), 14);
    for (row, next) in outcome.critical_path.iter().zip(&outcome.critical_path[1..]) {
        let message = row.message.expect("nothing else takes time");
        assert_eq!((row.spent, message.from, message.bytes), (Spent::Message, (row.rank + 7) % 8, 9_000));
        assert_eq!(next.message.expect("another").from, row.rank);
        // One packet on two links that are idle but for an acknowledgement and a pull of 64 B.
        let waited = (row.end - row.start).since(message.alone);
        assert!(waited <= Time(5_120).times(2), "{waited}");
    }
    // Seven eighths of 72 KB, twice, cross each host's link in either direction: 14 packets of 9064 B.
    let bound = outcome.jobs[0].bound.expect("operations are measured");
    assert_eq!((bound.takes, bound.alike), (Time(725_120).times(14), 16));
}

#[test]
fn costs_of_messages_are_told_from_the_network() {
    write_file(
        "path-chain.goal",
        "num_ranks 3\nrank 0 {\ns: send 8b to 1 tag 0\n}\nrank 1 {\nr: recv 8b from 0 tag 0\nc: calc 700\n\
         c requires r\ns: send 8b to 2 tag 0\ns requires c\n}\nrank 2 {\nr: recv 8b from 1 tag 0\n}\n",
    );
    let arrivals =
        "kind = \"goal\", file = \"path-chain.goal\", send_cost = \"1.5us\", receive_cost = \"0.5us\"";
    let outcome = job(RACK, arrivals, NDP);
    // 72 B take 5.76 ns on each of two links, with 1 us each.
    assert_eq!(spent(&outcome, Spent::Message), Time(2_011_520).times(2));
    assert_eq!(spent(&outcome, Spent::Host), Time::from_us(4));
    assert_eq!(spent(&outcome, Spent::Compute), Time::from_ns(700));
    let ranks: Vec<u32> = outcome.critical_path.iter().map(|row| row.rank).collect();
    assert_eq!(ranks, [0, 1, 1, 1, 1, 2, 2]);
}

#[test]
fn the_link_that_holds_messages_back_is_named() {
    // Two leaves of four hosts; four flows at once share the only link up from the first.
    let narrow = "kind = \"leaf-spine\"\nleaves = 2\nspines = 1\nhosts_per_leaf = 4\n\
                  link = { rate = \"100Gbps\", delay = \"1us\" }";
    let arrivals =
        "kind = \"collective\", operation = \"all-to-all\", algorithm = \"direct\", size = \"8MB\"";
    let outcome =
        job(narrow, arrivals, "transport = \"dctcp\"\nqueue = { kind = \"ecn\", capacity = \"1MB\" }");
    let link = |link: u32| outcome.topology.link_name(link);
    let bound = outcome.jobs[0].bound.expect("operations are measured");
    // Four hosts send 1 MB to each of four beyond the link: 16 MB and their headers.
    let payload = Time(16 * 80_000_000);
    assert!(payload < bound.takes && bound.takes < Time(payload.as_ps() * 11 / 10), "{}", bound.takes);
    assert_eq!(bound.alike, 4, "from and to each leaf");
    let path = &outcome.critical_path;
    let last = path.last().and_then(|row| row.message).and_then(|message| message.busiest);
    let (busiest, share) = last.expect("a message");
    assert!(link(busiest).contains("leaf") && link(busiest).contains("spine"), "{}", link(busiest));
    assert!((0.8..1.01).contains(&share), "{share}");
}

#[test]
fn who_is_late_is_named() {
    write_file(
        "path-late.goal",
        "num_ranks 3\nrank 0 {\nc: calc 1000\n}\nrank 1 {\nc: calc 9000\n}\nrank 2 {\nc: calc 2000\n}\n",
    );
    let outcome = job(RACK, "kind = \"goal\", file = \"path-late.goal\"", NDP);
    let computed: Vec<u64> = outcome.ranks.iter().map(|row| row.computed.as_ps() / 1_000).collect();
    assert_eq!(computed, [1_000, 9_000, 2_000]);
    let path = &outcome.critical_path;
    assert_eq!((path.len(), path[0].rank, path[0].spent), (1, 1, Spent::Compute));
    // Experts that have more tokens compute longer, so that their rank is the last in what comes next.
    let arrivals =
        "kind = \"moe\", experts = 8, tokens = 64, bytes_per_token = \"1KB\", skew = 1, compute = \"50us\"";
    let outcome = job(RACK, arrivals, NDP);
    let last = outcome.ranks.iter().max_by_key(|row| row.delayed).expect("ranks");
    let on_path = outcome.critical_path.iter().find(|row| row.spent == Spent::Compute).expect("it computes");
    assert!(last.last_in > 0 && last.rank == on_path.rank, "{last:?} {on_path:?}");
}
