//! Every pattern is carried out by hand, in random order.

use super::*;
use crate::random::{Purpose, Stream};

/// A rank at work.
#[derive(Clone, Default)]
struct Rank {
    stage: u32,
    is_over: bool,
    arrived: Vec<u32>,
    acknowledged: Vec<u32>,
    /// Whose data it has.
    knows: u64,
    sent_bytes: u64,
}

/// What is under way: sender, receiver, message, and whose data it has; or an acknowledgement.
enum UnderWay {
    Message(u32, Message, u64),
    Acknowledgement(u32, u32),
}

/// Carries a pattern out; messages arrive in random order.
fn carry_out(pattern: &dyn Pattern, ranks: u32, bytes: u64, seed: u64) -> Vec<Rank> {
    let mut draws = Stream::new(seed, Purpose::Pattern, 0);
    let stages = pattern.slots() as usize + 4;
    let new = |rank| Rank {
        knows: 1_u64 << rank,
        arrived: vec![0; stages],
        acknowledged: vec![0; stages],
        ..Rank::default()
    };
    let mut all: Vec<Rank> = (0..ranks).map(new).collect();
    let mut under_way = Vec::new();
    (0..ranks).for_each(|rank| advance(pattern, rank, bytes, &mut all, &mut under_way));
    while !under_way.is_empty() {
        let which = draws.below(under_way.len() as u32) as usize;
        let rank = match under_way.swap_remove(which) {
            UnderWay::Message(from, message, knows) => {
                let to = &mut all[message.to as usize];
                to.arrived[message.stage_there as usize] += 1;
                to.knows |= knows;
                if let Some(stage) = message.stage_after {
                    under_way.push(UnderWay::Acknowledgement(from, stage));
                }
                message.to
            }
            UnderWay::Acknowledgement(rank, stage) => {
                all[rank as usize].acknowledged[stage as usize] += 1;
                rank
            }
        };
        advance(pattern, rank, bytes, &mut all, &mut under_way);
    }
    all
}

fn advance(pattern: &dyn Pattern, rank: u32, bytes: u64, all: &mut [Rank], under_way: &mut Vec<UnderWay>) {
    let state = &mut all[rank as usize];
    loop {
        let at = state.stage;
        let stage = pattern.stage(rank, at);
        let [came, acknowledged] = [state.arrived[at as usize], state.acknowledged[at as usize]];
        assert!(came <= stage.awaits && acknowledged <= stage.awaits_own, "rank {rank} at {at}: {stage:?}");
        if state.is_over || (came, acknowledged) != (stage.awaits, stage.awaits_own) {
            return;
        }
        if at == pattern.stages(rank) {
            state.is_over = true;
            return;
        }
        for slot in stage.slots {
            assert!(slot < pattern.slots());
            let message = pattern.message(rank, slot, bytes);
            assert_eq!(message.stage, at);
            assert!(message.bytes > 0 && message.to != rank);
            state.sent_bytes += message.bytes;
            under_way.push(UnderWay::Message(rank, message, state.knows));
        }
        state.stage += 1;
    }
}

const OPERATIONS: [Collective; 7] = [
    Collective::AllReduce,
    Collective::AllGather,
    Collective::ReduceScatter,
    Collective::AllToAll,
    Collective::Broadcast,
    Collective::Reduce,
    Collective::Barrier,
];

fn check(operation: Collective, algorithm: Algorithm, ranks: u32, server: Option<u32>) {
    let what = format!("{} by {} among {ranks}", operation.name(), algorithm.name());
    let Ok(patterns) = patterns(operation, algorithm, ranks, server) else { return };
    let everyone = if ranks == 64 { u64::MAX } else { (1 << ranks) - 1 };
    for pattern in &patterns {
        let all = carry_out(&**pattern, ranks, 1_000_003, u64::from(ranks));
        for (rank, state) in (0_u32..).zip(&all) {
            assert!(state.is_over, "{what}: rank {rank} hangs");
            let must_know = match operation {
                Collective::Broadcast => 1 | 1 << rank,
                Collective::Reduce if rank > 0 => 1 << rank,
                _ => everyone,
            };
            assert_eq!(state.knows & must_know, must_know, "{what}: rank {rank}");
        }
        let messages: u64 = (0..ranks)
            .flat_map(|rank| (0..pattern.stages(rank)).map(move |stage| (rank, stage)))
            .map(|(rank, stage)| pattern.stage(rank, stage).slots.len() as u64)
            .sum();
        assert_eq!(pattern.messages(ranks), messages, "{what}");
    }
}

