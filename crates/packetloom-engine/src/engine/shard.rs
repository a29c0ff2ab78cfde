//! A shard: some of a network's nodes, processed by one thread, with all that belongs to them.

use super::Tally;
use super::agent::PortAgent;
use super::arrival::{self, Arrival};
use super::due::Due;
use super::endpoint::FlowStatus;
use super::flow_samples::FlowSamples;
use super::host::{Around, Host};
use super::link_table::{LinkTable, Outbox};
use super::log::{Log, Report};
use super::port::Port;
use super::sending::Sending;
use super::switch::{Routed, Switch};
use super::thread_pool::{ShardMessage, Window};
use super::transports::Transports;
use super::view::View;
use crate::flow::{Flow, FlowId, HostId};
use crate::narrow::narrow;
use crate::packets::Packets;
use crate::prefetch::prefetch_whole;
use crate::record::{QueueRecorder, Reordering};
use crate::units::Time;
use crate::user_class::raised;
use crate::workload::job::Walker;
use crate::workload::{Chain, Query, Triggers};

/// Nodes and the links that end at them.
///
/// Shards lie side by side, each changed by a thread of its own: none may share a cache line with the next, nor a
/// pair of lines, which processors fetch together.
#[repr(align(128))]
pub(super) struct Shard<'t, H, A> {
    /// The first of the hosts, which follow each other.
    pub(super) first_host: HostId,
    pub(super) hosts: Vec<Host<H, A>>,
    /// The hosts' transports.
    pub(super) transports: Box<dyn Transports<H, A> + 't>,
    pub(super) switches: Vec<Switch>,
    /// The switches' ports, switch by switch.
    pub(super) ports: Vec<Port<H, A>>,
    /// The links that the hosts' NICs and then the switches' ports send into.
    pub(super) links: Vec<u32>,
    pub(super) link_table: LinkTable<H>,
    pub(super) tally: Tally,
    /// What is due in a window: kept so that none allocates.
    pub(super) due: Due,
    pub(super) routed: Routed,
}

