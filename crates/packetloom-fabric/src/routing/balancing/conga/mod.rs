//! CONGA (SIGCOMM 2014): each flowlet takes the path whose most congested link is the least congested. Every switch
//! writes how congested its link is into the packets; the switch of the receiver feeds it back.

mod dre;
mod tables;

use super::super::{Chooser, Routing, ns3, plain_ecmp};
use super::letflow::GAP;
use super::{Actions, Balancer, EdgePaths, Flowlets, Home, Look, Pass, Passing, Tag, Ways, flowlets};
use crate::narrow::narrow;
use crate::packet::Kind as PacketKind;
use crate::random::Stream;
use crate::spec::{Complaint, Component, Fallback, Kind, Param, Registered, Values, check_period, param};
use crate::units::{Rate, Time};
use dre::{Dre, Estimate};
use std::collections::VecDeque;
use tables::{FromLeaf, ToLeaf};

/// The routing.
pub const ROUTING: Registered<Routing> = Registered {
    component: Component {
        section: "routing",
        kind: "conga",
        doc: "CONGA: the sender's switch puts each flowlet on the path whose most congested link is the least congested, by feedback from the receivers' switches.",
        source: "CONGA, SIGCOMM 2014, §3",
        params: &[
            &[
                Param { default: Fallback::Value("500us"), ..GAP },
                flowlets::KEY,
                param! {
                    "dre_interval" = "32us": Kind::Time,
                    "T_dre: how often the estimate of what a link carries decays.",
                    "CONGA §3.2 gives T_dre / alpha = 160 us; ConWeave's ns-3 simulator: 50 us"
                },
                param! {
                    "dre_alpha" = "0.2": Kind::Number(0.001, 1.0),
                    "alpha: the share by which that estimate decays each time.", "ConWeave's ns-3 simulator: 0.2"
                },
                param! { "bits" = "3": Kind::Count(1), "Q: bits of the congestion metric.", "CONGA §3.2: 3" },
                param! {
                    "cap" = "true": Kind::Flag,
                    "Whether the metric is limited to 2^bits - 1. A link whose estimate exceeds its rate would give more.",
                    "CONGA §3.2; ConWeave's ns-3 simulator has no cap"
                },
                param! {
                    "max_age" = "10ms": Kind::Time,
                    "A path without feedback for this long counts as not congested.",
                    "CONGA §3.3: 10 ms; ConWeave's ns-3 simulator: 500 us"
                },
                param! {
                    "ageing" = "exact": Kind::Choice(&["exact", "ticks"]),
                    "When a path's age is checked: whenever the path is considered; or once per max_age, counted from the switch's first packet, so that feedback may be up to twice as old.",
                    "CONGA §3.3; ConWeave's ns-3 simulator, AgingEvent: ticks"
                },
                param! {
                    "candidates" = "0": Kind::Count(0),
                    "How many paths a flowlet chooses from: this many with consecutive numbers from a random one on, without wrapping around. 0: all.",
                    "CONGA §3.5: all; ConWeave's ns-3 simulator, GetBestPath: 4"
                },
                param! {
                    "stays" = "true": Kind::Flag,
                    "Whether a flowlet keeps the path of the last one unless another is strictly better; else it draws among the best.",
                    "CONGA §3.5; ConWeave's ns-3 simulator draws"
                },
                param! {
                    "balances" = "all": Kind::Choice(&["all", "data"]),
                    "Which packets it balances: all, or data only; the others then take per-flow ECMP and carry no feedback.",
                    "CONGA §3: all; ConWeave's ns-3 simulator: data"
                },
            ],
            ns3::PARAMS,
        ],
        check,
    },
    factory: Routing {
        balancer: Some(|values, home| Box::new(Conga::of(values, home))),
        chooses_paths: true,
        settable: &["flowlet_gap", "candidates", "stays"],
        ..Routing::by_switches(Chooser::Balancer, plain_ecmp)
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    check_period("dre_interval", values.time("dre_interval"), "32us")?;
    if values.text("ageing") == "ticks" {
        check_period("max_age", values.time("max_age"), "500us")?;
    }
    if values.count("bits") > 8 {
        return Err(Complaint::new("bits", "write from 1 to 8 bits"));
    }
    flowlets::check(values)
}

fn candidates(values: &Values) -> u32 {
    values.count("candidates").try_into().unwrap_or(0)
}

struct Conga {
    paths: EdgePaths,
    /// The path of each.
    flowlets: Flowlets<u16>,
    estimate: Estimate,
    /// Of each port.
    links: Vec<Dre>,
    /// The rates that it is yet to learn.
    changes: VecDeque<(Time, Vec<Rate>)>,
    to_leaf: ToLeaf,
    from_leaf: FromLeaf,
    /// When what they know is looked at for its age, if not always.
    ticks: Option<Ticks>,
    candidates: u32,
    stays: bool,
    data_only: bool,
    random: Stream,
}

/// Moments as far apart from each other, the first one so long after the first packet.
#[derive(Clone, Copy, Debug)]
struct Ticks {
    from: Option<Time>,
    every: Time,
}

impl Ticks {
    /// The last of them; before the first, when they begin.
    fn last(&mut self, now: Time) -> Time {
        let from = *self.from.get_or_insert(now);
        from + self.every.times(now.since(from).as_ps() / self.every.as_ps())
    }
}

impl Conga {
    fn of(values: &Values, home: Home<'_>) -> Conga {
        Conga {
            paths: EdgePaths::of(&home),
            flowlets: Flowlets::of(values, &home),
            estimate: Estimate {
                interval: values.time("dre_interval"),
                keeps: 1.0 - values.number("dre_alpha"),
                levels: 1 << values.count("bits"),
                is_capped: values.flag("cap"),
            },
            links: home.rates().into_iter().map(Dre::new).collect(),
            changes: home.changes(),
            to_leaf: ToLeaf::new(values.time("max_age")),
            from_leaf: FromLeaf::new(values.time("max_age")),
            ticks: (values.text("ageing") == "ticks")
                .then(|| Ticks { from: None, every: values.time("max_age") }),
            candidates: candidates(values),
            stays: values.flag("stays"),
            data_only: values.text("balances") == "data",
            random: home.random,
        }
    }

    /// Goes by the rates that the switch knows by now.
    fn learn(&mut self, now: Time) {
        while self.changes.front().is_some_and(|(at, _)| *at <= now) {
            let rates = self.changes.pop_front().into_iter().flat_map(|(_, rates)| rates);
            self.links.iter_mut().zip(rates).for_each(|(link, rate)| link.set_rate(rate));
        }
    }

    /// How congested a path is: here, or further on according to feedback.
    fn congestion(&mut self, packet: &Passing, path: u16, ways: Ways<'_>) -> u8 {
        let port = self.paths.port(packet, Some(path), ways);
        let here = self.links[port as usize].metric(packet.now, &self.estimate);
        let looked_at = self.looked_at(packet.now);
        here.max(self.to_leaf.congestion(looked_at, self.paths.edge_of(packet.dst), path))
    }

    /// When what is known was last looked at for its age.
    fn looked_at(&mut self, now: Time) -> Time {
        self.ticks.as_mut().map_or(now, |ticks| ticks.last(now))
    }

    /// The path of a packet that comes from its sender.
    fn choose(&mut self, packet: &Passing, ways: Ways<'_>) -> Option<u16> {
        let paths = self.paths.to(packet.dst)?;
        let last = match self.flowlets.way(packet) {
            Ok(path) if self.paths.is_open(packet, path, ways) => return Some(path),
            Ok(_) => None,
            Err(last) => last,
        };
        let count = narrow::<u32>(paths.len());
        let (first, tried) = match self.candidates {
            0 => (0, count),
            few if few >= count => (self.random.below(count), count),
            // The first paths do not follow the last, so those in between are candidates more often.
            few => (self.random.below(count - few + 1), few),
        };
        let mut best: Option<(u8, u16)> = None;
        let mut equals = 0;
        for nth in 0..tried {
            let path = paths[((first + nth) % count) as usize];
            if !self.paths.is_open(packet, path, ways) {
                continue;
            }
            let congestion = self.congestion(packet, path, ways);
            match best {
                Some((least, _)) if congestion > least => continue,
                Some((least, _)) if congestion == least => equals += 1,
                _ => equals = 1,
            }
            // Each of the equal ones stays with the same chance (reservoir sampling).
            if equals == 1 || self.random.below(equals) == 0 {
                best = Some((congestion, path));
            }
        }
        let (least, mut path) = best?;
        if let Some(last) = last.filter(|&last| self.stays && self.paths.is_open(packet, last, ways))
            && self.congestion(packet, last, ways) <= least
        {
            path = last;
        }
        self.flowlets.set(packet, path);
        Some(path)
    }
}

impl Balancer for Conga {
    fn set(&mut self, values: &Values) {
        self.flowlets.set_gap(values.time("flowlet_gap"));
        (self.candidates, self.stays) = (candidates(values), values.flag("stays"));
    }

    fn pass(
        &mut self,
        packet: &Passing,
        tag: &mut Tag,
        ways: Ways<'_>,
        _: &mut dyn Look,
        _: &mut Actions,
    ) -> Pass {
        if self.paths.is_local(packet) || self.data_only && packet.kind != PacketKind::Data {
            return Pass::By(packet.ecmp);
        }
        self.learn(packet.now);
        self.looked_at(packet.now);
        if self.paths.is_at(packet.src) {
            let path = self.choose(packet, ways);
            let looked_at = self.looked_at(packet.now);
            let feedback = self.from_leaf.next(looked_at, self.paths.edge_of(packet.dst));
            *tag = Tag { path, feedback, ..Tag::default() };
        } else if self.paths.is_at(packet.dst) {
            let leaf = self.paths.edge_of(packet.src);
            if let Some(path) = tag.path {
                self.from_leaf.note(packet.now, leaf, path, tag.congestion);
            }
            if let Some((path, congestion)) = tag.feedback {
                self.to_leaf.note(packet.now, leaf, path, congestion);
            }
            return Pass::By(ways.port(0));
        }
        let port = self.paths.port(packet, tag.path, ways);
        let link = &mut self.links[port as usize];
        link.add(packet.now, packet.size_bytes, &self.estimate);
        tag.congestion = tag.congestion.max(link.metric(packet.now, &self.estimate));
        Pass::By(port)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Queues, passing};
    use super::*;
    use crate::random::Purpose;
    use crate::spec::Value;
    use crate::topology::Topology;

    fn values(entries: &[(&str, Value)]) -> Values {
        let mut values = Values { kind: "conga".to_owned(), ..Values::default() };
        let defaults = [
            ("flowlet_gap", Value::Time(Time::from_us(500))),
            ("flowlet_key", Value::Text("flow".to_owned())),
            ("dre_interval", Value::Time(Time::from_us(50))),
            ("dre_alpha", Value::Number(0.2)),
            ("bits", Value::Count(3)),
            ("cap", Value::Flag(true)),
            ("max_age", Value::Time(Time::from_us(10_000))),
            ("ageing", Value::Text("exact".to_owned())),
            ("candidates", Value::Count(0)),
            ("stays", Value::Flag(true)),
            ("balances", Value::Text("all".to_owned())),
        ];
        for (key, value) in defaults.iter().chain(entries) {
            values.entries.insert((*key).to_owned(), value.clone());
        }
        values
    }

    /// Leaves 8 and 9 with four hosts each, spines 10 to 13.
    fn conga(topology: &Topology, node: u32, entries: &[(&str, Value)]) -> Conga {
        let random = Stream::new(1, Purpose::Paths, node.into());
        Conga::of(
            &values(entries),
            Home { topology, node, random, known_rates: &Vec::new(), common: &None, flow_ports: None },
        )
    }

    fn network() -> Topology {
        Topology::of_counts("leaf-spine", &[("spines", 4), ("leaves", 2), ("hosts_per_leaf", 4)])
    }

    fn pass(conga: &mut Conga, packet: &Passing, tag: &mut Tag, ways: Ways<'_>) -> u32 {
        match conga.pass(packet, tag, ways, &mut Queues(&[]), &mut Actions::default()) {
            Pass::By(port) => port,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn flows_spread_over_what_is_idle_and_keep_to_it() {
        let topology = network();
        let mut leaf = conga(&topology, 8, &[]);
        let mut ports = Vec::new();
        for flow in 0..4 {
            // 1000 packets of 1000 B in 100 us: more than 10 Gb/s for a while.
            for nth in 0..1_000_u64 {
                let now = Time::from_ns(u64::from(flow) * 100_000 + nth * 100);
                let packet = Passing { now, flow, dst: 5, ecmp: 4, ..passing(flow) };
                let port = pass(&mut leaf, &packet, &mut Tag::default(), Ways::Range(4, 4));
                if nth == 0 {
                    ports.push(port);
                }
                assert_eq!(port, ports[flow as usize]);
            }
        }
        ports.sort_unstable();
        assert_eq!(ports, [4, 5, 6, 7]);
    }

    #[test]
    fn by_ticks_what_is_known_may_be_twice_as_old() {
        let us = Time::from_us;
        let mut ticks = Ticks { from: None, every: us(500) };
        let times = [7, 506, 507, 1_006, 1_007, 3_000].map(|now| ticks.last(us(now)));
        assert_eq!(times, [7, 7, 507, 507, 1_007, 2_507].map(us));
        // Known at 10 us: exactly it is too old from 510 us on; by ticks, which are at 1, 501 and 1001 us, from 1001 on.
        let topology = network();
        let known_until = |ageing: &str| {
            let entries = [("max_age", Value::Time(us(500))), ("ageing", Value::Text(ageing.to_owned()))];
            let mut leaf = conga(&topology, 8, &entries);
            leaf.looked_at(us(1));
            leaf.to_leaf.note(us(10), 9, 0, 5);
            let is_known = |now: &u64| {
                let looked_at = leaf.looked_at(us(*now));
                leaf.to_leaf.congestion(looked_at, 9, 0) == 5
            };
            (10..2_000).take_while(is_known).last()
        };
        assert_eq!((known_until("exact"), known_until("ticks")), (Some(510), Some(1_000)));
    }

    #[test]
    fn few_candidates_do_not_go_on_from_the_last_path_to_the_first() {
        let topology = network();
        let mut leaf = conga(&topology, 8, &[("candidates", Value::Count(2))]);
        let mut taken = [0_i32; 4];
        for flow in 0..1_200 {
            // All links are idle again by the next.
            let now = Time::from_us(1_000 * u64::from(flow));
            let packet = Passing { now, dst: 5, ecmp: 4, ..passing(flow) };
            taken[pass(&mut leaf, &packet, &mut Tag::default(), Ways::Range(4, 4)) as usize - 4] += 1;
        }
        // The two are 0 and 1, 1 and 2, or 2 and 3; five deviations are 65 and 82.
        let expected = [(200, 65), (400, 82), (400, 82), (200, 65)];
        let are_near = taken.iter().zip(expected).all(|(taken, (mean, by))| (taken - mean).abs() < by);
        assert!(are_near, "{taken:?}");
    }

    #[test]
    fn what_a_spine_wrote_comes_back_and_is_avoided() {
        let topology = network();
        let (mut near, mut far) = (conga(&topology, 8, &[]), conga(&topology, 9, &[]));
        let now = Time::from_us(1);
        let there = Passing { now, src: 0, dst: 5, ..passing(1) };
        let mut tag = Tag::default();
        pass(&mut near, &there, &mut tag, Ways::Range(4, 4));
        let path = tag.path.expect("a choice");
        // The spine's link is congested.
        tag.congestion = 7;
        pass(&mut far, &there, &mut tag, Ways::Range(1, 1));
        let back = Passing { now, src: 5, dst: 0, flow: 2, ..passing(2) };
        let mut answer = Tag::default();
        pass(&mut far, &back, &mut answer, Ways::Range(4, 4));
        assert_eq!(answer.feedback, Some((path, 7)));
        pass(&mut near, &back, &mut answer, Ways::Range(0, 1));
        for flow in 3..40 {
            let mut tag = Tag::default();
            let packet = Passing { now: Time::from_us(2), dst: 5, flow, ..passing(flow) };
            pass(&mut near, &packet, &mut tag, Ways::Range(4, 4));
            assert_ne!(tag.path, Some(path));
        }
        // After its age it counts for nothing any more.
        let later = Passing { now: Time::from_us(20_000), dst: 5, ..passing(50) };
        assert_eq!(near.congestion(&later, path, Ways::Range(4, 4)), 0);
    }
}
