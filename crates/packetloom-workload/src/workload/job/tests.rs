//! Ranks on a network without contention: a message takes a latency and a time for each byte.

use super::*;
use crate::flow::HostId;
use crate::job::{Collective, Dependency, Operation as Step, Program, Rank, Sizes, Work};
use crate::random::{Purpose, Stream};
use crate::units::Rate;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

const LATENCY: Time = Time::from_us(1);

/// What happens to a flow at one of its hosts.
type Happens = (Time, FlowId, Done, HostId);

pub(super) fn settings(ranks: u32) -> Settings {
    Settings {
        hosts: (0..ranks).map(|rank| rank + 10).collect(),
        like: Flow {
            id: 0,
            src: 0,
            dst: 0,
            size_bytes: 0,
            start: Time::from_us(5),
            deadline: Time::NEVER,
            class: 0,
            source: 3,
            chain: None,
        },
        library: None,
        whole: Whole::None,
        repeat: 1,
        algorithms: BTreeMap::new(),
        servers: None,
        channels: 1,
        chunks: 1,
        costs: Costs::default(),
        number: 0,
        disturbances: Arc::default(),
        life: Life::Whole,
        nodes_from: None,
    }
}

/// Executes a program; returns each rank's spans, and the flows by start.
pub(super) fn execute(program: Program, settings: Settings) -> (Vec<Vec<Span>>, Vec<Flow>) {
    execute_late(program, settings, || Time::ZERO)
}

/// The same where the network makes each message late by some time.
pub(super) fn execute_late(
    program: Program,
    settings: Settings,
    mut late: impl FnMut() -> Time,
) -> (Vec<Vec<Span>>, Vec<Flow>) {
    program.check().expect("a sound program");
    let mut plan = Plan::new(program, settings).expect("it can be done");
    plan.number_from(100);
    let messages = plan.messages();
    let plan = Arc::new(plan);
    let hosts = plan.settings.hosts.clone();
    let mut ranks: BTreeMap<HostId, Ranks> = BTreeMap::new();
    for (rank, &host) in (0..).zip(&hosts) {
        ranks.entry(host).or_default().add(Walker::new(&plan, rank));
    }
    let (mut flows, mut happens): (Vec<Flow>, BinaryHeap<Reverse<Happens>>) = Default::default();
    loop {
        let next = happens.peek().map_or(Time::NEVER, |Reverse((at, ..))| *at);
        let wake = ranks.values().map(Ranks::next_at).min().unwrap_or(Time::NEVER);
        let now = next.min(wake);
        if now == Time::NEVER {
            break;
        }
        let mut started = Vec::new();
        if next <= wake {
            let Some(Reverse((_, flow, done, host))) = happens.pop() else { break };
            let at = ranks.get_mut(&host).expect("a host with a rank");
            at.notify(flow, done, now, |flow| started.push(flow));
        } else {
            ranks.values_mut().for_each(|ranks| ranks.wake(now, |flow| started.push(flow)));
        }
        for flow in started {
            assert!(flow.start >= now);
            let arrives = flow.start + LATENCY + Time::from_ns(flow.size_bytes) + late();
            happens.push(Reverse((arrives, flow.id, Done::Received, flow.dst)));
            happens.push(Reverse((arrives + LATENCY, flow.id, Done::Sent, flow.src)));
            flows.push(flow);
        }
    }
    let ended: usize = ranks.values_mut().map(|ranks| ranks.take_ended().count()).sum();
    assert_eq!(ended, hosts.len(), "ranks that ended");
    assert_eq!(flows.len() as u64, messages);
    let ids: std::collections::BTreeSet<FlowId> = flows.iter().map(|flow| flow.id).collect();
    assert_eq!(ids.len(), flows.len(), "identities are unique");
    let spans = |host: &HostId| ranks[host].walkers()[0].spans().collect();
    (hosts.iter().map(spans).collect(), flows)
}

fn step(work: Work, stream: Option<u16>) -> Step {
    Step { work, stream, name: 0 }
}

fn compute(us: u64) -> Work {
    Work::Compute { duration: Time::from_us(us) }
}

