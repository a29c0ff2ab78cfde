//! What the two ends of a link say to each other, and how a packet carries it.

use crate::narrow::narrow;
use crate::packet::{Kind, Packet};
use crate::units::{Rate, Time};

/// Where a pause began, as far as the switches on its way know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PauseOrigin {
    /// The link that had too much waiting for it, in the topology.
    pub link: u32,
    /// How many switches passed the pause on since: 0 where it began.
    pub passed_on: u32,
}

/// A message from one end of a link to the other, below transports and routing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkMessage {
    /// The buffer can take so many more bytes of a class; from a host: it returns so much of a loan.
    Credit {
        /// The class of the buffer.
        class: u8,
        /// How much.
        bytes: u32,
    },
    /// A class may not be sent for so many quanta (IEEE 802.1Qbb).
    Pause {
        /// The class.
        class: u8,
        /// How many quanta of 512 bit times of the link; 0 resumes the class, [`LinkMessage::UNTIL_RESUMED`] has no
        /// end.
        quanta: u32,
        /// Where it began.
        origin: PauseOrigin,
    },
    /// One queue may not be sent from, or may again (BFC). Of a host a queue is a flow.
    Queue {
        /// The queue.
        queue: u32,
        /// Whether it may not.
        is_paused: bool,
    },
    /// Of the window for a destination so many bytes are free again; or, where bytes are numbered, all up to this number
    /// (Floodgate).
    Window {
        /// The host.
        dst: u32,
        /// How many, or up to where.
        bytes: u32,
    },
    /// No window came back for some time: how far the bytes for a destination were sent, and how far they came back
    /// (Floodgate's switchSYN).
    Resync {
        /// The host.
        dst: u32,
        /// The number of the last byte sent.
        sent: u32,
        /// That of the last that came back.
        returned: u32,
    },
    /// A host may send nothing more to another, or may again (Floodgate's dstPause and dstResume).
    Destination {
        /// The other.
        dst: u32,
        /// Whether it may not.
        is_paused: bool,
    },
    /// A node's reminder to itself: a pause that it received may be over.
    PauseOver {
        /// The class.
        class: u8,
    },
    /// A node's reminder to itself: a pause that it sent ends soon.
    PauseEnds {
        /// The class.
        class: u8,
    },
    /// A node's reminder to itself: has a class been paused all the time since it was set?
    Watchdog {
        /// The class.
        class: u8,
    },
}

/// How packets name the messages.
const CREDIT: u16 = 0;
const PAUSE: u16 = 1;
const QUEUE: u16 = 2;
const WINDOW: u16 = 3;
const RESYNC: u16 = 4;
const DESTINATION: u16 = 5;
const PAUSE_OVER: u16 = 6;
const PAUSE_ENDS: u16 = 7;
const WATCHDOG: u16 = 8;

/// The longest that a packet can be here, with its framing.
const LONGEST_FRAME_BYTES: u64 = 9_216 + 20;

/// What a quantum is.
const QUANTUM_BITS: u64 = 512;

impl LinkMessage {
    /// The quanta of a pause that only a resume ends.
    pub const UNTIL_RESUMED: u32 = u32::MAX;

    /// The most quanta that a PAUSE on the wire can say: it has 16 bits for them (IEEE 802.1Qbb).
    pub const MOST_QUANTA: u32 = 65_535;

    /// The packet that carries the message, of this size on the wire.
    pub fn packet<H: Default>(self, size_bytes: u16) -> Packet<H> {
        let (path, class, priority, origin) = match self {
            LinkMessage::Credit { class, bytes } => (CREDIT, class, bytes, PauseOrigin::default()),
            LinkMessage::Pause { class, quanta, origin } => (PAUSE, class, quanta, origin),
            LinkMessage::Queue { queue, is_paused } => {
                (QUEUE, u8::from(is_paused), queue, PauseOrigin::default())
            }
            LinkMessage::Window { dst, bytes } => (WINDOW, 0, bytes, PauseOrigin { link: dst, passed_on: 0 }),
            LinkMessage::Resync { dst, sent, returned } => {
                (RESYNC, 0, sent, PauseOrigin { link: dst, passed_on: returned })
            }
            LinkMessage::Destination { dst, is_paused } => {
                (DESTINATION, u8::from(is_paused), dst, PauseOrigin::default())
            }
            LinkMessage::PauseOver { class } => (PAUSE_OVER, class, 0, PauseOrigin::default()),
            LinkMessage::PauseEnds { class } => (PAUSE_ENDS, class, 0, PauseOrigin::default()),
            LinkMessage::Watchdog { class } => (WATCHDOG, class, 0, PauseOrigin::default()),
        };
        let PauseOrigin { link: flow, passed_on: src } = origin;
        Packet { path, class, priority, flow, src, size_bytes, kind: Kind::Link, ..Packet::default() }
    }

