//! Invariants of every scheme, whatever the network does to its packets: they are lost, marked and reordered, and
//! now and then nothing comes through for long. The scheme, the ports and the link are the real ones. The fate of
//! each packet is drawn, and applied where it reaches a host (see `watched`).
//!
//! As in `tests/properties`, the same few histories are drawn in every test run; `PACKETLOOM_PROPERTIES=5000` draws
//! so many others for each scheme. A failing history is shrunk and reported.

use crate::common::{cases, prepare_class, write_file};
use crate::watched::{Cause, Fate, Step, Witness, run};
use packetloom::flow::FlowId;
use packetloom::measure::FlowRow;
use packetloom::packet::Kind;
use packetloom::transport::{COMPONENTS, Sending};
use packetloom::units::{Rate, Time};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};

/// Histories of each scheme in every test run.
const DRAWN: u32 = 24;

const LINK: Rate = Rate::from_gbps(10);
const FULL_PACKET_BYTES: u64 = 1_500;
const MSS_BYTES: u64 = 1_460;

/// When a scheme may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum May {
    /// While fewer packets are in flight than the window allows. The first loss of a window may be repaired at once
    /// (RFC 6675 §5, 4.3).
    Window,
    /// New packets while they are within the window from the first that is not acknowledged (RFC 5681).
    Sequence,
    /// As a window that comes down in proportion to what arrives lets it (RFC 9937): no more in flight than before.
    Reduction,
    /// As the window lets it; and once there is a rate, no sooner after a packet than its payload took at the rate of
    /// then, which may be above the link's.
    WindowAndPace,
    /// As the window lets it until there is a rate; then a packet at a time as well, as long after the one before it
    /// as that took at the rate.
    WindowAndRate,
    /// A packet at a time, each as long after the one before it as that took at the rate.
    Rate,
    /// The same, but a new rate holds only from the next packet on.
    LastRate,
    /// A packet at a time, when the host's link is free.
    LinkFree,
    /// So many packets, and then one for each that arrived, whole or trimmed, for each timeout and for each that
    /// came back.
    Pulled(u32),
    /// A packet at a time, when the network or the receiver allows it.
    Granted,
    /// A packet at a time, as its receiver's credit comes.
    Credited,
    /// The same; and before the first one a packet at a time, when the host's link is free.
    CreditedOrEarly,
    /// As each of several windows lets it, which are not seen one by one.
    Windows,
}

/// A scheme, and what it is held to.
struct Held {
    kind: &'static str,
    keys: &'static str,
    queue: &'static str,
    may: May,
    /// In packets.
    largest_window: f64,
    /// A sender that is not done is never left alone for longer: there is a timer.
    alone: Time,
    /// What may befall its packets. What does not send again what is lost loses nothing here, and needs no timer.
    bears: Bears,
}

/// What may befall a scheme's packets, if it is to deliver all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Bears {
    /// Marks.
    Marks,
    /// These, and delays, which change their order.
    Disorder,
    /// These, and losses.
    Losses,
}

const SHORT: &str = r#"{ kind = "drop-tail", capacity = "30KB" }"#;
const LIMITED: &str = r#"{ kind = "credit-limiter", capacity = "20 packets" }"#;
const SELECTIVE: &str =
    r#"{ kind = "credit-limiter", capacity = "20 packets", drop_unscheduled_above = "6KB" }"#;
const SELECTIVE_FIFO: &str =
    r#"{ kind = "egress", aqm = "selective-drop", buffer = { kind = "private", capacity = "30KB" } }"#;
const BACKPRESSURE: &str = r#"{ kind = "bfc", pause_above = 0.5 }"#;
const SELECTIVE_LEVELS: &str = r#"{ kind = "egress", scheduler = "strict", aqm = "selective-drop", buffer = { kind = "private", capacity = "30KB" } }"#;
const MARKING: &str = r#"{ kind = "ecn", capacity = "60KB", mark_above = "10KB" }"#;
const STRICT: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "ecn", capacity = "60KB", mark_above = "10KB" } }"#;
const PFABRIC: &str = r#"{ kind = "pfabric", capacity = "22.5KB" }"#;
const TRIMMING: &str = r#"{ kind = "ndp", capacity = "12KB" }"#;
const TRIMMING_AND_MARKING: &str = r#"{ kind = "ndp", capacity = "12KB", ecn_min = "3KB", ecn_max = "9KB" }"#;
const DROPPING: &str =
    r#"{ kind = "ndp", capacity = "12KB", trimming = false, ecn_min = "3KB", ecn_max = "9KB" }"#;