impl<H: Copy + Default, A: PortAgent<H>> Shard<'_, H, A> {
    pub(super) fn add_chain(&mut self, chain: Chain) {
        self.hosts[(chain.src - self.first_host) as usize].add_chain(chain, &mut self.link_table);
    }

    pub(super) fn add_flow(&mut self, flow: Flow) {
        self.hosts[(flow.src - self.first_host) as usize].add_flow(flow, &mut self.link_table);
    }

    pub(super) fn add_triggers(&mut self, host: HostId, triggers: Triggers) {
        self.hosts[(host - self.first_host) as usize].add_triggers(triggers);
    }

    pub(super) fn add_rank(&mut self, host: HostId, rank: Walker) {
        self.hosts[(host - self.first_host) as usize].add_rank(rank, &mut self.link_table);
    }

    /// The ranks of jobs at its hosts.
    pub(super) fn ranks(&self) -> impl Iterator<Item = &Walker> {
        self.hosts.iter().flat_map(Host::ranks)
    }

    /// The same, to be changed.
    pub(super) fn ranks_mut(&mut self) -> impl Iterator<Item = &mut Walker> {
        self.hosts.iter_mut().flat_map(Host::ranks_mut)
    }

    /// Leaves out packets of a flow that one of its hosts sends.
    pub(super) fn shorten(&mut self, src: HostId, flow: FlowId, packets: u32) -> bool {
        self.transports.shorten(src - self.first_host, flow, packets)
    }

    /// The state of a flow that one of its hosts, this by its place here, is sending.
    pub(super) fn sending(&self, host: u32, flow: FlowId, now: Time) -> Option<Sending> {
        self.transports.sending(host, flow, now)
    }

    /// Faults that are still to come come sooner.
    pub(super) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        self.link_table.shift_earlier(now, by);
        self.switches.iter_mut().for_each(|switch| switch.bring_faults_forward(now, by));
        self.hosts.iter_mut().for_each(|host| host.bring_faults_forward(now, by));
    }

    /// Has the ranks at its hosts do sooner what they do by themselves.
    pub(super) fn bring_ranks_forward(&mut self, now: Time, by: Time) {
        for host in &mut self.hosts {
            host.bring_ranks_forward(now, by, &mut self.link_table);
        }
    }

    /// A query that a host here sends, another expects, or both.
    pub(super) fn add_query(&mut self, query: Query) {
        for host in [query.flow.src, query.flow.dst] {
            let place = host.checked_sub(self.first_host).map(|place| place as usize);
            if let Some(host) = place.and_then(|place| self.hosts.get_mut(place)) {
                host.add_query(query, &mut self.link_table);
            }
        }
    }

    /// The next window in which anything here, or sent from here, has something to do.
    pub(super) fn next_window(&self) -> Option<u64> {
        let calendar = &self.link_table.calendar;
        let crossing = self.link_table.earliest_crossing;
        let crossing = (crossing != Time::NEVER).then(|| calendar.clock().window_of(crossing));
        calendar.next_window().into_iter().chain(crossing).min()
    }

    /// Takes in what the message has, processes a window, and puts into the message what came of it.
    pub(super) fn process(&mut self, window: Window, shard_message: &mut ShardMessage<H>) {
        self.take_in(&mut shard_message.crossings);
        for flow in shard_message.flows.drain(..) {
            self.add_flow(flow);
        }
        for query in shard_message.queries.drain(..) {
            self.add_query(query);
        }
        self.run_window(window, &mut shard_message.log);
        std::mem::swap(&mut self.link_table.outboxes, &mut shard_message.crossings);
        shard_message.tally = self.tally;
        shard_message.next_window = self.next_window();
    }

    /// Takes in what other shards sent here.
    pub(super) fn take_in(&mut self, crossings: &mut [Outbox<H>]) {
        for from in crossings {
            self.link_table.take_in(from);
        }
        self.link_table.earliest_crossing = Time::NEVER;
    }

    /// Gives each node with something due its turn.
    fn run_window(&mut self, window: Window, log: &mut Log) {
        self.link_table.calendar.open(window.number, window.end, &mut self.due);
        self.run_nodes(0, window, log);
    }

    /// Gives the nodes with something due their turns, from the nth of them on.
    pub(super) fn run_nodes(&mut self, first: usize, window: Window, log: &mut Log) {
        let Window { start, end, .. } = window;
        let Shard { hosts, transports, switches, ports, link_table, tally, due, routed, .. } = self;
        let transports = &mut **transports;
        let packets_wait = ports.first().is_some_and(|port| !port.is_straight());
        for nth in first..due.len() {
            while let Some(coming) = due.coming(nth) {
                prepare(coming, hosts, transports, &link_table.packets);
            }
            if packets_wait && due.is_crowded() {
                prepare_switches(
                    due.nodes_from(nth),
                    end,
                    (hosts.len(), switches, ports),
                    &link_table.packets,
                );
            }
            let (node, arrivals) = due.node(nth);
            arrival::sort(arrivals);
            match hosts.get_mut(node as usize) {
                Some(host) => {
                    let around = Around { link_table, transports, log, tally };
                    host.run_window((start, end), arrivals, around);
                }
                None => {
                    let switch = &mut switches[node as usize - hosts.len()];
                    let ports = &mut ports[switch.ports()];
                    switch.run_window((start, end), ports, link_table, (arrivals, routed), tally);
                }
            }
        }
        if let Some((at, flow, error)) = raised::take() {
            log.refused(flow, at, error);
        }
    }

    /// Gives the switches with something due their turns: the nth and following of the nodes that have.
    pub(super) fn run_switches(&mut self, first: usize, window: Window, log: &mut Log) {
        self.due.pass(first);
        self.run_nodes(first, window, log);
    }

    /// Puts back what arrives at switches, the nth and following of the nodes with something due, when a window is cut
    /// short or later.
    pub(super) fn cut_switches(&mut self, first: usize, window: Window) {
        let (due, calendar) = (&mut self.due, &mut self.link_table.calendar);
        let Some(&(_, from)) = due.nodes.get(first) else { return };
        let (mut kept, all) = (from, due.count);
        for nth in first..due.len() {
            let end = due.nodes.get(nth + 1).map_or(all, |next| next.1);
            let begin = std::mem::replace(&mut due.nodes[nth].1, kept);
            for place in begin..end {
                let arrival = due.arrivals[place as usize];
                if arrival.at(window.start) < window.end {
                    due.arrivals[kept as usize] = arrival;
                    kept += 1;
                } else {
                    calendar.put_back(arrival);
                }
            }
        }
        due.count = kept;
    }

    /// What was done so far for its hosts' unfinished flows, in no order.
    pub(super) fn reports(&self) -> Vec<(FlowId, Report)> {
        self.transports.reports()
    }

    /// The earliest timer or start of a flow of each host that has any left.
    pub(super) fn due(&self) -> impl Iterator<Item = (HostId, Time)> {
        (self.first_host..).zip(&self.hosts).filter_map(|(id, host)| Some((id, host.due()?)))
    }

    /// What does not depend on the transport.
    pub(super) fn view(&self) -> View<'_, H, A> {
        View {
            ports: self.all_ports().collect(),
            links: &self.links,
            host_ports: self.links.len() - self.ports.len(),
            hosts: narrow::<u32>(self.hosts.len()),
            switches: &self.switches,
            link_table: &self.link_table,
        }
    }

    /// The status of its hosts' unfinished flows, in no order.
    pub(super) fn statuses(&self) -> Vec<FlowStatus> {
        let queries = self.hosts.iter().flat_map(Host::statuses);
        self.transports.statuses().into_iter().chain(queries).collect()
    }

    /// When the last packet that its nodes sent or will send next is at the next node, as far as that is known.
    pub(super) fn arrives_by(&self) -> Time {
        let waiting = self.all_ports().filter(|port| port.is_waiting()).map(Port::drained_at);
        waiting.chain(self.link_table.last_arrival()).max().unwrap_or(Time::ZERO)
    }

    /// What was done here before `end`.
    pub(super) fn tally(&self, end: Time) -> Tally {
        let departures: u64 = self.all_ports().map(|port| port.departures(end)).sum();
        Tally { events: self.tally.events + departures, ..self.tally }
    }

    /// The hosts' NICs, then the switches' ports.
    pub(super) fn all_ports(&self) -> impl Iterator<Item = &Port<H, A>> {
        self.hosts.iter().flat_map(|host| host.nic.ports()).chain(&self.ports)
    }

    /// The record of every port's queue until `end`, where there is one; in the order of [`Shard::all_ports`].
    pub(super) fn queue_records(&mut self, end: Time) -> Vec<Option<QueueRecorder>> {
        let ports = self.hosts.iter_mut().flat_map(|host| host.nic.ports_mut()).chain(&mut self.ports);
        ports.map(|port| port.recorder(end)).collect()
    }

    /// In which order the packets of flows to its hosts arrived, if that was measured.
    pub(super) fn reordering(&self) -> impl Iterator<Item = (FlowId, Reordering)> {
        self.hosts.iter().flat_map(Host::reordering)
    }

    /// The samples of the chosen flows that started here until `end`.
    pub(super) fn flow_samples(&mut self, end: Time) -> impl Iterator<Item = FlowSamples> {
        let transports = &*self.transports;
        self.hosts.iter_mut().flat_map(move |host| host.flow_samples(end, transports))
    }

    /// The record of every host's queue of pulls until `end`, where there is one.
    pub(super) fn pulls(&self, end: Time) -> impl Iterator<Item = (HostId, QueueRecorder)> {
        let hosts = (self.first_host..).zip(&self.hosts);
        hosts.filter_map(move |(id, host)| Some((id, host.pulls(end)?)))
    }
}