fn program(ranks: Vec<Rank>) -> Program {
    let groups = vec![(0..ranks.len() as u32).collect()];
    Program { ranks, groups, names: vec!["any".to_owned()], ..Program::default() }
}

/// Begin and end of each operation in us after the job's start, by place.
fn times(spans: &[Span]) -> BTreeMap<u32, (u64, u64)> {
    let us = |at: Time| (at - Time::from_us(5)).as_ps() / 1_000_000;
    spans.iter().map(|span| (span.place, (us(span.begin), us(span.end)))).collect()
}

#[test]
fn a_stream_executes_one_operation_at_a_time_in_the_order_in_which_they_become_ready() {
    let mut rank = Rank::default();
    rank.add(step(compute(3), Some(0)), []);
    rank.add(step(compute(2), Some(1)), []);
    // Ready at 2, after the operation of stream 0 that is ready at 0.
    rank.add(step(compute(1), Some(0)), [Dependency::on_end(1)]);
    rank.add(step(compute(4), Some(0)), []);
    // It needs no stream.
    rank.add(step(compute(5), None), [Dependency::on_begin(1)]);
    let (spans, _) = execute(program(vec![rank]), settings(1));
    let expected = [(0, (0, 3)), (1, (0, 2)), (2, (7, 8)), (3, (3, 7)), (4, (0, 5))];
    assert_eq!(times(&spans[0]), expected.into());
    let after: BTreeMap<u32, Option<u32>> = spans[0].iter().map(|span| (span.place, span.after)).collect();
    assert_eq!(after, [(0, None), (1, None), (2, Some(3)), (3, Some(0)), (4, Some(1))].into());
}

#[test]
fn where_operations_have_turns_the_lowest_that_is_ready_goes_first() {
    let mut rank = Rank::default();
    rank.add(step(compute(3), Some(0)), []);
    // Ready at 0, 2 and 3: when the stream is free for the first time, the last of them goes, then the second.
    rank.add(step(compute(4), Some(0)), []);
    rank.add(step(compute(2), Some(1)), []);
    rank.add(step(compute(1), Some(0)), [Dependency::on_end(2)]);
    rank.add(step(compute(5), Some(0)), [Dependency::on_end(0)]);
    // What takes no time lets those that wait for it be compared, too.
    rank.add(step(compute(0), Some(0)), [Dependency::on_end(4)]);
    rank.add(step(compute(1), Some(0)), [Dependency::on_end(5)]);
    rank.take_turns(vec![0, 9, 1, 8, 2, 3, 4]);
    let (spans, _) = execute(program(vec![rank]), settings(1));
    let expected =
        [(0, (0, 3)), (2, (0, 2)), (4, (3, 8)), (5, (8, 8)), (6, (8, 9)), (3, (9, 10)), (1, (10, 14))];
    assert_eq!(times(&spans[0]), expected.into());
}

#[test]
fn messages_cost_their_hosts_time() {
    let send = |peer| Work::Send { peer, bytes: 1_000, tag: 7 };
    let mut sender = Rank::default();
    sender.add(step(send(1), Some(0)), []);
    sender.add(step(send(1), Some(0)), []);
    let mut receiver = Rank::default();
    receiver.add(step(Work::Receive { peer: Some(0), bytes: 1_000, tag: Some(7) }, Some(0)), []);
    receiver.add(step(Work::Receive { peer: None, bytes: 1_000, tag: None }, Some(0)), []);
    let costs = Costs { send: Time::from_us(2), receive: Time::from_us(3), ..Costs::default() };
    let (spans, flows) =
        execute(program(vec![sender.clone(), receiver.clone()]), Settings { costs, ..settings(2) });
    assert_eq!(times(&spans[0]), [(0, (0, 2)), (1, (2, 4))].into());
    // They arrive after 1 us and 1000 ns: at 4 and 6; the second is processed after the first.
    assert_eq!(times(&spans[1]), [(0, (4, 7)), (1, (7, 10))].into());
    assert_eq!((flows[0].src, flows[0].dst, flows[0].source), (10, 11, 3));
    // Where a send ends with its acknowledgement, so late does the next begin.
    let blocking = Program { sends_block: true, ..program(vec![sender, receiver]) };
    let (spans, _) = execute(blocking, Settings { costs, ..settings(2) });
    assert_eq!(times(&spans[0]), [(0, (0, 5)), (1, (5, 10))].into());
}

