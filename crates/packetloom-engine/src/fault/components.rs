//! What can break, as a scenario describes it.

use crate::queue::LARGEST_BUFFER;
use crate::routing;
use crate::spec::{
    self, Complaint, Component, Fallback, Kind, NEVER, Needs, Param, Registered, Values, param,
};
use crate::topology::SLOWEST;
use crate::units::Time;

const BETWEEN: Param = param! {
    required "between": Kind::List(&Kind::Text),
    "Which links, in both directions: those between two nodes, each given as one node (\"edge0\") or as all of a tier (\"core\").",
    "packetloom"
};

const AT: Param = param! {
    "at" = "0us": Kind::TimeOr(NEVER),
    "When it goes down. Packets on its links are lost then, and those that are sent into them later. \"never\": it does not go down, so that a grid can compare with and without the fault.",
    "packetloom"
};
const UNTIL: Param = param! { "until": Kind::Time, "When it is up again; left out: never.", "packetloom" };
const LEARN_AFTER: Param = param! {
    "learn_after" = "1ms": Kind::Time,
    "How long after each change all switches learn of it and use the shortest paths that are left; until then they send into the dead link.",
    "packetloom"
};

/// Whether anything of a scheme goes by the rates of links: its routing, or Flowtune's allocator.
fn goes_by_rates(scheme: &Values) -> bool {
    let transport = scheme.part("transport").map(|transport| transport.kind);
    scheme.part("routing").is_some_and(|routing| routing::goes_by_rates(&routing))
        || transport.is_some_and(|kind| kind == "flowtune")
}

/// What a fault does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Does {
    /// Some packets are damaged.
    Corrupts,
    /// Links are slow.
    Slows,
    /// The links between two nodes are down.
    CutsLinks,
    /// All links of a switch are down.
    CutsSwitch,
    /// A host takes less than its links bring.
    SlowsHost,
    /// A rank of a job is late or slow, or fails.
    DisturbsRank,
}

const JOB: Param = param! {
    "job": Kind::Count(0),
    "The number of the [[workload]] that is the rank's job, counted from 0; left out: the only job.",
    "packetloom"
};
const RANK: Param =
    param! { required "rank": Kind::Count(0), "Which rank of the job, counted from 0.", "packetloom" };
const GOES_ON: &[Needs] = &[Needs::Is("then", &["restart", "without-replica"])];

pub(super) const FAULTS: &[Registered<Does>] = &[
    Registered {
        factory: Does::Corrupts,
        component: Component {
            section: "fault",
            kind: "corruption",
            doc: "Packets are damaged on links at random, independently of each other, and dropped at the far end.",
            source: "packetloom",
            params: &[&[
                param! {
                    required "probability": Kind::Number(0.0, 1.0),
                    "The probability for each packet on each such link.", "packetloom"
                },
                Param {
                    default: Fallback::Absent,
                    doc: "Which links, in both directions: those between two nodes, each given as one node (\"edge0\") or as all of a tier (\"core\"); left out: every link.",
                    ..BETWEEN
                },
            ]],
            check: check_between,
        },
    },
    Registered {
        factory: Does::CutsLinks,
        component: Component {
            section: "fault",
            kind: "link-down",
            doc: "Links are down for a time.",
            source: "packetloom",
            params: &[&[BETWEEN, AT, UNTIL, LEARN_AFTER]],
            check: check_link_down,
        },
    },
    Registered {
        factory: Does::Slows,
        component: Component {
            section: "fault",
            kind: "link-degraded",
            doc: "Links are slower for a while, as after renegotiating their speed. Unless `learn_after` is given no node learns of it: queues, pulls and paths are as before.",
            source: "NDP §3.2.3: a link that negotiated 1 Gb/s instead of 10",
            params: &[&[
                BETWEEN,
                param! {
                    "one_way" = "false": Kind::Flag,
                    "Whether only the direction from the first of the two to the second is slower.",
                    "packetloom"
                },
                param! {
                    required "rate": Kind::Rate,
                    "The reduced rate. A packet is sent at the rate in effect when its transmission starts.",
                    "packetloom"
                },
                Param { doc: "When it becomes slow, or \"never\".", ..AT },
                Param { doc: "When it has its full rate again; left out: never.", ..UNTIL },
                Param {
                    default: Fallback::Absent,
                    doc: "How long after each change switches learn the rate, if their routing uses rates (wcmp, conga, hedera); left out: never.",
                    acts: &[Needs::That(
                        |site| site.scene.schemes.iter().copied().any(goes_by_rates),
                        "no scheme's routing goes by rates, as wcmp, conga and hedera do",
                    )],
                    ..LEARN_AFTER
                },
            ]],
            check: check_degraded,
        },
    },
    Registered {
        factory: Does::CutsSwitch,
        component: Component {
            section: "fault",
            kind: "switch-down",
            doc: "A switch is off for a while, as when it reboots: none of its links carries anything.",
            source: "packetloom",
            params: &[&[
                param! { required "node": Kind::Text, "Which switch, such as \"core0\".", "packetloom" },
                AT,
                UNTIL,
                LEARN_AFTER,
            ]],
            check: check_times,
        },
    },
    Registered {
        factory: Does::SlowsHost,
        component: Component {
            section: "fault",
            kind: "slow-receiver",
            doc: "A host receives more slowly than its link delivers, as if its memory or PCIe bus were too slow for its NIC. Packets fill the NIC's buffer, and the NIC pauses its switch, as switches pause each other. It needs a queue with PFC, such as \"shared-buffer\", and a lossless class. Packets that are not charged to a buffer, such as acknowledgements in class 0, are received at once.",
            source: "Guo et al., RDMA over commodity Ethernet at scale, SIGCOMM 2016, §4.4: the slow-receiver symptom",
            params: &[&[
                param! {
                    required "host": Kind::Text,
                    "Which host, such as \"host0\"; \"host\": all of them, each by itself.", "packetloom"
                },
                param! {
                    required "rate": Kind::Rate,
                    "The rate at which it receives, with headers, without framing. A packet is received at the rate in effect when its turn comes.",
                    "packetloom"
                },
                param! {
                    "buffer" = "512KiB": Kind::Bytes,
                    "The NIC's buffer. The other parameters of the NIC's queue divide it as they divide a switch's.",
                    "packetloom"
                },
                Param { doc: "When it becomes slow, or \"never\".", ..AT },
                Param {
                    doc: "When it receives at its link's rate again, and all waiting packets at once; left out: never.",
                    ..UNTIL
                },
            ]],
            check: check_slow_receiver,
        },
    },
    Registered {
        factory: Does::DisturbsRank,
        component: Component {
            section: "fault",
            kind: "rank-delay",
            doc: "A rank of a job begins late with each repetition (a step of training) that it could begin in this time.",
            source: "packetloom",
            params: &[&[
                JOB,
                RANK,
                param! {
                    required "by": Kind::Time,
                    "How much later it begins. Delays of a rank at the same time add up.", "packetloom"
                },
                Param { doc: "From when on, or \"never\".", ..AT },
                Param { doc: "Until when; left out: to the end.", ..UNTIL },
            ]],
            check: check_rank_delay,
        },
    },
    Registered {
        factory: Does::DisturbsRank,
        component: Component {
            section: "fault",
            kind: "rank-slow",
            doc: "A rank of a job computes more slowly for a while: a straggler. What it computes at that moment is slowed from then on. Its NIC, and what its host takes for messages, are as before.",
            source: "packetloom",
            params: &[&[
                JOB,
                RANK,
                param! {
                    required "factor": Kind::Number(1.0, 1e6),
                    "How many times as long it computes. Where times overlap the slowest holds.", "packetloom"
                },
                Param { doc: "When it becomes slow, or \"never\".", ..AT },
                Param { doc: "When it is as fast as before; left out: never.", ..UNTIL },
            ]],
            check: check_rank_slow,
        },
    },
    Registered {
        factory: Does::DisturbsRank,
        component: Component {
            section: "fault",
            kind: "rank-fail",
            doc: "A rank of a job fails, and all its ranks stop at that moment. What they have sent is still delivered. The step under way is lost: where the job goes on, results have what was done of it neither in ranks nor in operations.",
            source: "packetloom",
            params: &[&[
                JOB,
                RANK,
                Param { default: Fallback::Required, doc: "When it fails, or \"never\".", ..AT },
                param! {
                    "then" = "stop": Kind::Choice(&["stop", "restart", "without-replica"]),
                    "The job stops; or it begins again with the first step that not all ranks had finished; or so do the ranks of the other data parallel copies of the model, without the rank's own. Their steps have fewer micro-batches in all.",
                    "packetloom"
                },
                param! {
                    "after": Kind::Time,
                    "How long after the failure the job goes on: 1ns at least, because nodes are simulated independently for this long.",
                    "packetloom"; acts GOES_ON
                },
            ]],
            check: check_rank_fail,
        },
    },
];

