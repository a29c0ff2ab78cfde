//! Where the packets are: those on links, in queues and at switches. A packet keeps its place while it crosses the
//! fabric, so that to forward one is not to copy it; queues and links hold the numbers of the places.

use crate::packet::Packet;
use crate::prefetch::prefetch;
use crate::routing::Tag;

/// The number of a packet's place in [`Packets`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PacketId(u32);

/// A packet begins a cache line, so that most take but one.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Place<H>(Packet<H>);

/// A shard's packets.
#[derive(Clone, Debug)]
pub struct Packets<H> {
    places: Vec<Place<H>>,
    /// For each place, the one that comes after it in a queue.
    next: Vec<PacketId>,
    /// For each place, the link by which its packet came to the node where it is, as a number at that node: kept only where a
    /// switch has to know (see [`Packets::set_ingress`]).
    ingress: Vec<u32>,
    /// For each place, what switches wrote beside its packet: empty where none does.
    tags: Vec<Tag>,
    is_tagged: bool,
    /// The place that was left last comes last, so that the same few are used over and over. Apart from `next`, because it is read
    /// and written in a stream.
    free: Vec<PacketId>,
}

impl<H> Default for Packets<H> {
    fn default() -> Packets<H> {
        Packets {
            places: Vec::new(),
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
        let id = self.free.pop().unwrap_or_else(|| self.add_place());
        *self.get_mut(id) = packet;
        id
    }

    #[cold]
    #[inline(never)]
    fn add_place(&mut self) -> PacketId {
        self.places.push(Place(Packet::default()));
        self.next.push(PacketId::default());
        self.ingress.push(0);
        if self.is_tagged {
            self.tags.push(Tag::default());
        }
        PacketId(self.places.len() as u32 - 1)
    }

    /// Takes a packet out.
    #[inline]
    pub fn take(&mut self, id: PacketId) -> Packet<H> {
        self.free.push(id);
        *self.get(id)
    }

    /// What was linked to a packet's place as the next.
    #[inline]
    pub fn next(&self, id: PacketId) -> PacketId {
        self.next[id.0 as usize]
    }

    /// Has another packet's place come after this one's.
    #[inline]
    pub fn link(&mut self, id: PacketId, next: PacketId) {
        self.next[id.0 as usize] = next;
    }

    /// Has two packets change places.
    pub fn exchange(&mut self, one: PacketId, other: PacketId) {
        self.places.swap(one.0 as usize, other.0 as usize);
        self.ingress.swap(one.0 as usize, other.0 as usize);
        if self.is_tagged {
            self.tags.swap(one.0 as usize, other.0 as usize);
        }
    }

    /// Has room made for tags beside packets.
    pub fn keep_tags(&mut self) {
        self.is_tagged = true;
        self.tags.resize(self.places.len(), Tag::default());
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

    /// Writes beside a packet, where there is room for it.
    #[inline]
    pub fn set_tag(&mut self, id: PacketId, tag: Tag) {
        if let Some(place) = self.tags.get_mut(id.0 as usize) {
            *place = tag;
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
        &self.places[id.0 as usize].0
    }

    /// Asks for a packet that will be read soon.
    #[inline]
    pub fn prefetch(&self, id: PacketId) {
        prefetch(&self.places[id.0 as usize]);
    }

    /// A packet, to be changed.
    #[inline]
    pub fn get_mut(&mut self, id: PacketId) -> &mut Packet<H> {
        &mut self.places[id.0 as usize].0
    }
}
