//! Where the packets are: those on links, in queues and at switches. A packet keeps its place while it crosses the
//! fabric, so that to forward one is not to copy it; queues and links hold the numbers of the places.

use crate::packet::Packet;

/// The number of a packet's place in [`Packets`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(u32);

impl PacketId {
    /// No packet: the end of a list.
    pub(crate) const NONE: PacketId = PacketId(u32::MAX);
}

/// Which slot no link has: that of packets at a node.
const NOWHERE: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Place<H> {
    packet: Packet<H>,
    /// Where its link ends.
    slot: u32,
    /// What reaches the same node in the same window; of a free place, the next one.
    next: PacketId,
}

/// A shard's packets.
#[derive(Clone, Debug)]
pub struct Packets<H> {
    places: Vec<Place<H>>,
    /// The place that was left last, so that the same few are used over and over.
    free: PacketId,
}

impl<H> Default for Packets<H> {
    fn default() -> Packets<H> {
        Packets { places: Vec::new(), free: PacketId::NONE }
    }
}

impl<H: Copy + Default> Packets<H> {
    /// Takes a packet in.
    #[inline]
    pub fn add(&mut self, packet: Packet<H>) -> PacketId {
        let id = self.free;
        match self.places.get_mut(id.0 as usize) {
            Some(place) => {
                self.free = place.next;
                place.packet = packet;
                id
            }
            None => self.add_place(packet),
        }
    }

    #[cold]
    fn add_place(&mut self, packet: Packet<H>) -> PacketId {
        self.places.push(Place { packet, slot: NOWHERE, next: PacketId::NONE });
        PacketId(self.places.len() as u32 - 1)
    }

    /// Notes that a packet has reached the end of its link and waits there.
    #[inline]
    pub fn stay(&mut self, id: PacketId) {
        self.places[id.0 as usize].slot = NOWHERE;
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Packet<H> {
        let place = &mut self.places[id.0 as usize];
        place.slot = NOWHERE;
        place.next = self.free;
        self.free = id;
        place.packet
    }

    /// A packet.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet<H> {
        &self.places[id.0 as usize].packet
    }

    /// A packet, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet<H> {
        &mut self.places[id.0 as usize].packet
    }

    /// Puts a packet on the link that ends at `slot`, before those of a list: they will reach the same node.
    #[inline]
    pub(crate) fn put_on_link(&mut self, id: PacketId, slot: u32, list: &mut PacketId) {
        let place = &mut self.places[id.0 as usize];
        place.slot = slot;
        place.next = std::mem::replace(list, id);
    }

    /// Adds a packet that is on its link already to a list.
    pub(crate) fn put_before(&mut self, id: PacketId, list: &mut PacketId) {
        self.places[id.0 as usize].next = std::mem::replace(list, id);
    }

    /// The packets of a list, each with the slot that it arrives at.
    #[inline]
    pub fn list(&self, first: PacketId) -> impl Iterator<Item = (PacketId, u32, &Packet<H>)> {
        let mut next = first;
        std::iter::from_fn(move || {
            let id = next;
            let place = self.places.get(id.0 as usize)?;
            next = place.next;
            Some((id, place.slot, &place.packet))
        })
    }

    /// Every packet on a link, and the slot that it arrives at.
    pub fn on_links(&self) -> impl Iterator<Item = (u32, &Packet<H>)> {
        let places = self.places.iter().filter(|place| place.slot != NOWHERE);
        places.map(|place| (place.slot, &place.packet))
    }
}
