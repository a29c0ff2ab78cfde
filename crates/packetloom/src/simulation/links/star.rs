//! The network in which a link is simulated.
//!
//! It is a star. Where the link is a host's own, that host sends over it to a receiver for each kind of path. Elsewhere
//! each sender has a link of the lowest rate that its flows have met before, and the one receiver is behind the link.
//! All other links are so fast that nothing waits there. Latencies make up for the rest of the path, so that a full
//! packet takes as long to the receiver as on the whole path, and an acknowledgement as long back.
//!
//! Acknowledgements of other flows take their part of the link's rate: it is lower by the share of the time that they
//! keep it busy.
//!
//! Flows that last are held back by what the rest of their paths leaves them over time (`limits`). Where the link is a
//! host's own, each has a receiver of its own, whose link is as slow as that: the flow's packets queue there as they
//! would at its bottleneck, are marked and dropped likewise, and no other flow has to wait for them. Elsewhere the
//! sender's link is as slow as what all such flows of it are left together.

use super::apart::Apart;
use crate::fault::Slow;
use crate::flow::{Flow, HostId};
use crate::measure::{Format, best_fct};
use crate::topology::{self, Arm, Topology};
use crate::units::{ByteTime, Rate, Time};
use std::collections::BTreeMap;

/// How much faster than any other link those are where nothing is to wait.
const FASTER: u64 = 10;

/// The most of a link that acknowledgements take: more would be no network to measure.
const MOST_FOR_ACKS: f64 = 0.5;

/// A star, and its flows.
pub(super) struct Star {
    pub(super) arms: Vec<Arm>,
    pub(super) flows: Vec<Flow>,
    /// Which arm the link leads to, if it is not a host's own.
    pub(super) target: Option<usize>,
    /// When which of its links are slower than their arms say.
    pub(super) paces: Paces,
}

/// By link, when it is slow, in order.
pub(super) type Paces = BTreeMap<usize, Vec<Slow>>;

