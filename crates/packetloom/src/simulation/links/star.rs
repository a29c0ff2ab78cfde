//! The network in which links are simulated.
//!
//! It is a star, whose first host has the links. Of a host's own cable both directions are simulated together: that
//! host sends over the one to a receiver for each kind of path, and hears over the other from senders, so that
//! acknowledgements wait there for data that goes their way. A link between switches leads to the first host, from
//! senders. Each sender has a link of the lowest rate that its flows have met before. All other links are so fast that
//! nothing waits there. Latencies make up for the rest of the path, so that a full packet takes as long to the receiver
//! as on the whole path, and an acknowledgement as long back.
//!
//! Where they are not simulated, acknowledgements of other flows take their part of a link's rate: it is lower by the
//! share of the time that they keep it busy.
//!
//! Flows that last are held back by what the rest of their paths leaves them over time (`limits`). Each has a receiver or
//! a sender of its own, whose link is as slow as that: the flow's packets queue there as they would at its bottleneck,
//! are marked and dropped likewise, and no other flow has to wait for them. But what its sender's own link holds back
//! shares that link with the sender's other flows to the same host.

use super::alike::Section;
use super::apart::Apart;
use crate::fault::{Pace, Slow};
use crate::flow::{Flow, HostId};
use crate::narrow::{narrow, saturated};
use crate::packet::Format;
use crate::topology::best_fct;
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
    /// In order of start.
    pub(super) flows: Vec<Flow>,
    /// Which flows of the case they are.
    pub(super) numbers: Vec<u32>,
    /// How others share its links.
    pub(super) paces: Paces,
}

/// By link, how others share it.
pub(super) type Paces = BTreeMap<usize, Pace>;

/// The least part of a queue that a flow has for itself: a tenth of a usual one holds the packets of an initial window.
const LEAST_PART: f64 = 0.1;

/// What flows have in common that the first host sends to the same receiver: their kind of path; and which flow it is, if
/// it has a receiver of its own.
type Receiver = (u32, Option<u32>);

/// What flows have in common that the first host hears from the same sender: their sender, kind of path, and the lowest
/// rate before; and which flow it is, if it has a sender of its own.
type Sender = (HostId, u32, Rate, Option<u32>);

/// The hosts of a star but the first one.
#[derive(Default)]
struct Others {
    receivers: BTreeMap<Receiver, HostId>,
    senders: BTreeMap<Sender, HostId>,
    /// Which flows of each are held back.
    held_back: BTreeMap<HostId, Vec<u32>>,
}

impl Others {
    /// The number of the next one.
    fn next(&self) -> HostId {
        narrow::<HostId>(self.receivers.len() + self.senders.len()) + 1
    }

    fn receiver(&mut self, key: Receiver) -> HostId {
        let next = self.next();
        *self.receivers.entry(key).or_insert(next)
    }

    fn sender(&mut self, key: Sender) -> HostId {
        let next = self.next();
        *self.senders.entry(key).or_insert(next)
    }
}

