//! Which links each flow crosses, and what crosses each link.

use super::super::{Setting, connection_numbers};
use crate::flow::Flow;
use crate::narrow::narrow;
use crate::routing::Tracer;
use crate::topology::Topology;
use crate::transport::PacketFormat;
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// A kind of path: the rate and the latency of each link from the sender to the receiver, and of those back.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Way {
    pub(super) there: Vec<(Rate, Time)>,
    pub(super) back: Vec<(Rate, Time)>,
}

/// The flows of a case, in order of start, and the links that they cross.
pub(super) struct Crossings {
    pub(super) flows: Vec<Flow>,
    /// How many packets each flow has.
    pub(super) packets: Vec<u64>,
    /// Flow f crosses `links[first[f]..first[f + 1]]`.
    first: Vec<u32>,
    links: Vec<u32>,
    /// The kind of each flow's path.
    pub(super) way_of: Vec<u32>,
    pub(super) ways: Vec<Way>,
    /// For each link the flows that cross it, in their order.
    by_link: Vec<Vec<u32>>,
    /// What the data of these flows keep each link busy for, and what acknowledgements of others do.
    pub(super) data_time: Vec<Time>,
    pub(super) ack_time: Vec<Time>,
    /// From the first start to the last one.
    pub(super) span: Time,
}

impl Crossings {
    pub(super) fn of(setting: &Setting, flows: Vec<Flow>) -> Crossings {
        let (case, topology) = (&setting.case, &setting.topology);
        let routing = case.scheme.component("routing");
        let ack_bytes: u64 = PacketFormat::of(&case.scheme.component("transport")).ack_bytes.into();
        let mut tracer = Tracer::new(topology, &routing, setting.flow_ports.as_ref(), case.seed);
        let mut connections = connection_numbers(&case.scheme);
        let mut numbers: BTreeMap<Way, u32> = BTreeMap::new();
        let mut ways = Vec::new();
        let mut all = Crossings {
            packets: flows.iter().map(|flow| setting.format.packets(flow.size_bytes)).collect(),
            first: vec![0],
            links: Vec::new(),
            way_of: Vec::with_capacity(flows.len()),
            ways: Vec::new(),
            by_link: vec![Vec::new(); topology.links.len()],
            data_time: vec![Time::ZERO; topology.links.len()],
            ack_time: vec![Time::ZERO; topology.links.len()],
            span: flows.last().map_or(Time::ZERO, |last| last.start.since(flows[0].start)),
            flows,
        };
        for (index, flow) in (0..).zip(&all.flows) {
            let number = connections.next(flow.src, flow.dst);
            let there = tracer.path(flow.id, number, flow.src, flow.dst);
            let mut back = tracer.path(flow.id, number, flow.dst, flow.src);
            if back.len() != there.len() {
                // Where paths differ in length, acknowledgements are taken to come back by the path of the data.
                let reversed =
                    there.iter().rev().map(|&link| narrow::<u32>(topology.link_back(link as usize)));
                back = reversed.collect();
            }
            let packets = all.packets[index as usize];
            let bytes = super::super::flow_rung::wire_bytes(setting.format, topology, flow);
            for &link in &there {
                all.by_link[link as usize].push(index);
                all.data_time[link as usize] += topology.links[link as usize].rate.time_for(bytes);
            }
            let bytes = packets * (ack_bytes + topology.framing_bytes);
            for &link in &back {
                all.ack_time[link as usize] += topology.links[link as usize].rate.time_for(bytes);
            }
            let way = Way { there: figures(topology, &there), back: figures(topology, &back) };
            let number = *numbers.entry(way).or_insert_with_key(|way| {
                ways.push(way.clone());
                narrow::<u32>(ways.len()) - 1
            });
            all.way_of.push(number);
            all.links.extend(there);
            all.first.push(narrow::<u32>(all.links.len()));
        }
        all.ways = ways;
        all
    }

    /// The links that a flow crosses.
    pub(super) fn path(&self, flow: usize) -> &[u32] {
        &self.links[self.first[flow] as usize..self.first[flow + 1] as usize]
    }

    /// Where a link is among all flows' links, as a link of a flow's.
    pub(super) fn place(&self, flow: u32, link: u32) -> usize {
        let nth = self.path(flow as usize).iter().position(|&other| other == link);
        self.first[flow as usize] as usize + nth.expect("a flow is asked about at its links")
    }

    /// The flows that cross a link.
    pub(super) fn at(&self, link: u32) -> &[u32] {
        &self.by_link[link as usize]
    }

    /// How many links flows cross.
    pub(super) fn used(&self) -> usize {
        self.by_link.iter().filter(|flows| !flows.is_empty()).count()
    }
}

fn figures(topology: &Topology, path: &[u32]) -> Vec<(Rate, Time)> {
    let link = |&link: &u32| (topology.links[link as usize].rate, topology.links[link as usize].latency);
    path.iter().map(link).collect()
}
