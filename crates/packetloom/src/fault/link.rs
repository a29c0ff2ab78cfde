//! A link on which packets can be lost.

use crate::random::{Purpose, Stream};
use crate::units::Time;

/// How a packet was lost on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The link was down.
    Down,
    /// It was damaged.
    Corrupted,
}

/// What can happen to packets on a link, and what has.
#[derive(Clone, Debug)]
pub struct LinkFault {
    corruption: f64,
    /// From when until when it is down.
    down: Vec<(Time, Time)>,
    random: Stream,
    /// When each lost packet started on the link, its size, and why it was lost.
    losses: Vec<(Time, u16, Loss)>,
}

impl LinkFault {
    /// Nothing has happened yet on the link of this number.
    pub fn new(corruption: f64, down: Vec<(Time, Time)>, seed: u64, link: usize) -> LinkFault {
        let random = Stream::new(seed, Purpose::Faults, link as u64);
        LinkFault { corruption, down, random, losses: Vec::new() }
    }

    /// Whether a packet gets through that is on the link from `start` to `arrival`.
    pub fn lets_through(&mut self, start: Time, arrival: Time, size_bytes: u16) -> bool {
        let is_down = self.down.iter().any(|&(from, until)| start < until && arrival > from);
        let loss = if is_down {
            Some(Loss::Down)
        } else {
            (self.corruption > 0.0 && self.random.unit() < self.corruption).then_some(Loss::Corrupted)
        };
        self.losses.extend(loss.map(|loss| (start, size_bytes, loss)));
        loss.is_none()
    }

    /// When each packet that was lost started on the link, its size, and why it was lost.
    pub fn losses(&self) -> &[(Time, u16, Loss)] {
        &self.losses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_on_a_link_as_it_goes_down_is_lost() {
        let mut link = LinkFault::new(0.0, vec![(Time(100), Time(200))], 1, 0);
        let spans = [(0, 100), (0, 101), (99, 300), (150, 160), (199, 210), (200, 210)];
        let through = spans.map(|(start, arrival)| link.lets_through(Time(start), Time(arrival), 40));
        assert_eq!(through, [true, false, false, false, false, true]);
        assert_eq!(link.losses().len(), 4);
        assert!(link.losses().iter().all(|&(_, size, loss)| (size, loss) == (40, Loss::Down)));
    }

    #[test]
    fn corruption_has_its_probability() {
        let mut link = LinkFault::new(0.01, Vec::new(), 1, 0);
        let through = (0..100_000).filter(|_| link.lets_through(Time(0), Time(1), 40)).count();
        // Five standard deviations are 157.
        assert!((98_843..=99_157).contains(&through), "{through}");
    }
}