#[test]
fn messages_of_one_sender_and_tag_are_received_in_the_order_in_which_they_were_sent() {
    let message = |bytes| Work::Send { peer: 1, bytes, tag: 7 };
    let receive = |bytes| Work::Receive { peer: Some(0), bytes, tag: Some(7) };
    // The second is there long before the first; and the last of the program is sent before the others.
    let mut sender = Rank::default();
    sender.add(step(message(2_000), Some(0)), [Dependency::on_end(3)]);
    sender.add(step(message(100_000), Some(0)), [Dependency::on_end(0)]);
    sender.add(step(message(1_000), Some(0)), [Dependency::on_end(1)]);
    sender.add(step(message(50_000), Some(0)), []);
    let mut receiver = Rank::default();
    for (place, bytes) in (0..).zip([50_000, 2_000, 100_000, 100_000]) {
        receiver.add(step(receive(bytes), Some(0)), (0..place).map(Dependency::on_end));
    }
    let (spans, flows) = execute(program(vec![sender, receiver]), settings(2));
    assert_eq!(flows.iter().map(|flow| flow.size_bytes).collect::<Vec<_>>(), [50_000, 2_000, 100_000, 1_000]);
    // The network has 1 us of latency, and each byte takes a nanosecond of its own message alone.
    let ends: Vec<u64> = times(&spans[1]).values().map(|&(_, end)| end).collect();
    assert_eq!(ends, [51, 51, 101, 101]);
}

#[test]
fn bytes_cost_hosts_time_and_messages_have_gaps() {
    let mut sender = Rank::default();
    for _ in 0..2 {
        sender.add(step(Work::Send { peer: 1, bytes: 1_001, tag: 7 }, Some(0)), []);
    }
    sender.add(step(compute(1), Some(0)), []);
    let mut receiver = Rank::default();
    for _ in 0..2 {
        let work = Work::Receive { peer: Some(0), bytes: 1_001, tag: Some(7) };
        receiver.add(step(work, Some(0)), []);
    }
    let costs = Costs {
        send: Time::from_us(2),
        receive: Time::from_us(3),
        per_byte: Time::from_ns(1),
        gap: Some((Time(5_992_000), Rate::from_gbps(1))),
        eager: None,
    };
    let (spans, _) = execute(program(vec![sender, receiver]), Settings { costs, ..settings(2) });
    // The gap and 1001 B of 8 ns are 14 us: the second message waits for them, and the rank computes meanwhile.
    assert_eq!(times(&spans[0]), [(0, (0, 3)), (1, (14, 17)), (2, (3, 4))].into());
    // They come after another 2.001 us.
    let begin = |place: usize| spans[1][place].begin - spans[0][0].ready;
    assert_eq!((begin(0), begin(1)), (Time(5_001_000), Time(19_001_000)));
    assert_eq!(spans[1][1].end - spans[1][1].begin, Time::from_us(4));
}

#[test]
fn a_send_of_more_than_is_eager_ends_when_its_receiver_says_so() {
    let mut sender = Rank::default();
    sender.add(step(Work::Send { peer: 1, bytes: 1_000, tag: 7 }, Some(0)), []);
    sender.add(step(Work::Send { peer: 1, bytes: 999, tag: 7 }, Some(0)), []);
    sender.add(step(Work::Send { peer: 1, bytes: 999, tag: 8 }, Some(0)), []);
    let mut receiver = Rank::default();
    receiver.add(step(compute(9), Some(0)), []);
    for tag in [7, 7, 8] {
        let work = Work::Receive { peer: Some(0), bytes: 1_000, tag: Some(tag) };
        receiver.add(step(work, Some(0)), [Dependency::on_end(0)]);
    }
    let costs = Costs { eager: Some(999), ..Costs::default() };
    let (spans, flows) = execute(program(vec![sender, receiver]), Settings { costs, ..settings(2) });
    // The receive is posted at 9; its word takes a microsecond and a nanosecond.
    assert_eq!(spans[0][0].end - spans[0][0].begin, Time(10_001_000));
    assert!(spans[0][1..].iter().all(|span| span.begin == spans[0][0].end && span.end == span.begin));
    // Three messages, and two words of the channel that has a large one.
    assert_eq!(flows.iter().filter(|flow| flow.size_bytes == 1).count(), 2);
}

