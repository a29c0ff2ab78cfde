//! What a DAQ port writes into the packets that pass: how long its queue is, and whether its link is loaded.

use super::Header;
use crate::engine::{Moment, PortAgent, PortInfo};
use crate::packet::{Kind, Packet};
use crate::spec::Values;
use crate::units::{Rate, Time};

/// A port's load, counted interval by interval.
#[derive(Clone, Debug)]
pub struct Meter {
    rate: Rate,
    high_load: f64,
    interval: Time,
    ends_at: Time,
    offered_bytes: u64,
    overloaded: bool,
}

impl PortAgent<Header> for Meter {
    const REPAIRS_LOSSES: bool = false;

    fn build(transport: &Values, port: PortInfo) -> Meter {
        let interval = transport.time("interval");
        Meter {
            rate: port.rate,
            high_load: transport.number("high_load"),
            interval,
            ends_at: interval,
            offered_bytes: 0,
            overloaded: false,
        }
    }

    fn forward(&mut self, moment: Moment, packet: &mut Packet<Header>) {
        if moment.now >= self.ends_at {
            let load = self.rate.time_for(self.offered_bytes).as_ps() as f64 / self.interval.as_ps() as f64;
            // If more than one interval went by, nothing came in the last of them.
            let is_last = moment.now < self.ends_at + self.interval;
            self.overloaded = is_last && load > self.high_load;
            self.offered_bytes = 0;
            let late = moment.now.since(self.ends_at).as_ps();
            self.ends_at += self.interval.times(late / self.interval.as_ps() + 1);
        }
        self.offered_bytes += u64::from(packet.size_bytes);
        if packet.kind == Kind::Data {
            let wait_ns = moment.drained_at.since(moment.now).as_ps() / 1_000;
            let header = &mut packet.header;
            header.queue_ns = header.queue_ns.max(u32::try_from(wait_ns).unwrap_or(u32::MAX));
            header.overloaded |= self.overloaded;
        }
    }
}
