//! Every channel is carried out by hand, in random order, with both lanes of it.

use super::*;
use crate::job::Collective;
use crate::nccl::{Algorithm, Parts, Pieces, Protocol, Switching};
use crate::random::{Purpose, Stream};
use crate::workload::job::pattern::{Message, Pattern};
use std::collections::BTreeMap;

const MOST: Switching = Switching { channels: 16, chunk_bytes: 128 << 10, tree_chunk_bytes: 128 << 10 };

/// A lane of a rank: its stage, what came for which, and what of which is under way.
#[derive(Clone, Default)]
struct Lane {
    stage: u32,
    is_over: bool,
    arrived: BTreeMap<u32, u32>,
    under_way: BTreeMap<u32, u32>,
}

/// How far a channel is, and what was sent: by each rank, in messages and bytes, and by each pair.
struct Run<'a> {
    lanes: &'a [Box<dyn Pattern>],
    bytes: u64,
    ranks: Vec<Vec<Lane>>,
    on_way: Vec<(usize, u32, Message)>,
    sent: Vec<(u64, u64)>,
    pairs: BTreeMap<(u32, u32), u64>,
}

impl Run<'_> {
    fn advance(&mut self, rank: u32, lane: usize) {
        let pattern = &self.lanes[lane];
        loop {
            let state = &mut self.ranks[rank as usize][lane];
            let at = state.stage;
            let stage = pattern.stage(rank, at);
            let came = state.arrived.get(&at).copied().unwrap_or(0);
            assert!(came <= stage.awaits, "rank {rank}, lane {lane}, stage {at}: {came} came for {stage:?}");
            let has_room = at == pattern.stages(rank)
                || pattern.room(rank, at).is_none_or(|before| !state.under_way.contains_key(&before));
            if state.is_over || came != stage.awaits || !has_room {
                return;
            }
            if at == pattern.stages(rank) {
                state.is_over = true;
                return;
            }
            state.stage += 1;
            if !stage.slots.is_empty() {
                state.under_way.insert(at, stage.slots.len() as u32);
            }
            for slot in stage.slots {
                assert!(slot < pattern.slots());
                let message = pattern.message(rank, slot, self.bytes);
                assert!(message.stage == at && message.bytes > 0 && message.to != rank);
                self.sent[rank as usize].0 += 1;
                self.sent[rank as usize].1 += message.bytes;
                *self.pairs.entry((rank, message.to)).or_default() += message.bytes;
                self.on_way.push((lane, rank, message));
            }
        }
    }
}

/// Of each rank its messages and bytes; of each pair of ranks its bytes.
type Carried = (Vec<(u64, u64)>, BTreeMap<(u32, u32), u64>);

/// Carries out the lanes of a channel; messages arrive in random order, each with its acknowledgement.
fn carry_out(lanes: &[Box<dyn Pattern>], ranks: u32, bytes: u64) -> Carried {
    let mut draws = Stream::new(u64::from(ranks), Purpose::Pattern, 0);
    let mut run = Run {
        lanes,
        bytes,
        ranks: vec![vec![Lane::default(); lanes.len()]; ranks as usize],
        on_way: Vec::new(),
        sent: vec![(0, 0); ranks as usize],
        pairs: BTreeMap::new(),
    };
    for (rank, lane) in (0..ranks).flat_map(|rank| (0..lanes.len()).map(move |lane| (rank, lane))) {
        run.advance(rank, lane);
    }
    while !run.on_way.is_empty() {
        let which = draws.below(run.on_way.len() as u32) as usize;
        let (lane, from, message) = run.on_way.swap_remove(which);
        let there = lane ^ message.beside as usize;
        *run.ranks[message.to as usize][there].arrived.entry(message.stage_there).or_default() += 1;
        let own = &mut run.ranks[from as usize][lane].under_way;
        let left = own.get_mut(&message.stage).expect("it was under way");
        *left -= 1;
        if *left == 0 {
            own.remove(&message.stage);
        }
        run.advance(message.to, there);
        run.advance(from, lane);
    }
    for (rank, lanes) in run.ranks.iter().enumerate() {
        assert!(lanes.iter().all(|lane| lane.is_over), "rank {rank} hangs");
    }
    (run.sent, run.pairs)
}

const SHAPES: [(u32, u32); 8] = [(2, 1), (2, 2), (8, 8), (16, 8), (12, 4), (15, 5), (14, 1), (24, 8)];

