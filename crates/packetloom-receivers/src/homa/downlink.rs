//! A host's link from its switch: whether it was free for what a message still misses. What is missed does not wait
//! before a link that stands idle, or that carries what goes after it.

use crate::units::Time;
use smallvec::{SmallVec, smallvec};

/// What came last, in all and by level.
#[derive(Clone, Debug)]
pub struct Downlink {
    /// When the last packet came.
    last: Time,
    /// When the last came before which the link stood idle.
    idle: Time,
    levels: SmallVec<[Level; 8]>,
}

/// The packets of a level. A queue has them in the order in which they came to it.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    /// When the last one came.
    last: Time,
    /// A time after which one was granted that has come.
    granted_after: Time,
}

impl Downlink {
    /// Of a host to which nothing has come.
    pub fn new(levels: u8) -> Downlink {
        Downlink {
            last: Time::ZERO,
            idle: Time::ZERO,
            levels: smallvec![Level::default(); usize::from(levels)],
        }
    }

    /// A packet came, which takes so long on the link.
    #[inline]
    pub fn came(&mut self, level: u8, takes: Time, now: Time) {
        if self.is_idle(takes, now) {
            self.idle = now;
        }
        self.levels[usize::from(level)].last = now;
        self.last = now;
    }

    /// It had been granted after this time.
    #[inline]
    pub fn came_of_grant(&mut self, level: u8, granted_after: Time) {
        let level = &mut self.levels[usize::from(level)];
        level.granted_after = level.granted_after.max(granted_after);
    }

    /// Whether the link has stood idle until now: for longer than a packet takes, so that neither rounding nor a link at
    /// half its rate looks like it.
    #[inline]
    fn is_idle(&self, takes: Time, now: Time) -> bool {
        now.since(self.last) > takes.times(2)
    }

    /// Whether a packet at this level, which was granted by then, would have had its turn: since then the link stood
    /// idle, or carried a packet at a later level, or one at the same that was granted later. A full packet takes so long.
    pub fn was_free_for(&self, level: u8, by: Time, takes: Time, now: Time) -> bool {
        let (same, later) = (usize::from(level), usize::from(level) + 1);
        let goes_after = self.levels[later..].iter().any(|one| one.last > by);
        self.is_idle(takes, now) || self.idle > by || goes_after || self.levels[same].granted_after > by
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

    /// A link on which so many packets came at level 3, from the start on.
    fn busy(packets: u64) -> Downlink {
        let mut link = Downlink::new(8);
        (1..=packets).for_each(|nth| link.came(3, PACKET, at(nth)));
        link
    }

    #[test]
    fn a_busy_link_is_free_for_what_goes_before_what_it_carries() {
        let link = busy(250);
        let free = |level, by| link.was_free_for(level, at(by), PACKET, at(251));
        assert!(free(2, 100) && free(0, 249));
        assert!(!free(2, 250), "nothing came since");
        assert!(!free(3, 100) && !free(4, 100));
    }

    #[test]
    fn at_one_level_what_was_granted_later_comes_later() {
        let mut link = busy(250);
        link.came_of_grant(3, at(200));
        link.came_of_grant(3, at(180));
        let free = |level, by| link.was_free_for(level, at(by), PACKET, at(251));
        assert!(free(3, 199));
        assert!(!free(3, 200) && !free(4, 100));
    }

    #[test]
    fn an_idle_link_is_free_for_all() {
        let mut link = busy(250);
        let free = |link: &Downlink, by, now| link.was_free_for(7, at(by), PACKET, at(now));
        // A pause of a packet is not told from a link at a lower rate, a longer one is: while it lasts, and after.
        assert!(!free(&link, 100, 252));
        assert!(free(&link, 100, 253));
        link.came(3, PACKET, at(252));
        assert!(!free(&link, 100, 253));
        link.came(3, PACKET, at(255));
        assert!(free(&link, 100, 256) && free(&link, 254, 256));
        assert!(!free(&link, 255, 256), "it was idle before");
    }
}
