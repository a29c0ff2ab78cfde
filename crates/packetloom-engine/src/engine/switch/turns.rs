//! Packets of one instant in an order of the switch's own.

use super::Switch;
use super::ties::Tied;
use crate::engine::agent::PortAgent;
use crate::engine::arrival::Arrival;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::packets::Packets;
use crate::units::Time;
use smallvec::SmallVec;

impl Switch {
    /// Forwards packets, those of one instant in an order of their own.
    pub(super) fn forward_in_turn<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        start: Time,
        arrivals: &[Arrival],
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        for together in arrivals.chunk_by(|one, other| one.at(start) == other.at(start)) {
            for nth in self.own_turns(together, start, &link_table.packets) {
                let arrival = together[nth];
                self.forward(arrival.at(start), arrival.link(start), arrival.id, ports, link_table);
            }
        }
    }

    /// The order in which arrivals of the same instant are taken where no shared buffer has one.
    pub(super) fn own_turns<H: Copy + Default>(
        &mut self,
        together: &[Arrival],
        window_start: Time,
        packets: &Packets<H>,
    ) -> SmallVec<[usize; 8]> {
        let Some(ties) = &mut self.ties else { return (0..together.len()).collect() };
        let of = |arrival: &Arrival| {
            let size_bytes = packets.get(arrival.id).size_bytes;
            Tied { link: arrival.link(window_start), size_bytes, planned_ago: 0 }
        };
        ties.order(together.iter().map(of))
    }
}
