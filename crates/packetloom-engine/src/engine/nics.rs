//! The ports of a host with several links. Each link has a queue of its own, and a router chooses among those on
//! shortest paths as a switch's does, but a flow keeps to one of them (as in HPCC's simulator, where each queue pair
//! has its NIC).
//!
//! To the rest of the engine they are one port, of [`super::port::Discipline::Several`], that hands on what it gets;
//! so hosts with one link pay nothing for this.

use super::agent::PortAgent;
use super::link_table::LinkTable;
use super::port::Port;
use crate::flow::HostId;
use crate::packet::Packet;
use crate::packets::PacketId;
use crate::routing::Router;
use crate::units::Time;

/// The ports, and the router that chooses among them.
#[derive(Clone, Debug)]
pub(super) struct Nics<H, A> {
    ports: Vec<Port<H, A>>,
    router: Router,
}

impl<H: Copy + Default, A: PortAgent<H>> Nics<H, A> {
    pub(super) fn new(ports: Vec<Port<H, A>>, router: Router) -> Nics<H, A> {
        Nics { ports, router }
    }

    pub(super) fn ports(&self) -> &[Port<H, A>] {
        &self.ports
    }

    pub(super) fn ports_mut(&mut self) -> &mut [Port<H, A>] {
        &mut self.ports
    }

    /// What is yet to be learned of faults is learned sooner.
    pub(super) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        self.router.shift_earlier(now, by);
    }

    /// The one by which a packet goes.
    pub(super) fn port_for(&mut self, packet: &Packet<H>) -> &mut Port<H, A> {
        let port = self.link_for(packet);
        &mut self.ports[port as usize]
    }

    /// Its place among them.
    pub(super) fn link_for(&mut self, packet: &Packet<H>) -> u32 {
        self.router.port_for(packet)
    }

    pub(super) fn accept(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        self.port_for(link_table.packets.get(id)).accept(now, id, link_table, None);
    }

    /// When everything that waits will be out where `packet` would go.
    pub(super) fn drained_at_for(&mut self, packet: &Packet<H>) -> Time {
        self.port_for(packet).drained_at()
    }

    /// The ports by which packets to a host may go, as far as is known, that have not paused a class.
    pub(super) fn open_to(&self, now: Time, dst: HostId, class: u8) -> impl Iterator<Item = &Port<H, A>> {
        let ways = self.router.ways(dst, now);
        let ports = (0..ways.count()).map(move |nth| &self.ports[ways.port(nth) as usize]);
        ports.filter(move |port| !port.has_paused(class))
    }

    /// When the first of the ports at which packets wait is free.
    pub(super) fn free_at(&self) -> Option<Time> {
        self.ports.iter().filter(|port| port.is_waiting()).map(Port::free_at).min()
    }

    /// Has that one send its next packet; returns when it starts.
    pub(super) fn serve_next(&mut self, link_table: &mut LinkTable<H>) -> Option<Time> {
        let waiting = self.ports.iter_mut().filter(|port| port.is_waiting());
        waiting.min_by_key(|port| port.free_at())?.serve_next(link_table)
    }
}