impl Apart<'_> {
    /// The network for links that are simulated together.
    pub(super) fn star(&self, section: Section) -> Star {
        let mut others = Others::default();
        let mut flows: Vec<(u32, Flow)> = Vec::new();
        for &flow in section.sent().map_or(&[][..], |link| self.crossings.at(link)) {
            let own = self.limits.is_held_back(flow).then_some(flow);
            let dst = others.receiver((self.crossings.way_of[flow as usize], own));
            flows.push((flow, Flow { src: 0, dst, ..self.crossings.flows[flow as usize] }));
            others.held_back.entry(dst).or_default().extend(own);
        }
        for &flow in section.received().map_or(&[][..], |link| self.crossings.at(link)) {
            let whole = self.crossings.flows[flow as usize];
            let (way, before) = (self.crossings.way_of[flow as usize], self.lowest_before(section, flow));
            let is_held_back = self.limits.is_held_back(flow).then_some(flow);
            let own = is_held_back.filter(|&flow| self.has_own_sender(section, flow));
            let src = others.sender((whole.src, way, before, own));
            flows.push((flow, Flow { src, dst: 0, ..whole }));
            others.held_back.entry(src).or_default().extend(is_held_back);
        }
        flows.sort_unstable_by_key(|&(flow, _)| flow);
        let arms = self.arms(section, &others);
        let mut paces = self.paces(section, &others, &arms);
        paces.retain(|_, pace| !pace.slow.is_empty());
        let (numbers, flows) = flows.into_iter().unzip();
        Star { arms, flows, numbers, paces }
    }

    /// Whether a flow that is held back has a sender of its own. Between switches each has. What its sender's own link
    /// holds back, on its way to one host, shares that link with the sender's other flows to that host.
    fn has_own_sender(&self, section: Section, flow: u32) -> bool {
        let is_cable = matches!(section, Section::Cable { .. });
        !is_cable || self.limits.held_by(flow) != self.crossings.path(flow as usize)[0]
    }

    /// The links of all hosts of a star.
    fn arms(&self, section: Section, others: &Others) -> Vec<Arm> {
        let links = &self.setting.topology.links;
        let figures = |link: u32| (links[link as usize].rate, links[link as usize].latency);
        let rates = others.senders.keys().map(|&(_, _, rate, _)| rate);
        let rates = rates.chain(section.links().map(|link| figures(link).0));
        let fast = Rate(rates.max().map_or(0, Rate::as_bps) * FASTER);
        let first = match section {
            Section::Cable { out, back } => Arm { out: figures(out), back: figures(back) },
            Section::Link(link) => {
                let (rate, latency) = figures(link);
                let ways = others.senders.keys().map(|&(_, way, ..)| self.one_way[way as usize].1);
                let out = (fast, Time(ways.min().unwrap_or(Time::ZERO).as_ps() / 2));
                Arm { out, back: (self.reduced(rate, self.left_by_acks(link)), latency) }
            }
        };
        let mut arms = vec![first];
        arms.resize(others.next() as usize, Arm { out: (fast, Time::ZERO), back: (fast, Time::ZERO) });
        for (&(_, own), &receiver) in &others.receivers {
            arms[receiver as usize].back.0 = own.map_or(fast, |flow| self.lowest_after(section, flow));
        }
        for (&(_, _, rate, _), &sender) in &others.senders {
            arms[sender as usize].out.0 = rate;
        }
        let network = self.setting.topology.star(&arms);
        for (&(way, _), &receiver) in &others.receivers {
            let (there, back) = self.left(&network, way, 0, receiver);
            (arms[receiver as usize].back.1, arms[receiver as usize].out.1) = (there, back);
        }
        for (&(_, way, ..), &sender) in &others.senders {
            let (there, back) = self.left(&network, way, sender, 0);
            (arms[sender as usize].out.1, arms[sender as usize].back.1) = (there, back);
        }
        arms
    }

    /// How others share links of a star.
    fn paces(&self, section: Section, others: &Others, arms: &[Arm]) -> Paces {
        let receiver = |&receiver: &HostId| {
            let rate = arms[receiver as usize].back.0;
            let flows = &others.held_back[&receiver];
            Some((arms.len() + receiver as usize, self.pace(section.sent()?, flows, rate)))
        };
        let sender = |&sender: &HostId| {
            let rate = arms[sender as usize].out.0;
            let flows = &others.held_back[&sender];
            Some((sender as usize, self.pace(section.received()?, flows, rate)))
        };
        let receivers = others.receivers.values().filter_map(receiver);
        receivers.chain(others.senders.values().filter_map(sender)).collect()
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
        Rate(saturated::<u64>((rate.as_bps() as f64 * part).round())).max(slowest.min(rate))
    }

    /// The lowest rate that a flow meets before a link that leads to the first host.
    ///
    /// Acknowledgements take their part there as at that link: if not, a single flow would fill the queue of a link that
    /// is as fast as its sender's.
    fn lowest_before(&self, section: Section, flow: u32) -> Rate {
        let link = section.received().expect("flows come by it");
        let links = self.crossings.path(flow as usize).iter().take_while(|&&other| other != link);
        let rates = links.map(|&other| self.setting.topology.links[other as usize].rate);
        let lowest = rates.min().map(|rate| self.reduced(rate, self.left_by_acks(link)));
        lowest.unwrap_or(self.setting.topology.links[link as usize].rate)
    }

    /// The lowest rate that a flow of the first host meets behind its link.
    fn lowest_after(&self, section: Section, flow: u32) -> Rate {
        let link = section.sent().expect("flows go by it");
        let links = self.crossings.path(flow as usize).iter().skip_while(|&&other| other != link).skip(1);
        let lowest = links.map(|&other| self.setting.topology.links[other as usize].rate).min();
        let own = self.setting.topology.links[link as usize].rate;
        lowest.map_or(own, |rate| self.reduced(rate, self.left_by_acks(link)))
    }

    /// How others share a link of a star: it is slower than `rate` by what its flows are left elsewhere than at the
    /// simulated link, of which acknowledgements take their part, as of that link's rate. The queue is as small a part of
    /// their bottleneck's as their rate is of that link's.
    fn pace(&self, link: u32, flows: &[u32], rate: Rate) -> Pace {
        let part = self.left_by_acks(link);
        let spans = self.limits.left(link, flows);
        let (mut sent, mut could) = (0.0, 0.0);
        for span in spans.iter().filter(|span| span.until != Time::NEVER) {
            let lasts = span.until.since(span.from).as_ps() as f64;
            (sent, could) = (sent + span.rate * lasts, could + span.of * lasts);
        }
        let queue_part = if could > 0.0 { (sent / could).clamp(LEAST_PART, 1.0) } else { 1.0 };
        let slow = spans.into_iter().map(|span| {
            let left = self.reduced(rate, span.rate * 1e12 * part / rate.as_bps() as f64);
            (left, span.from, span.until)
        });
        let byte_time = |rate| self.setting.topology.byte_time(rate);
        let slow = slow.filter(|&(left, _, _)| left < rate);
        let slow = slow.map(|(left, from, until)| Slow { from, until, byte_time: byte_time(left) });
        Pace { slow: slow.collect(), queue_part }
    }

    /// The same network, but nothing waits at the link to the first host. What a full packet takes there stays as it
    /// was, so that flows for which the link made no difference fare as they did.
    pub(super) fn without_target(&self, star: &Star) -> Topology {
        let mut arms = star.arms.clone();
        let fastest = arms.iter().flat_map(|arm| [arm.out.0, arm.back.0]).max();
        if let Some(fastest) = fastest {
            let bytes = self.setting.format.mss_bytes + self.setting.format.header_bytes;
            let bytes = bytes + self.setting.topology.framing_bytes;
            let takes = |rate| self.setting.topology.byte_time(rate).of(bytes);
            let (rate, latency) = arms[0].back;
            arms[0].back = (fastest, latency + takes(rate).since(takes(fastest)));
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

/// What a full packet takes from one host to another.
pub(super) fn one_packet(topology: &Topology, format: Format, src: HostId, dst: HostId) -> Time {
    best_fct(topology, format, src, dst, format.mss_bytes)
}
