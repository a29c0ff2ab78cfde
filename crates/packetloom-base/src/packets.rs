//! Where the packets are: those on links, in queues and at switches. A packet keeps its slot while it crosses the
//! fabric, so that to forward one is not to copy it; queues and links hold the numbers of the slots.

use crate::narrow::narrow;
use crate::packet::Packet;
use crate::packet_tag::Tag;
use crate::prefetch::prefetch;

/// The number of a packet's slot in [`Packets`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(u32);

/// A packet begins a cache line, so that most take but one.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Slot<H>(Packet<H>);

/// A shard's packets.
#[derive(Clone, Debug)]
pub struct Packets<H> {
    slots: Vec<Slot<H>>,
    /// For each slot, the one that comes after it in a queue.
    next: Vec<PacketId>,
    /// For each slot, the link by which its packet came to the node where it is, as a number at that node: kept only
    /// where a switch has to know (see [`Packets::set_ingress`]).
    ingress: Vec<u32>,
    /// For each slot, what switches wrote beside its packet: empty where none does.
    tags: Vec<Tag>,
    is_tagged: bool,
    /// The slot that was left last comes last, so that the same few are used over and over. Apart from `next`,
    /// because it is read and written in a stream.
    free: Vec<PacketId>,
}

impl<H> Default for Packets<H> {
    fn default() -> Packets<H> {
        Packets {
            slots: Vec::new(),
            next: Vec::new(),
            ingress: Vec::new(),
            tags: Vec::new(),
            is_tagged: false,
            free: Vec::new(),
        }
    }
}

impl<H: Copy + Default> Packets<H> {
    /// Takes a packet in.
    #[inline(always)]
    pub fn add(&mut self, packet: Packet<H>) -> PacketId {
        let id = self.free.pop().unwrap_or_else(|| self.add_slot());
        *self.get_mut(id) = packet;
        id
    }

    #[cold]
    #[inline(never)]
    fn add_slot(&mut self) -> PacketId {
        self.slots.push(Slot(Packet::default()));
        self.next.push(PacketId::default());
        self.ingress.push(0);
        if self.is_tagged {
            self.tags.push(Tag::default());
        }
        PacketId(narrow::<u32>(self.slots.len()) - 1)
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Packet<H> {
        self.free.push(id);
        *self.get(id)
    }

    /// What was linked to a packet's slot as the next.
    #[inline]
    pub fn next(&self, id: PacketId) -> PacketId {
        self.next[id.0 as usize]
    }

    /// Has another packet's slot come after this one's.
    #[inline]
    pub fn link(&mut self, id: PacketId, next: PacketId) {
        self.next[id.0 as usize] = next;
    }

    /// Has two packets change slots.
    pub fn exchange(&mut self, one: PacketId, other: PacketId) {
        self.slots.swap(one.0 as usize, other.0 as usize);
        self.ingress.swap(one.0 as usize, other.0 as usize);
        if self.is_tagged {
            self.tags.swap(one.0 as usize, other.0 as usize);
        }
    }

    /// From now on each packet has a tag.
    pub fn keep_tags(&mut self) {
        self.is_tagged = true;
        self.tags.resize(self.slots.len(), Tag::default());
    }

    /// Whether packets have tags.
    #[inline]
    pub fn is_tagged(&self) -> bool {
        self.is_tagged
    }

    /// What switches wrote beside a packet; nothing where none does.
    #[inline]
    pub fn tag(&self, id: PacketId) -> Tag {
        self.tags.get(id.0 as usize).copied().unwrap_or_default()
    }

    /// Writes a packet's tag, if packets have tags.
    #[inline]
    pub fn set_tag(&mut self, id: PacketId, tag: Tag) {
        if let Some(slot) = self.tags.get_mut(id.0 as usize) {
            *slot = tag;
        }
    }

    /// Notes by which of its node's links a packet came.
    #[inline]
    pub fn set_ingress(&mut self, id: PacketId, link: u32) {
        self.ingress[id.0 as usize] = link;
    }

    /// By which of its node's links a packet came, if the node noted it.
    #[inline]
    pub fn ingress(&self, id: PacketId) -> u32 {
        self.ingress[id.0 as usize]
    }

    /// A packet.
    #[inline]
    pub fn get(&self, id: PacketId) -> &Packet<H> {
        &self.slots[id.0 as usize].0
    }

    /// Prefetches a packet.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.slots[id.0 as usize]);
    }

    /// Prefetches a packet, what comes after it in its queue, and by which link it came.
    #[inline]
    pub fn prefetch_queued(&self, id: PacketId) {
        self.prefetch(id);
        prefetch(&self.next[id.0 as usize]);
        prefetch(&self.ingress[id.0 as usize]);
    }

    /// A packet, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet<H> {
        &mut self.slots[id.0 as usize].0
    }
}
