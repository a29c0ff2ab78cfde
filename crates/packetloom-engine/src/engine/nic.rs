//! A host's NIC: the port before its link or, of a host with several links, a port before each.
//!
//! Among several a router chooses those on shortest paths as a switch's does, but a flow keeps to one of them (as in
//! HPCC's simulator, where each queue pair has its NIC). Agents at ports know of one link at each host
//! (`transport::Needs`), so they see nothing of several.

use super::agent::PortAgent;
use super::link_table::LinkTable;
use super::port::{BUSY_LINES, Port};
use crate::flow::HostId;
use crate::link_message::LinkMessage;
use crate::packet::Packet;
use crate::packets::{PacketId, Packets};
use crate::prefetch::prefetch_lines;
use crate::routing::Router;
use crate::units::{ByteTime, Rate, Time};

/// A host's NIC.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "most hosts have one link, whose port lies where the host does"
)]
pub(super) enum Nic<H, A = ()> {
    /// Of one link.
    One(Port<H, A>),
    /// Of several.
    Several(Box<Several<H, A>>),
}

/// The ports of a host with several links.
#[derive(Clone, Debug)]
pub(super) struct Several<H, A> {
    ports: Vec<Port<H, A>>,
    /// Chooses among them.
    router: Router,
    /// All links' together.
    rate: Rate,
    framing_bytes: u64,
    /// When the first of the ports at which packets wait is free.
    free_at: Option<Time>,
}

impl<H: Copy + Default, A: PortAgent<H>> Several<H, A> {
    /// Ports of this rate together, on links that add so many bytes to a packet.
    pub(super) fn new(
        ports: Vec<Port<H, A>>,
        router: Router,
        rate: Rate,
        framing_bytes: u64,
    ) -> Several<H, A> {
        Several { ports, router, rate, framing_bytes, free_at: None }
    }

    /// The place of the port by which a packet goes.
    fn link_for(&mut self, packet: &Packet<H>) -> u32 {
        self.router.port_for(packet)
    }

    fn port_for(&mut self, packet: &Packet<H>) -> &mut Port<H, A> {
        let link = self.link_for(packet);
        &mut self.ports[link as usize]
    }

    #[inline(never)]
    fn accept(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        self.port_for(link_table.packets.get(id)).accept(now, id, link_table, None);
        self.follow();
    }

    /// Has one port do something.
    fn at(&mut self, link: u32, act: impl FnOnce(&mut Port<H, A>)) {
        act(&mut self.ports[link as usize]);
        self.follow();
    }

    /// What waits may have changed.
    fn follow(&mut self) {
        self.free_at = self.ports.iter().filter(|port| port.is_waiting()).map(Port::free_at).min();
    }

    /// Sends what waits and can start before `end`, port by port in order of time.
    fn serve_until(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        while self.free_at.is_some_and(|at| at < end) {
            let waiting = self.ports.iter_mut().filter(|port| port.is_waiting());
            if let Some(first) = waiting.min_by_key(|port| port.free_at()) {
                first.serve_next(link_table);
            }
            self.follow();
        }
    }

    /// The ports by which packets to a host may go, as far as is known.
    fn ports_to(&self, now: Time, dst: HostId) -> impl Iterator<Item = &Port<H, A>> {
        let ways = self.router.ways(dst, now);
        (0..ways.count()).map(move |nth| &self.ports[ways.port(nth) as usize])
    }
}

impl<H: Copy + Default, A: PortAgent<H>> Nic<H, A> {
    /// Its ports.
    pub(super) fn ports(&self) -> &[Port<H, A>] {
        match self {
            Nic::One(port) => std::slice::from_ref(port),
            Nic::Several(several) => &several.ports,
        }
    }

    /// The same, to be changed.
    pub(super) fn ports_mut(&mut self) -> &mut [Port<H, A>] {
        match self {
            Nic::One(port) => std::slice::from_mut(port),
            Nic::Several(several) => &mut several.ports,
        }
    }

    /// Takes a packet at `now`; its `time` is the earliest at which it may start.
    #[inline(always)]
    pub(super) fn accept(&mut self, now: Time, id: PacketId, link_table: &mut LinkTable<H>) {
        match self {
            Nic::One(port) => port.accept(now, id, link_table, None),
            Nic::Several(several) => several.accept(now, id, link_table),
        }
    }

    /// Has the port of one of its links do something.
    fn at(&mut self, link: u32, act: impl FnOnce(&mut Port<H, A>)) {
        match self {
            Nic::One(port) => act(port),
            Nic::Several(several) => several.at(link, act),
        }
    }

    /// The port by which a packet goes.
    fn port_for(&mut self, packet: impl FnOnce() -> Packet<H>) -> &mut Port<H, A> {
        match self {
            Nic::One(port) => port,
            Nic::Several(several) => several.port_for(&packet()),
        }
    }

    /// The place, among its links, of that by which a packet goes.
    pub(super) fn link_for(&mut self, packet: impl FnOnce() -> Packet<H>) -> u32 {
        match self {
            Nic::One(_) => 0,
            Nic::Several(several) => several.link_for(&packet()),
        }
    }

    /// The rate of its links together.
    pub(super) fn rate(&self) -> Rate {
        match self {
            Nic::One(port) => port.rate(),
            Nic::Several(several) => several.rate,
        }
    }

    /// How long a packet of so many bytes takes at that rate, framing included.
    pub(super) fn time_for(&self, bytes: u64) -> Time {
        match self {
            Nic::One(port) => port.time_for(bytes),
            Nic::Several(several) => ByteTime::at(several.rate).of(bytes + several.framing_bytes),
        }
    }

