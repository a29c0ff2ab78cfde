//! A port of a switch with VOQs: what waits in them for this port is a part of its queue, but may not be sent.

use crate::link_message::LinkMessage;
use crate::packet::{Kind, Packet};
use crate::packets::{PacketId, Packets};
use crate::queue::flow_control::{CLASSES, PausedClasses, charged_class, class_in};
use crate::queue::list::List;
use crate::queue::{Departure, Env, Holds, Joined, Occupancy, Opening, SharedPort, Site};
use crate::units::Time;
use std::collections::BTreeMap;

/// What left a port, as its switch has to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// The link by which it came, as a number at the switch.
    pub link: u32,
    /// The host it is for.
    pub dst: u32,
    /// The class that it was charged to, if it was.
    pub class: Option<u8>,
    /// Its size.
    pub bytes: u16,
    /// Whether it is data, which takes of windows.
    pub is_data: bool,
    /// Where bytes are numbered: that of its last byte at the hop before, and here.
    pub numbers: (u32, u32),
}

/// What waits in a VOQ for the port.
#[derive(Clone, Copy, Debug)]
struct Aside {
    voq: u32,
    packets: List,
}

/// The port's packets.
#[derive(Clone, Debug)]
pub struct Gated {
    port: SharedPort,
    /// The VOQs that hold something for it; for which destinations, and how many packets; and of which classes.
    voqs: Vec<Aside>,
    dsts: BTreeMap<u32, u32>,
    aside: [Occupancy; CLASSES],
    left: Option<Left>,
    /// Where bytes are numbered: how many went to each destination, modulo 2^32.
    sent: Option<BTreeMap<u32, u32>>,
    is_switch: bool,
    /// Whether the far end is a switch that counts bytes.
    is_counted: bool,
}

impl Gated {
    pub(super) fn new(port: SharedPort, numbers: bool) -> Gated {
        Gated {
            port,
            voqs: Vec::new(),
            dsts: BTreeMap::new(),
            aside: [Occupancy::default(); CLASSES],
            left: None,
            sent: numbers.then(BTreeMap::new),
            is_switch: false,
            is_counted: false,
        }
    }

    /// What left last, if its switch has to know.
    pub fn left(&self) -> Option<Left> {
        self.left
    }

    /// Has a packet wait in a VOQ.
    pub fn put_aside<H: Copy + Default>(&mut self, voq: u32, id: PacketId, packets: &mut Packets<H>) {
        let &Packet { dst, class, size_bytes, .. } = packets.get(id);
        self.aside[class_in(class)].add(size_bytes);
        *self.dsts.entry(dst).or_default() += 1;
        let place = self.voqs.iter().position(|aside| aside.voq == voq).unwrap_or_else(|| {
            self.voqs.push(Aside { voq, packets: List::default() });
            self.voqs.len() - 1
        });
        self.voqs[place].packets.push_back(id, packets);
    }

    /// Has the first packet of a VOQ join the queue.
    pub fn bring_back<H: Copy + Default>(&mut self, voq: u32, packets: &mut Packets<H>) {
        let place =
            self.voqs.iter().position(|aside| aside.voq == voq).expect("it holds something for this port");
        let waiting = &mut self.voqs[place].packets;
        let id = waiting.pop_front(packets).expect("the VOQ holds something");
        if waiting.is_empty() {
            self.voqs.swap_remove(place);
        }
        let &Packet { dst, class, size_bytes, .. } = packets.get(id);
        self.aside[class_in(class)].remove(size_bytes);
        if let Some(count) = self.dsts.get_mut(&dst) {
            *count -= 1;
            if *count == 0 {
                self.dsts.remove(&dst);
            }
        }
        self.port.push_back(id, packets);
    }

    fn all_aside(&self) -> Occupancy {
        self.aside.iter().fold(Occupancy::default(), |all, one| all + *one)
    }

    /// Notes what leaves, and numbers its bytes.
    fn note_left<H: Copy + Default>(&mut self, id: PacketId, packets: &mut Packets<H>) {
        let link = packets.ingress(id);
        let packet = packets.get_mut(id);
        let (class, is_data) = (charged_class(packet), packet.kind == Kind::Data);
        let Packet { dst, size_bytes, priority, .. } = *packet;
        let mut own = 0;
        if let Some(sent) = self.sent.as_mut().filter(|_| is_data && self.is_switch) {
            if self.is_counted {
                let count = sent.entry(dst).or_default();
                *count = count.wrapping_add(size_bytes.into());
                own = *count;
            }
            packet.priority = own;
        }
        let it = Left { link, dst, class, bytes: size_bytes, is_data, numbers: (priority, own) };
        self.left = (packet.kind != Kind::Link && (is_data || class.is_some())).then_some(it);
    }
}

impl Holds for Gated {
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        opening: Option<Opening>,
        env: &mut Env<'_, H>,
    ) -> Joined {
        self.port.put(id, opening, env)
    }

    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId> {
        self.left = None;
        let aside = &self.aside;
        let id = self.port.pop_next(env.packets, (env.random, env.counts), |class| aside[class])?;
        self.note_left(id, env.packets);
        Some(id)
    }

    fn prefetch<H: Copy + Default>(&self, packets: &Packets<H>) {
        self.port.prefetch(packets);
    }

    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a {
        let aside = self.voqs.iter().flat_map(|aside| aside.packets.iter(packets));
        self.port.packets(packets).chain(aside)
    }

    fn queued(&self) -> Occupancy {
        self.port.queued() + self.all_aside()
    }

    // HPCC reads what is in VOQs from the packets alone that have one (§8). Apart, so that other queues pay nothing for it.
    #[inline(never)]
    fn queued_before(&self, dst: u32) -> Occupancy {
        if self.dsts.contains_key(&dst) { self.queued() } else { self.port.queued() }
    }

    fn unbooked(&self) -> Occupancy {
        self.port.unbooked()
    }

    fn is_ready(&self) -> bool {
        self.port.is_ready()
    }

    fn classes(&self, mut visit: impl FnMut(usize, u64, Option<u64>)) {
        self.port.classes(|class, bytes, _| visit(class, bytes + self.aside[class].bytes, None));
    }

    fn holds_back(&self) -> bool {
        true
    }

    fn joins_first(&self) -> bool {
        true
    }

    fn place(&mut self, site: Site) {
        (self.is_switch, self.is_counted) = (site.is_switch, site.is_between_switches());
        self.port.place(site);
    }

    fn paused(&self) -> Option<&PausedClasses> {
        self.port.paused()
    }

    fn lets_pass(&self, class: Option<u8>, was_just_taken: bool) -> bool {
        self.port.lets_pass_unseen(class, was_just_taken)
    }

    fn sees_passing(&self) -> bool {
        self.is_switch
    }

    fn pass<H: Copy + Default>(&mut self, id: PacketId, env: &mut Env<'_, H>) {
        self.note_left(id, env.packets);
    }

    fn class_bytes(&self, class: u8) -> u64 {
        self.port.class_bytes(class) + self.aside[class_in(class)].bytes
    }

    fn receive_message(&mut self, now: Time, message: LinkMessage) {
        self.port.receive_message(now, message);
    }

    fn departure(&self) -> Option<Departure> {
        self.port.departure()
    }
}
