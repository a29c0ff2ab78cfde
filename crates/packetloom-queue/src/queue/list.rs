//! Packets in a row. Each is linked to the next by its place (see [`Packets`]), so that a queue takes no memory of
//! its own but its two ends, and to send its first packet reads no more than that packet.

use super::Occupancy;
use crate::narrow::narrow;
use crate::packets::{PacketId, Packets};
use std::hint::select_unpredictable;

/// A queue of packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct List {
    /// The ends; they say nothing where nothing waits.
    first: PacketId,
    last: PacketId,
    queued: Occupancy,
}

impl List {
    /// Whether nothing waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queued.packets == 0
    }

    /// What waits.
    #[inline]
    pub fn queued(&self) -> Occupancy {
        self.queued
    }

    /// The first.
    #[inline]
    pub fn first(&self) -> Option<PacketId> {
        (!self.is_empty()).then_some(self.first)
    }

    /// Prefetches the first two packets.
    #[inline]
    pub fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        if !self.is_empty() {
            packets.prefetch(self.first);
            if self.queued.packets > 1 {
                packets.prefetch(packets.next(self.first));
            }
        }
    }

    /// Prefetches the first packet, with what is noted beside it. Of a list without one, what was its last: no harm.
    #[inline]
    pub fn prefetch_first<H: Copy + Default>(&self, packets: &Packets<H>) {
        packets.prefetch_queued(self.first);
    }

    /// Adds one at the end.
    #[inline]
    pub fn push_back<H: Copy + Default>(&mut self, id: PacketId, packets: &mut Packets<H>) {
        // Without a branch: whether something waits the processor can't foresee. The last one's link says nothing.
        let is_empty = self.is_empty();
        packets.link(select_unpredictable(is_empty, id, self.last), id);
        self.first = select_unpredictable(is_empty, id, self.first);
        self.last = id;
        self.queued.add(packets.get(id).size_bytes);
    }

    /// Takes the first out.
    #[inline]
    pub fn pop_front<H: Copy + Default>(&mut self, packets: &Packets<H>) -> Option<PacketId> {
        let id = self.first()?;
        self.first = packets.next(id);
        self.queued.remove(packets.get(id).size_bytes);
        Some(id)
    }

    /// Puts the packet in a place at the end in the last one's stead, which is in that place then.
    pub fn exchange_last<H: Copy + Default>(&mut self, id: PacketId, packets: &mut Packets<H>) {
        self.queued.remove(packets.get(self.last).size_bytes);
        packets.exchange(self.last, id);
        self.queued.add(packets.get(self.last).size_bytes);
    }

    /// The last.
    #[inline]
    pub fn last(&self) -> Option<PacketId> {
        (!self.is_empty()).then_some(self.last)
    }

    /// All, from the first to the last.
    pub fn iter<H: Copy + Default>(&self, packets: &Packets<H>) -> impl Iterator<Item = PacketId> {
        std::iter::successors(self.first(), |&id| Some(packets.next(id)))
            .take(narrow::<usize>(self.queued.packets))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::random::{Purpose, Stream};
    use std::collections::VecDeque;

    #[test]
    fn behaves_as_the_standard_librarys_queue() {
        let mut stream = Stream::new(1, Purpose::Queue, 0);
        let mut packets = Packets::default();
        // Two queues that take turns, so that the places of one's packets are among the other's.
        let mut pairs = [(); 2].map(|()| (List::default(), VecDeque::new()));
        for step in 0..20_000_u32 {
            let (list, model) = &mut pairs[stream.below(2) as usize];
            let packet = Packet { header: step, size_bytes: stream.below(9_000) as u16, ..Packet::default() };
            let sent = match stream.below(if step / 500 % 2 == 0 { 5 } else { 3 }) {
                0 | 1 => model.pop_front(),
                2 if !model.is_empty() => {
                    let id = packets.add(packet);
                    list.exchange_last(id, &mut packets);
                    assert_eq!(
                        packets.take(id).header,
                        model.pop_back().map_or(0, |last: Packet<u32>| last.header)
                    );
                    model.push_back(packet);
                    continue;
                }
                _ => {
                    list.push_back(packets.add(packet), &mut packets);
                    model.push_back(packet);
                    continue;
                }
            };
            let taken = list.pop_front(&packets).map(|id| packets.take(id).header);
            assert_eq!(taken, sent.map(|packet| packet.header));
            assert!(
                list.iter(&packets)
                    .map(|id| packets.get(id).header)
                    .eq(model.iter().map(|packet| packet.header))
            );
            let bytes = model.iter().map(|packet| u64::from(packet.size_bytes)).sum();
            assert_eq!(list.queued(), Occupancy { bytes, packets: model.len() as u64 });
        }
    }
}