const WEIGHTED: &str = r#"{ kind = "weighted-fair", capacity = "30KB" }"#;
const LEVELS: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "drop-tail", capacity = "30KB" } }"#;
const CREDITS: &str = r#"{ kind = "daq", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us" }"#;

/// With bounds for what is drawn here: timeouts double up to 4 ms.
const fn windowed(kind: &'static str, keys: &'static str, queue: &'static str) -> Held {
    Held {
        kind,
        keys,
        queue,
        may: May::Window,
        largest_window: 40.0,
        alone: Time::from_us(4_000),
        bears: Bears::Losses,
    }
}

/// With a pacing rate beside the window.
const fn paced_window(kind: &'static str, keys: &'static str, queue: &'static str) -> Held {
    Held { may: May::WindowAndPace, ..windowed(kind, keys, queue) }
}

const fn paced(kind: &'static str) -> Held {
    let keys = r#"min_rto = "1ms", max_rto = "4ms", rtt = "20us""#;
    Held {
        kind,
        keys,
        queue: SHORT,
        may: May::Rate,
        largest_window: 40.0,
        alone: Time::from_us(4_000),
        bears: Bears::Losses,
    }
}

/// With packets of the size that is drawn here, in a window of some.
const SPRAYED_NSCC: &str = r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us""#;
const SPRAYED_RCCC: &str =
    r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", control = "rccc""#;
const SPRAYED_BOTH: &str =
    r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", control = "both""#;
const SPRAYED_DCTCP: &str =
    r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", window = "dctcp""#;
/// Ultra Ethernet's other delivery services. Nobody hears of what an unreliable flow loses.
const ORDERED: &str = r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", service = "rod""#;
const ORDERED_RCCC: &str =
    r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", service = "rod", control = "rccc""#;
const IDEMPOTENT: &str = r#"mss = "1460B", header = "40B", rto = "500us", service = "rudi""#;
const IDEMPOTENT_NSCC: &str =
    r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", service = "rudi", control = "nscc""#;
const UNRELIABLE: &str = r#"mss = "1460B", header = "40B", service = "uud""#;
const ROOMY_MARKING: &str = r#"{ kind = "ecn", capacity = "300KB", mark_above = "10KB" }"#;
const ROOMY: &str = r#"{ kind = "ndp", capacity = "300KB" }"#;
const SPRAYED_SLEEK: &str =
    r#"mss = "1460B", header = "40B", rto = "500us", base_rtt = "20us", sleek = true"#;

/// Over switches that trim; where receivers alone give credit, senders have no window.
const fn sprayed(kind: &'static str, keys: &'static str, queue: &'static str, may: May) -> Held {
    Held { may, ..windowed(kind, keys, queue) }
}

/// With packets of the size that is drawn here.
const GO_BACK_N: &str = r#"mss = "1460B", header = "40B", ack = "40B", rto = "1ms""#;
/// The unreliable connection, which drops what is out of order.
const UC: &str = r#"mss = "1460B", header = "40B", ack = "40B", recovery = "none""#;
const IRN: &str = r#"mss = "1460B", header = "40B", ack = "40B", recovery = "irn""#;

/// Between queue pairs.
const fn rdma(kind: &'static str, keys: &'static str, may: May) -> Held {
    Held { may, ..windowed(kind, keys, MARKING) }
}

/// The same with a handshake before data, some of it lost.
const FRESH: &str = r#"mss = "1460B", header = "40B", ack = "40B", rto = "1ms", connections = { kind = "fresh", req_timeout = "1ms", rep_timeout = "700us" }"#;
const POOL: &str = r#"mss = "1460B", header = "40B", ack = "40B", recovery = "irn", connections = { kind = "pool", req_timeout = "1ms", rep_timeout = "700us" }"#;

const HOMA: &str = r#"mss = "1460B", header = "40B", ack = "40B", blind_header = "0B", blind = "8760B", cutoffs_from = "seen""#;

const DCPIM: &str = r#"mss = "1460B", header = "40B", ack = "40B", alpha = 2.0"#;
const XPASS: &str = r#"mss = "1460B", header = "40B", ack = "40B""#;

const SIRD: &str = r#"mss = "1460B", header = "40B", ack = "40B""#;