/// Every component of the section "fault".
pub const COMPONENTS: &[Component] = &spec::components::<_, { FAULTS.len() }>(FAULTS);

fn check_between(values: &Values) -> Result<(), Complaint> {
    match values.optional_list("between").map(|ends| ends.len()) {
        None | Some(2) => Ok(()),
        _ => Err(Complaint::new("between", "write the two ends, such as [\"edge0\", \"aggregation1\"]")),
    }
}

fn check_times(values: &Values) -> Result<(), Complaint> {
    match values.optional_time("until") {
        Some(until) if until <= values.time("at") && values.time("at") != Time::NEVER => {
            Err(Complaint::new("until", "it must end after it begins; write a later time"))
        }
        _ => Ok(()),
    }
}

fn check_degraded(values: &Values) -> Result<(), Complaint> {
    if values.rate("rate") < SLOWEST {
        return Err(Complaint::new("rate", format!("write a rate of at least {SLOWEST}, or \"link-down\"")));
    }
    check_link_down(values)
}

fn check_slow_receiver(values: &Values) -> Result<(), Complaint> {
    if values.rate("rate") < SLOWEST {
        return Err(Complaint::new("rate", format!("write a rate of at least {SLOWEST}")));
    }
    if values.bytes("buffer") > LARGEST_BUFFER {
        return Err(Complaint::new("buffer", format!("write at most {LARGEST_BUFFER}B")));
    }
    check_times(values)
}

fn check_rank_delay(values: &Values) -> Result<(), Complaint> {
    if values.time("by") == Time::ZERO {
        return Err(Complaint::new("by", "a delay of nothing; write a time above 0"));
    }
    check_times(values)
}

fn check_rank_slow(values: &Values) -> Result<(), Complaint> {
    if values.number("factor") <= 1.0 {
        return Err(Complaint::new("factor", "this is as fast as ever; write a number above 1"));
    }
    check_times(values)
}

fn check_rank_fail(values: &Values) -> Result<(), Complaint> {
    let then = values.text("then");
    match values.optional_time("after") {
        None if then != "stop" => {
            let message =
                format!("is missing: {then:?} needs to know how long after the failure the job goes on");
            Err(Complaint::new("after", message))
        }
        Some(after) if after < Time::from_ns(1) => {
            Err(Complaint::new("after", "hosts can't know of each other at once; write at least 1ns"))
        }
        _ => Ok(()),
    }
}

fn check_link_down(values: &Values) -> Result<(), Complaint> {
    check_between(values)?;
    check_times(values)
}
