//! The library's arithmetic by numbers worked out elsewhere.

use super::*;
use crate::job::Collective;
use crate::job::Collective::{AllGather, AllReduce, Broadcast, ReduceScatter};

/// So many Hopper servers of eight, with a 400 Gb/s NIC for each accelerator.
fn hoppers(servers: u32) -> Machine {
    Machine {
        generation: Generation::Hopper,
        cpu: Cpu::Intel,
        inside: Inside::NvLink,
        nvlinks: None,
        ranks: 8 * servers,
        servers,
        nics: 8,
        nic_gbytes: 50.0,
        has_nvls: true,
        has_pat: true,
        min_channels: 1,
        max_channels: 64,
    }
}

fn of(machine: &Machine, operation: Collective, bytes: u64, how: (Algorithm, Protocol)) -> Estimate {
    let all = estimates(operation, bytes, machine, &Graphs::of(machine));
    *all.iter().find(|one| (one.algorithm, one.protocol) == how).expect("it is done so")
}

fn close(one: f64, other: f64) {
    assert!((one - other).abs() < 1e-9, "{one} {other}");
}

const TREE_LL: (Algorithm, Protocol) = (Algorithm::Tree, Protocol::Ll);
const RING_SIMPLE: (Algorithm, Protocol) = (Algorithm::Ring, Protocol::Simple);

#[test]
fn latencies_are_those_worked_out_by_hand() {
    close(of(&hoppers(2), AllReduce, 4_096, TREE_LL).latency_us, 6.8 + 2.0 * (7.0 * 0.6 + 5.0));
    close(of(&hoppers(2), AllReduce, 4_096, TREE_LL).latency_us, 25.2);
    close(of(&hoppers(2), AllGather, 1 << 20, RING_SIMPLE).latency_us, 70.0);
    // 64 B for each channel and rank at least have the ring's plateau.
    close(of(&hoppers(2), AllReduce, 16 * 16 * 64 - 1, RING_SIMPLE).latency_us, 131.6);
    close(of(&hoppers(2), AllReduce, 16 * 16 * 64, RING_SIMPLE).latency_us, 131.6 * 1.4);
    close(of(&hoppers(128), AllGather, 1 << 20, RING_SIMPLE).latency_us, 4_832.8);
    close(of(&hoppers(16), AllReduce, 8, TREE_LL).latency_us, 55.2);
}

/// NVIDIA/nccl issue 1453: what the library printed on three servers of eight H100 (its ring of 24 ranks is in the same
/// log; three servers have a tree as deep as two, and LL's bound of more than two).
#[test]
fn a_log_of_three_servers_is_met_to_its_digits() {
    let logged = [(2_048, 25.495_272), (4_096, 25.874_907), (8_192, 26.549_810)];
    for (bytes, time_us) in logged {
        let choice = choose(AllReduce, bytes, Wishes::default(), &hoppers(3), &Graphs::of(&hoppers(3)));
        let choice = choice.expect("it is done");
        assert_eq!((choice.best.algorithm, choice.best.protocol), TREE_LL);
        // The library counts in single precision.
        assert!((choice.best.time_us - time_us).abs() < 1e-5, "{} {time_us}", choice.best.time_us);
    }
    let gbytes = of(&hoppers(3), AllReduce, 4_096, TREE_LL).gbytes;
    assert!((gbytes - 6.069).abs() < 1e-9, "{gbytes}");
}

/// Shares of a bus bandwidth by the ring's latency alone: share = 0.96 T / (latency + T), T = S (n - 1) / n / 388 GB/s.
#[test]
fn shares_of_a_bus_bandwidth_follow_from_latencies() {
    let share = |servers: u32, bytes: u64| {
        let machine = hoppers(servers);
        let ranks = f64::from(machine.ranks);
        let moved_us = bytes as f64 * (ranks - 1.0) / ranks / 388e3;
        0.96 * moved_us / (of(&machine, AllGather, bytes, RING_SIMPLE).latency_us + moved_us)
    };
    let (mib, gib) = (1_u64 << 20, 1_u64 << 30);
    let cells = [
        (2, 64 * mib, "0.671"),
        (2, 256 * mib, "0.866"),
        (8, 16 * mib, "0.120"),
        (32, gib, "0.668"),
        (128, 16 * mib, "0.0085"),
        (128, 4 * gib, "0.668"),
    ];
    for (servers, bytes, expected) in cells {
        let digits = expected.len() - 2;
        assert_eq!(format!("{:.digits$}", share(servers, bytes)), expected);
    }
}