/// The program of one collective operation.
pub(super) fn collective(operation: Collective, ranks: u32, bytes: u64) -> Program {
    let mut program = program(vec![Rank::default(); ranks as usize]);
    for rank in &mut program.ranks {
        let work = Work::Collective { operation, group: 0, sizes: Sizes::Whole(bytes) };
        rank.add(step(work, Some(0)), []);
    }
    program
}

/// Whichever message is the last of its kind to come, as when it was lost and repaired.
#[test]
fn operations_end_whatever_messages_are_late() {
    use Collective::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, Reduce, ReduceScatter};
    for operation in [AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Reduce, Barrier] {
        for &algorithm in Algorithm::of(operation) {
            for (ranks, channels, chunks) in [(3_u32, 1, 3), (8, 1, 4), (8, 2, 7), (12, 3, 5)] {
                // Some need whole servers, or a power of two.
                let is_possible = match algorithm {
                    Algorithm::Hierarchical | Algorithm::RailRing => ranks % 4 == 0,
                    Algorithm::HalvingDoubling => operation == AllReduce || ranks.is_power_of_two(),
                    _ => true,
                };
                for seed in 0..if is_possible { 20 } else { 0 } {
                    let mut random = Stream::new(seed, Purpose::Transport, ranks.into());
                    let late = || {
                        if random.below(4) == 0 {
                            Time::from_ns(random.below(60_000).into())
                        } else {
                            Time::ZERO
                        }
                    };
                    let settings = Settings {
                        algorithms: [(operation, algorithm)].into(),
                        servers: Some((0..ranks).map(|rank| rank / 4).collect()),
                        channels,
                        chunks,
                        repeat: 2,
                        ..settings(ranks)
                    };
                    let bytes = if operation == Barrier { 0 } else { 36_000 };
                    execute_late(collective(operation, ranks, bytes), settings, late);
                }
            }
        }
    }
}

pub(super) fn took(spans: &[Vec<Span>]) -> u64 {
    let end = spans.iter().flatten().map(|span| span.end).max().expect("operations");
    (end - Time::from_us(5)).as_ps() / 1_000
}

