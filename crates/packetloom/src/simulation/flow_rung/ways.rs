//! The links that flows take, and what a flow's last packet and its answer take to cross them.

use super::super::{Setting, connection_numbers, takes_one_path};
use super::alike::Alike;
use super::handshakes::Handshakes;
use super::wire_bytes;
use crate::flow::{Flow, FlowId, HostId};
use crate::fluid::on_links::Transfer;
use crate::packet::Format;
use crate::routing::{ConnectionNumbers, Tracer, hosts_spread};
use crate::topology::best_fct;
use crate::topology::{MessageCosts, Topology};
use crate::transport::{self, PacketFormat};
use crate::units::{Rate, Time};
use std::collections::BTreeMap;

/// Of so many pairs of hosts at most the paths are kept among which packets are spread.
const MOST_KEPT: usize = 1 << 15;

/// How flows cross a network.
pub(super) struct Ways<'a> {
    setting: &'a Setting,
    tracer: Tracer<'a>,
    connections: ConnectionNumbers,
    handshakes: Handshakes,
    /// Whether all packets of a flow take one path.
    one_path: bool,
    /// Whether hosts choose a link for each packet.
    hosts_spread: bool,
    /// The links that are shared out as one.
    alike: Alike,
    /// The links between hosts, as they are shared out, with the share of the packets that cross each, where all flows
    /// between them take the same.
    spread: BTreeMap<(HostId, HostId), Vec<(u32, f64)>>,
    /// Of each sender, its last flow's receiver, and what that flow found. In a job the next flow often has the same.
    last: Vec<Option<(HostId, Pair)>>,
    /// An acknowledgement; none where senders wait for no answer.
    answer: Option<Format>,
}

/// What does not depend on the flow.
#[derive(Clone, Copy, Debug)]
struct Pair {
    /// The rate of the slowest link of the path that the best FCT is of.
    slowest: Rate,
    /// What an acknowledgement takes to come back; none where senders wait for no answer.
    back: Option<Time>,
}

/// A message of an operation that is carried out as a whole.
pub(super) struct Hop {
    /// On the wire.
    pub(super) bits: f64,
    /// The links that it crosses as they are shared out, with its shares.
    pub(super) links: Vec<(u32, f64)>,
    /// The same as the network has them.
    pub(super) on_network: Vec<(u32, f64)>,
    /// What it takes alone, and its bits at the slowest link.
    pub(super) alone: Time,
    pub(super) moving: Time,
}

/// What is added to the time that a flow's bits take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trip {
    /// A handshake, and what the last packet takes to cross the network behind the slowest link.
    pub(super) latency: Time,
    /// Where all packets take one path, the flow takes this time at least.
    pub(super) least: Time,
    /// From the flow's arrival to that of its last acknowledgement; none where senders wait for no answer.
    pub(super) back: Option<Time>,
}

