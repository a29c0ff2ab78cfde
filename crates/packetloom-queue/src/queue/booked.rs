//! Packets that go before all else, whatever may yet come: when they start is known, so they are put onto the link
//! at once, and only counted until they start. That takes no memory for each where they are equal and follow each
//! other without a gap, as acknowledgements, pulls and headers do; what does not, is not booked.

use super::Occupancy;
use crate::units::{ByteTime, Time};

/// What there is to know of a link when a packet joins the queue before it.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The earliest it may start: the link is free then, if only what is booked goes before it.
    pub start: Time,
    /// How long a byte takes.
    pub byte_time: ByteTime,
    /// How many bytes a packet takes beside its own.
    pub framing_bytes: u32,
}

/// Packets in a row that are on the link already, but have not started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Booked {
    /// When the first starts, and the last is out.
    first: Time,
    end: Time,
    /// How long each takes.
    takes: Time,
    packets: u32,
    size_bytes: u16,
}

impl Booked {
    /// What waits, as of the last call of [`Booked::depart_until`].
    #[inline]
    pub fn queued(&self) -> Occupancy {
        let packets = u64::from(self.packets);
        Occupancy { bytes: packets * u64::from(self.size_bytes), packets }
    }

    /// Counts a packet, unless it differs from those before it, or does not follow them at once. Returns whether it
    /// did.
    #[inline(always)]
    pub fn add(&mut self, size_bytes: u16, Opening { start, byte_time, framing_bytes }: Opening) -> bool {
        if self.packets == 0 {
            let takes = byte_time.of(u64::from(size_bytes) + u64::from(framing_bytes));
            *self = Booked { first: start, end: start, takes, packets: 0, size_bytes };
        } else if size_bytes != self.size_bytes || start != self.end {
            return false;
        }
        self.end = start + self.takes;
        self.packets += 1;
        true
    }

    /// Lets the packets go that started by `now`; returns how many.
    #[inline]
    pub fn depart_until(&mut self, now: Time) -> u32 {
        let before = self.packets;
        while self.packets > 0 && self.first <= now {
            self.depart_first();
        }
        before - self.packets
    }

    /// Lets all go; returns how many.
    #[inline]
    pub fn depart(&mut self) -> u32 {
        std::mem::take(&mut self.packets)
    }

    #[inline]
    fn depart_first(&mut self) {
        self.first += self.takes;
        self.packets -= 1;
    }

    /// How many start at `end` or later.
    pub fn from(mut self, end: Time) -> u64 {
        while self.packets > 0 && self.first < end {
            self.depart_first();
        }
        self.packets.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Rate;

    fn opening(start: u64) -> Opening {
        let byte_time = ByteTime::at(Rate::from_gbps(8));
        Opening { start: Time(start), byte_time, framing_bytes: 36 }
    }

    #[test]
    fn equal_packets_without_a_gap_are_booked_and_start_one_by_one() {
        let mut booked = Booked::default();
        assert!(booked.add(64, opening(1_000)));
        assert!(booked.add(64, opening(101_000)), "100 bytes at 8 Gb/s take 100 ns");
        for (size_bytes, start) in [(65, 201_000), (64, 201_001), (64, 200_999)] {
            assert!(!booked.add(size_bytes, opening(start)), "{size_bytes} at {start}");
        }
        assert!(booked.add(64, opening(201_000)));
        assert_eq!(booked.queued(), Occupancy { bytes: 192, packets: 3 });
        for (end, rest) in [(0, 3), (1_000, 3), (1_001, 2), (101_000, 2), (101_001, 1), (201_001, 0)] {
            assert_eq!(booked.from(Time(end)), rest, "from {end} on");
        }
        assert_eq!([999, 1_000, 100_999, 201_000].map(|now| booked.depart_until(Time(now))), [0, 1, 0, 2]);
        assert!(booked.add(100, opening(500_000)), "others may follow when none waits");
        assert_eq!((booked.depart(), booked.queued()), (1, Occupancy::default()));
    }
}
