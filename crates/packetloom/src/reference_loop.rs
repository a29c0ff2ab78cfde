//! A reference loop for benchmarks: how fast this machine, now, moves packets through a fat-tree when nothing else is
//! done.
//!
//! Each host has one flow to another, with a fixed window, an acknowledgement for each packet, and a random path for
//! each of either. Links are first in, first out, and have no limit; there is one event per packet-hop. Nothing is
//! dropped, measured or decided, so what it takes is what the processor and its memory take for the moving. A rate
//! beside it can be read on a slow machine, or on one whose neighbours are busy. It is no bound: to work through
//! time in windows beats it on large fabrics (docs/performance.md).

use crate::narrow::narrow;
use cpu_time::ThreadTime;
use std::time::Duration;

const WINDOW: usize = 20;
const DATA_BYTES: u16 = 1_500;
const ACK_BYTES: u16 = 64;
/// At 10 Gb/s.
const BYTE_PS: u64 = 800;
const DELAY_PS: u64 = 1_000_000;
/// Packets on a link, and before it. With such windows no more than some dozens meet.
const PLACES: usize = 256;
/// The slots of time in which the first packets of links are looked up; together longer than any link takes.
const SLOTS: usize = 4_096;
const SLOT_PS: u64 = 1_024;
const NOBODY: u32 = u32::MAX;
/// Moved before the clock is looked at again.
const BETWEEN_LOOKS: u64 = 1 << 18;

#[derive(Clone, Copy, Default)]
struct Packet {
    arrives: u64,
    /// The host whose flow it is of.
    flow: u32,
    bytes: u16,
    /// Which of its links upwards an edge switch takes, and which the switch above it.
    up: [u8; 2],
}

#[derive(Clone)]
struct Link {
    /// When it has sent all that there is.
    free_at: u64,
    /// When its first packet reaches the far end.
    due: u64,
    /// The first packet's place in the link's ring, and how many there are.
    first: u32,
    count: u32,
    /// The next link of the same slot.
    next: u32,
}

/// The links' first packets by time: a ring of slots, each a list in order.
struct Wheel {
    slots: Vec<u32>,
    /// A bit for each slot that is not empty.
    filled: Vec<u64>,
    at: usize,
}

/// The loop, somewhere on its way.
pub struct ReferenceLoop {
    /// Ports up of an edge switch; its hosts, too.
    half: u32,
    links: Vec<Link>,
    packets: Vec<Packet>,
    wheel: Wheel,
    partner: Vec<u32>,
    random: u64,
    hops: u64,
    now: u64,
}

/// Where a link is. There are as many of each kind as there are hosts, and they are numbered in this order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tier {
    FromHost,
    ToHost,
    FromEdge,
    ToEdge,
    ToCore,
    FromCore,
}

const TIERS: [Tier; 6] =
    [Tier::FromHost, Tier::ToHost, Tier::FromEdge, Tier::ToEdge, Tier::ToCore, Tier::FromCore];

impl ReferenceLoop {
    /// A fat-tree of switches with `k` ports (at most 32), with every window sent.
    pub fn new(k: u32) -> ReferenceLoop {
        let half = k / 2;
        let hosts = k * half * half;
        let link = Link { free_at: 0, due: 0, first: 0, count: 0, next: NOBODY };
        let mut reference_loop = ReferenceLoop {
            half,
            links: vec![link; TIERS.len() * hosts as usize],
            packets: vec![Packet::default(); TIERS.len() * hosts as usize * PLACES],
            wheel: Wheel { slots: vec![NOBODY; SLOTS], filled: vec![0; SLOTS / 64], at: 0 },
            partner: Vec::new(),
            random: 0x9e37_79b9_7f4a_7c15,
            hops: 0,
            now: 0,
        };
        reference_loop.pair_off(hosts);
        for host in 0..hosts {
            // Not all at the same moment, or they would stay in step, and a slot would hold a link of every host.
            reference_loop.links[host as usize].free_at =
                reference_loop.draw() % (u64::from(DATA_BYTES) * BYTE_PS);
            for _ in 0..WINDOW {
                reference_loop.send(host, host, DATA_BYTES);
            }
        }
        reference_loop
    }

