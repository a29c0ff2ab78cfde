//! Adaptive routing as switch chips do it: the best next hop by queues in coarse bands, for each packet or each
//! flowlet (the strategies `ecmp_ar` and `ecmp_host_ar` of uet-htsim's fat_tree_switch.cpp).

use super::super::{Chooser, Routing, ns3, plain_ecmp};
use super::{Actions, Balancer, Flowlets, Home, Look, Pass, Passing, Tag, Ways};
use crate::narrow::narrow;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Values, param};
use crate::units::Time;

/// The routing.
pub const ROUTING: Registered<Routing> = Registered {
    component: Component {
        section: "routing",
        kind: "adaptive",
        doc: "Adaptive routing: every switch chooses a next hop whose queue is among the shortest. It knows queue lengths only in four bands, and as they were at the last update.",
        source: "uet-htsim, fat_tree_switch.cpp: ecmp_ar",
        params: &[
            &[
                param! {
                    "per" = "packet": Kind::Choice(&["packet", "flowlet", "hash"]),
                    "\"packet\": each packet takes one of the best ports. \"flowlet\": a flowlet moves to one if it is strictly better than the last port and a coin flip allows it. \"hash\": a packet takes the port of its hash, unless that is among the worst and a coin flip allows another.",
                    "uet-htsim: ecmp_ar by packet or flow, ecmp_host_ar"
                },
                param! {
                    "flowlet_gap" = "10us": Kind::Time,
                    "With per = \"flowlet\": a silence longer than this ends a flowlet.",
                    "uet-htsim: ar_sticky_delta 10 us"; acts &[Needs::Is("per", &["flowlet"])]
                },
                param! {
                    "capacity" = "225KB": Kind::Bytes,
                    "The queue length of which the bands are shares: below 5 %, below 10 %, below 20 %, and above.",
                    "packetloom; uet-htsim takes each queue's own"
                },
                param! {
                    "update_interval" = "0s": Kind::Time,
                    "How often a switch updates what it knows of its queues; 0: for every packet.",
                    "packetloom; uet-htsim, queue.cpp: 0.1 us"
                },
                param! {
                    "least" = "100B": Kind::Bytes,
                    "Packets smaller than this take per-flow ECMP.",
                    "uet-htsim: packets below 100 B are hashed"
                },
            ],
            ns3::PARAMS,
        ],
        check,
    },
    factory: Routing {
        balancer: Some(|values, home| Box::new(Adaptive::of(values, home))),
        settable: &["flowlet_gap", "capacity", "update_interval", "least"],
        ..Routing::by_switches(Chooser::Balancer, plain_ecmp)
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    match values.bytes("capacity") {
        0 => Err(Complaint::new("capacity", "write the size of a queue, such as \"225KB\"")),
        _ => Ok(()),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Per {
    Packet,
    Flowlet,
    Hash,
}

/// How congested a way is: first whether it is paused, then the band of its queue.
type Congestion = (bool, u8);

struct Adaptive {
    per: Per,
    capacity_bytes: u64,
    update_interval: Time,
    least_bytes: u64,
    flowlets: Flowlets<u32>,
    /// Of each port, what is known, and since when.
    known: Vec<Option<(Time, Congestion)>>,
    random: Stream,
}

impl Adaptive {
    fn of(values: &Values, home: Home<'_>) -> Adaptive {
        Adaptive {
            per: values
                .meaning("per", &[("packet", Per::Packet), ("flowlet", Per::Flowlet), ("hash", Per::Hash)]),
            capacity_bytes: values.bytes("capacity"),
            update_interval: values.time("update_interval"),
            least_bytes: values.bytes("least"),
            flowlets: Flowlets::new(values.time("flowlet_gap")),
            known: vec![None; home.rates().len()],
            random: home.random,
        }
    }

    fn congestion(&mut self, now: Time, port: u32, look: &mut dyn Look) -> Congestion {
        let known = &mut self.known[port as usize];
        match *known {
            Some((at, congestion)) if now < at + self.update_interval => congestion,
            _ => {
                let share = look.queued_bytes(port).saturating_mul(100) / self.capacity_bytes;
                let band = narrow::<u8>([5, 10, 20].iter().filter(|&&bound| share >= bound).count());
                let congestion = (look.is_paused(port), band);
                *known = Some((now, congestion));
                congestion
            }
        }
    }

    /// One of the least congested ways, drawn at random, and how congested the best and the worst are.
    fn best(&mut self, now: Time, ways: Ways<'_>, look: &mut dyn Look) -> (u32, Congestion, Congestion) {
        let first = self.congestion(now, ways.port(0), look);
        let (mut best, mut worst, mut equals, mut chosen) = (first, first, 1, ways.port(0));
        for port in ways.ports().skip(1) {
            let congestion = self.congestion(now, port, look);
            worst = worst.max(congestion);
            if congestion < best {
                (best, equals, chosen) = (congestion, 1, port);
            } else if congestion == best {
                // Each of the equal ones stays with the same chance (reservoir sampling).
                equals += 1;
                if self.random.below(equals) == 0 {
                    chosen = port;
                }
            }
        }
        (chosen, best, worst)
    }

    fn flips(&mut self) -> bool {
        self.random.below(2) == 0
    }

    fn by_flowlet(&mut self, packet: &Passing, ways: Ways<'_>, look: &mut dyn Look) -> u32 {
        let last = match self.flowlets.way(packet) {
            Ok(port) if ways.contain(port) => return port,
            Ok(_) | Err(None) => None,
            Err(Some(port)) => Some(port).filter(|&port| ways.contain(port)),
        };
        let port = match last {
            Some(last) if !self.flips() => last,
            _ => {
                let (chosen, best, _) = self.best(packet.now, ways, look);
                last.filter(|&last| self.congestion(packet.now, last, look) <= best).unwrap_or(chosen)
            }
        };
        self.flowlets.set(packet, port);
        port
    }

    fn by_hash(&mut self, packet: &Passing, ways: Ways<'_>, look: &mut dyn Look) -> u32 {
        if !self.flips() {
            return packet.ecmp;
        }
        let (chosen, best, worst) = self.best(packet.now, ways, look);
        let own = self.congestion(packet.now, packet.ecmp, look);
        if best < worst && own == worst { chosen } else { packet.ecmp }
    }
}

impl Balancer for Adaptive {
    fn set(&mut self, values: &Values) {
        self.capacity_bytes = values.bytes("capacity");
        self.update_interval = values.time("update_interval");
        self.least_bytes = values.bytes("least");
        self.flowlets.set_gap(values.time("flowlet_gap"));
    }

    fn pass(
        &mut self,
        packet: &Passing,
        _: &mut Tag,
        ways: Ways<'_>,
        look: &mut dyn Look,
        _: &mut Actions,
    ) -> Pass {
        if ways.is_only() || u64::from(packet.size_bytes) < self.least_bytes {
            return Pass::By(packet.ecmp);
        }
        Pass::By(match self.per {
            Per::Packet => self.best(packet.now, ways, look).0,
            Per::Flowlet => self.by_flowlet(packet, ways, look),
            Per::Hash => self.by_hash(packet, ways, look),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Queues, passing};
    use super::*;
    use crate::random::Purpose;

    fn adaptive(per: Per) -> Adaptive {
        Adaptive {
            per,
            capacity_bytes: 100_000,
            update_interval: Time::ZERO,
            least_bytes: 100,
            flowlets: Flowlets::new(Time::from_us(10)),
            known: vec![None; 4],
            random: Stream::new(1, Purpose::Paths, 0),
        }
    }

    fn port(adaptive: &mut Adaptive, now_us: u64, queues: &[u64]) -> u32 {
        let packet = Passing { now: Time::from_us(now_us), ..passing(1) };
        let ways = Ways::Range(0, queues.len() as u32);
        match adaptive.pass(&packet, &mut Tag::default(), ways, &mut Queues(queues), &mut Actions::default())
        {
            Pass::By(port) => port,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn queues_of_one_band_are_alike() {
        let mut adaptive = adaptive(Per::Packet);
        let chosen: Vec<u32> =
            (0..3_000).map(|_| port(&mut adaptive, 0, &[20_000, 4_999, 0, 3_000])).collect();
        let counts = [0, 1, 2, 3].map(|port| chosen.iter().filter(|&&other| other == port).count());
        assert_eq!(counts[0], 0);
        assert!(counts[1..].iter().all(|&count| count.abs_diff(1_000) < 130), "{counts:?}");
    }

    #[test]
    fn what_is_known_may_be_old() {
        let mut adaptive = adaptive(Per::Packet);
        adaptive.update_interval = Time::from_us(5);
        assert_eq!(port(&mut adaptive, 0, &[0, 50_000, 50_000, 50_000]), 0);
        assert_eq!(port(&mut adaptive, 4, &[50_000, 50_000, 50_000, 0]), 0);
        assert_eq!(port(&mut adaptive, 5, &[50_000, 50_000, 50_000, 0]), 3);
    }

    #[test]
    fn a_flowlet_moves_only_to_what_is_better() {
        let mut adaptive = adaptive(Per::Flowlet);
        let first = port(&mut adaptive, 0, &[0; 4]);
        for nth in 1..100 {
            assert_eq!(port(&mut adaptive, 20 * nth, &[0; 4]), first);
        }
        let mut queues = [0; 4];
        queues[first as usize] = 50_000;
        // Without a gap it stays.
        assert_eq!(port(&mut adaptive, 20 * 99 + 5, &queues), first);
        let moved = (100..120).any(|nth| port(&mut adaptive, 21 * nth, &queues) != first);
        assert!(moved);
    }

    #[test]
    fn a_hash_is_left_only_where_it_is_among_the_worst() {
        let mut adaptive = adaptive(Per::Hash);
        assert!((0..100).all(|_| port(&mut adaptive, 0, &[0; 4]) == 0));
        assert!((0..100).all(|_| port(&mut adaptive, 0, &[6_000, 50_000, 0, 0]) == 0));
        let left = (0..1_000).filter(|_| port(&mut adaptive, 0, &[50_000, 0, 0, 0]) != 0).count();
        assert!(left.abs_diff(500) < 80, "{left}");
    }
}
