//! The small case of each scheme: two flows to one host, over a queue with what the scheme answers to.

use crate::common::{cases, prepare_class, write_file};
use packetloom::scenario::Case;

/// A scheme's part of the case.
pub struct Setting {
    /// The transport.
    pub kind: &'static str,
    /// Which case of several that it has; nothing for the first.
    variant: &'static str,
    /// Its parameters, where they are not its defaults.
    keys: &'static str,
    queue: &'static str,
    /// What the others are not: the routing, or the queue of the hosts.
    others: &'static str,
    topology: &'static str,
    /// src, dst, size in bytes, start in ns, deadline in ns (0: none).
    flows: &'static [[u64; 5]],
}

const RACK: &str = r#"{ kind = "rack", hosts = 3, link = { rate = "10Gbps", delay = "1us" } }"#;
const LEAF_SPINE: &str = r#"{ kind = "leaf-spine", spines = 2, leaves = 2, hosts_per_leaf = 2, link = { rate = "10Gbps", delay = "1us" } }"#;
const NIC: &str = r#"nic = "drop-tail""#;

/// A buffer of four packets for two flows that begin with ten.
const SHORT: &str = r#"{ kind = "drop-tail", capacity = "6KB" }"#;
const ENDLESS: &str = r#""drop-tail""#;
const MARKING: &str = r#"{ kind = "ecn", capacity = "225KB", mark_above = "6KB" }"#;
/// DualPI2 with the times of Linux's defaults divided by a thousand.
const DUALPI2: &str = r#"{ kind = "egress", scheduler = "dual-queue", aqm = { kind = "dualpi2", target = "15us", update = "16us", alpha = 160.0, beta = 3200.0, mark_above = "1us" } }"#;
/// ABM with a small buffer, whose queues count as congested from four packets on.
const ABM: &str = r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "threshold", mark_above = "6KB" }, buffer = { kind = "abm", size = "20KB", alphas = [1, 0.5, 0.25], saturation = "6KB", interval = "5us" } }"#;
/// Pauses by priority from a few packets on.
const PFC: &str = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [1, 1, 1], strict = 1 }, aqm = { kind = "threshold", mark_above = "6KB" }, buffer = { kind = "ingress", size = "60KB", reserve = "1KB", pause_above = "3KB" }, flow_control = "pfc" }"#;
/// The same by Reverie's filters, which follow what leaves at once.
const REVERIE: &str = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [1, 1, 1], strict = 1 }, aqm = { kind = "threshold", mark_above = "6KB" }, buffer = { kind = "reverie", size = "60KB", alpha = 0.1, gamma = 0.0, resume_offset = "0B" }, flow_control = "pfc" }"#;
/// Credit for some packets, over any scheduler.
const BY_CREDIT: &str = r#"{ kind = "egress", scheduler = { kind = "dwrr", weights = [1, 1, 1], strict = 1 }, aqm = { kind = "threshold", mark_above = "6KB" }, flow_control = { kind = "cbfc", credits = "6KB" } }"#;
/// A window of a few packets for each destination, given back packet by packet, and pauses of destinations.
const WINDOWS: &str = r#"{ kind = "floodgate", variant = "ideal", window = 1.6, pause_hosts_above = 0.5, queue = { kind = "shared-buffer", ecn_min = "3KB", ecn_max = "6KB" } }"#;
const STRICT: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail", port = { kind = "ecn", capacity = "225KB", mark_above = "6KB" } }"#;
const PFABRIC: &str = r#"{ kind = "pfabric", capacity = "6KB" }"#;
const TRIMMING: &str = r#"{ kind = "ndp", capacity = "36KB" }"#;
const TRIMMING_AND_MARKING: &str =
    r#"{ kind = "ndp", capacity = "16KB", ecn_min = "4KB", ecn_max = "12KB" }"#;
