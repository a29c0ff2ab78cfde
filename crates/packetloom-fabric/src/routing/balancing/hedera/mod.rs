//! Hedera (NSDI 2010): flows go by ECMP; a scheduler looks now and then which are large, works out what they would
//! carry if the network did not limit them, and gives each a path on which there is room.

mod annealing;
mod demands;
mod first_fit;
mod network;
mod scheduler;

use super::super::{Chooser, Common, Routing, ns3, plain_ecmp};
use super::flowlets::{self, OfFlows, stream_of};
use super::{Actions, Balancer, EdgePaths, Home, Look, Pass, Passing, Tag, Ways};
use crate::narrow::saturated;
use crate::packet::Kind as PacketKind;
use crate::random::{Purpose, Stream};
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Values, param};
use crate::topology::KnownRates;
use crate::topology::Topology;
use crate::units::Time;
use annealing::Annealing;
use network::Network;
pub use scheduler::Scheduler;
use scheduler::{Large, Placement};
use std::sync::Arc;

/// The routing.
pub const ROUTING: Registered<Routing> = Registered {
    component: Component {
        section: "routing",
        kind: "hedera",
        doc: "Hedera: per-flow ECMP, but a central scheduler, which polls the senders' switches, chooses the paths of large flows.",
        source: "Hedera, NSDI 2010, §4",
        params: &[
            &[
                param! {
                    "interval" = "5s": Kind::Time,
                    "How often the scheduler asks which flows are large; it should be less than such flows last.",
                    "Hedera §5: five seconds"
                },
                param! {
                    "delay" = "1ms": Kind::Time,
                    "The time from a poll until the new paths are in use; at most half of the interval.",
                    "packetloom"
                },
                param! {
                    "large_above" = "0.1": Kind::Number(0.0, 1.0),
                    "A flow is large if it sent more than this share of what its host's link carries between two polls.",
                    "Hedera §4.1: 10 %"
                },
                param! {
                    "placement" = "simulated-annealing": Kind::Choice(&["simulated-annealing", "global-first-fit"]),
                    "How paths are found: a core switch for each destination, varied at random; or for each flow the first path with room, which it keeps.",
                    "Hedera §4.3, §4.4; §6: annealing does better"
                },
                param! {
                    "iterations" = "1000": Kind::Count(1),
                    "How many variations annealing tries after a poll, at most.",
                    "Hedera §4.4: the first temperature, for 16 hosts"; acts &[Needs::Is("placement", &["simulated-annealing"])]
                },
                param! {
                    "greed" = "0.5": Kind::Number(0.0, 1e6),
                    "c over the first temperature: the larger, the less often annealing takes what is worse.",
                    "Hedera §4.4: 0.5 for 16 hosts, 1000 for thousands"; acts &[Needs::Is("placement", &["simulated-annealing"])]
                },
            ],
            ns3::PARAMS,
        ],
        check,
    },
    factory: Routing {
        balancer: Some(|values, home| Box::new(Hedera::of(values, home))),
        chooses_paths: true,
        common: Some(scheduler_of),
        ..Routing::by_switches(Chooser::Balancer, plain_ecmp)
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    let (interval, delay) = (values.time("interval"), values.time("delay"));
    if delay == Time::ZERO || delay.as_ps() > interval.as_ps() / 2 {
        let message = format!("write more than 0s, and at most half of the interval, which is {interval}");
        return Err(Complaint::new("delay", message));
    }
    Ok(())
}

fn scheduler_of(values: &Values, topology: &Topology, rates: &KnownRates, seed: u64) -> Common {
    let network = Network::of(topology, rates.clone());
    let placement = match values.text("placement").as_str() {
        "global-first-fit" => Placement::FirstFit,
        _ => Placement::Annealing(Annealing {
            tries: values.count("iterations").try_into().unwrap_or(u32::MAX),
            greed: values.number("greed"),
            random: Stream::new(seed, Purpose::Control, 0),
            ways: (0..network.hosts()).map(|host| host % network.ways()).collect(),
        }),
    };
    Some(Arc::new(Scheduler::new(network, placement)))
}

/// What a switch counts of a flow between two polls.
#[derive(Clone, Copy, Debug)]
struct Counted {
    bytes: u64,
    dst: u32,
}

/// A switch: it counts what its hosts send, and has large flows take the paths that the scheduler gave them.
struct Hedera {
    paths: EdgePaths,
    scheduler: Arc<Scheduler>,
    interval: Time,
    delay: Time,
    /// How many bytes in an interval make a flow of a host large, by host.
    large_bytes: Vec<u64>,
    counted: OfFlows<Counted>,
    given: OfFlows<u16>,
    /// The flows that were large at the last poll, and which that was.
    reported: Vec<flowlets::Stream>,
    poll: u64,
    /// The poll that comes next, if anything was counted for it.
    poll_at: Time,
    /// When what was decided after the last poll holds.
    decided_at: Time,
}

impl Hedera {
    fn of(values: &Values, home: Home<'_>) -> Hedera {
        let interval = values.time("interval");
        let (seconds, share) = (interval.as_secs_f64(), values.number("large_above"));
        let topology = home.topology;
        let bytes = |host| saturated::<u64>(topology.rate_of(host).as_bps() as f64 / 8.0 * seconds * share);
        Hedera {
            paths: EdgePaths::of(&home),
            scheduler: home.common.clone().expect("a network with it has a scheduler"),
            interval,
            delay: values.time("delay"),
            large_bytes: (0..topology.hosts).map(bytes).collect(),
            counted: OfFlows::default(),
            given: OfFlows::default(),
            reported: Vec::new(),
            poll: 0,
            poll_at: Time::NEVER,
            decided_at: Time::NEVER,
        }
    }

    fn count(&mut self, packet: &Passing) {
        if self.poll_at == Time::NEVER {
            let polls = packet.now.as_ps() / self.interval.as_ps();
            self.poll_at = Time((polls + 1) * self.interval.as_ps());
            if polls > self.poll {
                self.given.clear();
            }
        }
        let fresh = Counted { bytes: 0, dst: packet.dst };
        self.counted.entry(stream_of(packet)).or_insert(fresh).bytes += u64::from(packet.size_bytes);
    }

    /// Reports which flows are large. Of a flow that was silent for an interval nothing is remembered.
    fn poll(&mut self) {
        self.given.retain(|stream, _| self.counted.contains_key(stream));
        let large_bytes = &self.large_bytes;
        let is_large = |(stream, counted): &(_, Counted)| counted.bytes > large_bytes[stream_src(stream)];
        let large = self.counted.drain().filter(is_large).map(|(stream, counted)| Large {
            stream,
            dst: counted.dst,
            path: self.given.get(&stream).copied(),
        });
        let large: Vec<Large> = large.collect();
        self.reported = large.iter().map(|flow| flow.stream).collect();
        self.poll = self.poll_at.as_ps() / self.interval.as_ps();
        self.decided_at = if large.is_empty() { Time::NEVER } else { self.poll_at + self.delay };
        self.scheduler.report(self.poll, large);
        // If nothing is counted until the next poll, there is none.
        self.poll_at = Time::NEVER;
    }

    /// Learns what the scheduler made of it.
    fn learn(&mut self, now: Time) {
        let paths = self.scheduler.paths_of((self.poll, now), &self.reported);
        for (stream, path) in self.reported.drain(..).zip(paths) {
            match path {
                Some(path) => self.given.insert(stream, path),
                None => self.given.remove(&stream),
            };
        }
        self.decided_at = Time::NEVER;
    }
}

fn stream_src(stream: &flowlets::Stream) -> usize {
    stream.1 as usize
}

impl Balancer for Hedera {
    fn pass(
        &mut self,
        packet: &Passing,
        tag: &mut Tag,
        ways: Ways<'_>,
        _: &mut dyn Look,
        _: &mut Actions,
    ) -> Pass {
        if packet.kind != PacketKind::Data {
            return Pass::By(packet.ecmp);
        }
        if self.paths.is_at(packet.src) {
            self.count(packet);
            tag.path = if ways.is_only() { None } else { self.given.get(&stream_of(packet)).copied() };
        }
        Pass::By(self.paths.port(packet, tag.path, ways))
    }

    fn next_at(&self) -> Time {
        self.poll_at.min(self.decided_at)
    }

    fn wake(&mut self, now: Time, _: &mut Actions) {
        if self.decided_at <= now {
            self.learn(now);
        }
        if self.poll_at <= now {
            self.poll();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Queues, passing};
    use super::*;
    use crate::spec::Value;

    /// The switch of hosts 0 to 3 in a leaf-spine with leaves 8 and 9, and spines 10 to 13; links have 10 Gb/s.
    fn leaf() -> Hedera {
        let topology =
            Topology::of_counts("leaf-spine", &[("spines", 4), ("leaves", 2), ("hosts_per_leaf", 4)]);
        let entries = [
            ("interval", Value::Time(Time::from_us(1_000))),
            ("delay", Value::Time(Time::from_us(100))),
            ("large_above", Value::Number(0.1)),
            ("placement", Value::Text("global-first-fit".to_owned())),
        ];
        let entries = entries.map(|(key, value)| (key.to_owned(), value)).into();
        let values = Values { kind: "hedera".to_owned(), entries };
        let common = scheduler_of(&values, &topology, &Vec::new(), 1);
        let random = Stream::new(1, Purpose::Paths, 8);
        Hedera::of(
            &values,
            Home {
                topology: &topology,
                node: 8,
                random,
                known_rates: &Vec::new(),
                common: &common,
                flow_ports: None,
            },
        )
    }

    /// The ports that full packets of a flow from a host take, so many microseconds apart.
    fn ports(
        leaf: &mut Hedera,
        (flow, src): (u32, u32),
        from_us: u64,
        apart_us: u64,
        packets: u64,
    ) -> Vec<u32> {
        let mut port = |nth| {
            let now = Time::from_us(from_us + nth * apart_us);
            while leaf.next_at() < now {
                leaf.wake(leaf.next_at(), &mut Actions::default());
            }
            let packet = Passing { now, src, dst: 5, ecmp: 7, ..passing(flow) };
            let ways = Ways::Range(4, 4);
            match leaf.pass(&packet, &mut Tag::default(), ways, &mut Queues(&[]), &mut Actions::default()) {
                Pass::By(port) => port,
                other => panic!("{other:?}"),
            }
        };
        (0..packets).map(&mut port).collect()
    }

    #[test]
    fn a_flow_goes_by_ecmp_until_the_scheduler_gave_it_a_path_and_again_after_a_silence() {
        let mut leaf = leaf();
        // 10 % are 125 KB in a millisecond: 125 packets and one more.
        assert_eq!(ports(&mut leaf, (1, 0), 0, 7, 157), [7; 157]);
        assert_eq!(ports(&mut leaf, (1, 0), 1_100, 1, 1), [7]);
        assert_eq!(ports(&mut leaf, (1, 0), 1_101, 1, 10), [4; 10]);
        assert_eq!(ports(&mut leaf, (1, 0), 2_900, 1, 1), [4]);
        // Nothing was counted from 3 to 4 ms.
        assert_eq!(ports(&mut leaf, (1, 0), 4_500, 1, 2), [7, 7]);
    }

    #[test]
    fn a_small_flow_stays_on_ecmp_and_two_large_ones_come_apart() {
        let mut leaf = leaf();
        assert_eq!(ports(&mut leaf, (1, 0), 0, 8, 125), [7; 125]);
        assert_eq!(ports(&mut leaf, (1, 0), 1_200, 8, 10), [7; 10]);
        let mut leaf = self::leaf();
        ports(&mut leaf, (1, 0), 0, 1, 400);
        ports(&mut leaf, (2, 1), 400, 1, 400);
        // Both go to one host, so each is to carry half: the first path has room for both.
        let one = ports(&mut leaf, (1, 0), 1_200, 1, 1);
        assert_eq!((one[0], ports(&mut leaf, (2, 1), 1_201, 1, 1)[0]), (4, 4));
    }
}