/// Prefetches what nodes will read when packets arrive, so that large networks do not wait for memory: first the
/// packets and the hosts, then the flows' states, and last what these point to.
#[inline(never)]
pub(super) fn prepare<H: Copy + Default, A: PortAgent<H>>(
    [soon, near, far]: [&[Arrival]; 3],
    hosts: &[Host<H, A>],
    transports: &dyn Transports<H, A>,
    packets: &Packets<H>,
) {
    // All hosts are alike in this, so only the first is read.
    let are_simple = hosts.first().is_some_and(Host::is_simple);
    // The last step has nothing to do there, so the others can come later.
    let (near, far) = if are_simple { (soon, near) } else { (near, far) };
    // A host's arrivals follow each other.
    let mut last = u32::MAX;
    let mut is_first = |arrival: &Arrival| std::mem::replace(&mut last, arrival.node) != arrival.node;
    for arrival in far {
        packets.prefetch(arrival.id);
        if is_first(arrival)
            && let Some(host) = hosts.get(arrival.node as usize)
        {
            host.prefetch(are_simple);
        }
    }
    // Hosts come before switches, so a batch has some if its first is one.
    let has_hosts =
        |batch: &[Arrival]| batch.first().is_some_and(|first| (first.node as usize) < hosts.len());
    if has_hosts(far) {
        transports.prefetch(far);
    }
    if has_hosts(near) {
        transports.expect(near, packets);
        let first = near.iter().filter(|arrival| is_first(arrival));
        first.filter_map(|arrival| hosts.get(arrival.node as usize)).for_each(Host::expect);
    }
    if are_simple || !has_hosts(soon) {
        return;
    }
    transports.expect_soon(soon, packets);
    for arrival in soon {
        if let Some(host) = hosts.get(arrival.node as usize) {
            host.expect_soon(packets.get(arrival.id), packets);
        }
    }
}

/// At a switch's turn, prefetches what the next switches will read: first the switches, then the ports where
/// packets wait, then those packets.
#[inline]
fn prepare_switches<H: Copy + Default, A: PortAgent<H>>(
    nodes: &[(u32, u32)],
    end: Time,
    (hosts, switches, ports): (usize, &[Switch], &[Port<H, A>]),
    packets: &Packets<H>,
) {
    let switch = |nth: usize| switches.get((nodes.get(nth)?.0 as usize).checked_sub(hosts)?);
    let Some(now) = switch(0) else { return };
    now.expect_packets(end, &ports[now.ports()], packets);
    if let Some(next) = switch(1) {
        next.expect_ports(end, &ports[next.ports()]);
    }
    if let Some(after_next) = switch(2) {
        prefetch_whole(after_next);
    }
}
