//! A shared buffer whose thresholds depend on what is measured of each queue (see [`Abm`](crate::queue::Abm)).

use super::Switch;
use crate::engine::agent::PortAgent;
use crate::engine::link_table::LinkTable;
use crate::engine::port::Port;
use crate::units::Time;

impl Switch {
    /// Measures what is due by `now`: each port at its time, once all packets have left that could by then.
    #[inline]
    pub(super) fn measure<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(thresholds) = self.pool.as_mut().and_then(|pool| pool.thresholds.as_mut()) else { return };
        while let Some((at, port)) = thresholds.due(now) {
            ports.iter_mut().for_each(|port| _ = port.settle(at, link_table));
            thresholds.measure(port, now, |of, tell| ports[of].queues(tell));
        }
    }

    /// Notes by which port a packet is to leave. The first packet of a port begins its measurements.
    #[inline]
    pub(super) fn note_port<H: Copy + Default, A: PortAgent<H>>(
        &mut self,
        now: Time,
        out: u32,
        ports: &mut [Port<H, A>],
        link_table: &mut LinkTable<H>,
    ) {
        let Some(pool) = &mut self.pool else { return };
        pool.port = out;
        if let Some(thresholds) =
            pool.thresholds.as_mut().filter(|thresholds| thresholds.is_new(out as usize))
        {
            ports.iter_mut().for_each(|port| _ = port.settle(now, link_table));
            thresholds.begin(out as usize, now, |of, tell| ports[of].queues(tell));
        }
    }
}
