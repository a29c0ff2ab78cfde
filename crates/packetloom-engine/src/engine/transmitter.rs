//! The sending end of a link: when it is free, how long packets take, and what was put onto it.

use super::link_table::{LinkEnd, LinkTable};
use super::port::PortCounters;
use crate::fault::{LinkFault, Loss};
use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::packets::PacketId;
use crate::queue::Counts;
use crate::topology::{Forwarding, Link, Topology};
use crate::units::{ByteTime, Time};

/// All that is needed to put a packet onto a link: less than a cache line.
#[derive(Clone, Debug)]
#[repr(C)]
pub(super) struct Transmitter {
    /// Until when the link is taken by what is on it or, for a FIFO, waits for it.
    pub(super) busy_until: Time,
    byte_time: ByteTime,
    latency: Time,
    /// Packets put onto the link, and their bytes.
    sent: (u64, u64),
    /// Where the link leads.
    pub(super) end: LinkEnd,
    pub(super) framing_bytes: u32,
    /// The far node decides once this much of a packet is there.
    cut_bytes: u16,
}

impl Transmitter {
    /// The near end of `link`, which leads to `end`.
    pub(super) fn new(topology: &Topology, link: &Link, end: LinkEnd) -> Transmitter {
        let far_is_switch = topology.nodes[link.dst as usize].tier > 0;
        let cut_bytes = match topology.forwarding {
            Forwarding::CutThrough { header_bytes, .. } if far_is_switch => header_bytes,
            _ => u16::MAX,
        };
        Transmitter {
            busy_until: Time::ZERO,
            byte_time: topology.byte_time(link.rate),
            latency: link.latency,
            sent: (0, 0),
            end,
            framing_bytes: narrow::<u32>(topology.framing_bytes),
            cut_bytes,
        }
    }

    /// How long each byte takes.
    #[inline]
    pub(super) fn byte_time(&self) -> ByteTime {
        self.byte_time
    }

    /// How long a packet of so many bytes takes, framing included.
    #[inline]
    pub(super) fn time_for(&self, bytes: u64) -> Time {
        self.byte_time.of(bytes + u64::from(self.framing_bytes))
    }

    /// The later bits of a packet that arrives here cut-through over a link of `from`'s rate must not be overtaken:
    /// the earliest that it may start, after its header arrived at `now`.
    #[inline]
    pub(super) fn cut_through_start(&self, from: ByteTime, header: u16, size: u16, now: Time) -> Time {
        let behind = from.of(u64::from(size.saturating_sub(header)));
        let takes = self.byte_time.of(u64::from(size));
        now + behind.since(takes)
    }

    /// From a packet's start until as much of it is out as the far node waits for; all of it `takes` so long.
    #[inline]
    fn until_seen(&self, size_bytes: u16, takes: Time) -> Time {
        if size_bytes <= self.cut_bytes { takes } else { self.time_for(self.cut_bytes.into()) }
    }

    /// Puts a packet onto the link; returns its size if it is data, otherwise 0.
    #[inline(always)]
    pub(super) fn transmit<H: Copy + Default>(
        &mut self,
        start: Time,
        id: PacketId,
        link_table: &mut LinkTable<H>,
    ) -> u16 {
        debug_assert!(start >= self.busy_until, "two packets at once on a link");
        let packet = link_table.packets.get_mut(id);
        let bytes = u64::from(packet.size_bytes) + u64::from(self.framing_bytes);
        let takes = self.byte_time.of(bytes);
        let arrival = start + self.until_seen(packet.size_bytes, takes) + self.latency;
        packet.time = arrival;
        self.sent.0 += 1;
        self.sent.1 += u64::from(packet.size_bytes);
        let data_bytes = if packet.kind == Kind::Data { packet.size_bytes } else { 0 };
        let late = link_table.carry(self.end, (start, arrival), bytes, takes, id);
        self.busy_until = start + takes + late;
        data_bytes
    }

    /// Packets that were put onto the link, and their bytes.
    #[inline]
    pub(super) fn sent(&self) -> (u64, u64) {
        self.sent
    }

    /// What started before `end`, with what the queue counted; `on_link` are the packets on the link. A FIFO port
    /// hands packets over as they come, so those that would have started later are still there to be subtracted.
    pub(super) fn counters<H: Copy + Default>(
        &self,
        counts: Counts,
        end: Time,
        on_link: &[&Packet<H>],
        link_table: &LinkTable<H>,
    ) -> PortCounters {
        let mut counters = PortCounters::of(self.sent, counts);
        let mut not_yet = |size_bytes: u16| {
            counters.packets -= 1;
            counters.bytes -= u64::from(size_bytes);
        };
        let fault = link_table.fault(self.end);
        for &&Packet { time: arrives, size_bytes, .. } in on_link {
            let seen = self.until_seen(size_bytes, self.time_for(size_bytes.into()));
            let in_time = || arrives.since(self.latency).since(seen);
            let started = fault.and_then(|fault| fault.late_start(arrives)).unwrap_or_else(in_time);
            if started >= end {
                not_yet(size_bytes);
            }
        }
        let (mut corrupted, mut lost) = (0, 0);
        for &(started, size_bytes, loss) in fault.map_or(&[][..], LinkFault::losses) {
            match loss {
                _ if started >= end => not_yet(size_bytes),
                Loss::Corrupted => corrupted += 1,
                Loss::Down => lost += 1,
            }
        }
        let replays = fault.map_or(&[][..], LinkFault::replays);
        let replays = replays.iter().filter(|&&at| at < end).count() as u64;
        PortCounters { corrupted, lost, replays, ..counters }
    }
}
