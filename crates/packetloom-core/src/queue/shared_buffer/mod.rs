//! A switch whose ports share one buffer, with priority flow control (IEEE 802.1Qbb, PFC): what a link brought in
//! is charged to it, class by class, and a lossless class of a link that has too much of the buffer is paused at
//! the far end.
//!
//! The ports' part is in `port.rs`: classes, of which paused ones (`flow_control/`) wait, and marks at dequeue. The
//! buffer's is in `memory.rs`: what is admitted, and when a class is paused and resumed; where marks begin, in
//! `thresholds.rs`.

mod limits;
mod memory;
mod port;
mod thresholds;

pub use limits::{Headroom, check_host_limits, check_limits};
pub use memory::{Memory, Signals};
pub use port::SharedPort;
pub use thresholds::interpolated;
pub(super) use thresholds::{MARKING_PARAMS, Thresholds, check_marking};

use super::flow_control::{CLASSES, CONTROL, class_in};
use super::{Buffer, Built, Queue, Traits};
use crate::spec::{ALWAYS, Complaint, Component, Fallback, Kind, Made, Needs, Param, Value, Values};
use crate::units::Rate;

/// The arithmetic of thresholds overflows beyond this; no switch has as much.
pub const LARGEST_BUFFER: u64 = 1 << 40;

/// A class without data has nothing that could be dropped. Some transports give classes themselves.
pub(in crate::queue) const CARRIES: &[Needs] = &[Needs::That(
    |site| {
        let listed = |class: u64| site.own.list("lossless").iter().any(|one| one.as_count() == class);
        let of_workloads = || site.scene.workloads.iter().any(|source| listed(source.count("class")));
        let carries = |transport: &Values| {
            // Of a class in Python "class" is its name.
            let own = ["data_class", "class"].into_iter().find_map(|key| match transport.entries.get(key) {
                Some(&Value::Count(class)) => Some(class),
                _ => None,
            });
            let sorts = ["levels", "thresholds"].into_iter().any(|key| transport.has(key));
            sorts || own.map_or_else(of_workloads, listed)
        };
        let mut transports = site.scene.schemes.iter().filter_map(|scheme| scheme.part("transport"));
        site.own.list("lossless").is_empty() || transports.any(|transport| carries(&transport))
    },
    "no data is of these classes: their class is the transport's (class), or that of its source",
)];