#[test]
fn rings_end_and_send_what_they_must() {
    for (ranks, server) in SHAPES {
        for protocol in [Protocol::Ll, Protocol::Ll128, Protocol::Simple] {
            for (operation, rounds) in [(Collective::AllReduce, 2), (Collective::AllGather, 1)] {
                let bytes = 7_000_001;
                let how = (Algorithm::Ring, protocol);
                let pieces = Pieces::of(operation, how, (bytes, 1), (ranks, ranks / server));
                let lanes = rings((ranks, server), server, rounds, (bytes, pieces)).expect("whole servers");
                for lane in lanes.chunks(1) {
                    let (sent, _) = carry_out(lane, ranks, bytes);
                    let all: u64 = sent.iter().map(|(_, bytes)| bytes).sum();
                    let data = bytes * u64::from(rounds * (ranks - 1)) * pieces.wire.0 / pieces.wire.1;
                    let share = all as f64 / data as f64;
                    assert!((0.999..1.02).contains(&share), "{ranks} {server} {protocol:?}: {share}");
                }
            }
        }
    }
}

/// 1 GiB among 16 ranks by 16 channels: 1,920 messages of 1 MiB from each rank.
#[test]
fn a_ring_of_a_gibibyte_has_the_messages_of_the_specification() {
    let bytes = (1 << 30) / 16;
    let how = (Algorithm::Ring, Protocol::Simple);
    let pieces = Pieces::of(Collective::AllReduce, how, (1 << 30, 16), (16, 2));
    let lanes = rings((16, 8), 8, 2, (bytes, pieces)).expect("whole servers");
    let (sent, _) = carry_out(&lanes[..1], 16, bytes);
    assert!(sent.iter().all(|&one| one == (1_920 / 16, 1_920 * (1 << 20) / 16)), "{sent:?}");
}

#[test]
fn pipelines_pass_the_whole_on() {
    for (ranks, server) in SHAPES {
        for towards_root in [false, true] {
            let operation = if towards_root { Collective::Reduce } else { Collective::Broadcast };
            let bytes = 5_000_000;
            let how = (Algorithm::Ring, Protocol::Simple);
            let pieces = Pieces::of(operation, how, (bytes, 1), (ranks, ranks / server));
            let lanes = pipelines((ranks, server), server, towards_root, (bytes, pieces)).expect("whole");
            for lane in lanes.chunks(1) {
                let (sent, _) = carry_out(lane, ranks, bytes);
                let quiet: Vec<usize> = (0..sent.len()).filter(|&rank| sent[rank].0 == 0).collect();
                assert_eq!(quiet.len(), 1);
                assert_eq!(quiet[0] == 0, towards_root, "the root is the last, or the first");
                assert!(sent.iter().all(|one| one.0 == 0 || *one == (10, bytes)), "{sent:?}");
            }
        }
    }
}

#[test]
fn trees_end_and_carry_the_whole_up_and_down() {
    for (ranks, server) in SHAPES {
        for channels in [1, 2, 5] {
            let bytes = 3_000_000;
            let how = (Algorithm::Tree, Protocol::Simple);
            let pieces = Pieces::of(Collective::AllReduce, how, (bytes, channels), (ranks, ranks / server));
            let lanes = trees((ranks, server), server, channels, (bytes, pieces));
            assert_eq!(lanes.len(), 2 * channels as usize);
            for lanes in lanes.chunks(2) {
                let (sent, pairs) = carry_out(lanes, ranks, bytes);
                let all: u64 = sent.iter().map(|(_, bytes)| bytes).sum();
                assert_eq!(all, 2 * bytes * u64::from(ranks - 1), "each edge of the tree, up and down");
                assert_eq!(pairs.len(), 2 * (ranks as usize - 1));
                // Servers know each other by their heads alone.
                let between = pairs.keys().filter(|(from, to)| from / server != to / server);
                assert!(between.clone().all(|(from, to)| from % server == to % server));
                assert_eq!(between.count(), 2 * (ranks / server - 1) as usize);
            }
        }
    }
}

fn pairing(ranks: u32, server: u32, channels: u32, bytes: u64, pxn: bool) -> Pairing {
    let parts = Parts::of(bytes, ranks, (4.min(channels), channels), None);
    Pairing { ranks, server, bytes, channels, parts, pxn }
}

