//! Reverie's buffer, as a part of a port: what it is made of is in `shared_buffer/filters.rs`.

use super::buffer::SIZE;
use crate::queue::shared_buffer::{HEADROOM, UNSAFE_HEADROOM};
use crate::spec::{Complaint, Component, Kind, Param, Value, Values, param};

/// The buffer.
pub(in crate::queue) const COMPONENT: Component = Component {
    section: "buffer",
    kind: "reverie",
    doc: "A pool that all ports of a switch share, lossless classes (flow_control = \"pfc\") and others alike, beside headroom. A low-pass filter of what a queue holds may rise to alpha times what is free, divided by how many queues of its class are congested. A lossless class of a link above that is paused and goes into headroom; others are dropped, port by port. Hosts' ports do not use it.",
    source: "Reverie, NSDI 2024; inet-tub/ns3-datacenter 6ddb4a4, switch-mmu.cc",
    params: &[&[
        SIZE,
        param! {
            "gamma" = "0.999": Kind::Number(0.0, 0.999_999),
            "What is left of a filter as a packet leaves: it moves by the rest towards what the queue then holds. 0: no filter.",
            "inet-tub/ns3-datacenter 6ddb4a4, examples/Reverie/run-lossyfrac.sh: 0.999; its switch-mmu.cc: 0.99"
        },
        param! {
            "alpha" = "1": Kind::Number(0.001, 1024.0),
            "A filter may say this many times what is free of the pool.",
            "inet-tub/ns3-datacenter 6ddb4a4, examples/Reverie/alphas: 1 for each class"
        },
        param! {
            "saturation" = "20KiB": Kind::Bytes,
            "A queue whose filter says this or more counts as one congested queue; with less, as a part of one.",
            "inet-tub/ns3-datacenter 6ddb4a4, switch-mmu.cc: congestionIndicator, 20 KiB"
        },
        Param {
            doc: "The buffer reserved for what arrives of each link's lossless class after it was paused; left out: as much as the link needs.",
            source: "IEEE 802.1Q Annex N",
            ..HEADROOM
        },
        UNSAFE_HEADROOM,
        param! {
            "resume_offset" = "2496B": Kind::Bytes,
            "A paused class resumes once its headroom is empty and its filter says this much less than it may, or less than 1248 B.",
            "inet-tub/ns3-datacenter 6ddb4a4, switch-mmu.cc: xon_offset 2496 B, xon 1248 B"
        },
    ]],
    check,
};

fn check(values: &Values) -> Result<(), Complaint> {
    match values.bytes("saturation") {
        0 => Err(Complaint::new("saturation", "write a size above zero")),
        _ => Ok(()),
    }
}

/// What "shared-buffer" has beside these, as they are in Reverie.
pub(in crate::queue) fn fixed() -> [(&'static str, Value); 6] {
    [
        ("mmu", Value::Text(COMPONENT.kind.to_owned())),
        ("reserve", Value::Bytes(0)),
        ("alpha_by_rate", Value::Flag(false)),
        ("pause_above", Value::Absent),
        ("egress_alpha", Value::Absent),
        ("egress_limits", Value::Text("lossy".to_owned())),
    ]
}
