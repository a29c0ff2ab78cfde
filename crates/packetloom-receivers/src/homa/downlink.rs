//! A host's link from its switch: whether it was free, lately, for what a message still misses. What is missed does not
//! wait before a link that stands idle, or that carries what goes after it.

use crate::units::Time;
use smallvec::{SmallVec, smallvec};

/// By level, the most that was left of a message of which a packet came.
type Left = SmallVec<[u64; 8]>;

/// What came in the current half of the time after which packets are late, and in the half before.
#[derive(Clone, Debug)]
pub struct Downlink {
    half: Time,
    /// When the last packet came.
    last: Time,
    /// When the current half ends.
    until: Time,
    current: Left,
    before: Left,
}

impl Downlink {
    /// Of a host to which nothing has come.
    pub fn new(levels: u8, late_after: Time) -> Downlink {
        let left: Left = smallvec![0; usize::from(levels)];
        let half = Time((late_after.as_ps() / 2).max(1));
        Downlink { half, last: Time::ZERO, until: half, current: left.clone(), before: left }
    }

    /// A packet came, which takes so long on the link, of a message of which so much had not come.
    #[inline]
    pub fn came(&mut self, level: u8, left_bytes: u64, takes: Time, now: Time) {
        if now >= self.until {
            self.turn(now);
        }
        if self.was_idle(takes, now) {
            self.current.fill(u64::MAX);
        }
        let most = &mut self.current[usize::from(level)];
        *most = left_bytes.max(*most);
        self.last = now;
    }

    /// Begins another half.
    fn turn(&mut self, now: Time) {
        std::mem::swap(&mut self.current, &mut self.before);
        self.current.fill(0);
        if now >= self.until + self.half {
            self.before.fill(0);
        }
        self.until = now + self.half;
    }

    /// Whether the link stood idle before a packet that ends now: for longer than the packet takes, so that neither
    /// rounding nor a link at half its rate looks like it.
    #[inline]
    fn was_idle(&self, takes: Time, now: Time) -> bool {
        now.since(self.last) > takes.times(2)
    }

    /// Whether a packet at this level, of a message of which so much has not come, would have had its turn lately: the
    /// link was idle, or carried a packet at no earlier level of a message of which more was left. Lately is in the last
    /// half of the time after which packets are late, or longer, up to all of it. A full packet takes so long.
    pub fn was_free_for(&self, level: u8, left_bytes: u64, takes: Time, now: Time) -> bool {
        let level = usize::from(level);
        let goes_after = |halves: &Left| halves[level..].iter().any(|&left| left > left_bytes);
        self.was_idle(takes, now) || goes_after(&self.current) || goes_after(&self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Time = Time::from_ns(1_200);

    /// When a packet ends, one after another.
    fn at(packets: u64) -> Time {
        PACKET.times(packets)
    }

    /// A link on which so many packets came at level 3, each of a message that had 500 left.
    fn busy(packets: u64) -> Downlink {
        let mut link = Downlink::new(8, at(200));
        (1..=packets).for_each(|nth| link.came(3, 500, PACKET, at(nth)));
        link
    }

    #[test]
    fn a_busy_link_is_free_for_what_goes_before_what_it_carries() {
        let link = busy(250);
        let free = |level, left| link.was_free_for(level, left, PACKET, at(251));
        // At an earlier level, or the same; behind it goes what has as much left, or a later level.
        assert!(free(2, 499) && free(3, 499));
        assert!(!free(3, 500) && !free(2, 501) && !free(4, 1));
    }

    #[test]
    fn what_came_counts_for_half_of_the_time_at_least_and_for_all_of_it_at_most() {
        let free_after = |packets: u64| {
            let mut link = busy(100);
            link.came(7, 9_000, PACKET, at(101));
            (102..102 + packets).for_each(|nth| link.came(3, 500, PACKET, at(nth)));
            link.was_free_for(7, 8_000, PACKET, at(102 + packets))
        };
        assert!(free_after(1) && free_after(100));
        assert!(!free_after(201));
    }

    #[test]
    fn an_idle_link_is_free_for_all() {
        let mut link = busy(250);
        let free = |link: &Downlink, now| link.was_free_for(7, 9_000, PACKET, now);
        // A pause of a packet is not told from a link at a lower rate, a longer one is: while it lasts, and after.
        assert!(!free(&link, at(252)));
        assert!(free(&link, at(253)));
        link.came(3, 500, PACKET, at(252));
        assert!(!free(&link, at(253)));
        link.came(3, 500, PACKET, at(255));
        assert!(free(&link, at(256)));
    }
}