#[test]
fn channels_are_those_of_known_machines() {
    let found = |machine: &Machine| {
        let graphs = Graphs::of(machine);
        (graphs.ring.channels, graphs.ring.intra, graphs.channels)
    };
    let one = |generation| Machine { generation, ranks: 8, servers: 1, ..hoppers(1) };
    // Logs of single servers have 24 channels on A100 and H100.
    assert_eq!(found(&one(Generation::Ampere)), (12, 20.0, 24));
    assert_eq!(found(&one(Generation::Hopper)), (12, 30.0, 24));
    assert_eq!(found(&one(Generation::Blackwell)), (16, 45.0, 32));
    // Of four A100 that are joined in pairs, without switches, two have 4 of 12 NVLinks for each other: 80 GB/s.
    let pair = Machine { ranks: 2, nvlinks: Some(4), has_nvls: false, ..one(Generation::Ampere) };
    assert_eq!(found(&pair), (4, 20.0, 8));
    // Six of 18 NVLinks: 123.6 GB/s, two of 60; eleven of 11 would be more, and are not tried.
    let pair = Machine { ranks: 2, nvlinks: Some(6), has_nvls: false, ..one(Generation::Hopper) };
    assert_eq!(found(&pair), (4, 30.0, 8));
    assert_eq!(found(&hoppers(2)), (8, 48.0, 16));
    // Two NICs: each ring is two, and each of those is used twice.
    assert_eq!(found(&Machine { nics: 2, ..hoppers(2) }), (4, 24.0, 8));
    // 100 Gb/s: one channel of 12 for each NIC.
    let slow = Machine { nic_gbytes: 12.5, generation: Generation::Ampere, ..hoppers(2) };
    assert_eq!(found(&slow), (8, 12.0, 16));
    assert_eq!(found(&Machine { max_channels: 4, ..hoppers(2) }).2, 4);
    assert_eq!(found(&Machine { min_channels: 32, ..hoppers(2) }).2, 32);
}

#[test]
fn what_is_chosen_changes_with_size_and_machine() {
    let chosen = |machine: &Machine, operation, bytes| {
        let choice =
            choose(operation, bytes, Wishes::default(), machine, &Graphs::of(machine)).expect("done");
        (choice.best.algorithm.name(), choice.best.protocol.name(), choice.channels)
    };
    assert_eq!(chosen(&hoppers(2), AllReduce, 8), ("tree", "ll", 1));
    assert_eq!(chosen(&hoppers(2), AllReduce, 1 << 30), ("nvls-tree", "simple", 16));
    assert_eq!(chosen(&hoppers(1), AllReduce, 1 << 30), ("nvls", "simple", 16));
    assert_eq!(chosen(&hoppers(2), AllGather, 1 << 30), ("ring", "simple", 16));
    let without = Machine { has_nvls: false, ..hoppers(2) };
    // Two servers: a tree crosses once, so its bus bandwidth is more than the NIC's.
    assert_eq!(chosen(&without, AllReduce, 1 << 30).1, "simple");
    let single = Machine { ranks: 64, servers: 64, nics: 1, ..hoppers(64) };
    assert_eq!(chosen(&single, AllGather, 8).0, "pat");
    assert_eq!(chosen(&Machine { has_pat: false, ..single }, AllGather, 8).0, "ring");
    // No LL128 over PCIe.
    let pcie = Machine { inside: Inside::Pcie, has_nvls: false, ..hoppers(1) };
    let all = estimates(AllReduce, 1 << 20, &pcie, &Graphs::of(&pcie));
    assert!(!all.is_empty() && all.iter().all(|one| one.protocol != Protocol::Ll128));
    let wish = Wishes { algorithm: Some(Algorithm::Nvls), protocol: None };
    assert_eq!(choose(AllReduce, 8, wish, &hoppers(2), &Graphs::of(&hoppers(2))), None);
}