impl Apart<'_> {
    pub(super) fn star(&self, link: u32) -> Star {
        let topology = &self.setting.topology;
        let target = &topology.links[link as usize];
        let part = self.left_by_acks(link);
        let figures = (self.reduced(target.rate, part), target.latency);
        let mut star = if target.src < topology.hosts {
            self.at_host(link, figures, part)
        } else {
            self.at_switch(link, figures, part)
        };
        star.paces.retain(|_, slow| !slow.is_empty());
        star
    }

    /// The part of a link's rate that acknowledgements of others leave.
    fn left_by_acks(&self, link: u32) -> f64 {
        let data = self.crossings.data_time[link as usize];
        let busy = self.crossings.ack_time[link as usize].as_ps() as f64;
        let share = busy / self.crossings.span.max(data).as_ps().max(1) as f64;
        1.0 - share.min(MOST_FOR_ACKS)
    }

    /// A part of a rate, as far down as there are rates.
    fn reduced(&self, rate: Rate, part: f64) -> Rate {
        let slowest =
            if self.setting.topology.whole_ns { ByteTime::SLOWEST_IN_WHOLE_NS } else { topology::SLOWEST };
        Rate((rate.as_bps() as f64 * part).round() as u64).max(slowest.min(rate))
    }

    /// A host's own link: it is the first of all paths, and receivers are as far as the paths are long.
    fn at_host(&self, link: u32, target: (Rate, Time), part: f64) -> Star {
        let at = self.crossings.at(link);
        let key = |flow: u32| {
            let own = self.limits.is_held_back(flow).then_some(flow);
            (self.crossings.way_of[flow as usize], own)
        };
        let mut receivers: BTreeMap<(u32, Option<u32>), HostId> = BTreeMap::new();
        for &flow in at {
            let next = receivers.len() as HostId + 1;
            receivers.entry(key(flow)).or_insert(next);
        }
        let fast = Rate(target.0.as_bps() * FASTER);
        let shortest = receivers.keys().map(|&(way, _)| self.one_way[way as usize].1).min();
        let first_back = (fast, halved(shortest));
        let mut arms = vec![Arm { out: target, back: first_back }];
        arms.resize(receivers.len() + 1, Arm { out: (fast, Time::ZERO), back: (fast, Time::ZERO) });
        let mut paces = Paces::new();
        let held_back = receivers.iter().filter_map(|(&(_, own), &receiver)| Some((own?, receiver as usize)));
        for (flow, receiver) in held_back {
            let rate = self.slowest_of_others(link, flow).map_or(fast, |rate| self.reduced(rate, part));
            arms[receiver].back.0 = rate;
            paces.insert(arms.len() + receiver, self.pace(link, &[flow], rate, part));
        }
        let network = self.setting.topology.star(&arms);
        for (&(way, _), &receiver) in &receivers {
            let (there, back) = self.left(&network, way, 0, receiver);
            (arms[receiver as usize].back.1, arms[receiver as usize].out.1) = (there, back);
        }
        let flow =
            |&flow: &u32| Flow { src: 0, dst: receivers[&key(flow)], ..self.crossings.flows[flow as usize] };
        Star { flows: at.iter().map(flow).collect(), arms, target: None, paces }
    }

    /// A link of a switch: senders are before it, with what their flows have met until then.
    ///
    /// Acknowledgements take their `part` of those links, too: if not, a single flow would fill the queue of a link
    /// that is as fast as its sender's.
    fn at_switch(&self, link: u32, target: (Rate, Time), part: f64) -> Star {
        let at = self.crossings.at(link);
        let before = |flow: u32| {
            let links = self.crossings.path(flow as usize).iter().take_while(|&&other| other != link);
            let rates = links.map(|&other| self.setting.topology.links[other as usize].rate);
            rates.min().map_or(target.0, |rate| self.reduced(rate, part))
        };
        let key = |flow: u32| {
            let way = self.crossings.way_of[flow as usize];
            (self.crossings.flows[flow as usize].src, way, before(flow))
        };
        let mut senders: BTreeMap<(HostId, u32, Rate), HostId> = BTreeMap::new();
        let places: Vec<HostId> = at
            .iter()
            .map(|&flow| {
                let next = senders.len() as HostId + 1;
                *senders.entry(key(flow)).or_insert(next)
            })
            .collect();
        let fastest = senders.keys().map(|&(_, _, rate)| rate).max().unwrap_or(target.0).max(target.0);
        let fast = Rate(fastest.as_bps() * FASTER);
        let shortest = senders.keys().map(|&(_, way, _)| self.one_way[way as usize].1).min();
        let mut arms = vec![Arm { out: (fast, halved(shortest)), back: target }];
        arms.resize(senders.len() + 1, Arm { out: (fast, Time::ZERO), back: (fast, Time::ZERO) });
        for (&(_, _, rate), &sender) in &senders {
            arms[sender as usize].out.0 = rate;
        }
        let network = self.setting.topology.star(&arms);
        for (&(_, way, _), &sender) in &senders {
            let (there, back) = self.left(&network, way, sender, 0);
            (arms[sender as usize].out.1, arms[sender as usize].back.1) = (there, back);
        }
        let flow = |(&flow, src): (&u32, HostId)| Flow { src, dst: 0, ..self.crossings.flows[flow as usize] };
        let mut held_back: BTreeMap<HostId, Vec<u32>> = BTreeMap::new();
        for (&flow, &sender) in at.iter().zip(&places).filter(|&(&flow, _)| self.limits.is_held_back(flow)) {
            held_back.entry(sender).or_default().push(flow);
        }
        let pace = |(sender, flows): (HostId, Vec<u32>)| {
            let rate = arms[sender as usize].out.0;
            (sender as usize, self.pace(link, &flows, rate, part))
        };
        let paces = held_back.into_iter().map(pace).collect();
        Star { flows: at.iter().zip(places).map(flow).collect(), arms, target: Some(0), paces }
    }

    /// When a link of a star is slower than `rate`: by what these flows of the simulated link are left elsewhere, of
    /// which acknowledgements take their `part`, as of that link's rate.
    fn pace(&self, link: u32, flows: &[u32], rate: Rate, part: f64) -> Vec<Slow> {
        let spans = self.limits.left(link, flows).into_iter();
        let slow = spans.map(|span| {
            let left = self.reduced(rate, span.rate * 1e12 * part / rate.as_bps() as f64);
            (left, span.from, span.until)
        });
        let slow = slow.filter(|&(left, _, _)| left < rate);
        slow.map(|(left, from, until)| Slow { from, until, byte_time: self.setting.topology.byte_time(left) })
            .collect()
    }

    /// The rate of the slowest other link of a flow's path.
    fn slowest_of_others(&self, link: u32, flow: u32) -> Option<Rate> {
        let others = self.crossings.path(flow as usize).iter().filter(|&&other| other != link);
        others.map(|&other| self.setting.topology.links[other as usize].rate).min()
    }

    /// The same network, but nothing waits at the link. What a full packet takes there stays as it was, so that
    /// flows for which the link made no difference fare as they did.
    pub(super) fn without_target(&self, star: &Star) -> Topology {
        let mut arms = star.arms.clone();
        let fastest = arms.iter().flat_map(|arm| [arm.out.0, arm.back.0]).max();
        if let (Some(target), Some(fastest)) = (star.target, fastest) {
            let bytes = self.setting.format.mss_bytes + self.setting.format.header_bytes;
            let bytes = bytes + self.setting.topology.framing_bytes;
            let takes = |rate| self.setting.topology.byte_time(rate).of(bytes);
            let (rate, latency) = arms[target].back;
            arms[target].back = (fastest, latency + takes(rate).since(takes(fastest)));
        }
        self.setting.topology.star(&arms)
    }

    /// What is missing from a kind of path's times in a star, to the receiver and back.
    fn left(&self, star: &Topology, way: u32, src: HostId, dst: HostId) -> (Time, Time) {
        let (there, back) = self.one_way[way as usize];
        let there_now = one_packet(star, self.setting.format, src, dst);
        (there.since(there_now), back.since(one_packet(star, self.ack, dst, src)))
    }
}

fn halved(time: Option<Time>) -> Time {
    Time(time.unwrap_or(Time::ZERO).as_ps() / 2)
}

/// What a full packet takes from one host to another.
pub(super) fn one_packet(topology: &Topology, format: Format, src: HostId, dst: HostId) -> Time {
    best_fct(topology, format, src, dst, format.mss_bytes)
}