const COMPONENT: Component = Component {
    section: "queue",
    kind: "shared-buffer",
    doc: "A switch with one buffer for all ports, eight classes, and priority flow control: links that fill too much of the buffer are paused, and nothing of a lossless class is dropped. Class 0 goes before all others and is never paused: what is not data takes nothing of the buffer there. The rest take turns. At a host, the NIC that is paused.",
    source: "IEEE 802.1Qbb; HPCC's ns-3 simulator",
    params: &[
        &[
            Param {
                name: "mmu",
                kind: Kind::Choice(&["hpcc-ns3", "conweave-ns3"]),
                default: Fallback::Value("hpcc-ns3"),
                doc: "How the buffer is shared out: by a threshold for each link and class, with headroom beyond it (HPCC), or by pools as in Broadcom's switches, with headroom once the whole pool is full (ConWeave, TLT).",
                source: "HPCC's and ConWeave's ns-3 simulators, switch-mmu.cc",
                acts: ALWAYS,
            },
            Param {
                name: "buffer",
                kind: Kind::Bytes,
                default: Fallback::Value("32MiB"),
                doc: "The buffer of a switch.",
                source: "HPCC's run.py: 32 MiB for NICs of 100 Gb/s",
                acts: ALWAYS,
            },
            Param {
                name: "lossless",
                kind: Kind::List(&Kind::Count(1)),
                default: Fallback::Value("[3]"),
                doc: "The classes that are paused instead of dropped; packets of the others that do not fit are dropped. []: no PFC.",
                source: "HPCC's ns-3 simulator: data in class 3",
                acts: CARRIES,
            },
            Param {
                name: "reserve",
                kind: Kind::Bytes,
                default: Fallback::Absent,
                doc: "What each link may use beside the shared part; left out: 4096 B for \"hpcc-ns3\", a packet of 1048 B for each class for \"conweave-ns3\".",
                source: "HPCC's and ConWeave's ns-3 simulators",
                acts: ALWAYS,
            },
            Param {
                name: "headroom",
                kind: Kind::Bytes,
                default: Fallback::Absent,
                doc: "What is kept for each link's lossless class to come in after it was paused; left out: as much as the link needs, and at least 3 times its rate times its delay for \"hpcc-ns3\".",
                source: "HPCC's ns-3 simulator, third.cc; the need: IEEE 802.1Q Annex N",
                acts: ALWAYS,
            },
            Param {
                name: "unsafe_headroom",
                kind: Kind::Flag,
                default: Fallback::Value("false"),
                doc: "Allow less headroom than a link needs; what is lost is counted.",
                source: "packetloom",
                acts: ALWAYS,
            },
            Param {
                name: "alpha",
                kind: Kind::Number(0.000_1, 64.0),
                default: Fallback::Absent,
                doc: "A class of a link is paused when it has this times what is free of the shared part; left out: 1/8 for \"hpcc-ns3\", 1/16 for \"conweave-ns3\".",
                source: "HPCC's ns-3 simulator: a shift of 3; ConWeave's: 1/16",
                acts: ALWAYS,
            },
            Param {
                name: "alpha_by_rate",
                kind: Kind::Flag,
                default: Fallback::Absent,
                doc: "Double alpha, up to 1, for each time that a link's rate is doubled from the hosts'; left out: with \"hpcc-ns3\" only.",
                source: "HPCC's ns-3 simulator, third.cc",
                acts: ALWAYS,
            },
            Param {
                name: "pause_above",
                kind: Kind::Bytes,
                default: Fallback::Absent,
                doc: "Instead of alpha: a lossless class of a link is paused when it has this much beyond what it may always have, however much is free; sooner only where the shared part is full. Left out: by alpha.",
                source: "IEEE 802.1Qbb: thresholds are the switch's; htsim's lossless queues: 15 packets",
                acts: ALWAYS,
            },
            Param {
                name: "egress_alpha",
                kind: Kind::Number(0.000_1, 1024.0),
                default: Fallback::Absent,
                doc: "What is not lossless is also dropped when its class at a port would have more than this times what is free; left out: 1 for \"conweave-ns3\", no such limit for \"hpcc-ns3\".",
                source: "ConWeave's ns-3 simulator: 1",
                acts: ALWAYS,
            },
            Param {
                name: "egress_limits",
                kind: Kind::Choice(&["lossy", "all"]),
                default: Fallback::Value("lossy"),
                doc: "What egress_alpha limits: the classes that are not lossless; or, to replay ConWeave's ns-3 simulator, all, so that lossless ones lose packets, too, and of the whole buffer but what each link may always use.",
                source: "ConWeave's ns-3 simulator, switch-mmu.cc: all",
                acts: ALWAYS,
            },
            Param {
                name: "resume_offset",
                kind: Kind::Bytes,
                default: Fallback::Absent,
                doc: "A paused class resumes once it has this much less than what pauses it; left out: 3072 B for \"hpcc-ns3\", alpha times 16 B for \"conweave-ns3\".",
                source: "HPCC's and ConWeave's ns-3 simulators",
                acts: ALWAYS,
            },
            Param {
                name: "pause_frame",
                kind: Kind::Bytes,
                default: Fallback::Value("64B"),
                doc: "A PAUSE or RESUME on the wire.",
                source: "IEEE 802.3 Annex 31B: 64 B; HPCC's ns-3 simulator: 43 B",
                acts: ALWAYS,
            },
            Param {
                name: "pause_time",
                kind: Kind::Time,
                default: Fallback::Absent,
                doc: "How long a PAUSE holds, in whole quanta of 512 bit times, of which a PAUSE can say 65535; it is repeated in time while the switch is short of buffer. Left out: until a RESUME.",
                source: "IEEE 802.1Qbb; HPCC's ns-3 simulator: until a RESUME",
                acts: ALWAYS,
            },
            Param {
                name: "pause_repeats",
                kind: Kind::Choice(&["in-time", "arrivals"]),
                default: Fallback::Value("in-time"),
                doc: "When a PAUSE that ends after pause_time is said again: before it ends, as long as the switch is short of buffer; or, to replay ConWeave's ns-3 simulator, only with each packet that arrives while it is, so that a pause runs out where none arrives, and lossless classes may lose packets.",
                source: "packetloom; ConWeave's ns-3 simulator, switch-node.cc: arrivals",
                acts: &[Needs::Set("pause_time")],
            },
            Param {
                name: "watchdog",
                kind: Kind::Time,
                default: Fallback::Absent,
                doc: "A class that a port has been kept from sending for this long is emptied: what waits, and what comes until it may be sent again, is dropped. Left out: never.",
                source: "SONiC: PFC watchdog, action drop",
                acts: ALWAYS,
            },
        ],
        MARKING_PARAMS,
        &[Param {
            name: "ties",
            kind: Kind::Choice(&["rotate", "ns-3"]),
            default: Fallback::Value("rotate"),
            doc: "Of packets that arrive at a switch at the same instant, which goes first: each link's in turn, or, to replay ns-3, the order in which its events were scheduled: the longest packet, then the one that its host planned first, or by what had been planned first, then that of the link whose last packet came longest ago.",
            source: "packetloom; real switches serve their ports in turn",
            acts: ALWAYS,
        }],
    ],
    check,
};

/// The queue.
pub const QUEUE: Made<Queue> = Made {
    component: COMPONENT,
    how: Queue {
        most_bytes: |values, _| Some(values.bytes("buffer")),
        is_sized_by_design: |values| lossless(values) != 0,
        marks: |values| values.optional_bytes("ecn_max").is_some(),
        classes: |_| Some(CLASSES as u64),
        traits: |_| Traits { shares_buffer: true, ..Traits::NONE },
        ..Queue::new(|values| Built::Held(Buffer::Shared(Box::new(SharedPort::build(values)))))
    },
};

