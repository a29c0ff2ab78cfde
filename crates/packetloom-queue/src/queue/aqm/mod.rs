//! Active queue management: what becomes of a packet as it comes, and as it is to leave, by what waits and by the clock.

mod codel;
mod dualpi2;
mod none;
mod pie;
mod red;
mod selective;
mod sojourn;
mod threshold;

use super::admission::Marking;
use super::specification::Threshold;
use super::{Occupancy, Site, Verdict};
use crate::random::Stream;
use crate::spec::{self, Component, Registered, Values};
use crate::units::Time;
use std::fmt;

/// What waits at a port, for an AQM that looks beyond the queue of one packet.
pub trait Waiting {
    /// What waits in all: before the packet joins, or once it has left.
    fn queued(&self) -> Occupancy;

    /// When the packet came that a queue sends next.
    fn first_came(&self, queue: usize) -> Option<Time>;
}

impl fmt::Debug for dyn Waiting + '_ {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.queued().fmt(formatter)
    }
}

/// What an AQM goes by.
#[derive(Debug)]
pub struct Look<'a> {
    /// The time.
    pub now: Time,
    /// The packet's queue, by its number at the scheduler.
    pub queue: usize,
    /// What waits in its queue: before the packet joins, or once it has left.
    pub queued: Occupancy,
    /// The packet's size.
    pub size_bytes: u16,
    /// Whether it can be marked.
    pub markable: bool,
    /// Whether it is data that no receiver has called for, where senders say so.
    pub unscheduled: bool,
    /// How long it has waited.
    pub sojourn: Time,
    /// The port's own random numbers.
    pub random: &'a mut Stream,
    /// What waits at the port.
    pub port: &'a dyn Waiting,
}

/// The state of an AQM for one queue: of a port, a class or a flow; or, of one that couples queues, for the port.
///
/// A packet that can't be marked and is judged so goes on without a mark.
pub trait Aqm {
    /// Whether it is asked about packets that come.
    const JUDGES_ARRIVALS: bool = true;

    /// Where the port is, before anything comes.
    fn place(&mut self, _site: &Site) {}

    /// A packet comes, for which there is room.
    fn arrive(&mut self, _look: &mut Look<'_>) -> Verdict {
        Verdict::Accept
    }

    /// A packet is to leave. If it is dropped, the next one of its queue is asked about at the same moment.
    fn leave(&mut self, _look: &mut Look<'_>) -> Verdict {
        Verdict::Accept
    }

    /// The queue was to give another packet, and had none.
    fn emptied(&mut self) {}

    /// So many packets of the queue were dropped for want of room.
    fn overflowed(&mut self, _packets: u32) {}
}

/// An AQM as a scenario specifies it: the state of a queue to which nothing has come, and what others must know.
#[derive(Clone, Debug)]
pub struct Specification {
    /// That state.
    pub fresh: AnyAqm,
    /// Whether it marks packets.
    pub marks: bool,
    /// Whether it drops packets for which there is room.
    pub drops: bool,
    /// Whether it drops data that no receiver has called for before all else.
    pub drops_unscheduled: bool,
    /// Whether it has one state for all queues, the two of RFC 9332.
    pub couples: bool,
    /// As the rule of a queue whose departures are known on arrival, where it judges arrivals alone and by what waits.
    pub on_arrival: Option<Marking>,
    /// From what on it does what.
    pub thresholds: Vec<Threshold>,
}

impl Specification {
    /// From a component that was read.
    pub fn of(values: &Values) -> Specification {
        spec::factory(AQMS, &values.kind)(values)
    }

    /// Of an AQM that marks nothing and drops nothing, with a state for each queue.
    fn new(fresh: AnyAqm) -> Specification {
        Specification {
            fresh,
            marks: false,
            drops: false,
            drops_unscheduled: false,
            couples: false,
            on_arrival: None,
            thresholds: Vec::new(),
        }
    }
}

/// How an AQM is read.
type Read = fn(&Values) -> Specification;

/// The AQMs. A line has the state, and the components that a scenario can name which are made of it.
macro_rules! aqms {
    ($($name:ident($type:ty) = [$($made:path),*],)*) => {
        const AQMS: &[Registered<Read>] = &[$($($made,)*)*];

        /// The state of any AQM.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub enum AnyAqm {
            $($name($type)),*
        }

        impl Aqm for AnyAqm {
            fn place(&mut self, site: &Site) {
                match self {
                    $(AnyAqm::$name(aqm) => aqm.place(site)),*
                }
            }

            #[inline]
            fn arrive(&mut self, look: &mut Look<'_>) -> Verdict {
                match self {
                    $(AnyAqm::$name(aqm) => aqm.arrive(look)),*
                }
            }

            #[inline]
            fn leave(&mut self, look: &mut Look<'_>) -> Verdict {
                match self {
                    $(AnyAqm::$name(aqm) => aqm.leave(look)),*
                }
            }

            fn emptied(&mut self) {
                match self {
                    $(AnyAqm::$name(aqm) => aqm.emptied()),*
                }
            }

            fn overflowed(&mut self, packets: u32) {
                match self {
                    $(AnyAqm::$name(aqm) => aqm.overflowed(packets)),*
                }
            }
        }
    };
}

aqms! {
    Nothing(none::Nothing) = [none::AQM],
    Length(red::Length) = [threshold::AQM, red::AQM],
    Codel(codel::Codel) = [codel::AQM],
    DualPi2(dualpi2::DualPi2) = [dualpi2::AQM],
    Pie(pie::Pie) = [pie::AQM],
    Sojourn(sojourn::Sojourn) = [sojourn::AQM],
    Selective(selective::Selective) = [selective::AQM],
}

/// Every component of the section "aqm".
pub const COMPONENTS: &[Component] = &spec::components::<_, { AQMS.len() }>(AQMS);

#[cfg(test)]
mod testing {
    use super::*;
    use crate::random::Purpose;

    /// What an AQM sees of a packet of 1500 B.
    pub struct Scene {
        random: Stream,
        pub port: Queues,
    }

    /// What waits in the queues of a port, and since when.
    #[derive(Default)]
    pub struct Queues {
        pub bytes: u64,
        pub first_came: [Option<Time>; 2],
    }

    fn of_bytes(bytes: u64) -> Occupancy {
        Occupancy { bytes, packets: bytes / 1_500 }
    }

    impl Waiting for Queues {
        fn queued(&self) -> Occupancy {
            of_bytes(self.bytes)
        }

        fn first_came(&self, queue: usize) -> Option<Time> {
            self.first_came[queue]
        }
    }

    impl Scene {
        pub fn new() -> Scene {
            Scene { random: Stream::new(1, Purpose::Queue, 0), port: Queues::default() }
        }

        pub fn look(&mut self, now: Time, queued_bytes: u64, sojourn: Time, markable: bool) -> Look<'_> {
            self.look_at(0, now, queued_bytes, sojourn, markable)
        }

        pub fn look_at(
            &mut self,
            queue: usize,
            now: Time,
            queued_bytes: u64,
            sojourn: Time,
            markable: bool,
        ) -> Look<'_> {
            let (queued, size_bytes) = (of_bytes(queued_bytes), 1_500);
            Look {
                now,
                queue,
                queued,
                size_bytes,
                markable,
                unscheduled: !markable,
                sojourn,
                random: &mut self.random,
                port: &self.port,
            }
        }
    }
}