    /// When the first of the ports at which packets wait is free, if any wait.
    #[inline]
    pub(super) fn waits_until(&self) -> Option<Time> {
        match self {
            Nic::One(port) => port.is_waiting().then(|| port.free_at()),
            Nic::Several(several) => several.free_at,
        }
    }

    /// Sends what waits and can start before `end`.
    #[inline]
    pub(super) fn serve_until(&mut self, end: Time, link_table: &mut LinkTable<H>) {
        match self {
            Nic::One(port) => port.serve_until(end, link_table),
            Nic::Several(several) => several.serve_until(end, link_table),
        }
    }

    /// When everything that waits where a packet would go will be out ([`Port::drained_at`]).
    pub(super) fn drained_at_for(&mut self, packet: impl FnOnce() -> Packet<H>) -> Time {
        self.port_for(packet).drained_at()
    }

    /// Whether the port by which a packet would go may send it and has sent all before it.
    pub(super) fn is_free_for(&mut self, packet: &Packet<H>) -> bool {
        let port = self.port_for(|| *packet);
        port.drained_at() <= packet.time && !port.has_paused(packet.class)
    }

    /// Whether a class is paused of a packet that would go.
    pub(super) fn is_paused(&mut self, class: u8, packet: impl FnOnce() -> Packet<H>) -> bool {
        self.port_for(packet).has_paused(class)
    }

    /// Whether a credit that comes can be for what a transport holds back ([`Nic::is_paused`]).
    pub(super) fn holds_back_by_credit(&self) -> bool {
        self.ports()[0].waits_for_credit()
    }

    /// Of the ports by which packets of a class to a host may go: whether one is free at `now`, and when the first of
    /// the others will be.
    pub(super) fn free_to(&self, now: Time, dst: HostId, class: u8) -> (bool, Time) {
        let with = |(is_free, next): (bool, Time), port: &Port<H, A>| match port.drained_at() {
            _ if port.has_paused(class) => (is_free, next),
            at if at <= now => (true, next),
            at => (is_free, next.min(at)),
        };
        let none = (false, Time::NEVER);
        match self {
            Nic::One(port) => with(none, port),
            Nic::Several(several) => several.ports_to(now, dst).fold(none, with),
        }
    }

    /// Whether packets to a host may go by the same ports at all times.
    pub(super) fn is_fixed(&self) -> bool {
        match self {
            Nic::One(_) => true,
            Nic::Several(several) => several.router.is_fixed(),
        }
    }

    /// Sends a message to the far end of one of its links.
    pub(super) fn send_signal(&mut self, now: Time, by: u32, id: PacketId, link_table: &mut LinkTable<H>) {
        self.at(by, |port| port.accept(now, id, link_table, None));
    }

    /// A message from the far end of one of its links.
    pub(super) fn receive_message(
        &mut self,
        now: Time,
        by: u32,
        message: LinkMessage,
        link_table: &mut LinkTable<H>,
    ) {
        self.at(by, |port| port.receive_message(now, message, link_table));
    }

    /// The far end of one of its links lends so much of its buffer.
    pub(super) fn borrow(&mut self, now: Time, by: u32, bytes: u32, link_table: &mut LinkTable<H>) {
        self.at(by, |port| port.borrow(now, bytes, link_table));
    }

    /// Gives back what was lent, as far as it is not in use.
    pub(super) fn give_back(&mut self, now: Time, link_table: &mut LinkTable<H>) {
        self.ports_mut().iter_mut().for_each(|port| port.give_back(now, link_table));
        if let Nic::Several(several) = self {
            several.follow();
        }
    }

    /// Counts and discards a packet that came by one of its links and does not fit into its buffer.
    pub(super) fn refuse(&mut self, by: u32, id: PacketId, link_table: &mut LinkTable<H>) {
        self.at(by, |port| port.refuse(id, link_table));
    }

    /// Shows the agent a packet that came from the far end of the link.
    #[inline]
    pub(super) fn answer(&mut self, packet: &mut Packet<H>) {
        if A::ACTIVE
            && let Nic::One(port) = self
        {
            port.answer(packet);
        }
    }

    /// What is yet to be learned of faults is learned sooner.
    pub(super) fn bring_faults_forward(&mut self, now: Time, by: Time) {
        if let Nic::Several(several) = self {
            several.router.shift_earlier(now, by);
        }
    }

    /// Whether whatever comes goes straight onto the link.
    #[inline]
    pub(super) fn is_straight(&self) -> bool {
        matches!(self, Nic::One(port) if port.is_straight())
    }

    /// Prefetches what it takes to queue a packet, and to send one that waited.
    #[inline(always)]
    pub(super) fn prefetch(&self) {
        prefetch_lines(self, BUSY_LINES);
    }

    /// Prefetches what it takes to send a packet, where [`Nic::is_straight`].
    #[inline(always)]
    pub(super) fn prefetch_straight(&self) {
        prefetch_lines(self, 1);
    }

    /// Prefetches what the queue keeps apart from the port.
    #[inline(always)]
    pub(super) fn prefetch_queue(&self) {
        if let Nic::One(port) = self {
            port.prefetch_queue();
        }
    }

    /// Prefetches the packets that are sent first, unless later ones overtake them.
    #[inline]
    pub(super) fn prefetch_packets(&self, packets: &Packets<H>) {
        if let Nic::One(port) = self {
            port.prefetch_packets(packets);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nic_takes_no_more_than_a_port() {
        assert_eq!(size_of::<Nic<u64>>(), size_of::<Port<u64>>());
    }
}