const WEIGHTED: &str = r#"{ kind = "weighted-fair", capacity = "9KB" }"#;
const LEVELS: &str = r#"{ kind = "classes", strict = 8, queue = "drop-tail" }"#;
const SELECTIVE: &str = r#"{ kind = "credit-limiter", drop_unscheduled_above = "1.5KB" }"#;
const SELECTIVE_FIFO: &str = r#"{ kind = "egress", aqm = { kind = "selective-drop", drop_above = "18KB" } }"#;
const SELECTIVE_LEVELS: &str =
    r#"{ kind = "egress", scheduler = "strict", aqm = { kind = "selective-drop", drop_above = "3KB" } }"#;
const CREDITS: &str = r#"{ kind = "daq", short_capacity = "30KB", long_capacity = "30KB", rtt = "20us" }"#;

/// 20 and 10 packets of 1460 B; the second flow begins while the first is under way.
const TWO: &[[u64; 5]] = &[[1, 0, 29_200, 0, 0], [2, 0, 14_600, 3_000, 0]];
/// The second flow's deadline is near.
const WITH_DEADLINES: &[[u64; 5]] = &[[1, 0, 29_200, 0, 1_000_000], [2, 0, 14_600, 3_000, 40_000]];
/// 14 and 7.
const FEWER: &[[u64; 5]] = &[[1, 0, 20_440, 0, 0], [2, 0, 10_220, 3_000, 0]];
/// 12 and 5 packets, where requests and timers take rows, too.
const FEW: &[[u64; 5]] = &[[1, 0, 17_520, 0, 0], [2, 0, 7_300, 3_000, 0]];
const FEW_WITH_DEADLINES: &[[u64; 5]] = &[[1, 0, 17_520, 0, 1_000_000], [2, 0, 7_300, 3_000, 40_000]];
/// 14 and 7 of 1000 B.
const RDMA: &[[u64; 5]] = &[[1, 0, 14_000, 0, 0], [2, 0, 7_000, 3_000, 0]];
/// The same from behind the spines.
const RDMA_ACROSS: &[[u64; 5]] = &[[2, 0, 14_000, 0, 0], [3, 0, 7_000, 3_000, 0]];
/// 12 and 8 packets of 4096 B.
const PAGES: &[[u64; 5]] = &[[1, 0, 49_152, 0, 0], [2, 0, 32_768, 3_000, 0]];
/// 8 and 6.
const FEWER_PAGES: &[[u64; 5]] = &[[1, 0, 32_768, 0, 0], [2, 0, 24_576, 3_000, 0]];
/// 12 and 8 packets of 9000 B.
const JUMBO: &[[u64; 5]] = &[[1, 0, 108_000, 0, 0], [2, 0, 72_000, 3_000, 0]];

const fn on_rack(kind: &'static str, keys: &'static str, queue: &'static str) -> Setting {
    Setting { kind, variant: "", keys, queue, others: NIC, topology: RACK, flows: TWO }
}

/// Of flows without packets: no queue, and nothing to capture.
const fn of_flows(kind: &'static str) -> Setting {
    Setting { others: "", ..on_rack(kind, "", "") }
}

const fn with_deadlines(kind: &'static str, queue: &'static str) -> Setting {
    Setting { flows: WITH_DEADLINES, ..on_rack(kind, "", queue) }
}

/// Ultra Ethernet with another delivery service.
const fn service(variant: &'static str, keys: &'static str) -> Setting {
    Setting { variant, flows: FEWER_PAGES, ..on_rack("uec", keys, TRIMMING_AND_MARKING) }
}