#[test]
fn every_pair_gets_its_bytes_and_pxn_keeps_to_rails() {
    for (ranks, server) in SHAPES {
        for (channels, bytes) in [(1, 40_000), (4, 900_001), (16, 3_000_000), (64, 40_000)] {
            for pxn in [false, true] {
                let one = pairing(ranks, server, channels, bytes, pxn);
                let lanes = pairs(one);
                let each = if pxn { 2 } else { 1 };
                let mut all: BTreeMap<(u32, u32), u64> = BTreeMap::new();
                for lanes in lanes.chunks(each) {
                    let (_, pairs) = carry_out(lanes, ranks, bytes);
                    pairs.into_iter().for_each(|(pair, bytes)| *all.entry(pair).or_default() += bytes);
                }
                let wire = if one.parts.is_ll { 2 } else { 1 } * bytes;
                if pxn {
                    let between = || all.iter().filter(|((from, to), _)| from / server != to / server);
                    assert!(between().all(|((from, to), _)| from % server == to % server), "on rails");
                    let least = wire * u64::from(ranks) * u64::from(ranks - server);
                    let sent: u64 = between().map(|(_, bytes)| bytes).sum();
                    assert!((least..least + least / 50 + 4_000).contains(&sent), "{one:?}: {sent} {least}");
                } else {
                    assert_eq!(all.len(), (ranks * (ranks - 1)) as usize);
                    assert!(all.values().all(|sent| (wire..wire + 64).contains(sent)), "{one:?}: {all:?}");
                }
            }
        }
    }
}

/// Ranks and heads of servers; the servers' nodes come after the ranks.
#[test]
fn switches_reduce_and_multicast_and_a_trees_heads_alone_cross_servers() {
    let (both, sums, results) = ((true, true), (true, false), (false, true));
    let shapes = [(8, 8, 8, both), (8, 8, 8, sums), (8, 8, 8, results), (4, 4, 2, both)];
    for (ranks, server, heads, (reduces, multicasts)) in
        shapes.into_iter().chain([(16, 8, 8, both), (24, 8, 2, both), (20, 4, 4, both), (7, 1, 1, both)])
    {
        let (servers, bytes) = (ranks / server, 1_000_000);
        let halves = Halves { reduces, multicasts };
        let all = Switched { ranks, server, heads, channels: 2, halves };
        let pieces = Pieces::switched(servers > 1, bytes, (2, heads), MOST);
        let lanes = switched(all, (bytes, pieces));
        assert_eq!(lanes.len() as u32, SWITCHED_LANES * 2 * heads);
        for (nth, lanes) in lanes.chunks(SWITCHED_LANES as usize).enumerate() {
            let (sent, pairs) = carry_out(lanes, ranks + servers, bytes);
            let head = nth as u32 % heads * server / heads;
            for rank in 0..ranks {
                let is_head = rank % server == head;
                let crossing: u64 = pairs
                    .iter()
                    .filter(|((from, to), _)| *from == rank && *to < ranks)
                    .map(|(_, bytes)| bytes)
                    .sum();
                let to_node = sent[rank as usize].1 - crossing;
                // Its own contribution, and of a head the result.
                let expected = u64::from(reduces) + u64::from(multicasts && is_head);
                assert_eq!(to_node, expected * bytes, "{all:?}: rank {rank} of head {head}");
                assert!(is_head || crossing == 0);
            }
            let all_crossing: u64 = pairs
                .iter()
                .filter(|((from, to), _)| *from < ranks && *to < ranks)
                .map(|(_, bytes)| bytes)
                .sum();
            assert_eq!(
                all_crossing,
                2 * u64::from(servers - 1) * bytes,
                "each edge of the tree, up and down"
            );
            // A node gives its head the sum, and everyone the result.
            let of_node = (u64::from(reduces) + u64::from(multicasts) * u64::from(server)) * bytes;
            assert!((ranks..ranks + servers).all(|node| sent[node as usize].1 == of_node), "{sent:?}");
        }
    }
}

#[test]
fn pat_ends_and_every_rank_sends_what_the_others_are_to_have() {
    for operation in [Collective::AllGather, Collective::ReduceScatter] {
        for (ranks, bytes) in [(2, 1_000), (6, 60_000), (8, 8 << 20), (13, 13 << 20), (32, 96 << 20)] {
            let pieces =
                Pieces::of(operation, (Algorithm::Pat, Protocol::Simple), (bytes, 1), (ranks, ranks));
            let lanes = [pat(operation, ranks, (bytes, pieces))];
            let (sent, pairs) = carry_out(&lanes, ranks, bytes);
            let each = bytes.div_ceil(u64::from(ranks));
            let all: u64 = sent.iter().map(|(_, bytes)| bytes).sum();
            assert_eq!(all, each * u64::from(ranks * (ranks - 1)), "{operation:?} {ranks}");
            let ahead = |&(from, to): &(u32, u32)| match operation {
                Collective::AllGather => (from + ranks - to) % ranks,
                _ => (to + ranks - from) % ranks,
            };
            assert!(pairs.keys().map(ahead).all(u32::is_power_of_two));
        }
    }
}