impl Ways<'_> {
    pub(super) fn of(setting: &Setting) -> Ways<'_> {
        let (scheme, topology) = (&setting.case.scheme, &setting.topology);
        let (routing, values) = (scheme.component("routing"), scheme.component("transport"));
        let is_answered = transport::find(&values.kind).is_none_or(|one| (one.is_answered)(&values));
        let ack_bytes = PacketFormat::of(&values).ack_bytes.into();
        let one_path = takes_one_path(scheme, topology);
        // Those that there are stay as they are.
        let outages = setting.faults.known_outages();
        Ways {
            alike: if one_path || !outages.is_empty() {
                Alike::none(topology)
            } else {
                Alike::spread(topology)
            },
            setting,
            tracer: Tracer::new(topology, &routing, setting.flow_ports.as_ref(), setting.case.seed)
                .with_outages(&outages, setting.case.seed),
            connections: connection_numbers(scheme),
            handshakes: Handshakes::of(&values),
            one_path,
            hosts_spread: hosts_spread(&routing),
            spread: BTreeMap::new(),
            last: vec![None; topology.hosts as usize],
            answer: is_answered.then_some(Format { mss_bytes: ack_bytes, header_bytes: 0 }),
        }
    }

    /// What a flow has to move, and by which links.
    pub(super) fn transfer(&mut self, flow: &Flow) -> Transfer {
        let bits = wire_bytes(self.setting.format, &self.setting.topology, flow) as f64 * 8.0;
        Transfer { id: flow.id, bits, links: self.links(flow) }
    }

    fn links(&mut self, flow: &Flow) -> Vec<(u32, f64)> {
        let Flow { id, src, dst, .. } = *flow;
        let number = self.connections.next(src, dst);
        let has_choice = self.setting.topology.nic_ports(src).len() > 1 && !self.hosts_spread;
        if self.one_path || has_choice {
            let links = self.on_network(id, number, src, dst);
            return self.alike.together(&links);
        }
        if let Some(links) = self.spread.get(&(src, dst)) {
            return links.clone();
        }
        let links = self.on_network(id, number, src, dst);
        let links = self.alike.together(&links);
        if self.spread.len() < MOST_KEPT {
            self.spread.insert((src, dst), links.clone());
        }
        links
    }

    /// The links of the network that a flow crosses.
    fn on_network(&mut self, id: FlowId, number: u16, src: HostId, dst: HostId) -> Vec<(u32, f64)> {
        if self.one_path {
            return self.tracer.path(id, number, src, dst).into_iter().map(|link| (link, 1.0)).collect();
        }
        self.tracer.spread(id, number, src, dst)
    }

    /// A message between hosts all of whose messages take the same way.
    pub(super) fn hop(&mut self, src: HostId, dst: HostId, bytes: u64) -> Hop {
        let (format, topology) = (self.setting.format, &self.setting.topology);
        let wire = format.wire_bytes(bytes) + format.packets(bytes) * topology.framing_bytes;
        let MessageCosts { send, receive } = topology.message_costs;
        let alone = best_fct(topology, format, src, dst, bytes) + send + receive;
        let moving = slowest(topology, src, dst).time_for(wire);
        let on_network = self.on_network(0, 0, src, dst);
        let links = self.alike.together(&on_network);
        Hop { bits: wire as f64 * 8.0, links, on_network, alone, moving }
    }

    /// The rates of what is shared out.
    pub(super) fn rates(&self) -> impl Iterator<Item = u64> + '_ {
        self.alike.rates()
    }

    /// Which link of those that are shared out stands for one of the network.
    pub(super) fn stands(&self, link: u32) -> u32 {
        self.alike.of(link)
    }

    /// The rate of a link of the network.
    pub(super) fn rate(&self, link: u32) -> Rate {
        self.setting.topology.links[link as usize].rate
    }

    /// What a flow takes besides, whose best FCT is this.
    pub(super) fn trip(&mut self, flow: &Flow, best: Time) -> Trip {
        let (format, topology) = (self.setting.format, &self.setting.topology);
        let Pair { slowest, back } = self.pair(flow.src, flow.dst);
        let handshake = self.handshakes.before(flow, topology);
        let alone = slowest.time_for(wire_bytes(format, topology, flow));
        let least = if self.one_path { best + handshake } else { Time::ZERO };
        Trip { latency: best.since(alone) + handshake, least, back }
    }

    fn pair(&mut self, src: HostId, dst: HostId) -> Pair {
        if let Some((_, pair)) = self.last[src as usize].filter(|(to, _)| *to == dst) {
            return pair;
        }
        let topology = &self.setting.topology;
        let way_back = |format: Format| best_fct(topology, format, dst, src, format.mss_bytes);
        let pair = Pair { slowest: slowest(topology, src, dst), back: self.answer.map(way_back) };
        self.last[src as usize] = Some((dst, pair));
        pair
    }
}

/// The rate of the slowest link of the path that the best FCT is of.
fn slowest(topology: &Topology, src: HostId, dst: HostId) -> Rate {
    let rates = topology.path(src, dst).into_iter().map(|link| topology.links[link].rate);
    rates.min().unwrap_or(topology.rate_of(src))
}
