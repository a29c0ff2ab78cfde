//! Hosts that take less than their links bring.

use super::Slow;
use crate::flow::HostId;
use crate::queue::Pfc;
use crate::spec::{Complaint, Values};
use crate::topology::Topology;
use crate::units::{ByteTime, Time};
use std::collections::BTreeMap;

/// A host that is slow at times.
#[derive(Clone, Debug)]
pub struct SlowHost {
    /// What its NIC can hold.
    pub buffer_bytes: u64,
    /// When it is slow, and how long a byte takes it then. Where times overlap the slowest holds.
    pub when: Vec<Slow>,
    /// The first of the scenario's faults that says so.
    pub fault: usize,
}

impl SlowHost {
    /// What the queue of its NIC says of pauses, with the buffer for what arrives.
    pub fn buffer(&self, nic: Pfc) -> Pfc {
        nic.holding(self.buffer_bytes)
    }
}

/// Adds what the scenario's fault of this number says.
pub(super) fn add(
    all: &mut BTreeMap<HostId, SlowHost>,
    (number, fault): (usize, &Values),
    topology: &Topology,
) -> Result<(), Complaint> {
    let (rate, buffer_bytes) = (fault.rate("rate"), fault.bytes("buffer"));
    let name = fault.text("host");
    for host in topology.nodes_called(&name, "host")? {
        if host >= topology.hosts {
            return Err(Complaint::new("host", format!("{name:?} is no host; write one, such as \"host0\"")));
        }
        let usual = topology.rate_of(host);
        if usual <= rate {
            let message = format!("the host has no more than {usual} anyway; write a lower rate");
            return Err(Complaint::new("rate", message));
        }
        let until = fault.optional_time("until").unwrap_or(Time::NEVER);
        let slow = Slow { from: fault.time("at"), until, byte_time: ByteTime::at(rate) };
        let whole =
            all.entry(host).or_insert_with(|| SlowHost { buffer_bytes, when: Vec::new(), fault: number });
        if whole.buffer_bytes != buffer_bytes {
            let message = format!(
                "{} has one NIC, with {} B in another fault; write the same",
                topology.node_name(host),
                whole.buffer_bytes
            );
            return Err(Complaint::new("buffer", message));
        }
        whole.when.push(slow);
    }
    Ok(())
}