const PYTHON: &str = r#"file = "class.py", class = "Any", max_rto = "4ms", max_window = 40"#;
const RATE: &str =
    r#"file = "class.py", class = "RateControl", mss = "1460B", header = "40B", ack = "40B", rto = "1ms""#;
const TELEMETRY: &str = r#"file = "class.py", class = "TelemetryControl", mss = "1460B", header = "40B", ack = "40B", recovery = "irn""#;
const TCP: &str = r#"max_rto = "4ms", max_window = 40"#;
/// ns-2's rules.
const NS2: &str = r#"max_rto = "4ms", max_window = 40, window_measure = "sequence", fast_retransmit = false, timestamps = false, timer_rule = "ns-2", after_timeout = "all", timeout_threshold = "window", increase = "each-window", quiet_restart = true, sack_option = true"#;
const FIXED: &str = r#"min_rto = "1ms", max_rto = "4ms", max_window = 40, initial_window = 16"#;

/// Every registered scheme, and some of its variants. What is not here fails the test.
const HELD: &[Held] = &[
    windowed("tcp", TCP, SHORT),
    windowed("tcp", r#"max_rto = "4ms", max_window = 40, delayed_ack = true, timestamps = false"#, SHORT),
    Held {
        may: May::Sequence,
        ..windowed("tcp", r#"max_rto = "4ms", max_window = 40, window_measure = "sequence""#, SHORT)
    },
    Held {
        may: May::Reduction,
        ..windowed(
            "tcp",
            r#"max_rto = "4ms", max_window = 40, loss_detection = "rack", reduction = "prr""#,
            SHORT,
        )
    },
    Held { may: May::Sequence, ..windowed("tcp", NS2, SHORT) },
    windowed("cubic", TCP, SHORT),
    windowed("vegas", TCP, SHORT),
    windowed(
        "vegas",
        r#"max_rto = "4ms", max_window = 40, variant = "paper", loss_detection = "rack""#,
        SHORT,
    ),
    paced_window("copa", TCP, SHORT),
    paced_window("copa", r#"max_rto = "4ms", max_window = 40, loss_detection = "rack""#, SHORT),
    paced_window("bbr", TCP, SHORT),
    paced_window(
        "bbr",
        r#"max_rto = "4ms", max_window = 40, min_rtt_window = "200us", probe_rtt_duration = "50us", loss_detection = "rack""#,
        SHORT,
    ),
    paced_window("bbr3", TCP, SHORT),
    paced_window(
        "bbr3",
        r#"max_rto = "4ms", max_window = 40, probe_rtt_interval = "200us", probe_rtt_duration = "50us", probe_wait = "50us", timestamps = false"#,
        SHORT,
    ),
    paced_window("prague", TCP, MARKING),
    paced_window(
        "prague",
        r#"max_rto = "4ms", max_window = 40, delayed_ack = true, classic_fallback = true, rtt_scaling = "scalable", rtt_transition = 2"#,
        MARKING,
    ),
    windowed("python", PYTHON, SHORT),
    windowed("dctcp", TCP, MARKING),
    Held {
        may: May::Reduction,
        ..windowed("dctcp", r#"max_rto = "4ms", max_window = 40, reduction = "prr""#, MARKING)
    },
    windowed("d2tcp", TCP, MARKING),
    windowed("pias", r#"max_rto = "4ms", max_window = 40, thresholds = ["6KB", "20KB"]"#, STRICT),
    windowed("min-tcp", "max_window = 40", PFABRIC),
    windowed("fixed-window", FIXED, SHORT),
    windowed("mptcp", r#"max_rto = "4ms", max_window = 40, subflows = 1"#, SHORT),
    Held {
        may: May::Windows,
        ..windowed("mptcp", r#"max_rto = "4ms", max_window = 10, subflows = 4"#, SHORT)
    },
    paced("rcp"),
    paced("d3"),
    paced("pdq"),
    Held {
        bears: Bears::Disorder,
        keys: "",
        queue: CREDITS,
        may: May::Window,
        largest_window: f64::MAX,
        ..paced("daq")
    },
    windowed("numfabric", r#"min_rto = "1ms", max_rto = "4ms""#, WEIGHTED),
    Held { may: May::LinkFree, ..windowed("line-rate", "", PFABRIC) },
    Held {
        may: May::Pulled(10),
        ..windowed("ndp", r#"mss = "1460B", header = "40B", initial_window = 10, rto = "500us""#, TRIMMING)
    },
    // Pulls for what the probe tells of are not seen one by one.
    Held {
        may: May::Windows,
        ..windowed(
            "ndp",
            r#"mss = "1460B", header = "40B", initial_window = 10, rto = "500us", aeolus = true"#,
            SELECTIVE_FIFO,
        )
    },
    sprayed("eqds", r#"mss = "1460B", header = "40B", rto = "500us", window = 10"#, TRIMMING, May::LinkFree),
    sprayed("uec", SPRAYED_NSCC, TRIMMING_AND_MARKING, May::Window),
    sprayed("uec", SPRAYED_RCCC, TRIMMING_AND_MARKING, May::LinkFree),
    sprayed("uec", SPRAYED_BOTH, TRIMMING_AND_MARKING, May::Window),
    sprayed("uec", SPRAYED_DCTCP, TRIMMING_AND_MARKING, May::Window),
    sprayed("uec", SPRAYED_SLEEK, DROPPING, May::LinkFree),
    sprayed("uec", ORDERED, TRIMMING_AND_MARKING, May::Window),
    sprayed("uec", ORDERED_RCCC, TRIMMING_AND_MARKING, May::LinkFree),
    sprayed("uec", IDEMPOTENT, TRIMMING, May::LinkFree),
    sprayed("uec", IDEMPOTENT_NSCC, TRIMMING_AND_MARKING, May::Window),
    Held { bears: Bears::Disorder, ..sprayed("uec", UNRELIABLE, ROOMY, May::LinkFree) },
    Held { may: May::Granted, ..windowed("fastpass", "arbiter = 3", SHORT) },
    Held {
        may: May::WindowAndRate,
        ..windowed("flowtune", r#"max_rto = "4ms", max_window = 40, allocator = 3"#, SHORT)
    },
    Held {
        may: May::WindowAndRate,
        ..windowed("flowtune", r#"max_rto = "4ms", max_window = 40, computation = "8us""#, SHORT)
    },
    Held { may: May::LinkFree, ..windowed("homa", HOMA, LEVELS) },
    Held {
        may: May::LinkFree,
        ..windowed(
            "homa",
            r#"variant = "linux", mss = "1460B", header = "40B", ack = "40B", blind = "5840B", resend_after = "1ms""#,
            LEVELS,
        )
    },
    Held {
        may: May::LinkFree,
        ..windowed("homa", r#"variant = "homa-ns3", mss = "1460B", header = "40B", ack = "40B""#, LEVELS)
    },
    Held {
        may: May::LinkFree,
        ..windowed(
            "homa",
            r#"mss = "1460B", header = "40B", ack = "40B", blind_header = "0B", blind = "14600B", cutoffs_from = "seen", aeolus = true"#,
            SELECTIVE_LEVELS,
        )
    },
    Held { may: May::LinkFree, ..windowed("phost", "", PFABRIC) },
    Held { may: May::LinkFree, ..windowed("dcpim", DCPIM, LEVELS) },
    Held {
        may: May::LinkFree,
        ..windowed(
            "dcpim",
            r#"variant = "yapsdc", mss = "1460B", header = "40B", ack = "40B", channels = 1, short = 0.0"#,
            LEVELS,
        )
    },
    Held { may: May::Credited, ..windowed("expresspass", XPASS, LIMITED) },
    Held {
        may: May::Credited,
        ..windowed(
            "expresspass",
            r#"variant = "fat-tree", mss = "1460B", header = "40B", ack = "40B", early_stop = false, jitter = 0.0"#,
            SHORT,
        )
    },
    Held {
        may: May::CreditedOrEarly,
        ..windowed(
            "expresspass",
            r#"mss = "1460B", header = "40B", ack = "40B", aeolus = true, burst = "15KB""#,
            SELECTIVE,
        )
    },
    Held { may: May::LinkFree, ..windowed("sird", SIRD, STRICT) },
    Held {
        may: May::LinkFree,
        ..windowed(
            "sird",
            r#"mss = "1460B", header = "40B", ack = "40B", receiver_policy = "round-robin", priorities = 1, unscheduled = 0.0, budget = 1.0"#,
            SHORT,
        )
    },
    Held {
        may: May::Granted,
        ..windowed("sird", r#"variant = "nwsim", mss = "1460B", header = "40B", ack = "40B""#, STRICT)
    },
    rdma("roce", GO_BACK_N, May::LinkFree),
    rdma("roce", IRN, May::LinkFree),
    Held { bears: Bears::Marks, queue: ROOMY, ..rdma("roce", UC, May::LinkFree) },
    Held { bears: Bears::Marks, queue: ROOMY_MARKING, ..rdma("dcqcn", UC, May::LastRate) },
    rdma(
        "roce",
        r#"mss = "1460B", header = "40B", ack = "40B", rto = "1ms", chunk = 4, ack_every = 3, window = "bdp""#,
        May::LinkFree,
    ),
    rdma("python-rate", RATE, May::LinkFree),
    rdma("python-telemetry", TELEMETRY, May::LinkFree),
    rdma("dcqcn", GO_BACK_N, May::LastRate),
    rdma("dcqcn", IRN, May::LastRate),
    rdma(
        "dcqcn",
        r#"mss = "1460B", header = "40B", ack = "40B", rto = "1ms", variant = "mellanox", nack_is_cnp = true"#,
        May::LastRate,
    ),
    Held { queue: BACKPRESSURE, ..rdma("bfc", GO_BACK_N, May::LinkFree) },
    Held { queue: BACKPRESSURE, ..rdma("bfc", IRN, May::LinkFree) },
    rdma("timely", GO_BACK_N, May::LastRate),
    rdma(
        "timely",
        r#"mss = "1460B", header = "40B", ack = "40B", rto = "1ms", variant = "hpcc-ns3", t_low = "10us""#,
        May::LastRate,
    ),
    rdma("hpcc", GO_BACK_N, May::Rate),
    rdma("powertcp", GO_BACK_N, May::Rate),
    rdma(
        "powertcp",
        r#"mss = "1460B", header = "40B", ack = "40B", recovery = "irn", variant = "ns3-datacenter", quantise = true"#,
        May::Rate,
    ),
    rdma("theta-powertcp", GO_BACK_N, May::Rate),
    rdma(
        "theta-powertcp",
        r#"mss = "1460B", header = "40B", ack = "40B", rto = "1ms", variant = "ns3-datacenter""#,
        May::Rate,
    ),
    rdma(
        "hpcc",
        r#"mss = "1460B", header = "40B", ack = "40B", recovery = "irn", variant = "hpcc-ns3", quantise = true"#,
        May::Rate,
    ),
    rdma(
        "swift",
        r#"mss = "1460B", header = "40B", ack = "40B", min_window = 0.1, max_window = 40"#,
        May::Window,
    ),
    rdma("rdma-dctcp", GO_BACK_N, May::LastRate),
    rdma("roce", FRESH, May::LinkFree),
    rdma("dcqcn", POOL, May::LastRate),
];

/// What befalls the packets of two flows.
#[derive(Clone, Debug)]
struct History {
    packets: [u32; 2],
    second_starts_us: u64,
    to_senders: Vec<Fate>,
    to_receivers: Vec<Fate>,
}

fn fates(bears: Bears) -> impl Strategy<Value = Vec<Fate>> {
    let time = |us: std::ops::Range<u64>| us.prop_map(Time::from_us);
    let lost = if bears >= Bears::Losses { Fate::Lost } else { Fate::Arrives };
    let late = move |span| if bears >= Bears::Disorder { Fate::Late(span) } else { Fate::Arrives };
    let silence = move |span| if bears >= Bears::Losses { Fate::Silence(span) } else { late(span) };
    let run = prop_oneof![
        6 => (Just(Fate::Arrives), 1..40_usize),
        3 => (Just(lost), 1..8_usize),
        2 => (Just(Fate::Marked), 1..30_usize),
        3 => (time(1..300).prop_map(late), 1..5_usize),
        1 => (time(100..6_000).prop_map(silence), Just(1)),
    ];
    let runs = proptest::collection::vec(run, 0..12);
    runs.prop_map(|runs| runs.into_iter().flat_map(|(fate, times)| vec![fate; times]).collect())
}

fn history(bears: Bears) -> impl Strategy<Value = History> {
    let flows = (1..80_u32, 1..80_u32, 0..200_u64);
    (flows, fates(bears), fates(bears)).prop_map(
        |((first, second, second_starts_us), to_senders, to_receivers)| History {
            packets: [first, second],
            second_starts_us,
            to_senders,
            to_receivers,
        },
    )
}

fn toml(held: &Held, history: &History, file: &str) -> String {
    let [first, second] = history.packets.map(|packets| u64::from(packets) * MSS_BYTES);
    let start_ns = history.second_starts_us * 1_000;
    write_file(file, &format!("src,dst,size_bytes,start_ns\n1,0,{first},0\n2,0,{second},{start_ns}\n"));
    let Held { kind, keys, queue, .. } = held;
    format!(
        "topology = {{ kind = \"rack\", hosts = 4, link = {{ rate = \"10Gbps\", delay = \"1us\" }} }}\n\
         [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
         [[scheme]]\nname = \"{kind}\"\ntransport = {{ kind = \"{kind}\", {keys} }}\nqueue = {queue}\n\
         [run]\nmax_time = \"2s\"\n"
    )
}

/// The first invariant that a history violates.
fn check(held: &Held, history: &History, file: &str) -> Result<(), String> {
    let case = cases(&toml(held, history, file)).remove(0);
    let witness = Witness {
        to_senders: history.to_senders.iter().copied().collect(),
        to_receivers: history.to_receivers.iter().copied().collect(),
        ..Witness::default()
    };
    let (outcome, witness) = run(&case, witness).expect("a scheme with packets");
    if let Some(violation) = &outcome.violation {
        return Err(violation.to_string());
    }
    if let Some(stalled) = &outcome.stalled {
        return Err(stalled.clone());
    }
    let mut of_flow: BTreeMap<FlowId, Vec<Step>> = BTreeMap::new();
    for step in witness.steps {
        of_flow.entry(step.flow).or_default().push(step);
    }
    for row in &outcome.flows {
        let packets = history.packets[row.flow.src as usize - 1];
        let steps = of_flow.remove(&row.flow.id).unwrap_or_default();
        if steps.iter().all(|step| step.after.is_none()) {
            return Err("it does not report the state of its flows; write Transport::sending".to_owned());
        }
        ends(held, row, packets, witness.struck_at)?;
        keeps_bounds(held, &steps, packets)?;
        if held.bears == Bears::Losses {
            is_never_alone(held, &steps)?;
        }
        sends_only_when_it_may(held, &steps)?;
    }
    Ok(())
}

/// It recovers: every byte arrives, not long after the network is well again, and each packet was new once.
fn ends(held: &Held, row: &FlowRow, packets: u32, struck_at: Time) -> Result<(), String> {
    let flow = row.flow.id;
    if row.delivered == Time::NEVER || row.closed == Time::NEVER {
        return Err(format!("flow {flow} did not end"));
    }
    let well_at = struck_at.max(row.flow.start);
    if row.closed.since(well_at) > held.alone.times(20) {
        return Err(format!("flow {flow} ended at {}, when all was well since {well_at}", row.closed));
    }
    let new = row.report.packets_sent.checked_sub(row.report.retransmissions);
    if new != Some(packets) {
        return Err(format!("flow {flow} has {packets} packets, and its sender says {:?}", row.report));
    }
    Ok(())
}

fn state(step: &Step) -> Sending {
    step.after.unwrap_or(step.before)
}

/// Window and rate are numbers within their bounds, and what was acknowledged stays so.
fn keeps_bounds(held: &Held, steps: &[Step], packets: u32) -> Result<(), String> {
    for step in steps {
        let (before, after) = (step.before, state(step));
        // Before a handshake is over there may be none.
        let least = if after.report.packets_sent > 0 { 1.0 } else { 0.0 };
        if after.window.is_some_and(|window| !(least..=held.largest_window).contains(&window)) {
            return Err(format!("a window of {:?} packets: {step:?}", after.window));
        }
        if held.may != May::WindowAndPace && after.rate.is_some_and(|rate| rate > LINK) {
            return Err(format!("a rate above the link's: {step:?}"));
        }
        if after.acknowledged < before.acknowledged || after.acknowledged > packets {
            return Err(format!("what was acknowledged went back, or beyond the end: {step:?}"));
        }
        if after.report.retransmissions > after.report.packets_sent {
            return Err(format!("more sent again than sent: {step:?}"));
        }
    }
    Ok(())
}

/// Until it is done something calls the sender again and again, even if nothing comes through: a timer is pending.
fn is_never_alone(held: &Held, steps: &[Step]) -> Result<(), String> {
    for pair in steps.windows(2) {
        let alone = pair[1].at.since(pair[0].at);
        if alone > held.alone {
            return Err(format!("nothing called the sender for {alone} after {:?}", pair[0]));
        }
    }
    Ok(())
}

fn sends_only_when_it_may(held: &Held, steps: &[Step]) -> Result<(), String> {
    let mut last_sent_at: Option<Time> = None;
    let mut last_rate = LINK;
    let mut last_pace: Option<Rate> = None;
    for step in steps.iter().filter(|step| step.sent() > 0) {
        let after = state(step);
        let gap = last_sent_at.map(|at| step.at.since(at));
        let is_alone = step.sent() == 1;
        let window = after.window.unwrap_or(0.0).max(1.0) as u32;
        let is_repair = is_alone && step.sent_again() == 1;
        let may = match held.may {
            May::Window => after.in_flight <= window || is_repair,
            May::Sequence => {
                let next = after.report.packets_sent - after.report.retransmissions;
                step.sent() == step.sent_again() || next <= after.acknowledged + window
            }
            May::Reduction => after.in_flight <= window.max(step.before.in_flight) + 1,
            May::Rate => {
                let rate = after.rate.filter(|rate| rate.as_bps() > 0);
                is_alone && rate.is_some_and(|rate| keeps_pace(gap, rate))
            }
            May::WindowAndRate => {
                let keeps_pace = |rate| is_alone && keeps_pace(gap, rate);
                (after.in_flight <= window || is_repair) && after.rate.is_none_or(keeps_pace)
            }
            May::WindowAndPace => {
                let is_late = |pace: Rate| gap.is_none_or(|gap| gap + Time(1) >= pace.time_for(MSS_BYTES));
                let keeps_pace = last_pace.is_none_or(|pace| is_alone && is_late(pace));
                (after.in_flight <= window || is_repair) && keeps_pace
            }
            May::LastRate => is_alone && keeps_pace(gap, last_rate),
            May::LinkFree => is_alone && keeps_pace(gap, LINK),
            May::Pulled(first) => {
                let report = after.report;
                report.packets_sent <= first + step.arrived + report.timeouts + report.returns
            }
            May::Granted => is_alone && matches!(step.cause, Cause::Timer(_)),
            May::Credited => is_alone && is_credit(step),
            May::CreditedOrEarly => is_alone && (is_credit(step) || keeps_pace(gap, LINK)),
            May::Windows => true,
        };
        if !may {
            return Err(format!("sent before it may: {step:?}, {gap:?} after the one before"));
        }
        last_sent_at = Some(step.at);
        last_rate = after.rate.unwrap_or(LINK);
        last_pace = after.rate;
    }
    Ok(())
}

fn is_credit(step: &Step) -> bool {
    matches!(step.cause, Cause::Packet { kind: Kind::Credit, .. })
}

/// Whether a full packet has left by then at this rate, to a picosecond.
fn keeps_pace(gap: Option<Time>, rate: Rate) -> bool {
    gap.is_none_or(|gap| gap + Time(1) >= rate.time_for(FULL_PACKET_BYTES))
}

fn runner() -> TestRunner {
    let drawn = std::env::var("PACKETLOOM_PROPERTIES").ok();
    let drawn: Option<u32> = drawn.map(|count| count.parse().expect("PACKETLOOM_PROPERTIES is a number"));
    let config = Config {
        cases: drawn.unwrap_or(DRAWN),
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..Config::default()
    };
    match drawn {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    }
}

#[test]
fn no_scheme_breaks_a_law_whatever_befalls_its_packets() {
    prepare_class();
    let mut broken = String::new();
    for (number, held) in HELD.iter().enumerate() {
        let file = format!("invariants-{number}.csv");
        let found = runner()
            .run(&history(held.bears), |history| check(held, &history, &file).map_err(TestCaseError::fail));
        if let Err(error) = found {
            broken += &format!("{} {{ {} }}: {error}\n", held.kind, held.keys);
        }
    }
    assert!(broken.is_empty(), "{broken}");
}

#[test]
fn every_registered_scheme_is_held_to_the_invariants() {
    let held: BTreeSet<&str> = HELD.iter().map(|held| held.kind).collect();
    let registered: BTreeSet<&str> = COMPONENTS.iter().map(|component| component.kind).collect();
    assert_eq!(held, registered, "each is a line of HELD in tests/schemes/invariants.rs");
}
