//! Retries of links: what is damaged on a link goes over it again, and transports never learn of it.
//!
//! Link layer retry (LLR, Ultra Ethernet specification 1.0, §5.1) numbers the frames of a link. A receiver that misses
//! one asks for it, and the sender goes back to it and sends again all that followed (go-back-N), so that frames keep
//! their order. What is sent between a damaged frame and its replay is thrown away at the far end. So the link carries
//! nothing of use in that time, and here it carries nothing: what waits for it leaves later, and is in the port's queue
//! instead of the replay buffer meanwhile.

use super::Topology;
use crate::spec::{Complaint, Component, Kind, Values, anything, param};
use crate::units::Time;

/// Its key in a topology.
pub(super) const KEY: &str = "link_retry";

/// A request to send again: a control ordered set, which takes no framing.
const REQUEST_BYTES: u64 = 8;

const LLR: &str = "Ultra Ethernet specification 1.0, §5.1";

/// What a scenario can write as `link_retry`.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "link-retry",
        kind: "none",
        doc: "Damaged packets are dropped at the far end of the link.",
        source: "packetloom",
        params: &[],
        check: anything,
    },
    Component {
        section: "link-retry",
        kind: "llr",
        doc: "The far end of a link requests a damaged packet, and the near end goes back to it: it sends the packet and all after it again. Meanwhile the link carries nothing else. Links that are down still lose packets.",
        source: LLR,
        params: &[&[
            param! {
                "replays" = "3": Kind::Count(1),
                "How often a packet is sent again at most. After that it is lost.",
                "SONiC's design of LLR: max_replay_count, 3 in its profiles, 1 to 255"
            },
            param! {
                "turnaround" = "0us": Kind::Time,
                "The time that both ends together take to detect the damage, request the packet, and begin to send it again, in addition to the way there and back.",
                "packetloom"
            },
        ]],
        check,
    },
];

fn check(values: &Values) -> Result<(), Complaint> {
    if values.count("replays") > 255 {
        return Err(Complaint::new("replays", "write 255 at most"));
    }
    super::link::check_delay(values, "turnaround")
}

/// How links send again what was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkRetry {
    /// How often a packet is sent again at most.
    pub replays: u32,
    turnaround: Time,
}

impl LinkRetry {
    /// From a `link-retry` component that was read, if links retry.
    pub(super) fn build(values: &Values) -> Option<LinkRetry> {
        (values.kind == "llr").then(|| LinkRetry {
            replays: values.count_u32("replays"),
            turnaround: values.time("turnaround"),
        })
    }
}

impl Topology {
    /// From when the last bit of a damaged packet is sent into a link until the packet is sent again, if the link
    /// retries: the way there, and that of the request back.
    pub fn replays_after(&self, link: usize) -> Option<(LinkRetry, Time)> {
        let retry = self.link_retry?;
        let there = &self.links[link];
        let back = &self.links[self.link_back(link)];
        Some((retry, there.delay + back.delay + back.rate.time_for(REQUEST_BYTES) + retry.turnaround))
    }
}
