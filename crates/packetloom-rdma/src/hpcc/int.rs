//! In-band telemetry (INT): what switches write into HPCC's packets as they start.

use super::super::header::Header;
use super::pint::Average;
use crate::engine::{Leaving, Moment, PortAgent, PortInfo};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::spec::Values;
use crate::units::{Rate, Time};

/// So many switches fit into HPCC's header.
pub const MOST_HOPS: usize = 5;

/// The telemetry of a switch's port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The port's link, so that only samples of one port are compared.
    pub link: u32,
    /// What waits in the port behind this packet, in all its queues.
    pub queue_bytes: u32,
    /// When this packet started.
    pub at: Time,
    /// What was sent before it.
    pub sent_bytes: u64,
    /// The link's rate.
    pub rate: Rate,
}

impl Default for Hop {
    fn default() -> Hop {
        Hop { link: u32::MAX, queue_bytes: 0, at: Time::ZERO, sent_bytes: 0, rate: Rate(1) }
    }
}

/// The hops of a packet, in order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hops {
    /// The first `count` of them were written.
    pub hops: [Hop; MOST_HOPS],
    /// How many.
    pub count: u8,
    /// HPCC-PINT's field instead: how much of the fullest link is in use, as a power.
    pub power: u16,
}

impl Hops {
    /// Those that were written.
    pub fn written(&self) -> &[Hop] {
        &self.hops[..usize::from(self.count).min(MOST_HOPS)]
    }

    /// The same ports, when nothing had happened there.
    pub fn of_no_time(&self) -> Hops {
        let hops = self.hops.map(|hop| Hop { link: hop.link, ..Hop::default() });
        Hops { hops, ..*self }
    }

    /// Adds one. Beyond the header's length it wraps around (HPCC's simulator: `nhop % maxHop`); a network so deep
    /// is refused.
    pub fn push(&mut self, hop: Hop) {
        self.hops[usize::from(self.count) % MOST_HOPS] = hop;
        self.count = self.count.saturating_add(1);
    }
}

/// The bits that HPCC's header has, and their units (int-header.h of its simulator).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Widths {
    /// Units of bytes sent, and of the queue, times this.
    pub multiple: u64,
}

impl Widths {
    const TIME_NS: u64 = 1 << 24;
    const SENT_UNITS: u64 = 1 << 20;
    const QUEUE_UNITS: u64 = 1 << 17;
    const SENT_UNIT: u64 = 128;
    const QUEUE_UNIT: u64 = 80;

    /// What of a hop gets through.
    pub fn cut(self, hop: Hop) -> Hop {
        let (sent_unit, queue_unit) = (Widths::SENT_UNIT * self.multiple, Widths::QUEUE_UNIT * self.multiple);
        let sent_units = hop.sent_bytes / sent_unit % Widths::SENT_UNITS;
        let queue_units = u64::from(hop.queue_bytes) / queue_unit % Widths::QUEUE_UNITS;
        Hop {
            at: Time::from_ns(hop.at.as_ps() / 1_000 % Widths::TIME_NS),
            sent_bytes: sent_units * sent_unit,
            queue_bytes: narrow::<u32>(queue_units * queue_unit),
            ..hop
        }
    }

    /// The time and the bytes between two hops, one of them wrapped perhaps.
    pub fn between(self, earlier: &Hop, later: &Hop) -> (Time, u64) {
        let wrapped = |earlier: u64, later: u64, wrap: u64| {
            if later >= earlier { later - earlier } else { later + wrap - earlier }
        };
        let time = wrapped(earlier.at.as_ps(), later.at.as_ps(), Time::from_ns(Widths::TIME_NS).as_ps());
        let all_bytes = Widths::SENT_UNITS * Widths::SENT_UNIT * self.multiple;
        (Time(time), wrapped(earlier.sent_bytes, later.sent_bytes, all_bytes))
    }
}

impl Hop {
    /// The time and the bytes since an earlier sample of the same port; none of another port's.
    pub fn since(&self, earlier: &Hop, widths: Option<Widths>) -> Option<(Time, u64)> {
        let (time, bytes) = match widths {
            Some(widths) => widths.between(earlier, self),
            None => (self.at.since(earlier.at), self.sent_bytes.saturating_sub(earlier.sent_bytes)),
        };
        (self.link == earlier.link && time != Time::ZERO).then_some((time, bytes))
    }
}

