//! Reverie's buffer, as a part of a port: what it is made of is in `shared_buffer/filters.rs`.

use super::buffer::{Read, Room, SIZE};
use crate::queue::shared_buffer::{Filter, HEADROOM, Shares, Sharing, UNSAFE_HEADROOM};
use crate::spec::{Complaint, Component, Kind, Param, Registered, Values, param};

const COMPONENT: Component = Component {
    section: "buffer",
    kind: "reverie",
    doc: "A pool that all ports of a switch share, lossless classes (flow_control = \"pfc\") and others alike, beside headroom. A low-pass filter of what a queue holds may rise to alpha times what is free, divided by how many queues of its class are congested. A lossless class of a link above that is paused and goes into headroom; others are dropped, port by port. Hosts' ports do not use it.",
    source: "Reverie, NSDI 2024; inet-tub/ns3-datacenter 6ddb4a4, switch-mmu.cc",
    params: &[&[
        SIZE,
        param! {
            "gamma" = "0.999": Kind::Number(0.0, 0.999_999),
            "The weight of a filter's last value as a packet leaves; what the queue then holds has the rest. 0: no filter.",
            "inet-tub/ns3-datacenter 6ddb4a4, examples/Reverie/run-lossyfrac.sh: 0.999; its switch-mmu.cc: 0.99"
        },
        param! {
            "alpha" = "1": Kind::Number(0.001, 1024.0),
            "A filter's value may rise to this many times what is free of the pool.",
            "inet-tub/ns3-datacenter 6ddb4a4, examples/Reverie/alphas: 1 for each class"
        },
        param! {
            "saturation" = "20KiB": Kind::Bytes,
            "A queue whose filter has this value or more counts as one congested queue; with less, as a part of one.",
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
            "A paused class resumes once its headroom is empty and its filter is this much below its limit, or below 1248 B.",
            "inet-tub/ns3-datacenter 6ddb4a4, switch-mmu.cc: xon_offset 2496 B, xon 1248 B"
        },
    ]],
    check,
};

/// The buffer.
pub(super) const BUFFER: Registered<Read> =
    Registered { component: COMPONENT, factory: |values| Room::charged(shares(values)) };

fn check(values: &Values) -> Result<(), Complaint> {
    match values.bytes("saturation") {
        0 => Err(Complaint::new("saturation", "write a size above zero")),
        _ => Ok(()),
    }
}

/// What links may have of it.
fn shares(values: &Values) -> Shares {
    let alpha = values.number("alpha");
    let filter =
        Filter { gamma: values.number("gamma"), alpha, saturation_bytes: values.bytes("saturation") };
    Shares {
        sharing: Sharing::Filters,
        filter: Some(filter),
        buffer_bytes: values.bytes("size"),
        reserve_bytes: Some(0),
        headroom_bytes: values.optional_bytes("headroom"),
        unsafe_headroom: values.flag("unsafe_headroom"),
        alpha: Some(alpha),
        alpha_by_rate: Some(false),
        pause_above_bytes: None,
        egress_alpha: None,
        limits_all: false,
        resume_offset_bytes: Some(values.bytes("resume_offset")),
    }
}
