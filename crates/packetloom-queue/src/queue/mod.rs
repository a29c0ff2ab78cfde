//! Switch queue disciplines.
//!
//! A [`Fifo`] never holds packets: as its departures are known on arrival, it only counts what waits. The others
//! hold packets in a [`Buffer`] and choose when the link is free.

mod admission;
mod aqm;
mod bfc;
mod booked;
mod buffer;
mod classes;
mod credit_limiter;
mod daq;
mod egress;
mod env;
mod fair;
mod fifo;
mod floodgate;
mod flow_control;
mod held_fifo;
mod holds;
mod list;
mod loans;
mod pfabric;
mod python;
mod ring;
mod scheduler;
mod shared_buffer;
mod specification;
#[cfg(test)]
pub(crate) mod testing;
mod traits;
mod trimming;
mod weighted_fair;

pub use admission::{Admission, Pool, PoolSettings, Verdict};
pub use aqm::COMPONENTS as AQM_COMPONENTS;
pub use bfc::{Bfc, COUNTED, Counted, Settings as BackpressureSettings};
pub use booked::{Booked, Opening};
pub use buffer::{Buffer, COMPONENTS, settable};
pub use classes::Classes;
pub use credit_limiter::{CreditLimiter, Sizes, credit_rate};
pub use daq::{Daq, Settings as DaqSettings, class_of};
pub use egress::by_credit::ByCredit;
pub use egress::{Abm, BUFFER_COMPONENTS, Egress};
pub use env::Env;
pub use fair::Fair;
pub use fifo::Fifo;
pub use floodgate::{Gated, Left, Settings as WindowSettings};
pub use flow_control::credit::{Charge, Credit};
pub use flow_control::{
    CLASSES, COMPONENTS as FLOW_CONTROL_COMPONENTS, CONTROL, Pause, PauseRecord, PausedClasses,
    charged_class, class_in, departure, is_charged,
};
pub use held_fifo::HeldFifo;
pub use holds::Holds;
pub use loans::Loans;
pub use pfabric::PFabric;
pub use python::{LAYOUTS, ROLE as PYTHON, symbols};
pub use scheduler::COMPONENTS as SCHEDULER_COMPONENTS;
pub use shared_buffer::{
    Headroom, LARGEST_BUFFER, Memory, Pauses, Pfc, SharedPort, Signals, check_host_limits, check_limits,
};
pub use specification::{Built, Specification};
pub use traits::Traits;
pub use trimming::Trimming;
pub use weighted_fair::WeightedFair;

use crate::spec::Complaint;
use crate::topology::Topology;
use crate::units::{Rate, Time};

/// Hosts must take part in credits, and every link must have credit for a full packet, or it could never send one.
///
/// # Errors
/// Where that does not hold.
pub fn check_credits(
    queue: &Specification,
    nic: &Specification,
    topology: &Topology,
    full_packet_bytes: u64,
) -> Result<(), Complaint> {
    daq::check_credits(queue, nic, topology, full_packet_bytes)?;
    flow_control::credit::check_nic(queue, nic)
}

/// What waits in a queue. The packet in service is not in the queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// Wire bytes.
    pub bytes: u64,
    /// Packets.
    pub packets: u64,
}

impl Occupancy {
    /// Counts a packet that joins.
    #[inline]
    pub fn add(&mut self, size_bytes: u16) {
        self.bytes += u64::from(size_bytes);
        self.packets += 1;
    }

    /// Counts a packet that leaves.
    #[inline]
    pub fn remove(&mut self, size_bytes: u16) {
        self.bytes -= u64::from(size_bytes);
        self.packets -= 1;
    }
}

impl std::ops::Add for Occupancy {
    type Output = Occupancy;

    #[inline]
    fn add(self, other: Occupancy) -> Occupancy {
        Occupancy { bytes: self.bytes + other.bytes, packets: self.packets + other.packets }
    }
}

impl std::ops::Sub for Occupancy {
    type Output = Occupancy;

    #[inline]
    fn sub(self, part: Occupancy) -> Occupancy {
        Occupancy { bytes: self.bytes - part.bytes, packets: self.packets - part.packets }
    }
}

/// What queues did with packets beside sending them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
    /// Packets trimmed.
    pub trims: u64,
    /// Headers of packets that go back to their senders.
    pub returns: u64,
}

/// Where a queue is.
#[derive(Clone, Copy, Debug)]
pub struct Site {
    /// Whether it is a switch's; else a host's.
    pub is_switch: bool,
    /// The rate of its link.
    pub rate: Rate,
    /// That of the hosts' links.
    pub host_rate: Rate,
    /// What the link adds to every packet.
    pub framing_bytes: u64,
    /// The round trip of a hop: twice its link's latency, and the time of a full packet.
    pub hop_rtt: Time,
    /// Whether each of its pauses is noted, if it has any.
    pub logs_pauses: bool,
    /// How many links lead to the far end of its link, if that is a switch.
    pub far_links: Option<u64>,
}

impl Site {
    /// Whether its link joins two switches.
    pub fn is_between_switches(&self) -> bool {
        self.is_switch && self.far_links.is_some()
    }
}

/// What left a queue whose switch notifies the links that packets came by.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The link into the switch, as a number at the switch.
    pub from: u32,
    /// The class whose buffer has space again.
    pub class: u8,
    /// How much.
    pub bytes: u16,
}

/// What became of the place of a packet that was put into a buffer: in its stead another may be there by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// It waits.
    Waits,
    /// It goes before all else, and is to be put onto the link at once.
    Booked,
    /// It is empty, or another's: the packet, or another, was dropped.
    Dropped,
    /// It holds a header that is to go back to its sender.
    Returned,
}
