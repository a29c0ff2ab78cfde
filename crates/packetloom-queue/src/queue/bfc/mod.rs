//! BFC, Backpressure Flow Control (Goyal et al., NSDI 2022): a switch's port has a set of physical queues, gives each
//! active flow one that is empty, and has the hop before it pause the very queue that a flow comes from.
//!
//! The port's part is here: which queue a flow gets (`flows.rs`), whose turn it is, and which packets are one too many
//! (`port.rs`). What they make a switch say to its links is in `engine/switch/backpressure.rs`. Hosts heed it flow by
//! flow (`packetloom-rdma/src/bfc.rs`).
//!
//! Where each rule is from: A is the abstract of the paper; K is the paper as its specification here has it, from memory;
//! C is the authors' simulator (BFC_NS3_NSDI2022: `qbb-net-device.cc`, `broadcom-egress-queue.cc`, `broadcom-node.*`);
//! U is unspecified, and chosen here.
//!
//! | Rule | `variant = "paper"` | `variant = "bfc-ns3"` |
//! |---|---|---|
//! | physical queues | 32 (K) | 31: `QCOUNT 36`, five of which data does not use (C) |
//! | flow ids of a port | 7200 (C) | 36 × 200 (C) |
//! | a flow keeps its queue for | three hop round trips after its last packet (C, scaled) | 6 us (C) |
//! | an empty queue | the next after the last given, not paused (K) | the first from a random one on (C) |
//! | no empty queue | a random one (K) | the one that the flow id hashes to (C) |
//! | turns | deficit round robin (K), a quantum of a full packet (U) | a packet each (C) |
//! | paused above | 1.5 hop round trips' bytes / active queues (K, C) | the same (C) |
//! | hop round trip | twice the latency, and a full packet (U) | 2 us (C) |
//! | active queues | those with packets that are not paused, at least 1 (K, C) | the same (C) |
//! | never one too many | a packet that is alone in its queue (U) | the only one of its flow here (C) |
//! | PAUSE | at once (U) | by the microsecond (C) |
//! | RESUME | at once (K, C) | the same (C) |
//! | high-priority queue | class 0: control, and flows of one packet (K) | class 0: control (C) |
//! | buffer | 12 MB (K) | without bound: the code admits all (C) |
//!
//! Unimplemented: the list of resumes at a limited rate of the paper's first version, of which the authors' simulator of
//! 2022 has nothing; PFC beneath BFC, which the simulator switches off; and the simulator's PAUSE frames that say nothing
//! new, one each microsecond and link, with 1024 bits for as many queues: here one says one queue.

mod flows;
mod port;
#[cfg(test)]
mod tests;

use super::admission::Limit;
use super::specification::{Bound, Making, Room};
use super::{Buffer, Built, Specification, Traits};
use crate::narrow::{exact, saturated};
use crate::spec::{Complaint, Component, Kind, Needs, Registered, Values, check_period, param};
use crate::units::Time;
pub use port::{Bfc, COUNTED, Counted};

const PAPER: &[Needs] = &[Needs::Is("variant", &["paper"])];

const COMPONENT: Component = Component {
    section: "queue",
    kind: "bfc",
    doc: "Backpressure Flow Control: a flow that is active at a switch's port has one of a few queues there. Once too much waits in it, the queue at the hop before is paused that the flow comes from. Queues take turns. Class 0 goes first and is never paused. At a host, it is the NIC, whose flows are paused one by one (transport = \"bfc\").",
    source: "BFC (NSDI 2022)",
    params: &[&[
        param! {
            "variant" = "paper": Kind::Choice(&["paper", "bfc-ns3"]),
            "Whose rules: the paper's, as far as they are known here, or those of its authors' simulator. They differ in which queue a flow gets, how queues take turns, which packet never pauses its queue, and in what is left out below.",
            "packetloom"
        },
        param! {
            "queues": Kind::Count(1),
            "The queues of a port, 128 at most. Left out: 32 (paper), 31 (bfc-ns3).",
            "BFC (NSDI 2022), from memory: 32; BFC's simulator: QCOUNT 36, less five that data does not use"
        },
        param! {
            "flow_ids" = "7200": Kind::Count(1),
            "To how many numbers flows are hashed at a port. Flows of the same number share a queue.",
            "BFC's simulator: hqCnt / pCnt, 36 queues x 200"
        },
        param! {
            "hop_rtt": Kind::Time,
            "The round trip of a hop, as switches know it. Left out: twice the latency of the port's link, and the time of a full packet on it (paper); 2us (bfc-ns3).",
            "packetloom; BFC's simulator: UpdatePauseState, 2 us"
        },
        param! {
            "pause_above" = "1.5": Kind::Number(0.01, 1_000.0),
            "A queue is too long if it holds more than its share of the link carries in this many hop round trips. Queues that hold packets and are not paused share the link equally.",
            "BFC's simulator: mark_up 1.5; BFC (NSDI 2022), from memory: the hop's round trip, and half of one"
        },
        param! {
            "keeps_queue": Kind::Time,
            "How long a flow keeps its queue after its last packet. Left out: three hop_rtt (paper), 6us (bfc-ns3).",
            "BFC's simulator: GetCentralArrayIndex, 6 us, where a hop's round trip is 2 us"
        },
        param! {
            "quantum" = "1048B": Kind::Bytes,
            "With variant = \"paper\": what a queue may send in a round.",
            "packetloom: a full packet of 1000 B payload; BFC (NSDI 2022), from memory: deficit round robin"; acts PAPER
        },
        param! {
            "pause_frame": Kind::Bytes,
            "Bytes of a PAUSE or RESUME on the wire. Left out: 64 B (paper), 156 B (bfc-ns3).",
            "Ethernet's smallest frame; BFC's simulator: 6 B and 1024 bits, 20 B IPv4, 2 B PPP"
        },
        param! {
            "pause_every": Kind::Time,
            "PAUSEs are sent at multiples of this time only. Left out: at once (paper), 1us (bfc-ns3). A RESUME is sent at once.",
            "packetloom; BFC's simulator: CheckAndSendPause, 1 us"
        },
        param! {
            "buffer": Kind::Bytes,
            "What all ports of a switch share; data beyond it is dropped. Left out: 12MB (paper), any amount (bfc-ns3). At hosts nothing is dropped.",
            "BFC (NSDI 2022), from memory: 12 MB; BFC's simulator: CheckIngressAdmission admits all"
        },
    ]],
    check,
};

