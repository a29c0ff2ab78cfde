//! What a discipline that holds its packets does with them.

use super::{Booked, Departure, Env, Joined, Occupancy, Opening, PausedClasses, Site};
use crate::link_message::LinkMessage;
use crate::packet::Kind;
use crate::packets::{PacketId, Packets};
use crate::units::Time;

/// A discipline that holds its packets and chooses the next when the link is free.
pub trait Holds {
    /// Takes a packet in, or drops or trims it or others. With an opening the packet may be booked, which means that it
    /// is put onto the link at once. There is no opening where the order of departures is decided elsewhere, or where
    /// the queue is observed.
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        opening: Option<Opening>,
        env: &mut Env<'_, H>,
    ) -> Joined;

    /// The packet to send next, which it may mark. It may drop others before, and gives none if it has dropped all that
    /// may be sent: a queue that is ready ([`Holds::is_ready`]) gives or drops one at least.
    fn take<H: Copy + Default>(&mut self, env: &mut Env<'_, H>) -> Option<PacketId>;

    /// Every waiting packet that is not booked, in any order, for outside observers.
    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a;

    /// What waits.
    fn queued(&self) -> Occupancy;

    /// What waits, as a packet for a host sees it that leaves and carries telemetry.
    #[inline]
    fn queued_before(&self, _dst: u32) -> Occupancy {
        self.queued()
    }

    /// What waits but for what is booked.
    #[inline]
    fn unbooked(&self) -> Occupancy {
        self.queued()
    }

    /// The booked packets, as of the last that was put in or taken.
    #[inline]
    fn booked(&self) -> Booked {
        Booked::default()
    }

    /// Whether what waits may be sent: where credits are needed, there may be none; and what is booked was sent
    /// already.
    #[inline]
    fn is_ready(&self) -> bool {
        self.unbooked().packets > 0
    }

    /// Prefetches the packets that [`Holds::take`] returns next if nothing else comes, where these are easy to
    /// find.
    #[inline]
    fn prefetch<H: Copy + Default>(&self, _packets: &Packets<H>) {}

    /// Prefetches the queue's own state that lies apart from the port, where that pays.
    #[inline]
    fn prefetch_state(&self) {}

    /// Reports of each class, where there are classes: its number, its bytes in the queue, and how much of the far
    /// end's buffer it uses, where that is counted.
    fn classes(&self, _tell: impl FnMut(usize, u64, Option<u64>)) {}

    /// Reports each queue of a scheduler, where the switch's buffer has thresholds for queues: its number, the bytes
    /// that wait, and the bytes that it has sent.
    fn queues(&self, _tell: &mut dyn FnMut(usize, u64, u64)) {}

    /// The queue that a packet is to join, and what waits there.
    fn queue_of<H: Copy + Default>(&mut self, _id: PacketId, _packets: &Packets<H>) -> (usize, Occupancy) {
        (0, self.queued())
    }

    /// Whether it may hold back what waits although the link is free, until the far end says otherwise.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether packets may wait for their time although the link is free and nothing holds them back.
    #[inline]
    fn is_timed(&self) -> bool {
        false
    }

    /// Of such a queue: whether only such packets wait, and the link is free.
    #[inline]
    fn is_idle(&self) -> bool {
        false
    }

    /// A packet comes to such a queue as the link is free and nothing waits that may go: whether it goes at once.
    #[inline]
    fn lets_through(&mut self, _kind: Kind, _size_bytes: u16, _now: Time) -> bool {
        false
    }

    /// The link is free, and only packets wait that may not go yet: when the first may.
    fn await_time<H: Copy + Default>(&mut self, _packets: &Packets<H>) -> Time {
        Time::NEVER
    }

    /// Drops what is to go first where there is no room, which may be what came last; returns whether it did.
    fn evict<H: Copy + Default>(&mut self, _env: &mut Env<'_, H>) -> bool {
        false
    }

    /// Whether [`Holds::evict`] drops packets.
    fn evicts(&self) -> bool {
        false
    }

    /// What the far end of the link has paused, where it can.
    #[inline]
    fn paused(&self) -> Option<&PausedClasses> {
        None
    }

    /// Whether the far end of the link keeps packets of a class waiting.
    #[inline]
    fn keeps_back(&self, class: u8) -> bool {
        self.paused().is_some_and(|paused| paused.has(class))
    }

    /// Whether a packet of a class, or a link message, that comes while the link is free and nothing waits that may be
    /// sent goes at once, so that it has left before the next one of that moment comes; `was_just_taken`: the link,
    /// until that moment.
    #[inline]
    fn lets_pass(&self, class: Option<u8>, was_just_taken: bool) -> bool {
        self.lets_pass_unseen(class, was_just_taken)
    }

    /// The same, of a queue that does not look at what passes it. Apart, because every packet-hop between switches that
    /// pause asks this, and calls nothing for it.
    #[inline]
    fn lets_pass_unseen(&self, _class: Option<u8>, _was_just_taken: bool) -> bool {
        false
    }

    /// Whether it keeps packets of a class back until the far end gives credit for them.
    fn waits_for_credit(&self) -> bool {
        false
    }

    /// What it has sent of each class for which no credit came back, if it needs credit.
    fn credit_used(&self) -> Vec<u64> {
        let mut all = Vec::new();
        self.classes(|_, _, used| all.extend(used));
        all
    }

    /// Whether it looks at packets that it lets pass ([`Holds::pass`]).
    #[inline]
    fn sees_passing(&self) -> bool {
        false
    }

    /// A packet goes that the queue lets pass ([`Holds::lets_pass`]).
    #[inline]
    fn pass<H: Copy + Default>(&mut self, _id: PacketId, _env: &mut Env<'_, H>) {}

    /// What waits where packets of a class do.
    #[inline]
    fn class_bytes(&self, _class: u8) -> u64 {
        0
    }

    /// Takes out all that waits of a class, and gives it up: nothing more of it is put in until it is resumed.
    fn give_up<H: Copy + Default>(&mut self, _class: u8, _env: &mut Env<'_, H>) -> Vec<PacketId> {
        Vec::new()
    }

    /// Whether arrivals at a moment join before a departure at that moment is chosen, so that a shared buffer can
    /// count both in order. Otherwise departures of a moment precede its arrivals.
    fn joins_first(&self) -> bool {
        false
    }

    /// Sets the queue's position in the network.
    fn place(&mut self, _site: Site) {}

    /// The far end of the link says something. What that changes shows in [`Holds::is_ready`].
    fn receive_message(&mut self, _now: Time, _message: LinkMessage) {}

    /// The far end lends so many bytes of its buffer.
    fn borrow(&mut self, _bytes: u32) {}

    /// What was lent is no longer needed: the message that gives it back, with its size on the wire.
    fn give_back(&mut self) -> Option<(LinkMessage, u16)> {
        None
    }

    /// What the last call of [`Holds::take`] took, if the link that it came by has to be notified.
    #[inline]
    fn departure(&self) -> Option<Departure> {
        None
    }
}
