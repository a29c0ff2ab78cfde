//! The flows of a run with their packets, and the servers' queues for each destination.

use super::lengths::Lengths;
use crate::control::Pair;
use crate::flow::{Flow, FlowId};
use crate::narrow::narrow;
use crate::queue::Occupancy;
use crate::record::QueueRecorder;
use crate::topology::Topology;
use crate::topology::hops;
use crate::units::Time;
use std::collections::VecDeque;

/// Flows in order of their identity, and their packets one after the other.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// In order of identity, which is that of their starts.
    pub flows: Vec<Flow>,
    /// Where each flow's packets begin, and one more entry for the end.
    first: Vec<u32>,
    /// Each packet's length.
    pub bytes: Vec<u16>,
}

impl Traffic {
    /// Cuts flows into packets.
    pub fn new(flows: Vec<Flow>, lengths: Lengths, seed: u64) -> Traffic {
        let (mut first, mut bytes) = (vec![0], Vec::new());
        for flow in &flows {
            lengths.cut(flow.id, flow.size_bytes, seed, &mut bytes);
            first.push(narrow::<u32>(bytes.len()));
        }
        Traffic { flows, first, bytes }
    }

    /// The packets of the `index`-th flow.
    pub fn packets_of(&self, index: usize) -> std::ops::Range<usize> {
        self.first[index] as usize..self.first[index + 1] as usize
    }

    /// A flow's index.
    pub fn index_of(&self, flow: FlowId) -> usize {
        self.flows.partition_point(|other| other.id < flow)
    }

    /// The completion time of a flow alone on an empty network: its packets one after the other, hop by hop.
    pub fn best_fct(&self, index: usize, topology: &Topology) -> Time {
        let flow = &self.flows[index];
        let path = hops(topology, flow.src, flow.dst);
        let mut free = vec![Time::ZERO; path.len()];
        let mut ready = Time::ZERO;
        for packet in self.packets_of(index) {
            let bytes = u64::from(self.bytes[packet]);
            ready = Time::ZERO;
            for (hop, free) in path.iter().zip(&mut free) {
                let start = ready.max(*free);
                *free = start + hop.takes(bytes);
                ready = start + hop.until_ready(bytes);
            }
        }
        ready
    }
}

/// What became of the packets at the servers: when each leaves, and by which path.
#[derive(Clone, Debug)]
pub struct Departures {
    /// [`Time::NEVER`]: it does not.
    pub at: Vec<Time>,
    /// The spine, where the controller chose it.
    pub path: Vec<u16>,
}

/// The queues of all servers, one for each destination.
pub struct Queues<'a> {
    traffic: &'a Traffic,
    servers: u32,
    /// Flows waiting for each pair, by their place.
    waiting: Vec<VecDeque<u32>>,
    /// Each flow's next packet, and what is left of it.
    next: Vec<u32>,
    left_bytes: Vec<u64>,
    /// What waits at each server.
    backlog: Vec<Occupancy>,
    recorders: Option<Vec<QueueRecorder>>,
    departures: Departures,
}

impl<'a> Queues<'a> {
    /// Empty queues; with a recorder, each server's backlog is followed.
    pub fn new(traffic: &'a Traffic, servers: u32, recorder: Option<&QueueRecorder>) -> Queues<'a> {
        let packets = traffic.bytes.len();
        Queues {
            traffic,
            servers,
            waiting: vec![VecDeque::new(); (servers * servers) as usize],
            next: traffic.first[..traffic.flows.len()].to_vec(),
            left_bytes: traffic.flows.iter().map(|flow| flow.size_bytes).collect(),
            backlog: vec![Occupancy::default(); servers as usize],
            recorders: recorder.map(|recorder| vec![recorder.clone(); servers as usize]),
            departures: Departures { at: vec![Time::NEVER; packets], path: vec![0; packets] },
        }
    }

    /// The number of a pair among all pairs.
    pub fn place(&self, pair: Pair) -> usize {
        (pair.src * self.servers + pair.dst) as usize
    }

    /// The flows.
    pub fn traffic(&self) -> &'a Traffic {
        self.traffic
    }

    /// From where to where a flow goes.
    pub fn pair_of(&self, index: usize) -> Pair {
        Pair::new(self.traffic.flows[index].src, self.traffic.flows[index].dst)
    }

    /// All of a flow's packets come to its server.
    pub fn arrive(&mut self, index: usize) {
        let flow = &self.traffic.flows[index];
        let backlog = &mut self.backlog[flow.src as usize];
        backlog.bytes += flow.size_bytes;
        backlog.packets += self.traffic.packets_of(index).len() as u64;
        self.note(flow.src, flow.start);
    }

    /// A flow that came may be served from now on.
    pub fn admit(&mut self, index: usize) {
        let place = self.place(self.pair_of(index));
        self.waiting[place].push_back(narrow::<u32>(index));
    }

    /// The flow that a queue serves next: the first, or the one with the least left.
    pub fn head(&self, pair: Pair, shortest_first: bool) -> Option<u32> {
        let waiting = &self.waiting[self.place(pair)];
        if shortest_first {
            waiting.iter().copied().min_by_key(|&flow| (self.left_bytes(flow), flow))
        } else {
            waiting.front().copied()
        }
    }

    /// What waits of all flows of a pair.
    pub fn waiting_bytes(&self, pair: Pair) -> u64 {
        self.waiting[self.place(pair)].iter().map(|&flow| self.left_bytes(flow)).sum()
    }

    /// What is left of a flow.
    pub fn left_bytes(&self, flow: u32) -> u64 {
        self.left_bytes[flow as usize]
    }

    /// The length of a flow's next packet.
    pub fn next_bytes(&self, flow: u32) -> u16 {
        self.traffic.bytes[self.next[flow as usize] as usize]
    }

    /// A flow's next packet leaves.
    pub fn send(&mut self, flow: u32, at: Time, path: u16) {
        let packet = self.next[flow as usize] as usize;
        let bytes = self.traffic.bytes[packet];
        let of = self.traffic.flows[flow as usize];
        self.departures.at[packet] = at;
        self.departures.path[packet] = path;
        self.next[flow as usize] += 1;
        self.left_bytes[flow as usize] -= u64::from(bytes);
        self.backlog[of.src as usize].remove(bytes);
        self.note(of.src, at);
        if self.left_bytes[flow as usize] == 0 {
            let place = self.place(Pair::new(of.src, of.dst));
            self.waiting[place].retain(|&other| other != flow);
        }
    }

    fn note(&mut self, server: u32, at: Time) {
        if let Some(recorders) = &mut self.recorders {
            recorders[server as usize].note(at, self.backlog[server as usize]);
        }
    }

    /// The packets' departures, and the servers' records.
    pub fn finish(self) -> (Departures, Option<Vec<QueueRecorder>>) {
        (self.departures, self.recorders)
    }
}
