//! Queue pairs that are not just open: connected for their flow by a handshake of InfiniBand's communication manager,
//! taken from those that earlier flows between the two hosts left behind, or one for all flows of two hosts.

mod flows;
mod handshake;
mod in_order;

pub use flows::Connected;
pub use handshake::Place;
pub use in_order::InOrder;

use crate::narrow::exact;
use crate::packet_format::PacketFormat;
use crate::pool;
use crate::spec::{Complaint, Component, Kind, Param, Values, anything, check_period, param};
use crate::units::Time;

/// How flows get their queue pairs: a parameter of every transport of RDMA.
pub const PARAM: Param = param! {
    "connections" = "open": Kind::Component("queue-pairs"),
    "What a flow runs on: a queue pair that is connected already and has carried nothing (open), or one that a handshake connects (fresh). Or one left by earlier flows between the two hosts (pool), or one that all flows from one host to the other share in turn (in-order).",
    "packetloom (HPCC's simulator: open)"
};

/// What a handshake goes by.
const HANDSHAKE: &[Param] = &[
    param! {
        "message" = "322B": Kind::Bytes,
        "Bytes of a REQ, REP or RTU on the wire. They go in the class of data.",
        "InfiniBand specification: management datagrams of 256 B, in RoCEv2 behind 14 B Ethernet, 20 B IPv4, 8 B UDP, 12 B BTH and 8 B DETH, before 4 B ICRC; Linux: cma.c gives them the connection's service level"
    },
    param! {
        "req_timeout" = "4.608s": Kind::Time,
        "How long a REQ waits for its REP before it is sent again.",
        "Linux: cm.c adds twice a packet's life time of 256 ms (cma.c: CMA_IBOE_PACKET_LIFETIME 16) to what the other end may take (CMA_CM_RESPONSE_TIMEOUT 20: 4.096 s)"
    },
    param! {
        "rep_timeout" = "4.096s": Kind::Time,
        "How long a REP waits for the RTU, or for data, before it is sent again.",
        "Linux: cma.c, CMA_CM_RESPONSE_TIMEOUT 20, which cm.c takes for 2^12 ms"
    },
];

/// What the parameter can be.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "queue-pairs",
        kind: "open",
        doc: "Each flow has a queue pair that is connected and has carried nothing before.",
        source: "packetloom (HPCC's simulator: a queue pair for each flow)",
        params: &[],
        check: anything,
    },
    Component {
        section: "queue-pairs",
        kind: "fresh",
        doc: "Each flow connects a queue pair of its own: a REQ and its REP, each sent again when it is not answered, then an RTU and the data right behind it.",
        source: "InfiniBand specification vol. 1, chapter 12; Linux: cm.c",
        params: &[HANDSHAKE],
        check: check_timeouts,
    },
    Component {
        section: "queue-pairs",
        kind: "pool",
        doc: "A flow takes an idle queue pair between its two hosts, and continues with the state of its congestion control, its pace and its turn at the NIC. Timers of the congestion control have gone on meanwhile. Where none is idle it connects another, which stays.",
        source: "packetloom: state is a queue pair's, and no source has a rule that resets it after a pause; HPCC's simulator: DCQCN's timers run while nothing is sent, too",
        params: &[pool::PARAMS, HANDSHAKE],
        check: check_timeouts,
    },
    Component {
        section: "queue-pairs",
        kind: "in-order",
        doc: "All flows from one host to another are messages of one queue pair, which is connected already. They follow each other on the wire in the order in which they began, without waiting for acknowledgements. They share one window and one congestion control.",
        source: "InfiniBand specification vol. 1, chapters 9 and 10: a queue pair's send queue is executed in order",
        params: &[&[param! {
            "queue_pairs" = "1": Kind::Count(1),
            "How many queue pairs there are from a host to another; flows are dealt to them in turn. Each has its own window, congestion control and path.",
            "perftest: --qp; NCCL: NCCL_IB_QPS_PER_CONNECTION, one message to each in turn"
        }]],
        check: check_pairs,
    },
];

fn check_pairs(values: &Values) -> Result<(), Complaint> {
    let most = u64::from(u16::MAX);
    if values.count("queue_pairs") > most {
        return Err(Complaint::new("queue_pairs", format!("write {most} at most")));
    }
    Ok(())
}

/// How many queue pairs all flows from one host to another share, where they do.
pub fn shared(transport: &Values) -> Option<u16> {
    let values = transport.component(PARAM.name);
    (values.kind == "in-order").then(|| exact::<u16>(values.count("queue_pairs")))
}

fn check_timeouts(values: &Values) -> Result<(), Complaint> {
    for key in ["req_timeout", "rep_timeout"] {
        check_period(key, values.time(key), "10ms")?;
    }
    Ok(())
}

/// Whether each flow has a queue pair of its own.
pub fn are_one_a_flow(values: &Values) -> bool {
    matches!(values.kind.as_str(), "open" | "fresh")
}

/// What must hold of `connections` beside a transport's other parameters.
pub fn check(transport: &Values) -> Result<(), Complaint> {
    let values = transport.component(PARAM.name);
    if matches!(values.kind.as_str(), "open" | "in-order") {
        return Ok(());
    }
    // Switches keep room for packets of these sizes.
    let format = PacketFormat::of(transport);
    let (least, most) = (format.smallest_bytes(), format.data.mss_bytes + format.data.header_bytes);
    if !(least..=most).contains(&values.bytes("message")) {
        let message = format!(
            "a message is no smaller than other packets and no larger than full ones; write a size from {least}B to {most}B, or another mss"
        );
        return Err(Complaint::new("connections.message", message));
    }
    Ok(())
}

/// How queue pairs are connected, and kept.
#[derive(Clone, Debug)]
pub struct Rule {
    message_bytes: u16,
    req_timeout: Time,
    rep_timeout: Time,
    /// What holds of those that are kept, if they are.
    kept: Option<pool::Rule>,
}

impl Rule {
    /// What a transport's parameters come to; `None` where queue pairs are open.
    pub fn of(transport: &Values) -> Option<Rule> {
        let values = transport.component(PARAM.name);
        matches!(values.kind.as_str(), "fresh" | "pool").then(|| Rule {
            message_bytes: exact::<u16>(values.bytes("message")),
            req_timeout: values.time("req_timeout"),
            rep_timeout: values.time("rep_timeout"),
            kept: (values.kind == "pool").then(|| pool::Rule::of(&values)),
        })
    }
}