fn check(values: &Values) -> Result<(), Complaint> {
    check_marking(values)?;
    if values.bytes("buffer") > LARGEST_BUFFER {
        return Err(Complaint::new("buffer", format!("write at most {LARGEST_BUFFER}B")));
    }
    if !(1..=65_535).contains(&values.bytes("pause_frame")) {
        return Err(Complaint::new("pause_frame", "write a size from 1B to 65535B"));
    }
    let classes: Vec<u64> = numbers(values);
    if let Some(class) = classes.iter().find(|class| **class >= CLASSES as u64) {
        let message =
            format!("there is no class {class}; write classes from 1 to 7: class 0 is never paused");
        return Err(Complaint::new("lossless", message));
    }
    let meaningless = ["headroom", "pause_above", "pause_time", "watchdog"];
    let meaningless = meaningless.into_iter().find(|key| *values.get(key) != Value::Absent);
    if let Some(key) = meaningless.filter(|_| classes.is_empty()) {
        return Err(Complaint::new(key, "has no meaning where no class is lossless; leave it out"));
    }
    if limits_all(values) && values.text("mmu") == "hpcc-ns3" && *values.get("egress_alpha") == Value::Absent
    {
        let message = "\"hpcc-ns3\" limits nothing at egress; write egress_alpha, too, or leave this out";
        return Err(Complaint::new("egress_limits", message));
    }
    if limits_all(values) && classes.is_empty() {
        return Err(Complaint::new(
            "egress_limits",
            "no class is lossless, so all are limited; leave it out",
        ));
    }
    if pauses_run_out(values) && *values.get("pause_time") == Value::Absent {
        let message = "a pause that does not end is not repeated; write pause_time, too, or leave this out";
        return Err(Complaint::new("pause_repeats", message));
    }
    if values.optional_bytes("pause_above") == Some(0) {
        return Err(Complaint::new(
            "pause_above",
            "every link would be paused for ever; write a size above zero",
        ));
    }
    let by_alpha = ["alpha", "alpha_by_rate"].into_iter().find(|key| *values.get(key) != Value::Absent);
    if let Some(key) = by_alpha.filter(|_| values.optional_bytes("pause_above").is_some()) {
        return Err(Complaint::new(key, "pause_above says when links are paused; leave one of the two out"));
    }
    Ok(())
}

pub(super) fn numbers(values: &Values) -> Vec<u64> {
    let number = |value: &Value| match value {
        Value::Count(class) => *class,
        other => panic!("a class is {other:?}"),
    };
    values.list("lossless").iter().map(number).collect()
}

/// Which classes are lossless, a bit for each.
pub(super) fn lossless(values: &Values) -> u8 {
    numbers(values).into_iter().fold(0, |classes, class| classes | 1 << class)
}

/// Whether lossless classes are limited at egress, too.
fn limits_all(queue: &Values) -> bool {
    queue.text("egress_limits") == "all"
}

/// Whether pauses are repeated by arrivals only, and run out without.
pub fn pauses_run_out(queue: &Values) -> bool {
    queue.text("pause_repeats") == "arrivals"
}

/// Whether a queue that pauses keeps its lossless classes from every loss.
pub fn is_lossless(queue: &Values) -> bool {
    pause_bytes(queue).is_some()
        && !(queue.flag("unsafe_headroom") || limits_all(queue) || pauses_run_out(queue))
}

/// The size of its pause frames, if a queue is one of these.
pub fn pause_bytes(queue: &Values) -> Option<u64> {
    (queue.kind == COMPONENT.kind).then(|| queue.bytes("pause_frame"))
}

/// Whether a queue has a class that it pauses.
pub fn pauses(queue: &Values) -> bool {
    queue.kind == COMPONENT.kind && lossless(queue) != 0
}

/// Whether pauses may hold each other forever: where some class is lossless and no watchdog breaks it.
pub fn may_deadlock(queue: &Values) -> bool {
    queue.kind == COMPONENT.kind && lossless(queue) != 0 && queue.optional_time("watchdog").is_none()
}

/// The default of a switch in either simulator.
fn by_mmu<T>(values: &Values, hpcc: T, conweave: T) -> T {
    if values.text("mmu") == "hpcc-ns3" { hpcc } else { conweave }
}

/// Of the classes that are ready, a bit for each, the one to serve: the control class, else the next after the one
/// that was served last.
#[inline]
pub(super) fn next_in_turn(ready: u8, served: u32) -> Option<usize> {
    if ready >> CONTROL & 1 == 1 {
        return Some(usize::from(CONTROL));
    }
    let after = u32::from(ready) & (u32::MAX << (served + 1));
    let next = if after != 0 { after } else { ready.into() };
    (next != 0).then(|| next.trailing_zeros() as usize)
}

/// By how much alpha is larger for a link of this rate: by what doubled rates double.
fn doublings(rate: Rate, host_rate: Rate) -> u32 {
    let mut rate = rate.as_bps();
    let mut times = 0;
    while rate > host_rate.as_bps() {
        rate /= 2;
        times += 1;
    }
    times
}
