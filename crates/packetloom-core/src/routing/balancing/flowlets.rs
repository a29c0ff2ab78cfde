//! Flowlets: packets of a flow that follow each other closely keep to one way (Sinha, Kandula and Katabi, HotNets
//! 2004).

use super::Passing;
use crate::flow::{FlowId, HostId};
use crate::random::mix;
use crate::units::Time;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A flow in one direction, and which of its subflows.
pub(super) type Stream = (FlowId, HostId, u16);

/// That of a packet.
pub(super) fn stream_of(packet: &Passing) -> Stream {
    (packet.flow, packet.src, packet.subflow)
}

/// A hash that is the same in every run. Nothing depends on the order that it gives.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = mix(self.0 ^ u64::from(*byte)));
    }

    fn write_u32(&mut self, word: u32) {
        self.0 = mix(self.0 << 1 ^ u64::from(word));
    }

    fn write_u16(&mut self, word: u16) {
        self.0 = mix(self.0 << 1 ^ u64::from(word));
    }
}

/// What a switch remembers of flows.
pub(super) type OfFlows<T> = HashMap<Stream, T, BuildHasherDefault<Mixed>>;

/// From how many entries on those that are old are looked for.
const MANY: usize = 1_024;

#[derive(Clone, Copy, Debug)]
struct Flowlet<W> {
    last_at: Time,
    way: W,
}

/// The flowlets that come by a switch, and the way that each takes.
#[derive(Clone, Debug)]
pub(super) struct Flowlets<W> {
    gap: Time,
    of_flows: OfFlows<Flowlet<W>>,
    /// How many entries there may be before old ones are looked for.
    most: usize,
}

impl<W: Copy> Flowlets<W> {
    /// A flowlet ends where nothing comes for longer than `gap`; [`Time::NEVER`]: it lasts as long as its flow.
    pub(super) fn new(gap: Time) -> Flowlets<W> {
        Flowlets { gap, of_flows: OfFlows::default(), most: MANY }
    }

    /// The way of the flowlet that a packet belongs to; or, if it begins a new one, that of the flow's last one, if
    /// it is remembered.
    pub(super) fn way(&mut self, packet: &Passing) -> Result<W, Option<W>> {
        let Some(flowlet) = self.of_flows.get_mut(&stream_of(packet)) else { return Err(None) };
        let silence = packet.now.since(flowlet.last_at);
        flowlet.last_at = packet.now;
        if silence > self.gap { Err(Some(flowlet.way)) } else { Ok(flowlet.way) }
    }

    /// Has the packet's flowlet take a way.
    pub(super) fn set(&mut self, packet: &Passing, way: W) {
        if self.of_flows.len() >= self.most {
            self.forget(packet.now);
        }
        self.of_flows.insert(stream_of(packet), Flowlet { last_at: packet.now, way });
    }

    /// Forgets the flowlets that are over: their flows' next packets begin new ones in any case.
    fn forget(&mut self, now: Time) {
        let gap = self.gap;
        self.of_flows.retain(|_, flowlet| now.since(flowlet.last_at) <= gap);
        self.most = MANY.max(2 * self.of_flows.len());
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::passing;
    use super::*;

    fn at(now_us: u64) -> Passing {
        Passing { now: Time::from_us(now_us), ..passing(7) }
    }

    #[test]
    fn a_flowlet_ends_with_a_longer_silence() {
        let mut flowlets = Flowlets::new(Time::from_us(100));
        assert_eq!(flowlets.way(&at(0)), Err(None));
        flowlets.set(&at(0), 3);
        assert_eq!(flowlets.way(&at(100)), Ok(3));
        assert_eq!(flowlets.way(&at(200)), Ok(3));
        assert_eq!(flowlets.way(&at(301)), Err(Some(3)));
        let other = Passing { flow: 8, ..at(301) };
        assert_eq!(flowlets.way(&other), Err(None));
    }

    #[test]
    fn what_is_over_is_forgotten() {
        let mut flowlets = Flowlets::new(Time::from_us(1));
        for flow in 0..100_000 {
            flowlets.set(&Passing { flow, ..at(u64::from(flow)) }, 0);
        }
        assert!(flowlets.of_flows.len() <= MANY);
    }
}
