//! What NCCL's channels send, carried out by walkers on a network without contention, whose latency is 1 us; a byte takes
//! 1 ns.

use super::tests::{collective, execute, execute_late, settings, took};
use super::*;
use crate::job::{Collective, Program, Rank};
use crate::nccl::{Algorithm as How, GRANT_BYTES, Protocol, Wishes};
use crate::random::{Purpose, Stream};
use crate::units::Rate;
use library::Nccl;

fn by(algorithm: How, protocol: Protocol) -> Wishes {
    Wishes { algorithm: Some(algorithm), protocol: Some(protocol) }
}

/// Ranks on servers of so many.
fn on_servers(ranks: u32, server: u32, library: Nccl) -> Settings {
    let servers = Some((0..ranks).map(|rank| rank / server).collect());
    Settings { library: Some(library), servers, ..settings(ranks) }
}

/// Sixteen chunks of 512 KiB along a chain of three servers: eight may be under way, and the other eight follow what
/// comes back of the first.
#[test]
fn a_buffer_is_free_when_its_message_is_acknowledged_or_when_its_receiver_says_so() {
    let (chunk, latency) = (524_288, 1_000);
    let takes = |cost_us: u64, has_grants: bool| {
        let simple = by(How::Ring, Protocol::Simple);
        let library = Nccl::sent(simple, Time::from_us(cost_us), has_grants);
        let (spans, flows) =
            execute(collective(Collective::Broadcast, 3, 16 * chunk), on_servers(3, 1, library));
        let grants = flows.iter().filter(|flow| flow.size_bytes == GRANT_BYTES).count();
        assert_eq!((flows.len() - grants, grants), (32, if has_grants { 32 } else { 0 }));
        took(&spans)
    };
    let passes = |cost_us: u64| 3 * (latency + chunk) + 2 * 1_000 * cost_us;
    assert_eq!(takes(0, false), passes(0) + latency);
    assert_eq!(takes(0, true), passes(0) + latency + GRANT_BYTES);
    // What the receiver takes for a chunk it takes before it grants its buffer.
    assert_eq!(takes(100, false), passes(100) + latency);
    assert_eq!(takes(100, true), passes(100) + 100_000 + latency + GRANT_BYTES);
}

/// Two ranks gather 1 MiB of each other in two slices; threads take 1 ns for a byte, as the network does.
#[test]
fn threads_send_and_take_one_slice_after_the_other() {
    let (slice, latency) = (524_288, 1_000);
    let takes = |server: u32, protocol: Protocol| {
        let library = Nccl::sent(by(How::Ring, protocol), Time::ZERO, false).with_threads(Rate::from_gbps(8));
        took(&execute(collective(Collective::AllGather, 2, 4 * slice), on_servers(2, server, library)).0)
    };
    // Written to a buffer, sent by the NIC while the next is written, and taken while that is under way.
    assert_eq!(takes(1, Protocol::Simple), 4 * slice + latency);
    // Written to the neighbour, who acknowledges each before the next; then both are taken.
    assert_eq!(takes(2, Protocol::Simple), 4 * slice + 2 * 2 * latency);
    // A MiB is 32 chunks of LL, 64 KiB on the wire: each is written, is on the wire behind that, and is taken.
    let chunk = 65_536;
    assert_eq!(takes(2, Protocol::Ll), 32 * (3 * chunk + latency));
}

#[test]
fn operations_with_grants_end_whatever_is_late() {
    use Collective::{AllGather, AllReduce, AllToAll, Broadcast, Reduce, ReduceScatter};
    for (ranks, server) in [(2, 1), (12, 4), (6, 1), (16, 8)] {
        for operation in [AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll] {
            for (algorithm, protocol) in
                [(How::Ring, Protocol::Ll), (How::Ring, Protocol::Simple), (How::Tree, Protocol::Ll)]
            {
                if algorithm == How::Tree && operation != AllReduce {
                    continue;
                }
                for seed in 0..3 {
                    let mut random = Stream::new(seed, Purpose::Transport, ranks.into());
                    let late = || Time::from_ns(u64::from(random.below(4) / 3 * 90_000));
                    let library = Nccl::sent(by(algorithm, protocol), Time::from_us(2), true);
                    let settings = Settings { repeat: 2, ..on_servers(ranks, server, library) };
                    // Buffers are used several times.
                    execute_late(collective(operation, ranks, 1_500_000), settings, late);
                }
            }
        }
    }
}

/// Ranks on servers of so many, whose switches have nodes that reduce.
fn with_nodes(ranks: u32, server: u32, bytes: u64, library: Nccl) -> (Program, Settings) {
    let Settings { mut hosts, servers, .. } = on_servers(ranks, server, library.clone());
    let (count, mut servers) = (ranks / server, servers.expect("they have some"));
    servers.extend(0..count);
    hosts.extend((0..count).map(|node| 1_000 + node));
    let mut program = collective(Collective::AllReduce, ranks, bytes);
    program.ranks.extend((0..count).map(|_| Rank::default()));
    let settings = Settings {
        hosts,
        servers: Some(servers),
        library: Some(library),
        nodes_from: Some(ranks),
        ..settings(ranks)
    };
    (program, settings)
}

/// 1 MiB by 16 channels and eight heads: a chunk of 8 KiB for each, which takes four hops of 1 us and 8,192 ns each.
#[test]
fn an_all_reduce_by_a_switch_takes_four_hops() {
    let library = Nccl::by_switches(1, (Time::ZERO, Time::ZERO), false);
    let (program, settings) = with_nodes(8, 8, 1 << 20, library);
    let (spans, flows) = execute(program, settings);
    assert_eq!(took(&spans), 4 * (1_000 + 8_192));
    // Contributions, sums, results, and results to all.
    assert_eq!(flows.len(), 16 * 8 * (8 + 1 + 1 + 8));
    // What a head takes for a sum, and a rank for a result; a node takes nothing.
    let (program, settings) =
        with_nodes(8, 8, 1 << 20, Nccl::by_switches(1, (Time::from_us(3), Time::ZERO), false));
    assert_eq!(took(&execute(program, settings).0), 4 * (1_000 + 8_192) + 2 * 3_000);
    // Two servers: up to the root and down from it, with what the network costs.
    let (program, settings) =
        with_nodes(16, 8, 1 << 20, Nccl::by_switches(2, (Time::from_us(3), Time::from_us(10)), false));
    assert_eq!(took(&execute(program, settings).0), 6 * (1_000 + 8_192) + 2 * 3_000 + 2 * 10_000);
}

#[test]
fn operations_by_switches_end_whatever_is_late() {
    for (ranks, server, has_grants) in [(4, 4, false), (8, 4, true), (24, 8, true), (20, 4, false)] {
        for seed in 0..3 {
            let mut random = Stream::new(seed, Purpose::Transport, ranks.into());
            let late = || Time::from_ns(u64::from(random.below(4) / 3 * 90_000));
            let costs = (Time::from_us(3), Time::from_us(10));
            let library = Nccl::by_switches(ranks / server, costs, has_grants);
            // Each channel's share of a head is several chunks.
            let (program, settings) = with_nodes(ranks, server, 40 << 20, library);
            execute_late(program, Settings { repeat: 2, ..settings }, late);
        }
    }
}
