//! DRILL (SIGCOMM 2017): each packet takes the shortest of a few queues, some drawn at random and some remembered.

use super::super::{Chooser, Routing, ns3, plain_ecmp};
use super::{Actions, Balancer, Home, Look, Pass, Passing, Tag, Ways};
use crate::flow::HostId;
use crate::narrow::exact;
use crate::packet::Kind as PacketKind;
use crate::random::Stream;
use crate::spec::{Component, Kind, Registered, Values, anything, param};
use smallvec::SmallVec;
use std::collections::BTreeMap;

/// The routing.
pub const ROUTING: Registered<Routing> = Registered {
    component: Component {
        section: "routing",
        kind: "drill",
        doc: "DRILL: at every switch each packet takes the shortest of a few queues: some drawn at random among the next hops, and those that were shortest last time.",
        source: "DRILL, SIGCOMM 2017, §3.2",
        params: &[
            &[
                param! {
                    "samples" = "2": Kind::Count(1),
                    "d: how many next hops are drawn for each packet, each at most once.",
                    "DRILL §3.2: DRILL(2, 1)"
                },
                param! {
                    "memory" = "1": Kind::Count(0),
                    "m: how many of the shortest queues are remembered for the next packet.",
                    "DRILL §3.2: DRILL(2, 1)"
                },
                param! {
                    "memory_per" = "switch": Kind::Choice(&["switch", "destination"]),
                    "Which packets share a memory: all at a switch, or those to the same host.",
                    "DRILL §3.2: each engine has one; ConWeave's ns-3 simulator: each destination"
                },
                param! {
                    "balances" = "all": Kind::Choice(&["all", "data"]),
                    "Which packets it balances: all, or data only; the others then take per-flow ECMP.",
                    "DRILL §3.2: all; ConWeave's ns-3 simulator: data"
                },
            ],
            ns3::PARAMS,
        ],
        check: anything,
    },
    factory: Routing {
        balancer: Some(|values, home| Box::new(Drill::of(values, home))),
        settable: &["samples", "memory"],
        ..Routing::by_switches(Chooser::Balancer, plain_ecmp)
    },
};

/// Ports, the one with the shortest queue first.
type Ports = SmallVec<[u32; 4]>;

struct Drill {
    samples: u32,
    remembers: usize,
    per_destination: bool,
    data_only: bool,
    memories: BTreeMap<HostId, Ports>,
    random: Stream,
    /// The ports that a packet may be drawn, kept so that none allocates.
    drawn: Vec<u32>,
}

fn samples(values: &Values) -> u32 {
    values.count("samples").try_into().unwrap_or(u32::MAX)
}

fn remembers(values: &Values) -> usize {
    exact::<usize>(values.count("memory"))
}

impl Drill {
    fn of(values: &Values, home: Home<'_>) -> Drill {
        Drill {
            samples: samples(values),
            remembers: remembers(values),
            per_destination: values.text("memory_per") == "destination",
            data_only: values.text("balances") == "data",
            memories: BTreeMap::new(),
            random: home.random,
            drawn: Vec::new(),
        }
    }

    /// Draws as many of the ways as it samples, each at most once (Fisher and Yates).
    fn draw(&mut self, ways: Ways<'_>) {
        self.drawn.clear();
        self.drawn.extend(ways.ports());
        let samples = self.samples.min(ways.count());
        for nth in 0..samples {
            let other = nth + self.random.below(ways.count() - nth);
            self.drawn.swap(nth as usize, other as usize);
        }
        self.drawn.truncate(samples as usize);
    }
}

impl Balancer for Drill {
    /// What is remembered beyond the new memory is considered once more, and forgotten.
    fn set(&mut self, values: &Values) {
        (self.samples, self.remembers) = (samples(values), remembers(values));
    }

    fn pass(
        &mut self,
        packet: &Passing,
        _: &mut Tag,
        ways: Ways<'_>,
        look: &mut dyn Look,
        _: &mut Actions,
    ) -> Pass {
        if ways.is_only() || self.data_only && packet.kind != PacketKind::Data {
            return Pass::By(packet.ecmp);
        }
        self.draw(ways);
        let key = if self.per_destination { packet.dst } else { 0 };
        let memory = self.memories.entry(key).or_default();
        let remembered = memory.iter().copied().filter(|&port| ways.contain(port));
        let drawn = self.drawn.iter().copied().filter(|port| !memory.contains(port));
        // Of equal queues one that is remembered goes first, then the one that was drawn first: the sort keeps the
        // order.
        let mut seen: SmallVec<[(u64, u32); 8]> =
            remembered.chain(drawn).map(|port| (look.queued_bytes(port), port)).collect();
        seen.sort_by_key(|&(queued_bytes, _)| queued_bytes);
        let shortest = seen[0].1;
        let best: Ports = seen.iter().take(self.remembers).map(|&(_, port)| port).collect();
        *memory = best;
        Pass::By(shortest)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Queues, passing};
    use super::*;
    use crate::random::Purpose;

    fn drill(samples: u32, remembers: usize) -> Drill {
        Drill {
            samples,
            remembers,
            per_destination: false,
            data_only: false,
            memories: BTreeMap::new(),
            random: Stream::new(1, Purpose::Paths, 0),
            drawn: Vec::new(),
        }
    }

    fn port(drill: &mut Drill, queues: &[u64]) -> u32 {
        let ways = Ways::Range(0, queues.len() as u32);
        match drill.pass(&passing(1), &mut Tag::default(), ways, &mut Queues(queues), &mut Actions::default())
        {
            Pass::By(port) => port,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn over_all_ports_it_joins_the_shortest_queue() {
        let mut random = Stream::new(2, Purpose::Sizes, 0);
        let mut drill = drill(8, 0);
        for _ in 0..1_000 {
            let queues: Vec<u64> = (0..8).map(|_| u64::from(random.below(5))).collect();
            let chosen = port(&mut drill, &queues);
            assert_eq!(queues[chosen as usize], *queues.iter().min().expect("eight"), "{queues:?}");
        }
    }

    #[test]
    fn equal_queues_share_packets_alike_without_memory_and_keep_them_with_it() {
        let mut memoryless = drill(2, 0);
        let chosen: Vec<u32> = (0..4_000).map(|_| port(&mut memoryless, &[0; 4])).collect();
        let counts = [0, 1, 2, 3].map(|port| chosen.iter().filter(|&&other| other == port).count());
        assert!(counts.iter().all(|&count| count.abs_diff(1_000) < 137), "{counts:?}");
        let mut drill = drill(2, 1);
        let first = port(&mut drill, &[0; 4]);
        assert!((0..100).all(|_| port(&mut drill, &[0; 4]) == first));
    }

    #[test]
    fn a_shorter_queue_is_found_and_remembered() {
        let mut drill = drill(1, 1);
        let found = (0..200).map(|_| port(&mut drill, &[5, 5, 0, 5])).position(|port| port == 2);
        assert!(found.is_some());
        assert!((0..50).all(|_| port(&mut drill, &[5, 5, 0, 5]) == 2));
    }
}