#[test]
fn a_ring_has_as_many_messages_and_bytes_as_worked_out() {
    let (ranks, channels, bytes) = (16, 16, 1_u64 << 30);
    let pieces = Pieces::of(AllReduce, RING_SIMPLE, (bytes, channels), (ranks, 2));
    let each = bytes / u64::from(channels);
    let loops = pieces.loops(each);
    assert_eq!((loops, pieces.slices, pieces.depth), (2, 2, 4));
    let steps = 2 * (ranks - 1);
    assert_eq!(loops * steps * pieces.slices * channels, 1_920);
    let of_chunk = |nth: u32, chunk: u32| {
        let data = pieces.chunk(each, nth, chunk);
        (0..pieces.slices).map(|slice| pieces.slice(data, slice)).sum::<u64>()
    };
    assert_eq!(pieces.slice(pieces.chunk(each, 1, 15), 1), 1 << 20);
    let of_loop = |nth| (0..ranks).map(|chunk| of_chunk(nth, chunk)).sum::<u64>();
    let all: u64 = (0..loops).map(of_loop).sum::<u64>() * u64::from(channels);
    assert_eq!(all, bytes);
    // Each rank passes on (n - 1) / n of everything, twice: 1.875 GiB.
    assert_eq!(all / u64::from(ranks) * u64::from(steps), 15 * (1 << 27));
}

#[test]
fn chunks_of_any_size_are_whole_and_flags_add_what_they_do() {
    for bytes in [1, 15, 16, 1_000, 65_537, 40 << 20, (40 << 20) + 3] {
        for protocol in [Protocol::Ll, Protocol::Ll128, Protocol::Simple] {
            for (operation, ranks) in [(AllGather, 7), (ReduceScatter, 8), (Broadcast, 3)] {
                let how = (Algorithm::Ring, protocol);
                let pieces = Pieces::of(operation, how, (bytes, 1), (ranks, 1));
                let chunks = (0..pieces.loops(bytes))
                    .flat_map(|nth| (0..pieces.chunks_per_loop).map(move |chunk| (nth, chunk)));
                let data: Vec<u64> = chunks.map(|(nth, chunk)| pieces.chunk(bytes, nth, chunk)).collect();
                assert_eq!(data.iter().sum::<u64>(), bytes);
            }
        }
    }
    let wire = |protocol| {
        let pieces = Pieces::of(AllGather, (Algorithm::Ring, protocol), (1 << 30, 1), (8, 1));
        (pieces.chunk_bytes, pieces.slice(pieces.chunk_bytes, 0))
    };
    assert_eq!(wire(Protocol::Ll), (32_768, 65_536));
    assert_eq!(wire(Protocol::Ll128), (576_000, 614_400));
    assert_eq!(wire(Protocol::Simple), (2 << 20, 1 << 20));
    // 40 KiB: 32 KiB, a 32nd of two steps, and the rest; below that the second slice is empty.
    let pieces = Pieces::of(AllReduce, RING_SIMPLE, (1 << 30, 1), (8, 1));
    assert_eq!([0, 1].map(|nth| pieces.slice(40 << 10, nth)), [32 << 10, 8 << 10]);
    assert_eq!([0, 1].map(|nth| pieces.slice(10 << 10, nth)), [10 << 10, 1]);
}

/// By 16 channels and 8 heads, 16 MiB are together.
#[test]
fn chunks_of_switches_that_reduce_are_smaller_where_they_would_be_few() {
    let chunk = |is_tree, mib: u64, servers| {
        Pieces::switched(is_tree, mib << 20, (16, 8), Switching::of(&hoppers(servers))).chunk_bytes >> 10
    };
    assert_eq!([1_024, 1_023, 63, 7].map(|mib| chunk(false, mib, 1)), [128, 64, 32, 16]);
    assert_eq!([64, 63, 7].map(|mib| chunk(true, mib, 2)), [128, 64, 32]);
    assert_eq!([1_024, 7].map(|mib| chunk(true, mib, 4)), [64, 32]);
}

