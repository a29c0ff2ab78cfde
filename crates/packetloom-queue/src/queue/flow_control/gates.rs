//! What flow control says to a scheduler.

use super::CLASSES;

/// Which queues of a scheduler may send. Those beyond the classes of flow control always may.
#[derive(Clone, Copy, Debug)]
pub struct Gates {
    /// Those that may not, a bit for each.
    closed: u8,
}

impl Gates {
    /// All may.
    pub const OPEN: Gates = Gates { closed: 0 };

    /// All may but these, a bit for each.
    pub const fn closing(closed: u8) -> Gates {
        Gates { closed }
    }

    /// The same, but whether this queue may, which is one of those that can be closed.
    #[inline]
    #[must_use]
    pub const fn with(self, queue: usize, is_open: bool) -> Gates {
        let at = queue % CLASSES;
        Gates { closed: self.closed & !(1 << at) | (!is_open as u8) << at }
    }

    /// Of these queues, a bit for each, those that may.
    #[inline]
    pub const fn open_of(self, queues: u8) -> u8 {
        queues & !self.closed
    }

    /// Whether a queue may.
    #[inline]
    pub fn is_open(self, queue: usize) -> bool {
        queue >= CLASSES || self.closed >> queue & 1 == 0
    }
}
