//! Credit that a switch owes to its links, and when each of them gets its next update.

use crate::queue::{CLASSES, Departure};
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What became free of each class of a link's buffer since its last update, in bytes.
pub(super) type Freed = [u32; CLASSES];

/// The updates of all links: what becomes free is collected until the next may be sent.
#[derive(Clone, Debug)]
pub(in crate::engine) struct Updates {
    links: Vec<Owed>,
    /// When links that are owed something have their next update.
    due: BinaryHeap<Reverse<(Time, u32)>>,
}

/// Of a link.
#[derive(Clone, Debug)]
struct Owed {
    freed: Freed,
    /// How far apart its updates are at least, and when the next may be sent.
    spacing: Time,
    next_at: Time,
    is_due: bool,
}

impl Updates {
    /// Of links whose updates are so far apart.
    pub(in crate::engine) fn new(spacings: impl Iterator<Item = Time>) -> Updates {
        let owed = |spacing| Owed { freed: [0; CLASSES], spacing, next_at: Time::ZERO, is_due: false };
        Updates { links: spacings.map(owed).collect(), due: BinaryHeap::new() }
    }

    /// A packet left.
    pub(super) fn free(&mut self, now: Time, Departure { from, class, bytes }: Departure) {
        let link = &mut self.links[from as usize];
        link.freed[usize::from(class)] += u32::from(bytes);
        if !std::mem::replace(&mut link.is_due, true) {
            self.due.push(Reverse((now.max(link.next_at), from)));
        }
    }

    /// When the next update is due, if one is.
    #[inline]
    pub(super) fn next_at(&self) -> Option<Time> {
        self.due.peek().map(|Reverse((at, _))| *at)
    }

    /// Takes out an update that is due at a time: the link, and what became free.
    pub(super) fn take(&mut self, now: Time) -> Option<(u32, Freed)> {
        let at = self.next_at().filter(|&at| at <= now)?;
        let Reverse((_, number)) = self.due.pop()?;
        let link = &mut self.links[number as usize];
        link.is_due = false;
        link.next_at = at + link.spacing;
        Some((number, std::mem::take(&mut link.freed)))
    }

    /// What each link is owed.
    pub(in crate::engine) fn owed(&self) -> impl Iterator<Item = &[u32; CLASSES]> {
        self.links.iter().map(|link| &link.freed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_becomes_free_between_two_updates_goes_with_the_next() {
        let ns = Time::from_ns;
        let mut updates = Updates::new([ns(100), ns(100)].into_iter());
        let left = |from, bytes| Departure { from, class: 3, bytes };
        let freed = |bytes| std::array::from_fn(|class| if class == 3 { bytes } else { 0 });
        updates.free(ns(10), left(0, 1_000));
        updates.free(ns(10), left(0, 500));
        assert_eq!((updates.next_at(), updates.take(ns(9))), (Some(ns(10)), None));
        assert_eq!(updates.take(ns(10)), Some((0, freed(1_500))));
        updates.free(ns(20), left(0, 200));
        updates.free(ns(30), left(1, 300));
        assert_eq!(updates.take(ns(30)), Some((1, freed(300))));
        updates.free(ns(40), left(0, 100));
        assert_eq!((updates.next_at(), updates.take(ns(109))), (Some(ns(110)), None));
        assert_eq!(updates.take(ns(110)), Some((0, freed(300))));
        assert_eq!((updates.next_at(), updates.take(ns(1_000))), (None, None));
        updates.free(ns(500), left(0, 100));
        assert_eq!(updates.next_at(), Some(ns(500)));
    }
}
