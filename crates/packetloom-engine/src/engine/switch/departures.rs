//! When the next packet of each port leaves, where a switch has to know of each departure in order.

use crate::units::Time;
use std::collections::VecDeque;

/// The ports of which something waits that may be sent, each with the time at which it starts: in order of time, then
/// port. Most that are served have the latest time next, so a ring serves best.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures(VecDeque<(Time, u32)>);

impl Departures {
    /// When the next packet starts.
    #[inline]
    pub(super) fn next_at(&self) -> Time {
        self.0.front().map_or(Time::NEVER, |&(at, _)| at)
    }

    /// The port whose packet starts first, which is not among them any more.
    #[inline]
    pub(super) fn take(&mut self) -> Option<u32> {
        self.0.pop_front().map(|(_, port)| port)
    }

    /// A port that is not among them.
    #[inline]
    pub(super) fn add(&mut self, port: u32, at: Time) {
        let place = self.0.partition_point(|&other| other < (at, port));
        self.0.insert(place, (at, port));
    }

    /// A port that may be among them is not any more.
    pub(super) fn remove(&mut self, port: u32) {
        if let Some(place) = self.0.iter().position(|&(_, other)| other == port) {
            self.0.remove(place);
        }
    }

    /// The ports of which a packet starts before `end`.
    #[inline]
    pub(super) fn before(&self, end: Time) -> impl Iterator<Item = u32> {
        self.0.iter().take_while(move |&&(at, _)| at < end).map(|&(_, port)| port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, Stream};
    use std::collections::BTreeMap;

    #[test]
    fn ports_depart_in_order_of_time_then_port() {
        let mut random = Stream::new(1, Purpose::Queue, 0);
        let (mut departures, mut model) = (Departures::default(), BTreeMap::new());
        for _ in 0..20_000 {
            let (port, at) = (random.below(20), Time(random.below(100).into()));
            match random.below(3) {
                0 => {
                    departures.remove(port);
                    departures.add(port, at);
                    model.insert(port, at);
                }
                1 => {
                    departures.remove(port);
                    model.remove(&port);
                }
                _ => {
                    let mut ports: Vec<(Time, u32)> = model.iter().map(|(&port, &at)| (at, port)).collect();
                    ports.sort_unstable();
                    let due = ports.iter().filter(|(starts, _)| *starts < at).map(|&(_, port)| port);
                    assert!(departures.before(at).eq(due));
                    let first = ports.first().map(|&(_, port)| port);
                    assert_eq!(departures.take(), first);
                    first.map(|port| model.remove(&port));
                }
            }
            assert_eq!(departures.next_at(), model.values().copied().min().unwrap_or(Time::NEVER));
        }
    }
}