#[test]
fn every_rank_gets_what_it_should_and_none_hangs() {
    for operation in OPERATIONS {
        for &algorithm in Algorithm::of(operation) {
            for ranks in (1..=17).chain([24, 31, 32, 33]) {
                let servers: &[u32] = if algorithm == Algorithm::Hierarchical { &[1, 2, 4, 8] } else { &[1] };
                servers.iter().for_each(|&server| check(operation, algorithm, ranks, Some(server)));
            }
        }
    }
}

fn most_sent(operation: Collective, algorithm: Algorithm, ranks: u32, server: u32, bytes: u64) -> u64 {
    let patterns = patterns(operation, algorithm, ranks, Some(server)).expect("it can be done");
    let parts = Shares { bytes, parts: patterns.len() as u32 };
    let runs: Vec<Vec<Rank>> = (0..)
        .zip(&patterns)
        .map(|(part, pattern)| carry_out(&**pattern, ranks, parts.one(part), 1))
        .collect();
    (0..ranks as usize).map(|rank| runs.iter().map(|run| run[rank].sent_bytes).sum()).max().unwrap_or(0)
}

#[test]
fn ranks_send_as_many_bytes_as_theory_says() {
    use Collective::{AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter};
    // 5040 is a multiple of all these numbers of ranks.
    let bytes = 5_040 * 64;
    for ranks in [2, 6, 7, 8, 12] {
        let share = bytes / u64::from(ranks);
        let others = u64::from(ranks - 1);
        for algorithm in [Algorithm::Ring, Algorithm::Direct] {
            assert_eq!(most_sent(AllReduce, algorithm, ranks, 1, bytes), 2 * others * share);
            assert_eq!(most_sent(AllGather, algorithm, ranks, 1, bytes), others * share);
            assert_eq!(most_sent(ReduceScatter, algorithm, ranks, 1, bytes), others * share);
        }
        assert_eq!(most_sent(AllToAll, Algorithm::Direct, ranks, 1, bytes), others * share);
        assert_eq!(most_sent(Broadcast, Algorithm::Ring, ranks, 1, bytes), bytes);
        // A rank forwards in one of the two trees, to its parent and two children, and is a leaf of the other.
        let most = most_sent(AllReduce, Algorithm::Tree, ranks, 1, bytes);
        assert!(most <= 2 * bytes, "{ranks}: {most}");
    }
    assert_eq!(most_sent(AllReduce, Algorithm::HalvingDoubling, 8, 1, bytes), 2 * 7 * bytes / 8);
    // Six ranks fold to four: who acts for a neighbour sends it the whole beside its own part.
    assert_eq!(most_sent(AllReduce, Algorithm::HalvingDoubling, 6, 1, bytes), 2 * 3 * bytes / 4 + bytes);
    // Two servers of four: three quarters inside, then the ring of two on a quarter, then three quarters inside.
    assert_eq!(
        most_sent(AllReduce, Algorithm::Hierarchical, 8, 4, bytes),
        2 * (3 * bytes / 4) + 2 * (bytes / 4 / 2)
    );
    // Three quarters inside, then to the other server what all four of this one have for one place there.
    assert_eq!(most_sent(AllToAll, Algorithm::Hierarchical, 8, 4, bytes), 3 * bytes / 4 + bytes / 2);
}

#[test]
fn what_can_not_be_done_is_told() {
    let message = |operation, algorithm, ranks, server| {
        patterns(operation, algorithm, ranks, server).expect_err("a mistake")
    };
    assert_eq!(
        message(Collective::AllGather, Algorithm::HalvingDoubling, 6, None),
        "halving and doubling needs a power of two of ranks, not 6"
    );
    assert_eq!(
        message(Collective::AllReduce, Algorithm::Hierarchical, 6, None),
        "hierarchical needs equally many ranks of a group in each server; write ranks or a placement for which that \
         is so, or, where the topology has no servers, how many ranks that follow each other share one (server)"
    );
    assert_eq!(
        message(Collective::AllReduce, Algorithm::Hierarchical, 6, Some(4)),
        "hierarchical needs whole servers: 6 ranks are not a multiple of 4"
    );
}

#[test]
fn uneven_pairs_send_what_the_matrix_says() {
    let matrix = [9, 5, 0, 0, 9, 7, 0, 0, 9];
    let pairs = Pairs::new(3, &matrix);
    let all = carry_out(&pairs, 3, 0, 1);
    assert!(all.iter().all(|rank| rank.is_over));
    assert_eq!(all.iter().map(|rank| rank.sent_bytes).collect::<Vec<_>>(), [5, 7, 0]);
    assert_eq!(all.iter().map(|rank| rank.knows).collect::<Vec<_>>(), [0b001, 0b011, 0b110]);
}