    /// The message that a packet carries, if it is one between the ends of a link.
    #[inline]
    pub fn of<H>(packet: &Packet<H>) -> Option<LinkMessage> {
        (packet.kind == Kind::Link).then(|| LinkMessage::carried_by(packet))
    }

    fn carried_by<H>(packet: &Packet<H>) -> LinkMessage {
        let Packet { class, priority, .. } = *packet;
        match packet.path {
            CREDIT => LinkMessage::Credit { class, bytes: priority },
            PAUSE => {
                let origin = PauseOrigin { link: packet.flow, passed_on: packet.src };
                LinkMessage::Pause { class, quanta: priority, origin }
            }
            QUEUE => LinkMessage::Queue { queue: priority, is_paused: class != 0 },
            WINDOW => LinkMessage::Window { dst: packet.flow, bytes: priority },
            RESYNC => LinkMessage::Resync { dst: packet.flow, sent: priority, returned: packet.src },
            DESTINATION => LinkMessage::Destination { dst: priority, is_paused: class != 0 },
            PAUSE_OVER => LinkMessage::PauseOver { class },
            PAUSE_ENDS => LinkMessage::PauseEnds { class },
            _ => LinkMessage::Watchdog { class },
        }
    }

    /// Whether a packet is a node's reminder to itself, which no link carries.
    pub fn is_reminder<H>(packet: &Packet<H>) -> bool {
        packet.kind == Kind::Link && packet.path >= PAUSE_OVER
    }

    /// The quanta of a link of this rate in a time, rounded up.
    pub fn quanta(time: Time, rate: Rate) -> u32 {
        let bit_ps = u128::from(time.as_ps()) * u128::from(rate.as_bps());
        let quanta = bit_ps.div_ceil(u128::from(QUANTUM_BITS) * 1_000_000_000_000);
        narrow::<u32>(quanta.min(u128::from(LinkMessage::UNTIL_RESUMED - 1)))
    }

    /// How long so many quanta last on a link of this rate.
    pub fn lasts(quanta: u32, rate: Rate) -> Time {
        rate.time_for(u64::from(quanta) * QUANTUM_BITS / 8)
    }

    /// How long a pause lasts on a link of this rate, if it is one that ends.
    pub fn pause_lasts(self, rate: Rate) -> Option<Time> {
        match self {
            LinkMessage::Pause { quanta, .. } if quanta != LinkMessage::UNTIL_RESUMED && quanta != 0 => {
                Some(LinkMessage::lasts(quanta, rate))
            }
            _ => None,
        }
    }

    /// After how long a pause is to be said once more on a link of this rate, if it is one that ends: a frame that
    /// is just begun may keep the next PAUSE waiting, so it is said before that matters.
    pub fn say_again_after(self, rate: Rate) -> Option<Time> {
        let lasts = self.pause_lasts(rate)?;
        let margin = rate.time_for(LONGEST_FRAME_BYTES).min(Time(lasts.as_ps() / 2));
        Some(lasts.since(margin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_carries_what_was_said() {
        let origin = PauseOrigin { link: 7, passed_on: 2 };
        for message in [
            LinkMessage::Credit { class: 1, bytes: 1_500 },
            LinkMessage::Pause { class: 3, quanta: 65_535, origin },
            LinkMessage::Pause { class: 3, quanta: LinkMessage::UNTIL_RESUMED, origin },
            LinkMessage::Queue { queue: 31, is_paused: true },
            LinkMessage::Queue { queue: 70_000, is_paused: false },
            LinkMessage::Window { dst: 7, bytes: u32::MAX },
            LinkMessage::Resync { dst: 7, sent: 3_000, returned: u32::MAX },
            LinkMessage::Destination { dst: 9, is_paused: true },
            LinkMessage::PauseOver { class: 3 },
            LinkMessage::PauseEnds { class: 4 },
            LinkMessage::Watchdog { class: 5 },
        ] {
            let packet: Packet<u64> = message.packet(40);
            assert_eq!((packet.size_bytes, LinkMessage::of(&packet)), (40, Some(message)));
        }
        assert_eq!(LinkMessage::of(&Packet::<u64>::default()), None);
    }

    #[test]
    fn quanta_are_512_bit_times_of_the_link() {
        // IEEE 802.1Qbb: the longest pause, 65 535 quanta, is 335.5 us at 100 Gb/s.
        let origin = PauseOrigin::default();
        let longest = LinkMessage::Pause { class: 3, quanta: 65_535, origin };
        assert_eq!(longest.pause_lasts(Rate::from_gbps(100)), Some(Time(335_539_200)));
        assert_eq!(LinkMessage::quanta(Time::from_us(5), Rate::from_gbps(100)), 977);
        let endless = LinkMessage::Pause { class: 3, quanta: LinkMessage::UNTIL_RESUMED, origin };
        assert_eq!(endless.pause_lasts(Rate::from_gbps(100)), None);
    }
}