/// One of each at least.
pub const SETTINGS: &[Setting] = &[
    on_rack("tcp", "", SHORT),
    on_rack("cubic", "", SHORT),
    on_rack("vegas", "", ENDLESS),
    on_rack("copa", "", ENDLESS),
    Setting { flows: FEWER, ..on_rack("bbr", "initial_rtt = \"6us\"", ENDLESS) },
    Setting { flows: FEWER, ..on_rack("bbr3", "initial_rtt = \"6us\"", ENDLESS) },
    on_rack("prague", "initial_ssthresh = 12", MARKING),
    Setting { variant: "dualpi2", ..on_rack("prague", "initial_ssthresh = 12", DUALPI2) },
    on_rack("python", "file = \"class.py\", class = \"Any\"", SHORT),
    on_rack("dctcp", "", MARKING),
    with_deadlines("d2tcp", MARKING),
    on_rack("min-tcp", "", PFABRIC),
    Setting { flows: FEWER, ..on_rack("line-rate", "", PFABRIC) },
    on_rack("fixed-window", "initial_window = 8", SHORT),
    Setting { flows: JUMBO, ..on_rack("ndp", "initial_window = 8", TRIMMING) },
    Setting {
        variant: "aeolus",
        flows: JUMBO,
        ..on_rack("ndp", "initial_window = 8, aeolus = true", SELECTIVE_FIFO)
    },
    Setting { flows: PAGES, ..on_rack("eqds", "window = 6", TRIMMING_AND_MARKING) },
    Setting { flows: PAGES, ..on_rack("uec", "control = \"both\"", TRIMMING_AND_MARKING) },
    service("rod", "service = \"rod\""),
    service("rudi", "service = \"rudi\""),
    service("uud", "service = \"uud\""),
    Setting { flows: FEW, ..on_rack("rcp", "rtt = \"10us\"", ENDLESS) },
    Setting { flows: FEW_WITH_DEADLINES, ..on_rack("d3", "rtt = \"10us\"", ENDLESS) },
    Setting { flows: FEW, ..on_rack("pdq", "rtt = \"10us\"", ENDLESS) },
    Setting { others: "", ..with_deadlines("daq", CREDITS) },
    Setting {
        others: r#"nic = "weighted-fair""#,
        ..on_rack("numfabric", "price_interval = \"10us\", guard = \"1us\"", WEIGHTED)
    },
    on_rack("mptcp", "subflows = 2", SHORT),
    on_rack("pias", "thresholds = [\"6KB\", \"20KB\"]", STRICT),
    Setting { variant: "abm", ..on_rack("pias", "thresholds = [\"6KB\", \"20KB\"]", ABM) },
    Setting { flows: FEW, ..on_rack("fastpass", "", ENDLESS) },
    on_rack("flowtune", "", ENDLESS),
    Setting { flows: FEWER, ..on_rack("homa", "blind = \"5840B\", window = \"7KB\"", LEVELS) },
    Setting {
        variant: "aeolus",
        flows: FEWER,
        ..on_rack("homa", "blind = \"5840B\", window = \"7KB\", aeolus = true", SELECTIVE_LEVELS)
    },
    Setting { flows: FEWER, ..on_rack("phost", "", PFABRIC) },
    Setting {
        flows: FEW,
        others: "",
        ..on_rack("expresspass", "variant = \"fat-tree\"", "\"credit-limiter\"")
    },
    Setting {
        variant: "aeolus",
        flows: FEW,
        others: "",
        ..on_rack("expresspass", "variant = \"fat-tree\", aeolus = true", SELECTIVE)
    },
    Setting { flows: FEW, ..on_rack("sird", "", STRICT) },
    Setting { flows: FEW, ..on_rack("dcpim", "bdp = 6", LEVELS) },
    Setting { flows: RDMA, ..on_rack("roce", "rto = \"20us\"", SHORT) },
    Setting { variant: "uc", flows: RDMA, ..on_rack("roce", "recovery = \"none\"", SHORT) },
    Setting {
        flows: RDMA,
        ..on_rack("python-rate", "file = \"class.py\", class = \"RateControl\", rto = \"20us\"", SHORT)
    },
    Setting {
        flows: RDMA,
        ..on_rack(
            "python-telemetry",
            "file = \"class.py\", class = \"TelemetryControl\", rto = \"20us\"",
            SHORT,
        )
    },
    Setting { flows: RDMA, ..on_rack("dcqcn", "cnp_interval = \"5us\"", MARKING) },
    Setting { variant: "pfc", flows: RDMA, others: "", ..on_rack("dcqcn", "cnp_interval = \"5us\"", PFC) },
    Setting {
        variant: "credits",
        flows: RDMA,
        others: "",
        ..on_rack("dcqcn", "cnp_interval = \"5us\"", BY_CREDIT)
    },
    Setting {
        variant: "reverie",
        flows: RDMA,
        others: "",
        ..on_rack("dcqcn", "cnp_interval = \"5us\"", REVERIE)
    },
    Setting {
        variant: "floodgate",
        flows: RDMA_ACROSS,
        others: "",
        topology: LEAF_SPINE,
        ..on_rack("dcqcn", "cnp_interval = \"5us\"", WINDOWS)
    },
    Setting { flows: RDMA, others: "", ..on_rack("bfc", "", r#"{ kind = "bfc", pause_above = 0.5 }"#) },
    Setting { flows: RDMA, ..on_rack("timely", "t_low = \"5us\", min_rtt = \"10us\"", ENDLESS) },
    Setting { flows: RDMA, ..on_rack("hpcc", "", ENDLESS) },
    Setting { flows: RDMA, ..on_rack("powertcp", "", ENDLESS) },
    Setting { flows: RDMA, ..on_rack("theta-powertcp", "", ENDLESS) },
    Setting { flows: RDMA, ..on_rack("swift", "initial_window = 8", SHORT) },
    Setting { flows: RDMA, ..on_rack("rdma-dctcp", "window = \"none\"", MARKING) },
    of_flows("ideal"),
    of_flows("max-min"),
    Setting { others: "routing = \"controller\"", topology: LEAF_SPINE, ..on_rack("syn", "", ENDLESS) },
    Setting { others: "routing = \"ecmp\"", topology: LEAF_SPINE, ..on_rack("asy", "", ENDLESS) },
];

/// The first setting of a transport.
pub fn of(kind: &str) -> &'static Setting {
    SETTINGS.iter().find(|setting| setting.kind == kind).unwrap_or_else(|| {
        panic!("the transport {kind:?} has no small case of its own; write one in tests/schemes/settings.rs")
    })
}

impl Setting {
    /// What its snapshot is called.
    pub fn name(&self) -> String {
        let Setting { kind, variant, .. } = self;
        if variant.is_empty() { (*kind).to_owned() } else { format!("{kind}-{variant}") }
    }

    /// The name of the node whose link to host 0 both flows share.
    pub fn last_switch(&self) -> &'static str {
        if self.topology == RACK { "switch0" } else { "leaf0" }
    }

    /// The case, as text.
    pub fn toml(&self) -> String {
        let Setting { kind, keys, queue, others, topology, .. } = self;
        let file = format!("small-{}.csv", self.name());
        write_file(&file, &self.flow_list());
        prepare_class();
        let transport = match *keys {
            "" => format!("{kind:?}"),
            keys => format!("{{ kind = {kind:?}, {keys} }}"),
        };
        let mut toml = format!(
            "topology = {topology}\n\
             [[workload]]\narrivals = {{ kind = \"list\", file = \"{file}\" }}\n\
             [[scheme]]\nname = \"{kind}\"\ntransport = {transport}\n"
        );
        if !queue.is_empty() {
            let last = self.last_switch();
            let [first_host, second_host] = [self.flows[0][0], self.flows[1][0]];
            toml += &format!(
                "queue = {queue}\n{others}\n[measure]\nseries_interval = \"100ns\"\n\
                 capture = [\"host{first_host}\", \"host{second_host}\", \"{last} to host0\"]\n"
            );
        }
        toml
    }

    /// The case.
    pub fn case(&self) -> Case {
        cases(&self.toml()).remove(0)
    }

    fn flow_list(&self) -> String {
        let has_deadlines = self.flows.iter().any(|flow| flow[4] > 0);
        let mut text =
            "src,dst,size_bytes,start_ns".to_owned() + if has_deadlines { ",deadline_ns\n" } else { "\n" };
        for [src, dst, size, start, deadline] in self.flows {
            text += &format!("{src},{dst},{size},{start}");
            text += &if has_deadlines { format!(",{deadline}\n") } else { "\n".to_owned() };
        }
        text
    }
}
