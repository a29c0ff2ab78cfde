//! What a discipline that holds its packets does with them.

use super::{Booked, Counts, Departure, Joined, Occupancy, Opening, Site};
use crate::link_message::LinkMessage;
use crate::packets::{PacketId, Packets};
use crate::random::Stream;
use crate::units::Time;

/// A discipline that holds its packets and chooses the next when the link is free.
pub trait Holds {
    /// Takes a packet in, or drops or trims it or others. The data packet in service, if there is one, has
    /// `serving_bytes`. With an opening the packet may be booked: then it is to be put onto the link at once. Where anybody
    /// else decides what goes when, or watches what waits, there is none.
    fn put<H: Copy + Default>(
        &mut self,
        id: PacketId,
        packets: &mut Packets<H>,
        serving_bytes: u16,
        opening: Option<Opening>,
        chance: (&mut Stream, &mut Counts),
    ) -> Joined;

    /// The packet to send next, which it may mark.
    fn take<H: Copy + Default>(
        &mut self,
        packets: &mut Packets<H>,
        chance: (&mut Stream, &mut Counts),
    ) -> Option<PacketId>;

    /// Every packet that waits but what is booked, in any order: for whoever looks from outside.
    fn packets<'a, H: Copy + Default>(
        &'a self,
        packets: &'a Packets<H>,
    ) -> impl Iterator<Item = PacketId> + 'a;

    /// What waits.
    fn queued(&self) -> Occupancy;

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

    /// Whether what waits may be sent: where credits are needed, there may be none; and what is booked was sent already.
    #[inline]
    fn is_ready(&self) -> bool {
        self.unbooked().packets > 0
    }

    /// Asks for the packets that [`Holds::take`] returns next if nothing else comes, where these are easy to tell.
    #[inline]
    fn prefetch<H: Copy + Default>(&self, _packets: &Packets<H>) {}

    /// Tells of each class, where there are classes: its number, what waits of it in bytes, and how much of the far
    /// end's buffer it uses, where that is counted.
    fn classes(&self, _tell: impl FnMut(usize, u64, Option<u64>)) {}

    /// Whether it may hold back what waits although the link is free, until the far end says otherwise.
    fn holds_back(&self) -> bool {
        false
    }

    /// Whether what comes at a moment has joined before what leaves at that moment is chosen, so that whoever counts both
    /// can tell one from the other; otherwise what can leave at a moment is gone before anything joins.
    fn joins_first(&self) -> bool {
        false
    }

    /// Tells the queue where it is.
    fn place(&mut self, _site: Site) {}

    /// The far end of the link says something. What that changes shows in [`Holds::is_ready`].
    fn receive_message(&mut self, _now: Time, _message: LinkMessage) {}

    /// The far end lends so many bytes of its buffer.
    fn borrow(&mut self, _bytes: u32) {}

    /// What was lent is no longer needed: the message that gives it back, with its size on the wire.
    fn give_back(&mut self) -> Option<(LinkMessage, u16)> {
        None
    }

    /// What the last call of [`Holds::take`] took, if the link that it came from is to be told.
    #[inline]
    fn departure(&self) -> Option<Departure> {
        None
    }
}