    /// A random cycle through all hosts: each is the partner of the one before it (Sattolo's algorithm).
    fn pair_off(&mut self, hosts: u32) {
        self.partner = (0..hosts).collect();
        for last in (1..hosts).rev() {
            let other = self.draw() % u64::from(last);
            self.partner.swap(last as usize, narrow::<usize>(other));
        }
    }

    /// Has packets cross so many links more.
    pub fn run(&mut self, hops: u64) {
        for _ in 0..hops {
            self.step();
        }
        self.hops += hops;
    }

    /// Marsaglia's xorshift64.
    #[inline]
    fn draw(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    /// One packet reaches the far end of its link and goes on, or is answered.
    #[inline]
    fn step(&mut self) {
        let number = self.wheel.take(&mut self.links);
        let link = &mut self.links[number as usize];
        self.now = link.due;
        let packet = self.packets[number as usize * PLACES + link.first as usize];
        link.first = (link.first + 1) % narrow::<u32>(PLACES);
        link.count -= 1;
        if link.count > 0 {
            link.due = self.packets[number as usize * PLACES + link.first as usize].arrives;
            self.wheel.add(number, &mut self.links);
        }
        let hosts = narrow::<u32>(self.partner.len());
        match self.next_link(number / hosts, number % hosts, &packet) {
            Some(next) => self.put(next, packet),
            None if packet.bytes == DATA_BYTES => {
                self.send(self.partner[packet.flow as usize], packet.flow, ACK_BYTES)
            }
            None => self.send(packet.flow, packet.flow, DATA_BYTES),
        }
    }

    /// Where a packet goes on from the far end of the link `place` of a tier; `None`: it is there.
    #[inline]
    fn next_link(&self, tier: u32, place: u32, packet: &Packet) -> Option<u32> {
        let (half, hosts) = (self.half, narrow::<u32>(self.partner.len()));
        let partner = self.partner[packet.flow as usize];
        let to = if packet.bytes == DATA_BYTES { partner } else { packet.flow };
        let [first, second] = packet.up.map(u32::from);
        let pod = to / (half * half);
        // Of a pod's links between edge and aggregation, those of one switch above are side by side.
        let down = |pod: u32| (pod * half + first) * half + to / half % half;
        let (next, place) = match TIERS[tier as usize] {
            Tier::ToHost => return None,
            Tier::FromHost if place / half == to / half => (Tier::ToHost, to),
            Tier::FromHost => (Tier::FromEdge, place / half * half + first),
            Tier::FromEdge if place / (half * half) == pod => (Tier::ToEdge, down(pod)),
            Tier::FromEdge => (Tier::ToCore, (place / (half * half) * half + first) * half + second),
            Tier::ToCore => (Tier::FromCore, (first * half + second) * 2 * half + pod),
            Tier::FromCore => (Tier::ToEdge, down(pod)),
            Tier::ToEdge => (Tier::ToHost, to),
        };
        Some(next as u32 * hosts + place)
    }

    /// A host sends a packet of a flow.
    #[inline]
    fn send(&mut self, host: u32, flow: u32, bytes: u16) {
        let random = self.draw();
        let below = |random: u64| narrow::<u8>(((random & 0xffff_ffff) * u64::from(self.half)) >> 32);
        let up = [below(random), below(random >> 32)];
        self.put(host, Packet { arrives: 0, flow, bytes, up });
    }

    /// Puts a packet onto a link, behind what is there.
    #[inline]
    fn put(&mut self, number: u32, packet: Packet) {
        let link = &mut self.links[number as usize];
        assert!(link.count < narrow::<u32>(PLACES), "more packets on a link than a reference loop has");
        link.free_at = link.free_at.max(self.now) + u64::from(packet.bytes) * BYTE_PS;
        let arrives = link.free_at + DELAY_PS;
        let place = (link.first + link.count) % narrow::<u32>(PLACES);
        self.packets[number as usize * PLACES + place as usize] = Packet { arrives, ..packet };
        link.count += 1;
        if link.count == 1 {
            link.due = arrives;
            self.wheel.add(number, &mut self.links);
        }
    }
}

impl Wheel {
    /// Adds a link where its first packet is due.
    #[inline]
    fn add(&mut self, number: u32, links: &mut [Link]) {
        let due = links[number as usize].due;
        let slot = (due / SLOT_PS) as usize % SLOTS;
        self.filled[slot / 64] |= 1 << (slot % 64);
        let mut before = NOBODY;
        let mut after = self.slots[slot];
        while after != NOBODY && (links[after as usize].due, after) < (due, number) {
            (before, after) = (after, links[after as usize].next);
        }
        links[number as usize].next = after;
        match before {
            NOBODY => self.slots[slot] = number,
            before => links[before as usize].next = number,
        }
    }