/// The queue.
pub const QUEUE: Registered<Making> = Registered { component: COMPONENT, factory: Making::new(read) };

fn read(values: &Values) -> Specification {
    let settings = Settings::of(values);
    let bound = settings.buffer_bytes.map(Bound::bytes);
    Specification {
        bounds: bound.into_iter().collect(),
        rooms: vec![Room::new("buffer", settings.buffer_bytes.map_or(Limit::None, Limit::Bytes), Vec::new())],
        is_sized_by_design: true,
        levels: 2,
        traits: Traits { shares_buffer: true, shares_unevenly: true, keeps_order: true, ..Traits::NONE },
        backpressure: Some(settings),
        ..Specification::new(values, Built::Held(Buffer::Bfc(Box::new(Bfc::build(settings.rules)))))
    }
}

/// The most queues that a port has: one word says which hold packets.
const MOST_QUEUES: u64 = 128;

fn check(values: &Values) -> Result<(), Complaint> {
    if values.optional_count("queues").is_some_and(|queues| queues > MOST_QUEUES) {
        return Err(Complaint::new("queues", format!("write {MOST_QUEUES} at most")));
    }
    if values.count("flow_ids") > 1 << 24 {
        return Err(Complaint::new("flow_ids", "write 16777216 at most"));
    }
    if values.optional_bytes("pause_frame").is_some_and(|bytes| !(1..=65_535).contains(&bytes)) {
        return Err(Complaint::new("pause_frame", "write a size from 1B to 65535B"));
    }
    if !(64..=1 << 30).contains(&values.bytes("quantum")) {
        return Err(Complaint::new("quantum", "write a size from 64B to 1GB"));
    }
    if values.optional_time("hop_rtt") == Some(Time::ZERO) {
        return Err(Complaint::new("hop_rtt", "write a time above zero, such as \"1us\", or leave it out"));
    }
    values.optional_time("pause_every").map_or(Ok(()), |every| check_period("pause_every", every, "1us"))
}

/// What a scenario says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The size of the frames by which switches pause queues.
    pub frame_bytes: u64,
    /// At multiples of what time they pause; zero: at any.
    pub pause_every: Time,
    /// What all ports of a switch share; `None`: any amount.
    pub buffer_bytes: Option<u64>,
    rules: Rules,
}

/// The rules of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rules {
    /// Those of the authors' simulator.
    is_ns3: bool,
    queues: u32,
    flow_ids: u64,
    /// `None`: as the port's place in the network says.
    hop_rtt: Option<Time>,
    /// Out of 2^20.
    pause_above_q20: u64,
    /// `None`: three hop round trips.
    keeps_queue: Option<Time>,
    /// What a queue may send in a round; 0: a packet.
    quantum_bytes: u32,
}

impl Settings {
    /// What is left out is as the variant has it.
    fn of(values: &Values) -> Settings {
        let is_ns3 = values.meaning("variant", &[("paper", false), ("bfc-ns3", true)]);
        let time = |key, paper, ns3| values.optional_time(key).map_or(if is_ns3 { ns3 } else { paper }, Some);
        let written = |key| values.optional_bytes(key);
        Settings {
            frame_bytes: written("pause_frame").unwrap_or(if is_ns3 { 156 } else { 64 }),
            pause_every: time("pause_every", None, Some(Time::from_us(1))).unwrap_or(Time::ZERO),
            buffer_bytes: written("buffer").or(if is_ns3 { None } else { Some(12_000_000) }),
            rules: Rules {
                is_ns3,
                queues: exact::<u32>(values.optional_count("queues").unwrap_or(if is_ns3 { 31 } else { 32 })),
                flow_ids: values.count("flow_ids"),
                hop_rtt: time("hop_rtt", None, Some(Time::from_us(2))),
                pause_above_q20: saturated(values.number("pause_above") * f64::from(1 << 20)),
                keeps_queue: time("keeps_queue", None, Some(Time::from_us(6))),
                quantum_bytes: if is_ns3 { 0 } else { exact::<u32>(values.bytes("quantum")) },
            },
        }
    }
}
