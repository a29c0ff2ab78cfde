//! The links that flows take, and what a flow's last packet and its answer take to cross them.

use super::super::{Setting, connection_numbers, takes_one_path};
use super::handshakes::Handshakes;
use super::wire_bytes;
use crate::flow::{Flow, HostId};
use crate::fluid::on_links::Transfer;
use crate::measure::{Format, best_fct};
use crate::routing::{ConnectionNumbers, Tracer, hosts_spread};
use crate::topology::Topology;
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
    /// The links between hosts, with the share of the packets that cross each, where all flows between them take the
    /// same.
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
        Ways {
            setting,
            tracer: Tracer::new(topology, &routing, setting.flow_ports.as_ref(), setting.case.seed),
            connections: connection_numbers(scheme),
            handshakes: Handshakes::of(&values),
            one_path: takes_one_path(scheme, topology),
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
        if self.one_path {
            return self.tracer.path(id, number, src, dst).into_iter().map(|link| (link, 1.0)).collect();
        }
        let has_choice = self.setting.topology.nodes[src as usize].ports.len() > 1 && !self.hosts_spread;
        if has_choice {
            return self.tracer.spread(id, number, src, dst);
        }
        if let Some(links) = self.spread.get(&(src, dst)) {
            return links.clone();
        }
        let links = self.tracer.spread(id, number, src, dst);
        if self.spread.len() < MOST_KEPT {
            self.spread.insert((src, dst), links.clone());
        }
        links
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
