//! Connections: what a flow runs on. It is open already, or opened for the flow by a handshake, or taken from those
//! that earlier flows between the two hosts left behind.

mod handshake;
mod restart;

pub use handshake::{Handshakes, Opened, Step};
pub use restart::Restart;

use crate::pool;
use crate::spec::{Complaint, Component, Kind, Param, Values, check_period, param};
use crate::units::Time;

/// How flows get their connections: a parameter of every transport with a window.
pub const PARAM: Param = param! {
    "connections" = "open": Kind::Component("connections"),
    "What a flow runs on: a connection that is open already and has carried nothing, one that a handshake opens, or one left by earlier flows between the two hosts.",
    "packetloom"
};

const SYN_RTO: Param = param! {
    "syn_rto" = "1s": Kind::Time,
    "How long a handshake's first packet waits for its answer, at either end, before it is sent again; doubled each time, up to max_rto.",
    "RFC 6298 §2.1: 1 s"
};

const FAST_OPEN: Param = param! {
    "fast_open" = "false": Kind::Flag,
    "Data goes with the SYN wherever an earlier handshake with that host has left a cookie.",
    "RFC 7413: TCP Fast Open"
};

/// What the parameter can be.
pub const COMPONENTS: &[Component] = &[
    Component {
        section: "connections",
        kind: "open",
        doc: "Each flow has a connection that is open and has carried nothing before.",
        source: "packetloom",
        params: &[],
        check: crate::spec::anything,
    },
    Component {
        section: "connections",
        kind: "fresh",
        doc: "Each flow opens a connection of its own: SYN and SYN-ACK, sent again when they are lost, and only then data.",
        source: "RFC 9293 §3.5; RFC 6298; with several subflows RFC 8684 §3.1, §3.2",
        params: &[&[SYN_RTO, FAST_OPEN]],
        check: check_timeout,
    },
    Component {
        section: "connections",
        kind: "pool",
        doc: "A flow takes an idle connection between its two hosts, and continues with its window, slow-start threshold, round-trip time and congestion control's state; where none is idle it opens another, which stays.",
        source: "pFabric's ns-2 code; RFC 9040 §1: state that a connection keeps",
        params: &[
            pool::PARAMS,
            &[
                param! {
                    "idle_restart" = "rfc2861": Kind::Choice(&["rfc2861", "rfc5681", "initial-window", "each-flow", "never"]),
                    "What happens to the window of a connection that has sent nothing for longer than its retransmission timeout. \"rfc2861\": it is halved for each timeout that has passed, and ssthresh keeps at least three quarters of it. \"rfc5681\": it becomes the initial window, if that is less. \"initial-window\": in any case. \"each-flow\": it becomes the initial window at every flow's start, however short the pause. \"never\": it stays.",
                    "RFC 2861 §3.1; RFC 5681 §4.1; ns-2's FullTcp: initial-window; pFabric's ns-2 code: each-flow"
                },
                SYN_RTO,
                FAST_OPEN,
            ],
        ],
        check: check_timeout,
    },
];

fn check_timeout(values: &Values) -> Result<(), Complaint> {
    check_period("syn_rto", values.time("syn_rto"), "1s")
}

/// What must hold of `connections` beside a transport's other parameters.
pub fn check(transport: &Values) -> Result<(), Complaint> {
    let values = transport.component(PARAM.name);
    if values.kind == "open" {
        return Ok(());
    }
    if values.time("syn_rto") > transport.time("max_rto") {
        return Err(Complaint::new("connections.syn_rto", "syn_rto must not be above max_rto"));
    }
    let knows_round_trips = transport.optional_time("initial_rtt").is_some();
    if knows_round_trips && (values.kind == "fresh" || values.count("warm") == 0) {
        let message =
            "a connection that is opened measures its round-trip time by its handshake; leave it out";
        return Err(Complaint::new("initial_rtt", message));
    }
    Ok(())
}

/// How connections are opened, and kept.
#[derive(Clone, Debug)]
pub struct Rule {
    pub syn_rto: Time,
    pub fast_open: bool,
    /// What holds of connections that are kept, if they are.
    pub kept: Option<Kept>,
}

/// How connections are kept.
#[derive(Clone, Copy, Debug)]
pub struct Kept {
    pub pool: pool::Rule,
    pub restart: Restart,
}

impl Rule {
    /// What a transport's parameters come to; `None` where connections are open.
    pub fn of(transport: &Values) -> Option<Rule> {
        let values = transport.component(PARAM.name);
        (values.kind != "open").then(|| Rule {
            syn_rto: values.time("syn_rto"),
            fast_open: values.flag("fast_open"),
            kept: (values.kind == "pool")
                .then(|| Kept { pool: pool::Rule::of(&values), restart: Restart::of(&values) }),
        })
    }
}
