//! Arrivals where switches only forward: port by port, whatever leaves when.

use super::{MANY, Routed, Switch};
use crate::engine::agent::PortAgent;
use crate::engine::arrival::Arrival;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::packets::{PacketId, Packets};

impl Switch {
    /// Forwards packets where switches do nothing else. Where many arrive, the ports for all of them are found
    /// before the first is sent, so that the ports can be prefetched in time.
    #[inline]
    pub(super) fn forward_plainly<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        arrivals: &[Arrival],
        routed: &mut Routed,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        if arrivals.len() < MANY {
            for &Arrival { id, .. } in arrivals {
                let out = self.router.port_for(link_table.packets.get(id));
                self.pass_on(id, out, ports, link_table);
            }
            return;
        }
        // What holds of one port holds of all.
        if ports[0].is_straight() {
            self.route(arrivals, routed, &link_table.packets, |out| ports[out as usize].prefetch_straight());
            for &(id, out) in &*routed {
                ports[out as usize].accept_straight(id, link_table);
            }
            return;
        }
        self.route(arrivals, routed, &link_table.packets, |out| ports[out as usize].prefetch());
        for &(id, out) in &*routed {
            self.pass_on(id, out, ports, link_table);
        }
    }

    /// Finds and prefetches the ports for packets.
    #[inline(always)]
    fn route<H: Copy + Default>(
        &mut self,
        arrivals: &[Arrival],
        routed: &mut Routed,
        packets: &Packets<H>,
        ask: impl Fn(u32),
    ) {
        routed.clear();
        routed.extend(arrivals.iter().map(|&Arrival { id, .. }| {
            let out = self.router.port_for(packets.get(id));
            ask(out);
            (id, out)
        }));
    }

    /// Has a packet leave by a port.
    #[inline(always)]
    pub(super) fn pass_on<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        id: PacketId,
        out: u32,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let port = &mut ports[out as usize];
        port.accept(link_table.packets.get(id).time, id, link_table, None);
        self.note_waiting(out, port);
    }
}