    /// Takes the link out whose first packet is due first. There always is one: packets never end.
    #[inline]
    fn take(&mut self, links: &mut [Link]) -> u32 {
        let mut word = self.at / 64;
        let mut filled = self.filled[word] & (u64::MAX << (self.at % 64));
        while filled == 0 {
            word = (word + 1) % self.filled.len();
            filled = self.filled[word];
        }
        self.at = word * 64 + filled.trailing_zeros() as usize;
        let number = self.slots[self.at];
        self.slots[self.at] = links[number as usize].next;
        if self.slots[self.at] == NOBODY {
            self.filled[word] &= !(1 << (self.at % 64));
        }
        number
    }
}

/// Runs the loop on a fat-tree of switches with `k` ports for so much processor time. Returns packet-hops and the
/// time that they took.
pub fn measure(k: u32, at_least: Duration) -> (u64, Duration) {
    let mut reference_loop = ReferenceLoop::new(k);
    // Until the first windows have spread over the fabric, queues are not what they will be.
    reference_loop.run(BETWEEN_LOOKS);
    let (warm, clock) = (reference_loop.hops, ThreadTime::now());
    while clock.elapsed() < at_least {
        reference_loop.run(BETWEEN_LOOKS);
    }
    (reference_loop.hops - warm, clock.elapsed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_flight(reference_loop: &ReferenceLoop) -> usize {
        reference_loop.links.iter().map(|link| link.count as usize).sum()
    }

    #[test]
    fn every_window_stays_full_and_time_goes_on() {
        let mut reference_loop = ReferenceLoop::new(4);
        let mut before = 0;
        for _ in 0..20_000 {
            reference_loop.run(1);
            assert!(reference_loop.now >= before);
            before = reference_loop.now;
        }
        assert_eq!(in_flight(&reference_loop), 16 * WINDOW);
    }

    #[test]
    fn packets_take_as_many_links_as_a_fat_tree_has_between_their_hosts_and_arrive_there() {
        let mut reference_loop = ReferenceLoop::new(4);
        reference_loop.partner = (0..16).map(|host| (host + 5) % 16).collect();
        for (flow, partner, links) in [(0, 5, 6), (0, 1, 2), (0, 2, 4), (15, 14, 2), (9, 0, 6)] {
            reference_loop.partner[flow as usize] = partner;
            for up in [[0, 0], [0, 1], [1, 0], [1, 1]] {
                let packet = Packet { arrives: 0, flow, bytes: DATA_BYTES, up };
                let mut passed = vec![flow];
                while let Some(next) = {
                    let last = passed[passed.len() - 1];
                    reference_loop.next_link(last / 16, last % 16, &packet)
                } {
                    passed.push(next);
                }
                assert_eq!(passed.len(), links, "{flow} to {partner}");
                assert_eq!(passed[links - 1], 16 + partner);
            }
        }
    }

    /// A window of 20 packets is more than a round trip holds, so links to hosts are nearly full.
    #[test]
    fn hosts_get_what_their_links_carry() {
        let mut reference_loop = ReferenceLoop::new(4);
        reference_loop.run(400_000);
        let (data, ack) = (u64::from(DATA_BYTES) * BYTE_PS, u64::from(ACK_BYTES) * BYTE_PS);
        let most_hops = 16 * 12 * reference_loop.now / (data + ack);
        assert!(
            (most_hops / 2..most_hops).contains(&reference_loop.hops),
            "{} of {most_hops}",
            reference_loop.hops
        );
    }

    #[test]
    fn it_measures_for_as_long_as_it_is_told_to() {
        let (hops, took) = measure(4, Duration::from_millis(20));
        assert!(hops > 0 && took >= Duration::from_millis(20));
    }
}