#[test]
fn operations_take_as_long_as_their_closed_forms() {
    // Latency 1000 ns; a byte takes 1 ns; the network has no contention.
    let of = |operation, algorithm, ranks, bytes, chunks| {
        let algorithms = [(operation, algorithm)].into();
        let settings = Settings {
            algorithms,
            servers: Some((0..ranks).map(|rank| rank / 4).collect()),
            chunks,
            ..settings(ranks)
        };
        took(&execute(collective(operation, ranks, bytes), settings).0)
    };
    use Algorithm::{Direct, HalvingDoubling, Hierarchical, InTurn, Ring, Tree};
    use Collective::{AllGather, AllReduce, AllToAll, Barrier, Broadcast, Reduce};
    assert_eq!(of(AllReduce, Ring, 6, 6_000, 1), 10 * (1_000 + 1_000));
    assert_eq!(of(AllGather, Ring, 7, 7_000, 1), 6 * (1_000 + 1_000));
    assert_eq!(of(AllReduce, HalvingDoubling, 8, 8_000, 1), 6 * 1_000 + 2 * 7_000);
    // Folded to four, and unfolded.
    assert_eq!(of(AllReduce, HalvingDoubling, 6, 8_000, 1), 6 * 1_000 + 2 * 6_000 + 2 * 8_000);
    assert_eq!(of(AllReduce, Direct, 8, 8_000, 1), 2 * (1_000 + 1_000));
    // Two trees of half of it, each four deep: up and down.
    assert_eq!(of(AllReduce, Tree, 16, 8_000, 1), 2 * 4 * (1_000 + 4_000));
    // Inside, four steps of a ring of three servers on a quarter, inside.
    assert_eq!(of(AllReduce, Hierarchical, 12, 12_000, 1), 2 * (1_000 + 3_000) + 4 * (1_000 + 1_000));
    assert_eq!(of(AllToAll, Direct, 8, 8_000, 1), 1_000 + 1_000);
    // Each message waits for the acknowledgement of the one before.
    assert_eq!(of(AllToAll, InTurn, 8, 8_000, 1), 6 * 3_000 + 2_000);
    assert_eq!(of(Barrier, Tree, 9, 0, 1), 4 * 1_001);
    // The last but one is done when its message was acknowledged.
    assert_eq!(of(Broadcast, Ring, 5, 8_000, 1), 4 * 9_000 + 1_000);
    // Eight pieces, of which two may be under way: the third follows the acknowledgement of the first.
    assert_eq!(of(Broadcast, Ring, 5, 8_000, 8), 3 * 3_000 + 4 * 2_000 + 1_000);
    // The root sends to 8, 4, 2, 1, one after the other; each of those passes it on.
    assert_eq!(of(Broadcast, Tree, 16, 8_000, 1), 4 * 10_000);
    assert_eq!(of(Reduce, Tree, 16, 8_000, 1), 4 * 9_000 + 1_000);
}

#[test]
fn repetitions_and_operations_follow_one_another() {
    let mut two = collective(Collective::AllReduce, 4, 4_000);
    for rank in &mut two.ranks {
        let busy = rank.add(step(compute(7), Some(1)), [Dependency::on_end(0)]);
        let work =
            Work::Collective { operation: Collective::AllGather, group: 0, sizes: Sizes::Whole(4_000) };
        rank.add(step(work, Some(0)), [Dependency::on_end(busy)]);
    }
    let (spans, flows) = execute(two, Settings { repeat: 3, ..settings(4) });
    assert_eq!(took(&spans), 3 * (6 * 2_000 + 7_000 + 3 * 2_000));
    assert_eq!(flows.len(), 3 * 4 * (6 + 3));
    assert!(spans.iter().all(|of| of.iter().map(|span| span.iteration).eq([0, 0, 0, 1, 1, 1, 2, 2, 2])));
}

#[test]
fn a_rank_that_comes_late_finds_what_others_have_sent() {
    let mut late = collective(Collective::AllReduce, 4, 4_000);
    let mut rank = Rank::default();
    let busy = rank.add(step(compute(100), Some(1)), []);
    let work = late.ranks[2].operations()[0];
    rank.add(work, [Dependency::on_end(busy)]);
    late.ranks[2] = rank;
    let (spans, _) = execute(late, settings(4));
    // What others have sent came long ago; the late one's own part goes round and is reduced, and is gathered.
    assert_eq!(took(&spans), 100_000 + 6 * 2_000);
}

#[test]
fn a_matrix_says_what_each_pair_sends() {
    let mut experts = collective(Collective::AllToAll, 3, 1);
    experts.matrices = vec![vec![9, 500, 0, 0, 9, 700, 0, 0, 9]];
    for rank in &mut experts.ranks {
        let work = Work::Collective { operation: Collective::AllToAll, group: 0, sizes: Sizes::Matrix(0) };
        *rank = Rank::default();
        rank.add(step(work, Some(0)), []);
    }
    let (spans, flows) = execute(experts, settings(3));
    assert_eq!(flows.iter().map(|flow| flow.size_bytes).collect::<Vec<_>>(), [500, 700]);
    // Rank 0 receives nothing: it is done when its message was acknowledged.
    let ends: Vec<u64> = spans.iter().map(|of| (of[0].end - Time::from_us(5)).as_ps() / 1_000).collect();
    assert_eq!(ends, [2_500, 1_500, 1_700]);
}