#[test]
fn peers_come_in_the_librarys_order() {
    let servers: Vec<u32> = in_order(16, 1).map(|(server, _)| server).collect();
    assert_eq!(servers, [0, 1, 3, 6, 10, 15, 5, 12, 4, 13, 7, 2, 14, 11, 9, 8]);
    for (groups, group) in [(1, 1), (1, 8), (3, 4), (5, 8), (7, 1), (12, 2)] {
        let mut all: Vec<(u32, u32)> = in_order(groups, group).collect();
        assert_eq!(all[0], (0, 0));
        all.sort_unstable();
        let every = (0..groups).flat_map(|server| (0..group).map(move |local| (server, local)));
        assert_eq!(all, every.collect::<Vec<_>>());
    }
    assert_eq!([8, 4, 12, 16, 3, 1].map(peers::group), [8, 4, 4, 8, 1, 1]);
}

#[test]
fn pairs_share_channels_and_cut_their_bytes() {
    // 50 GB/s: four channels of 14; 16 ranks are two batches, 128 are sixteen.
    assert_eq!([16, 64, 128].map(|ranks| channels_per_peer(16, ranks, 50)), [4, 2, 1]);
    let parts = |bytes, ranks| Parts::of(bytes, ranks, (channels_per_peer(16, ranks, 50), 16), None);
    let said = |bytes, ranks| {
        let Parts { channels, chunk_bytes, is_ll } = parts(bytes, ranks);
        (channels, chunk_bytes >> 10, is_ll)
    };
    assert_eq!(said(64 << 20, 16), (4, 128, false));
    assert_eq!(said(64 << 20, 128), (1, 128, false));
    assert_eq!(said(512 << 10, 128), (1, 64, false));
    assert_eq!(said(100 << 10, 128), (1, 32, false));
    assert_eq!(said(16 << 10, 16), (1, 16, true));
    let inside = Parts::of(64 << 20, 8, (4, 16), Some(Inside::NvLink));
    assert_eq!(inside.chunk_bytes, 512 << 10);
}

/// ncclNvlsTreeSm100Tuning, by channels, chunk, and chunk of a tree in KiB.
#[test]
fn blackwell_servers_have_chunks_by_servers_nics_and_accelerators() {
    let of = |servers, local, nic_gbytes, cpu| {
        let machine = Machine {
            generation: Generation::Blackwell,
            ranks: servers * local,
            nic_gbytes,
            cpu,
            ..hoppers(servers)
        };
        let Switching { channels, chunk_bytes, tree_chunk_bytes } = Switching::of(&machine);
        (channels, chunk_bytes >> 10, tree_chunk_bytes >> 10)
    };
    assert_eq!(of(1, 8, 50.0, Cpu::Intel), (24, 128, 128));
    assert_eq!(of(2, 8, 50.0, Cpu::Intel), (32, 128, 64));
    assert_eq!(of(2, 8, 100.0, Cpu::Intel), (32, 128, 128));
    assert_eq!(of(2, 4, 50.0, Cpu::Arm), (32, 256, 256));
    assert_eq!(of(2, 8, 50.0, Cpu::Arm), (32, 128, 128));
    assert_eq!(of(2, 16, 50.0, Cpu::Arm), (32, 128, 64));
    assert_eq!(of(4, 8, 50.0, Cpu::Intel), (24, 128, 64));
    assert_eq!(of(4, 8, 50.0, Cpu::Arm), (24, 128, 128));
    assert_eq!(of(4, 8, 100.0, Cpu::Intel), (24, 256, 256));
    assert_eq!(of(4, 16, 100.0, Cpu::Arm), (32, 128, 128));
    assert_eq!(of(4, 36, 100.0, Cpu::Arm), (32, 128, 64));
    assert_eq!(of(4, 8, 25.0, Cpu::Intel), (32, 128, 64));
    assert_eq!(of(3, 8, 25.0, Cpu::Intel), (32, 128, 128));
    // 24 channels and 8 heads: 48 MiB of 256 KiB each, of which there must be 16; four of 128 KiB, one of 64 KiB.
    let most = Switching::of(&Machine { generation: Generation::Blackwell, nic_gbytes: 100.0, ..hoppers(4) });
    let chunk = |mib: u64| Pieces::switched(true, mib << 20, (24, 8), most).chunk_bytes >> 10;
    assert_eq!([768, 767, 95, 5].map(chunk), [256, 128, 64, 32]);
}