/// A port's part.
#[derive(Clone, Debug)]
pub struct Telemetry {
    /// Hosts' links are not reported (HPCC's simulator).
    is_switch: bool,
    link: u32,
    rate: Rate,
    widths: Option<Widths>,
    average: Option<Box<Average>>,
}

/// How a scenario wants telemetry cut, if at all.
pub fn widths(transport: &Values) -> Option<Widths> {
    transport.flag("quantise").then(|| Widths { multiple: transport.count("int_multiple") })
}

impl Telemetry {
    /// Of a port that reports what is, without any rounding.
    pub fn exact(port: PortInfo) -> Telemetry {
        let PortInfo { is_switch, link, rate, .. } = port;
        Telemetry { is_switch, link, rate, widths: None, average: None }
    }

    /// What a port reports of itself to a packet of a kind that leaves, if it does.
    pub fn hop(&self, leaving: Leaving, kind: Kind) -> Option<Hop> {
        (self.is_switch && kind == Kind::Data).then(|| Hop {
            link: self.link,
            queue_bytes: u32::try_from(leaving.left.bytes).unwrap_or(u32::MAX),
            at: leaving.at,
            sent_bytes: leaving.sent_bytes,
            rate: self.rate,
        })
    }
}

impl PortAgent<Header<Hops>> for Telemetry {
    const ACTIVE: bool = false;
    const SEES_DEPARTURES: bool = true;
    const NEEDS: crate::engine::PathNeeds = crate::engine::PathNeeds::OnePerFlow;

    fn build(transport: &Values, port: PortInfo) -> Telemetry {
        let average = Average::of(transport, port).filter(|_| port.is_switch).map(Box::new);
        Telemetry { widths: widths(transport), average, ..Telemetry::exact(port) }
    }

    fn forward(&mut self, _: Moment, _: &mut Packet<Header<Hops>>) {}

    fn depart(&mut self, leaving: Leaving, packet: &mut Packet<Header<Hops>>) {
        let Some(hop) = self.hop(leaving, packet.kind) else { return };
        if let Some(average) = &mut self.average {
            let power = average.after(leaving, packet.size_bytes);
            packet.header.fields.power = packet.header.fields.power.max(power);
            return;
        }
        packet.header.fields.push(self.widths.map_or(hop, |widths| widths.cut(hop)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_and_wrapped_differs_as_the_whole_does_but_for_its_units() {
        let widths = Widths { multiple: 4 };
        let hop = |at_ns: u64, sent_bytes: u64, queue_bytes: u32| Hop {
            at: Time::from_ns(at_ns),
            sent_bytes,
            queue_bytes,
            ..Hop::default()
        };
        let earlier = widths.cut(hop((1 << 24) - 100, (512 << 20) - 1_000, 1_000));
        let later = widths.cut(hop((1 << 24) + 60, (512 << 20) + 600, 300));
        assert_eq!((earlier.queue_bytes, later.queue_bytes), (960, 0));
        assert_eq!((later.at, later.sent_bytes), (Time::from_ns(60), 512));
        // 1600 B of which the ends count in units of 512 B: from 1024 before the wrap to 512 after it.
        assert_eq!(widths.between(&earlier, &later), (Time::from_ns(160), 1_536));
    }

    #[test]
    fn only_switches_write_and_only_into_data() {
        let telemetry = |is_switch| Telemetry {
            average: None,
            is_switch,
            link: 7,
            rate: Rate::from_gbps(100),
            widths: None,
        };
        let leaving = Leaving {
            at: Time::from_ns(5),
            left: packetloom_queue::queue::Occupancy { packets: 2, bytes: 2_180 },
            sent_bytes: 1_090,
        };
        let after = |is_switch, kind| {
            let mut packet = Packet { kind, ..Packet::default() };
            telemetry(is_switch).depart(leaving, &mut packet);
            packet.header.fields.written().to_vec()
        };
        let hop = Hop {
            link: 7,
            queue_bytes: 2_180,
            at: Time::from_ns(5),
            sent_bytes: 1_090,
            rate: Rate::from_gbps(100),
        };
        assert_eq!(after(true, Kind::Data), [hop]);
        assert_eq!((after(false, Kind::Data), after(true, Kind::Ack)), (vec![], vec![]));
    }
}
