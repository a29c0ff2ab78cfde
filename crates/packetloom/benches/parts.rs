//! The engine's parts by themselves: the calendar, each queue discipline, each routing, a greedy matching. Run by
//! `make bench-parts`; whole simulations are measured by `make bench`.

#![allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)]

use divan::Bencher;
use divan::counter::ItemsCount;
use packetloom::control::Pair;
use packetloom::control::matching::{Candidate, greedy};
use packetloom::engine::{Calendar, Due};
use packetloom::packet::{Kind, Packet};
use packetloom::packets::Packets;
use packetloom::queue::{Buffer, Counts, Env, Holds};
use packetloom::random::{Purpose, Stream};
use packetloom::routing::{self, Router};
use packetloom::scenario::Scenario;
use packetloom::spec::Values;
use packetloom::topology::Topology;
use packetloom::units::Time;
use std::path::Path;

fn main() {
    divan::main();
}

/// What the transports' largest headers take.
type Header = [u64; 4];

const PACKETS: usize = 10_000;

/// A scenario's topology and scheme, with this queue and this routing.
fn parts(queue: &str, routing: &str) -> (Topology, Values) {
    let text = format!(
        "topology = {{ kind = \"fat-tree\", k = 8 }}\n\
         [[workload]]\nsizes = \"web-search\"\nload = 0.5\n\
         [[scheme]]\nname = \"one\"\ntransport = \"dctcp\"\nqueue = {queue}\nrouting = {routing}\n\
         [run]\nflows = 1\n"
    );
    let scenario =
        Scenario::from_toml(&text, "parts", Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    let case = scenario.cases().next().expect("a scenario has a case");
    (Topology::build(&case.topology).expect("a fat-tree"), case.scheme)
}

fn packet(number: usize, random: &mut Stream) -> Packet<Header> {
    Packet {
        flow: random.below(64),
        src: random.below(128),
        dst: random.below(128),
        priority: random.below(1_000),
        size_bytes: 1_500,
        kind: if number.is_multiple_of(4) { Kind::Ack } else { Kind::Data },
        class: (number % 8) as u8,
        ..Packet::default()
    }
}

/// Packets go onto links and come off them, so many of them on their way at once.
#[divan::bench(args = [100, 10_000])]
fn calendar(bencher: Bencher<'_, '_>, on_the_way: usize) {
    const NODES: u32 = 208;
    let mut random = Stream::new(1, Purpose::Transport, 0);
    let mut packets = Packets::<Header>::default();
    let mut calendar = Calendar::new(NODES as usize, Time::from_us(1));
    let mut window = 0;
    let mut send = |window: u64, calendar: &mut Calendar, packets: &mut Packets<Header>, packet| {
        let id = packets.add(packet);
        let at = Time((window + 1) * 1_000_000 + u64::from(random.below(4_000_000)));
        calendar.deliver((random.below(NODES), 0), at, id);
    };
    for _ in 0..on_the_way {
        send(window, &mut calendar, &mut packets, Packet::default());
    }
    let (mut due, mut arrived) = (Due::default(), Vec::new());
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        let mut left = PACKETS;
        while left > 0 {
            window = calendar.next_window().expect("packets are on their way");
            calendar.open(window, calendar.clock().start_of(window + 1), &mut due);
            for nth in 0..due.len() {
                let (_, arrivals) = due.node(nth);
                arrived.extend(arrivals.iter().map(|arrival| arrival.id));
            }
            left = left.saturating_sub(arrived.len());
            for id in arrived.drain(..) {
                let packet = packets.take(id);
                send(window, &mut calendar, &mut packets, packet);
            }
        }
    });
}

/// A queue that a dozen packets wait in: one comes, one goes.
#[divan::bench(args = [
    "\"pfabric\"",
    "\"ndp\"",
    "\"fair\"",
    "{ kind = \"classes\", strict = 8, queue = \"drop-tail\" }",
    "{ kind = \"classes\", weights = [4, 1], queue = \"pfabric\" }",
    "{ kind = \"egress\", aqm = \"codel\" }",
    "{ kind = \"egress\", scheduler = \"fair-queueing\", aqm = \"codel\" }",
])]
fn queue(bencher: Bencher<'_, '_>, queue: &str) {
    let (_, scheme) = parts(queue, "\"ecmp\"");
    let mut random = Stream::new(1, Purpose::Queue, 0);
    let mut packets = Packets::default();
    let mut counts = Counts::default();
    let mut buffer = Buffer::build(&scheme.component("queue"));
    for number in 0..12 {
        let id = packets.add(packet(number, &mut random));
        let (packets, random, counts) = (&mut packets, &mut random, &mut counts);
        buffer.put(id, None, &mut Env { now: Time::ZERO, packets, random, counts, serving_bytes: 0 });
    }
    bencher.counter(ItemsCount::new(PACKETS)).bench_local(|| {
        for number in 0..PACKETS {
            let id = packets.add(packet(number, &mut random));
            let (packets, random, counts) = (&mut packets, &mut random, &mut counts);
            let env = &mut Env { now: Time::ZERO, packets, random, counts, serving_bytes: 0 };
            buffer.put(id, None, env);
            if let Some(id) = buffer.take(env) {
                env.packets.take(id);
            }
        }
    });
}

/// An edge switch of a fat-tree finds packets' ports.
#[divan::bench(args = ["ecmp", "spray-random", "spray-round-robin", "permutation"])]
fn router(bencher: Bencher<'_, '_>, routing: &str) {
    let (topology, scheme) = parts("\"drop-tail\"", &format!("\"{routing}\""));
    let values = scheme.component("routing");
    let code = routing::path_code(&values, &topology);
    let mut router = Router::new(&topology, topology.hosts, &values, code.as_ref(), 1);
    let mut random = Stream::new(1, Purpose::Transport, 0);
    let packets: Vec<_> = (0..PACKETS).map(|number| packet(number, &mut random)).collect();
    bencher
        .counter(ItemsCount::new(PACKETS))
        .bench_local(|| packets.iter().map(|packet| router.port_for(packet)).sum::<u32>());
}

/// One slot's greedy matching among random pairs of so many servers, four candidates for each.
#[divan::bench(args = [144, 1_024])]
fn matching(bencher: Bencher<'_, '_>, servers: u32) {
    let mut random = Stream::new(1, Purpose::Pattern, 0);
    let mut candidate = || {
        let pair = Pair::new(random.below(servers), random.below(servers));
        Candidate { key: random.bits(), pair }
    };
    let candidates: Vec<_> = (0..4 * servers).map(|_| candidate()).collect();
    bencher.counter(ItemsCount::new(candidates.len())).bench_local(|| greedy(servers, &candidates));
}
